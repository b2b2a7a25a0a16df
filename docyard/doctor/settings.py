"""Checks of docyard.toml: all mistakes of the committed file, and of the file in the work tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity
from index.sources.settings import find_setting_line
from workspace.config.config import WorkspaceConfig
from workspace.config.toml import CONFIG_PATH, MAX_FILE_BYTES, decode_text
from workspace.errors import InvalidConfig, SettingMistake

if TYPE_CHECKING:
    from workspace.workspace import Workspace

AREA = "repository"


def describe_mistakes(error: InvalidConfig, data: bytes, place: str = "") -> Iterator[Finding]:
    """Yield a finding with its line for each mistake of a file; `place` precedes the file's name."""
    try:
        text = decode_text(data)
    except UnicodeDecodeError:
        text = ""
    for mistake in error.mistakes or (SettingMistake((), error.message, error.fix),):
        line = mistake.line or find_setting_line(text, mistake.location)
        position = f"{CONFIG_PATH}:{line}" if line is not None else CONFIG_PATH
        yield Finding(Severity.ERROR, AREA, f"{place}{position}: {mistake.message}", mistake.fix)


def check_uncommitted_settings(workspace: Workspace) -> Iterator[Finding]:
    """Yield the mistakes of an uncommitted file in the work tree; for a valid file, how to commit it."""
    warning = workspace.describe_uncommitted_settings()
    worktree = workspace.git.worktree
    if warning is None or worktree is None:
        return
    fix = f"git add {CONFIG_PATH}, then git commit"
    try:
        with (worktree / CONFIG_PATH).open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        WorkspaceConfig.read(data)
    except OSError:  # such as a deleted file
        pass
    except InvalidConfig as error:
        yield from describe_mistakes(error, data, "the uncommitted ")
        fix = "Correct the mistakes above first, then commit it."
    yield Finding(Severity.WARNING, AREA, warning, fix)
