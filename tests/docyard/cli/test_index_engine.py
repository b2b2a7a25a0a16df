"""Commands with the index in PostgreSQL, which a variable of the operator names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docyard import environment
from docyard.cli.main import main
from docyard.hosting.service import OrganizationsService
from docyard.service import build_repository_service
from docyard.settings.file import read_server_file
from docyard.sources.service import create_sources
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer
from tests.repositories import create_repository
from workspace.workspace import Workspace

VARIABLE = "DOCYARD_SERVER__ENGINE__URL"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(create_repository(tmp_path / "docs", {"a.md": "# Guide\n\nBackoff of retries.\n"}).path)


def read_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.process
def test_commands_use_the_index_in_the_database(
    path: str,
    postgres: PostgresServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert read_json(capsys, "index", "status", "-C", path)["engine"] == "files"
    monkeypatch.setenv(VARIABLE, postgres.create_database())
    status = read_json(capsys, "index", "status", "-C", path)
    assert (status["engine"], status["state"]) == ("postgresql", "missing")
    assert read_json(capsys, "search", "backoff", "-C", path)["hits"]
    status = read_json(capsys, "index", "status", "-C", path)
    assert (status["state"], status["documents"], status["segments"]) == ("current", 1, 1)
    assert status["bytes"] > 0
    assert read_json(capsys, "index", "rebuild", "-C", path)["documents"] == 1
    assert main(["doctor", "-C", path]) in (0, 1)
    assert "there is no index yet" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [("index", "status"), ("search", "backoff"), ("doctor",)])
def test_database_that_is_down_is_an_error_without_its_url(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql://anna:secret@127.0.0.1:1/docs")
    assert main([*command, "-C", path]) != 0
    captured = capsys.readouterr()
    output = captured.out + captured.err
    assert "the engine's database cannot be reached" in output
    assert "secret" not in output
    assert "127.0.0.1" not in output


@pytest.mark.process
def test_services_use_the_database_of_the_settings(
    path: str,
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, postgres.create_database())
    engine = environment.read_engine_options()
    service = build_repository_service(
        Workspace.open(Path(path)), None, read_only=True, syncs=False, engine=engine
    )
    assert service.get_index is not None
    index = service.get_index()
    service.warm(lambda done, total, text: None)
    assert (index.status().engine, index.status().is_current) == ("postgresql", True)
    service.close()
    file = tmp_path / "sources.toml"
    file.write_text(f'[sources.docs]\nrepo = "{path}"\n')
    sources = create_sources(file, engine=engine)
    with next(iter(sources)).open() as source_index:
        assert source_index.status().engine == "postgresql"
        assert source_index.search("backoff").hits
    sources.close()
    organizations = OrganizationsService(read_server_file(None), tmp_path)
    assert organizations.hosting._engine.database is not None
    organizations.close()


def test_invalid_url_is_an_error_without_its_text(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "mysql://anna:secret@db/docs")
    assert main(["search", "backoff", "-C", path]) != 0
    error = capsys.readouterr().err
    assert "postgresql://USER@HOST/NAME" in error
    assert "secret" not in error
