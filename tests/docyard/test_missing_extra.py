"""Docyard without the libraries of the extra `server`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.server import build_user_environment
from tests.repositories import create_repository

pytestmark = pytest.mark.process

WITHOUT_EXTRA = """
import sys
MODULES = {"alembic", "prometheus_client", "psycopg", "pyarrow", "pydantic_settings", "sqlalchemy"}
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from docyard.cli.main import main
sys.exit(main())
"""


def run_without_extra(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *arguments],
        cwd=folder,
        env={**build_user_environment(folder / "home"), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "command",
    [
        "serve --config server.toml",
        "serve --sources sources.toml --http 127.0.0.1:0",
        "admin servers list --config server.toml",
        "config show --config server.toml",
    ],
)
def test_command_that_needs_the_extra_returns_an_error_with_fix(tmp_path: Path, command: str) -> None:
    (tmp_path / "server.toml").write_text("")
    (tmp_path / "sources.toml").write_text('[sources.a]\nrepo = "a"\n[analytics]\ndatabase = "x.sqlite"\n')
    done = run_without_extra(tmp_path, *command.split())
    assert done.returncode == 3
    assert "docyard[server]" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_work_without_the_extra(tmp_path: Path) -> None:
    create_repository(tmp_path / "docs", {"a.md": "# A\n\nText.\n"})
    for command in ("search text", "tokens list", "doctor", "serve"):  # stdin is closed
        done = run_without_extra(tmp_path / "docs", *command.split())
        assert done.returncode == 0, done.stderr
