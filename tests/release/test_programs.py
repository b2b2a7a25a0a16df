"""Programs that check a release fail with their output, and servers with a client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from release.programs import ProgramError, build_variables, call_tools, require, run_program
from tests import repositories

pytestmark = pytest.mark.process


def test_other_exit_code_raises_error_with_the_output() -> None:
    code = "import sys; print('first'); sys.exit('second')"
    with pytest.raises(ProgramError, match="exit code 1, not 0: first\nsecond"):
        run_program(sys.executable, "-c", code)
    assert run_program(sys.executable, "-c", code, exit_code=1).stdout == "first\n"


def test_missing_program_raises_error_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="uv is missing; run `make dist`"):
        run_program(tmp_path / "uv")


def test_missing_text_raises_error_with_the_output() -> None:
    with pytest.raises(ProgramError, match="'word' is missing in the output 'text'"):
        require("word", "text")


def test_user_has_no_settings_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "GIT_DIR", "DOCYARD_TOKEN", "XDG_DATA_HOME", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "/x")
    assert "/x" not in build_variables(tmp_path).values()


def test_failed_call_and_unknown_tool_raise_errors(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "docs", {"a.md": "# A\n\nwords\n"})
    command = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path)]
    variables, log_file = build_variables(tmp_path), tmp_path / "log"
    [result] = call_tools(command, variables, [("view_document", {"file": "a.md"})], log_file)
    assert "_preamble" in str(result)
    for name, error in (("view_document", "failed: "), ("view_nothing", "lists no tool view_nothing")):
        with pytest.raises(ProgramError, match=error):
            call_tools(command, variables, [(name, {"file": "b.md"})], log_file)
