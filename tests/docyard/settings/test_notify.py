"""The settings of notifications: what contradicts is refused, and no error contains a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.settings.file import InvalidServerFile, format_variable, list_fields, read_server_file
from docyard.settings.settings import NotifySection
from docyard.terminal.exits import Exit
from tests.loops import loop_over

SECRET = "a secret of the operator"
WEBHOOK = {"webhook_url": "https://hooks.example.org/x", "webhook_secret": SECRET}
MAIL = {"smtp_host": "smtp.example.org", "smtp_from": "docyard@example.org"}
PERSON = {"person": "ana", "email": "ana@example.org"}


@loop_over(
    ("settings", "message"),
    [
        ({**WEBHOOK, "webhook_secret": "short"}, "at least 16 characters"),
        ({**WEBHOOK, "webhook_secret": f"{SECRET},short"}, "at least 16 characters"),
        ({**WEBHOOK, "webhook_secret": ",".join((SECRET,) * 3)}, "or two"),
        ({**WEBHOOK, "webhook_url": "http://hooks.example.org"}, "private_hosts"),
        ({**WEBHOOK, "webhook_url": "https://ana:x@hooks.example.org"}, "no user"),
        ({**WEBHOOK, "webhook_url": "https://hooks.example.org/#x"}, "no fragment"),
        ({**WEBHOOK, "webhook_url": "ftp://hooks.example.org"}, "begins with https://"),
        ({**WEBHOOK, "webhook_url": "https://hooks.example.org/\r\nX-Evil: 1"}, "begins with https://"),
        ({**WEBHOOK, "webhook_url": "https://hooks.example.org:0/"}, "begins with https://"),
        ({**WEBHOOK, "events": ["opened"]}, "Input should be"),
        ({"smtp_host": "smtp.example.org"}, "smtp_from"),
        ({**MAIL, "smtp_host": "smtp example"}, "name of a host"),
        ({**MAIL, "smtp_from": "Docyard <docyard@example.org>"}, "e-mail address"),
        (
            {**MAIL, "smtp_user": "docyard", "smtp_password": SECRET, "smtp_security": "none"},
            "anyone could read it",
        ),
        ({"people": [PERSON]}, "smtp_host with people"),
        (
            {**MAIL, "people": [{**PERSON, "email": "ana@example.org\nBcc: eve@example.org"}]},
            "e-mail address",
        ),
        ({**MAIL, "people": [PERSON, {**PERSON, "person": "Ana"}]}, "each person once"),
    ],
)
def test_contradiction_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NotifySection.model_validate(settings)


def test_valid_settings_are_read() -> None:
    section = NotifySection.model_validate(
        {
            **WEBHOOK,
            **MAIL,
            "webhook_url": "http://[fd00::1]:8080/x?a=b",
            "webhook_secret": f"{SECRET}, another {SECRET}",
            "private_hosts": ["fd00::1"],
            "people": [PERSON],
        }
    )
    assert section.signing_secrets == (SECRET, f"another {SECRET}")
    assert section.is_enabled
    assert not NotifySection().is_enabled


@loop_over("setting", ["webhook_secret", "smtp_password"])
def test_secret_in_the_file_is_refused_without_its_text(tmp_path: Path, setting: str) -> None:
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "server.toml"
    file.write_text(f'[notify]\n{setting} = "{SECRET}"\n')
    with pytest.raises(InvalidServerFile) as raised:
        read_server_file(file)
    assert f"notify.{setting}: must not contain a secret in the file" in str(raised.value.mistakes)
    assert SECRET not in str(raised.value.mistakes)


@loop_over(
    ("settings", "variable"),
    [
        ({"webhook_url": "https://hooks.example.org"}, "DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET"),
        ({**MAIL, "smtp_user": "docyard"}, "DOCYARD_SERVER__NOTIFY__SMTP_PASSWORD"),
    ],
)
def test_missing_secret_stops_a_server_and_its_fix_names_the_variable(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    repo: Path,
    settings: dict[str, str],
    variable: str,
) -> None:
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "server.toml"
    file.write_text("\n".join(["[notify]", *(f'{name} = "{value}"' for name, value in settings.items())]))
    assert variable in [format_variable(field.location) for field in list_fields()]
    assert main(["config", "check", "--config", str(file)]) == Exit.PROBLEMS
    assert f"the variable {variable}" in capsys.readouterr().out
    assert main(["serve", "-C", str(repo), "--http", "127.0.0.1:0", "--config", str(file)]) == Exit.CANNOT_RUN
    output = capsys.readouterr().err
    assert "together" in output
    assert f"the variable {variable}" in output


def test_secret_without_its_setting_is_missing_half() -> None:
    for settings in ({"webhook_secret": SECRET}, {**MAIL, "smtp_password": SECRET}):
        assert len(NotifySection.model_validate(settings).find_missing_halves()) == 1
    assert not NotifySection.model_validate({**WEBHOOK, **MAIL}).find_missing_halves()


def test_notifications_need_the_url_of_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], repo: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[http]\nallow_hosts = ["docs.example.org"]\n'
        '[notify]\nsmtp_host = "smtp.example.org"\nsmtp_from = "docyard@example.org"\n'
    )
    assert main(["config", "check", "--config", str(file)]) == Exit.PROBLEMS
    assert "http.page_url: must be set, because notifications have URLs" in capsys.readouterr().out
    options = ("--http", "127.0.0.1:0", "--allow-host", "docs.example.org", "--config", str(file))
    assert main(["serve", "-C", str(repo), *options]) == Exit.CANNOT_RUN
    assert "http.page_url: must be set" in capsys.readouterr().err
