"""`docyard serve --config`: incomplete settings of an identity provider are refused before the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard import environment
from docyard.cli.main import main
from docyard.terminal.exits import Exit
from tests.loops import loop_over

COMPLETE = 'issuer = "https://login.example.org"\naudience = "https://docs.example.org"\n'


@pytest.fixture(autouse=True)
def _unset_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.CONFIG, raising=False)


@loop_over(
    ("section", "options", "code", "message"),
    [
        ('client_id = "docyard"', (), Exit.CANNOT_RUN, "identity.issuer"),
        ('issuer = "https://login.example.org"', (), Exit.CANNOT_RUN, "identity.audience"),
        ('issuer = "http://login.example.org"\naudience = "x"', (), Exit.CANNOT_RUN, "https://"),
        (COMPLETE, ("--no-token",), Exit.USAGE, "--no-token"),
        (COMPLETE + "unknown = 1", (), Exit.CANNOT_RUN, "unknown"),
        (COMPLETE + "[http]\npage_url = 'http://docs.example.org'", (), Exit.USAGE, "http.page_url"),
        (
            COMPLETE + 'people = [{issuer = "https://x.example", subject = "1", person = "ana"}]',
            (),
            Exit.CANNOT_RUN,
            "another issuer",
        ),
    ],
    ids=["client", "audience", "http", "no token", "unknown setting", "page URL", "people"],
)
def test_incomplete_settings_are_refused(
    repo: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    section: str,
    options: tuple[str, ...],
    code: Exit,
    message: str,
) -> None:
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "server.toml"
    file.write_text(f"[identity]\n{section}\n")
    arguments = ["serve", "-C", str(repo), "--http", "127.0.0.1:0", "--config", str(file), *options]
    assert main(arguments) == code
    assert message in capsys.readouterr().err
