"""The paths that Docyard writes: relative, and valid on every system that may clone the repository."""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

from workspace.errors import WorkspaceError

MAX_PATH_BYTES = 4000
_MAX_NAME_BYTES = 255
_DEVICE_NAME = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])", re.IGNORECASE)
# HFS+ ignores these characters when it compares names (git: utf8.c, next_hfs_char).
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
# Characters that Windows does not store ("Naming Files, Paths, and Namespaces"), and invisible characters.
_FORBIDDEN_IN_NEW_NAMES = re.compile('[<>"|?*\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]')
UNPRINTABLE_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""A character that no line of text contains: a control character, a line end, or a byte that is not UTF-8."""

_GIT_FOLDER = re.compile(r"\.git|git~[0-9]+", re.IGNORECASE)


class InvalidPath(WorkspaceError):
    """An error: a path that Docyard does not write; `reason` states why."""

    code: ClassVar[str] = "INVALID_PATH"

    def __init__(
        self,
        path: str,
        reason: str,
        *,
        fix: str = "Use a path relative to the workspace, such as `guides/setup.md`.",
    ) -> None:
        # A path with surrogates could not be sent back to the caller.
        escaped_path = path.encode("utf-8", "backslashreplace").decode("utf-8")
        super().__init__(
            f"this path cannot be used: {reason}",
            fix=fix,
            path=escaped_path,
            reason=reason,
        )
        self.reason = reason


def check_path(path: str) -> str:
    """Return a path without a leading `./`, if every system can store it. Raises InvalidPath.

    libgit2 accepts names that Windows or macOS cannot store or would treat as `.git`, so such names are
    rejected here, before anything is written.
    """
    path = path.removeprefix("./")
    if not path:
        raise InvalidPath(path, "it is empty")
    if path[0] in "/\\~" and (path[0] != "~" or path[:2] == "~/"):
        raise InvalidPath(path, "it is not relative to the workspace")
    if "\\" in path:
        raise InvalidPath(path, "it contains a backslash")
    if ":" in path:
        raise InvalidPath(path, "it contains a colon (a drive letter or a stream, on Windows)")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise InvalidPath(path, "it is not valid Unicode") from None
    if size > MAX_PATH_BYTES:
        raise InvalidPath(path, f"it is longer than {MAX_PATH_BYTES} bytes")
    if UNPRINTABLE_CHARACTER.search(path):
        raise InvalidPath(path, "it contains a control character")
    for part in path.split("/"):
        reason = _find_name_problem(part)
        if reason:
            raise InvalidPath(path, reason)
    return path


def is_nameable(path: str) -> bool:
    """Return True if a path fits on one line of a response, and a caller can send it back."""
    return len(path) <= MAX_PATH_BYTES and not UNPRINTABLE_CHARACTER.search(path)


def escape_path(path: str) -> str:
    """Return a path for one line: control characters and bytes that are not UTF-8 are escaped."""
    return UNPRINTABLE_CHARACTER.sub(lambda match: ascii(match[0])[1:-1], path)


def check_new_path(path: str) -> None:
    """Raise InvalidPath for a name that new files must not have; an existing file may have the name."""
    match = _FORBIDDEN_IN_NEW_NAMES.search(path)
    if match:
        char = match.group()
        character_name = (
            f"`{char}`, which Windows does not store" if char.isascii() else "an invisible character"
        )
        raise InvalidPath(path, f"it contains {character_name}")


def fold_name(name: str) -> str:
    """Return a form that is equal for names of the same file on disks that fold case or Unicode.

    The comparison is Unicode's canonical caseless match (D145), without the characters that HFS+ ignores.
    """
    if name.isascii():
        return name.lower()
    decomposed = unicodedata.normalize("NFD", _IGNORED_BY_HFS.sub("", name))
    return unicodedata.normalize("NFD", decomposed.casefold())


def is_git_folder(name: str) -> bool:
    """Return True if a name is equal to Git's own folder on some system."""
    return _GIT_FOLDER.fullmatch(_IGNORED_BY_HFS.sub("", name)) is not None


def _find_name_problem(name: str) -> str | None:
    if not name:
        return "it has an empty name between slashes"
    if name in (".", ".."):
        return "it contains `.` or `..`"
    if name[-1] in ". ":
        return "one of its names ends with a dot or a space"
    if len(name.encode()) > _MAX_NAME_BYTES:
        return f"one of its names is longer than {_MAX_NAME_BYTES} bytes"
    if is_git_folder(name):
        return "it leads into Git's own folder"
    if _DEVICE_NAME.fullmatch(name.split(".")[0].rstrip(" ")):
        return "one of its names is a device on Windows"
    return None
