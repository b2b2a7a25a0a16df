"""`docyard config show` and `docyard config check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit


def write(folder: Path, text: str) -> str:
    file = folder / "server.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_show_prints_each_value_and_its_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCYARD_CONFIG", write(tmp_path, "[http]\nworkers = 2\n"))
    monkeypatch.setenv("DOCYARD_SERVER__IDENTITY__CLIENT_SECRET", "s3cret")
    assert main(["config", "show"]) == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert "http.workers\t2\tserver.toml:2" in lines
    assert 'identity.client_secret\t"********"\tDOCYARD_SERVER__IDENTITY__CLIENT_SECRET' in lines
    assert "limits.calls_per_minute\t-\tdefault" in lines
    assert main(["config", "show", "--json"]) == Exit.DONE
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert {"name": "http.workers", "value": 2, "origin": "server.toml:2"} in settings


def test_show_of_an_invalid_file_reports_the_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "show", "--config", write(tmp_path, "[http]\nworker = 2\n")]) == Exit.CANNOT_RUN
    assert "server.toml:2: there is no setting 'http.worker'" in capsys.readouterr().err


def test_check_lists_all_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "[http]\nworker = 2\n\n[limits]\ncalls_per_minute = 0\n")
    assert main(["config", "check", "--config", file]) == Exit.PROBLEMS
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["server.toml:2: there is no setting 'http.worker'", "  fix: Did you mean 'workers'?"]
    assert lines[2].startswith("server.toml:5: limits.calls_per_minute: must be")


def test_check_finds_what_sections_contradict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCYARD_SERVER__HTTP__PAGE_URL", "http://docs.example.org")
    text = (
        '[http]\nlisten = "0.0.0.0:8000"\n[database]\nurl = "mysql://h/n"\n[operator]\n'
        'roots = ["missing/{organization}", "."]\n'
    )
    file = write(tmp_path, text)
    assert main(["config", "check", "--config", file, "--json"]) == Exit.PROBLEMS
    mistakes = json.loads(capsys.readouterr().out)["mistakes"]
    assert [(item["line"], item["setting"]) for item in mistakes] == [
        (None, "DOCYARD_SERVER__HTTP__PAGE_URL"),
        (4, "database.url"),
        (6, "operator.roots"),
    ]
    monkeypatch.delenv("DOCYARD_SERVER__HTTP__PAGE_URL")
    assert main(["config", "check", "--config", file]) == Exit.PROBLEMS
    assert "server.toml:2: http.listen: 0.0.0.0:8000 can be reached" in capsys.readouterr().out


def test_check_accepts_a_configuration_without_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[http]\nlisten = "0.0.0.0:8000"\nallow_hosts = ["docs.example.org"]\n'
    assert main(["config", "check", "--config", write(tmp_path, text)]) == Exit.DONE
    assert "no mistakes" in capsys.readouterr().out


def test_check_without_a_file_names_the_check_of_docyard_toml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCYARD_CONFIG", raising=False)
    assert main(["config", "check"]) == Exit.DONE
    assert "`docyard doctor` checks docyard.toml." in capsys.readouterr().err
    assert main(["config", "check", "--config", write(tmp_path, "[http]\nworkers = 2\n")]) == Exit.DONE
    assert "doctor" not in capsys.readouterr().err


def test_check_names_a_missing_folder_of_the_database_and_each_missing_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[database]\nurl = "sqlite:///none/server.sqlite"\n\n[notify]\n'
        'webhook_url = "https://hooks.example.org/a"\nsmtp_host = "mail.example.org"\n'
        'smtp_from = "docs@example.org"\nsmtp_user = "docs"\n'
    )
    assert main(["config", "check", "--config", str(file)]) == 1
    output = capsys.readouterr().out
    folder = tmp_path / "none"
    assert f"server.toml:2: database.url: the database cannot be used: its folder {folder}" in output
    assert "must have webhook_url and webhook_secret together" in output
    assert "must have smtp_user and smtp_password together" in output
    assert main(["config", "notify", "--config", str(file)]) == 1
    assert capsys.readouterr().out.count("A server does not start:") == 1
