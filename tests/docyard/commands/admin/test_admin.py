"""`docyard admin`: organizations, servers, namespaces and rules are changed at the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from sqlalchemy import text

from docyard import environment
from docyard.cli.main import docyard, main
from docyard.database.database import open_database
from tests.databases import *  # noqa: F403

ROOT = Path(__file__).resolve().parents[4]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def config(database_url: str, tmp_path: Path) -> Path:
    file = tmp_path / "server.toml"
    file.write_text(f'[database]\nurl = "{database_url}"\n')
    return file


@pytest.fixture
def run(config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `docyard admin`, and return its exit code, its output and its errors."""
    monkeypatch.setenv(environment.CONFIG, str(config))

    def run_admin(*arguments: str) -> tuple[int, str, str]:
        code = main(["admin", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_admin


def run_json(run: Run, *arguments: str) -> Any:
    code, output, _ = run(*arguments, "--json")
    assert code == 0
    return json.loads(output)


def add_acme(run: Run) -> None:
    assert run("organizations", "add", "acme", "--name", "Acme")[0] == 0
    assert run("namespaces", "add", "acme", "api", "--repo", "/srv/api.git")[0] == 0
    assert run("servers", "add", "acme", "docs", "--namespace", "api")[0] == 0
    assert run("rules", "add", "acme", "*", "--role", "reader")[0] == 0


def test_objects_are_added_changed_listed_and_removed(run: Run) -> None:
    add_acme(run)
    assert run("servers", "set", "acme", "docs", "--host", "docs.example.org", "--max-tokens", "900") == (
        0,
        "change  server  acme/docs\n"
        "        host: (default) -> docs.example.org\n"
        "        max_tokens: (default) -> 900\n",
        "",
    )
    assert run("servers", "set", "acme", "docs", "--default", "max_tokens", "--contextual-search")[0] == 0
    assert run("namespaces", "add", "acme", "guides", "--url", "git@github.com:a/b.git")[0] == 0
    assert run("servers", "associate", "acme", "docs", "guides")[0] == 0
    assert run("servers", "associate", "acme", "docs", "guides")[1] == "unchanged\n"
    assert run("servers", "dissociate", "acme", "docs", "api")[0] == 0
    assert run("namespaces", "set", "acme", "guides", "--every", "5m", "--ref", "v2")[0] == 0
    assert run("rules", "set", "acme", "*", "--role", "none")[0] == 0
    assert run("namespaces", "rename", "acme", "guides", "manuals")[1] == (
        "rename  namespace  acme/guides -> acme/manuals\n"
    )
    assert run("namespaces", "remove", "acme", "api", "--yes")[0] == 0

    assert run("organizations", "list")[1] == "acme\tname: Acme\n"
    assert run("servers", "list", "acme")[1] == (
        "acme/docs\tcontextual_search: True; host: docs.example.org; namespaces: manuals\n"
    )
    assert run("namespaces", "list")[1] == "acme/manuals\turl: git@github.com:a/b.git; ref: v2; every: 300\n"
    [rule] = run_json(run, "rules", "list")["rules"]
    assert (rule["group"], rule["namespace_prefix"], rule["fields"]) == ("*", "", {"role": "none"})


def test_expected_version_is_compared(run: Run) -> None:
    add_acme(run)
    [server] = run_json(run, "servers", "list")["servers"]
    arguments = ("servers", "set", "acme", "docs", "--expected", server["version"], "--name")
    assert run(*arguments, "First")[0] == 0
    code, _, error = run(*arguments, "Second")
    assert code == 3
    assert error.startswith("error: the server 'docs' has been changed since you opened it\n  fix: ")


def test_file_is_planned_applied_and_exported(run: Run, tmp_path: Path) -> None:
    add_acme(run)
    file = tmp_path / "organizations.toml"
    file.write_text(run("export")[1])
    assert run("plan", str(file))[1] == "4 unchanged\n"
    file.write_text(file.read_text().replace("/srv/api.git", "/srv/api2.git").partition("[[")[0])
    assert run("plan", str(file))[1] == (
        "change  namespace  acme/api\n        repo: /srv/api.git -> /srv/api2.git\n3 unchanged\n"
    )
    plan = run_json(run, "plan", str(file), "--prune")
    assert [change["action"] for change in plan["changes"]] == ["change", "remove"]
    assert run("organizations", "set", "acme", "--name", "Other")[0] == 0
    code, _, error = run("apply", str(file), "--prune", "--yes", "--plan", plan["digest"])
    assert (code, error.partition("\n")[0]) == (
        3,
        "error: the database or the file has changed since the plan was made",
    )
    assert run("apply", str(file), "--prune", "--yes")[0] == 0
    assert run("apply", str(file), "--prune", "--yes")[1] == "3 unchanged\n"
    assert run("export")[1] == file.read_text().rstrip() + "\n"


def test_mistakes_of_a_file_have_lines(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "organizations.toml"
    file.write_text("[organizations.acme]\nnames = 'x'\n[organizations.acme.servers.docs]\nhost = 3\n")
    code, output, error = run("plan", str(file))
    assert (code, output) == (3, "")
    assert "organizations.toml:2: there is no setting 'organizations.acme.names'" in error
    assert "organizations.toml:4: organizations.acme.servers.docs.host: " in error
    assert "fix: Did you mean 'name'?" in error


def test_removal_without_terminal_needs_yes(run: Run, tmp_path: Path) -> None:
    add_acme(run)
    code, _, error = run("organizations", "remove", "acme")
    assert (code, error) == (3, "error: the command needs a confirmation\n  fix: Add --yes.\n")
    file = tmp_path / "empty.toml"
    file.write_text("")
    code, output, _ = run("apply", str(file), "--prune")
    assert (code, output.count("remove")) == (3, 4)
    assert len(run_json(run, "organizations", "list")["organizations"]) == 1


def test_unknown_name_suggests_the_nearest(run: Run) -> None:
    add_acme(run)
    assert run("servers", "list", "acne")[2] == (
        "error: there is no organization 'acne'\n  fix: Did you mean 'acme'?\n"
    )
    assert "Did you mean 'docs'?" in run("servers", "set", "acme", "doc", "--name", "x")[2]


def test_audit_log_is_shown_and_verified(run: Run, database_url: str, tmp_path: Path) -> None:
    add_acme(run)
    lines = run("audit", "--limit", "2")[1].splitlines()
    assert [line.split("\t")[2:] for line in lines] == [
        ["operator", "rule.add", "acme/*:", "ok"],
        ["operator", "server.add", "acme/docs", "ok"],
    ]
    assert len(run_json(run, "audit", "--organization", "acme")["entries"]) == 4
    assert run_json(run, "audit", "--verify")["entry_count"] == 4
    database = open_database(database_url, tmp_path)
    with database.begin() as connection:
        connection.execute(text("UPDATE audit_log SET principal = 'x' WHERE number = 2"))
    database.close()
    code, output, _ = run("audit", "--verify")
    assert (code, output) == (1, "the entry 2 is wrong or missing\n")


def test_database_is_checked_and_upgraded(run: Run) -> None:
    code, output, _ = run("database", "check")
    assert (code, output.splitlines()[1]) == (
        1,
        "  next: make a backup, then run docyard admin database upgrade",
    )
    assert run("database", "upgrade")[1].startswith("upgraded the database from (none) to ")
    assert run("database", "check")[0] == 0
    assert run_json(run, "database", "upgrade")["from"] == run_json(run, "database", "check")["needed"]


def test_configuration_without_database_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(environment.CONFIG, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["admin", "organizations", "list"]) == 3
    assert "no configuration names the database" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("DOCYARD_SERVER__DATABASE__URL", "sqlite:///other.sqlite")
    assert main(["admin", "organizations", "list"]) == 0
    assert (tmp_path / "other.sqlite").exists()


def test_names_are_completed(run: Run) -> None:
    from click.shell_completion import ShellComplete

    add_acme(run)
    shell = ShellComplete(docyard, {}, "docyard", "_DOCYARD_COMPLETE")

    def complete(*arguments: str) -> list[str]:
        return [item.value for item in shell.get_completions(["admin", *arguments], "")]

    assert complete("servers", "set") == ["acme"]
    assert complete("servers", "set", "acme") == ["docs"]
    assert complete("namespaces", "remove", "acme") == ["api"]
    assert complete("namespaces", "remove", "other") == []


def list_subcommands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from list_subcommands(command, (*path, name))


def test_each_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    admin = docyard.get_command(click.Context(docyard), "admin")
    assert isinstance(admin, click.Group)
    for path in list_subcommands(admin, ("admin",)):
        assert main([*path, "--help"]) == 0
        assert "Example:" in capsys.readouterr().out
