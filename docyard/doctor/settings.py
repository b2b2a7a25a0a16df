"""Checks of what the repository itself asks Git to run or to read. Docyard runs none of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from docyard.doctor.finding import Finding, Severity, some

AREA = "repository"

# git-config(1): values of these are commands, or lead to some. Names are in lower case, `*` stands for any.
_PROGRAMS = re.compile(
    r"core\.(hookspath|sshcommand|editor|pager|gitproxy|askpass|alternaterefscommand)|sequence\.editor"
    r"|diff\.(external|.+\.command|.+\.textconv)|filter\..+\.(clean|smudge|process)|merge\..+\.driver"
    r"|gpg\.(.+\.)?program|gpg\.ssh\.defaultkeycommand|credential\.(.+\.)?helper|pager\..+"
    r"|interactive\.difffilter|(merge|diff)tool\..+\.cmd|(gui|man|web|browser)\..+\.cmd"
    r"|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack|vcs)|sendemail\..*cmd|trailer\..+\.(cmd|command)"
)
_READS = re.compile(r"include\.path|includeif\..+\.path|core\.(attributesfile|excludesfile|worktree)")
_BOOLEANS = ("", "true", "false", "yes", "no", "on", "off", "0", "1")

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*$")


def check_settings(common_dir: Path, git_dir: Path) -> Iterator[Finding]:
    """Name the settings and hooks that a person ought to know of, before running git here."""
    settings = [
        setting
        for file in (common_dir / "config", git_dir / "config.worktree")
        for setting in local_settings(_text(file))
    ]
    programs = [name for name, value in settings if _runs(name, value)]
    if programs:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository name programs, which Git would run and docyard does not: "
            + some(list(dict.fromkeys(programs))),
            "git config --show-origin --get-all NAME shows one; see that you trust it",
        )
    reads = [name for name, _ in settings if _READS.fullmatch(name)]
    if reads:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository lead to other files or folders: " + some(list(dict.fromkeys(reads))),
            "git config --show-origin --get-all NAME shows one; see that you trust it",
        )
    hooks = _hooks(common_dir / "hooks")
    if hooks:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"hooks are installed, and docyard's commits do not run them: {some(hooks)}",
            "Check its commits where they arrive: on the server, or in CI.",
        )


def local_settings(text: str) -> Iterator[tuple[str, str]]:
    """Names (in lower case but for the middle part) and values as a configuration file has them.

    It follows no include: the question is what stands here. Of a continued line it gives the first part.
    """
    section = ""
    for line in text.splitlines():
        found = _SECTION.match(line)
        if found is not None:
            section = found[1].lower() + (f".{found[2]}" if found[2] is not None else "")
            line = line[found.end() :]
        setting = _SETTING.match(line)
        if setting is not None and section:
            yield f"{section}.{setting[1].lower()}", (setting[2] or "").strip('"')


def _runs(name: str, value: str) -> bool:
    if name == "core.fsmonitor":
        return value.lower() not in _BOOLEANS
    if name.startswith("alias."):
        return value.startswith("!")
    return _PROGRAMS.fullmatch(name.lower()) is not None


def _hooks(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if "." not in name and os.access(folder / name, os.X_OK)]


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace") if file.is_file() else ""
    except OSError:
        return ""
