"""`docyard engine use`: an index moves to PostgreSQL and back, if the lists of both are equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from index.segments.store import encode_numbers
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer
from tests.repositories import create_repository

VARIABLE = "DOCYARD_SERVER__ENGINE__URL"
DOCUMENTS = {
    "a.md": "# Guide\n\nBackoff of retries after errors.\n\n## Limits\n\nRequests for each client.\n",
    "b.md": "# Errors\n\nEach error names its limits.\n",
}
SETTINGS = (
    '# The settings of nodes.\n[engine]  # shared\n# url = "…"\n\n[limits]\ncalls_per_minute = 9 # few\n'
)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(create_repository(tmp_path / "docs", DOCUMENTS).path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "server.toml"
    file.write_text(SETTINGS, encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: Exit = Exit.DONE) -> Any:
    assert main(["engine", "use", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.process
def test_move_to_a_database_and_back_changes_one_setting_of_the_file(
    path: str,
    file: Path,
    postgres: PostgresServer,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.create_database()
    arguments = ("-C", path, "--config", str(file))
    plan = run(capsys, url, *arguments, "--dry-run")
    assert (plan["indexes"][0]["is_built"], plan["file"]) == (False, str(file))
    assert file.read_text("utf-8") == SETTINGS
    result = run(capsys, url, *arguments)
    index = result["indexes"][0]
    assert (result["before"], result["after"], result["switched"]) == ("files", "postgresql", True)
    assert (index["documents"], index["sections"], index["differences"]) == (2, 3, [])
    assert index["questions"] > 2
    assert file.read_text("utf-8") == SETTINGS.replace("# shared\n", f'# shared\nurl = "{url}"\n')
    assert run(capsys, url, *arguments)["switched"] is False
    lines = f'url = "{url}"\nnode_url = "http://10.0.0.2:8000"\n'
    file.write_text(file.read_text("utf-8").replace(f'url = "{url}"\n', lines), "utf-8")
    assert main(["engine", "use", "files", *arguments]) == Exit.DONE
    output = capsys.readouterr().out
    assert "Switched from postgresql to files in server.toml. Restart the server." in output
    assert f"To go back: docyard engine use {url} --config {file}" in output
    assert output.endswith("After the way back, set it: http://10.0.0.2:8000\n")
    assert file.read_text("utf-8") == SETTINGS


@pytest.mark.process
def test_without_a_file_the_variable_is_printed(
    path: str,
    postgres: PostgresServer,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
) -> None:
    url = postgres.create_database()
    result = run(capsys, url, "-C", path, "--read-url", url)
    assert result["switched"] is False
    assert result["commands"] == [
        f"export {VARIABLE}={url}",
        f"export DOCYARD_SERVER__ENGINE__READ_URL={url}",
    ]
    monkeypatch.setenv(VARIABLE, url)
    # The variable overrides the file, which therefore does not change.
    assert run(capsys, "files", "-C", path, "--config", str(file))["commands"] == [f"unset {VARIABLE}"]
    assert file.read_text("utf-8") == SETTINGS


@pytest.mark.process
@pytest.mark.guarantee
def test_lists_that_differ_prevent_the_switch(
    path: str,
    file: Path,
    postgres: PostgresServer,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.create_database()
    arguments = (url, "-C", path, "--config", str(file))
    run(capsys, *arguments)
    file.write_text(SETTINGS, encoding="utf-8")
    _remove_second_document(url)
    result = run(capsys, *arguments, code=Exit.PROBLEMS)
    [index] = result["indexes"]
    assert result["switched"] is False
    assert any(difference["before"][0] == "b.md#_preamble" for difference in index["differences"])
    assert file.read_text("utf-8") == SETTINGS
    assert main(["engine", "use", *arguments]) == Exit.PROBLEMS
    output = capsys.readouterr().out
    assert "Nothing was switched, because lists differ." in output
    assert "    1. before: " in output


def _remove_second_document(url: str) -> None:
    """Change the head in the database so that the document b.md counts as deleted."""
    with psycopg.connect(url) as connection:
        [(state, segments)] = connection.execute("SELECT state, segments FROM docyard_index_heads").fetchall()
        [[id, size, sha256, _]] = json.loads(segments)
        new_segments = [[id, size, sha256, encode_numbers(frozenset({1}))]]
        new_state = json.loads(state) | {"chunks": 2, "files": 1}
        connection.execute(
            "UPDATE docyard_index_heads SET state = %s, segments = %s, generation = generation + 1",
            (json.dumps(new_state), json.dumps(new_segments)),
        )


@pytest.mark.process
def test_sources_of_a_file_are_moved_and_an_unavailable_one_is_left_out(
    path: str,
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, sources = postgres.create_database(), tmp_path / "sources.toml"
    sources.write_text(f'[sources.docs]\nrepo = "{path}"\n[sources.other]\nrepo = "missing"\n')
    result = run(capsys, url, "--sources", str(sources))
    docs, other = result["indexes"]
    assert (docs["name"], docs["sections"], docs["differences"]) == ("docs", 3, [])
    assert other["reason"]
    assert result["commands"] == [f"export {VARIABLE}={url}"]


@pytest.mark.process
def test_indexes_of_all_organizations_are_moved(
    path: str,
    file: Path,
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, options = postgres.create_database(), ["--config", str(file)]
    file.write_text(SETTINGS + f'[operator]\nroots = ["{tmp_path}"]\n', encoding="utf-8")
    organizations = tmp_path / "organizations.toml"
    organizations.write_text(ORGANIZATIONS.format(path=path))
    assert main(["admin", "database", "upgrade", *options]) == Exit.DONE
    assert main(["admin", "apply", str(organizations), "--yes", *options]) == Exit.DONE
    capsys.readouterr()
    result = run(capsys, url, *options)
    assert [(index["name"], index["differences"]) for index in result["indexes"]] == [("acme/docs", [])]
    assert result["switched"] is True


ORGANIZATIONS = '[organizations.acme.namespaces.docs]\nrepo = "{path}"\n'


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("postgresql://ana:secret@db/docs", Exit.CANNOT_RUN, "PGPASSFILE"),
        ("postgresql://ana@db/docs?password=secret", Exit.CANNOT_RUN, "PGPASSFILE"),
        ("mysql://db/docs", Exit.USAGE, "postgresql://USER@HOST/NAME"),
        ("postgresql://ana@127.0.0.1:1/docs", Exit.CANNOT_RUN, "the engine's database cannot be reached"),
        ("files", Exit.DONE, ""),
    ],
)
def test_target_that_cannot_be_used_leaves_the_file_unchanged(
    path: str, file: Path, capsys: pytest.CaptureFixture[str], target: str, code: Exit, message: str
) -> None:
    assert main(["engine", "use", target, "-C", path, "--config", str(file)]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "secret" not in captured.err + captured.out
    assert file.read_text("utf-8") == SETTINGS


def test_file_that_cannot_be_edited_stops_the_command_before_the_build(
    path: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("engine = {}\n")
    url = "postgresql://ana@127.0.0.1:1/docs"
    assert main(["engine", "use", url, "-C", path, "--config", str(file)]) == Exit.CANNOT_RUN
    error = capsys.readouterr().err
    assert "server.toml was not changed" in error
    assert f'[engine]\nurl = "{url}"' in error
