"""The reflogs of a branch and of the HEADs that point to it (gitrepository-layout, "logs")."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workspace.git import GitReader, Signature
from workspace.git.worktrees import heads_on
from workspace.publishing.prepared import is_below_a_link, remove_empty

_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class Log:
    """One reflog, and whether it is made if it does not exist."""

    path: Path
    create: bool


def logs_of(git: GitReader, branch: str, *, bare: bool) -> tuple[Log, ...]:
    """The logs that a move of a branch is written to, by `core.logAllRefUpdates`."""
    setting = git.config("core.logAllRefUpdates")
    if setting is None:
        create = not bare
    else:
        create = setting.lower() == "always" or git.config_flag("core.logAllRefUpdates")
    paths = [git.common_dir / "logs" / "refs" / "heads" / branch]
    paths += [git_dir / "logs" / "HEAD" for git_dir in heads_on(branch, git.common_dir)]
    # A repository could come with a link that leads into a file of the user's.
    return tuple(
        Log(path, create)
        for path in paths
        if not path.is_symlink() and not is_below_a_link(path, git.common_dir)
    )


def record(logs: Iterable[Log], old: str | None, new: str, who: Signature, message: str) -> bool:
    """Write a move down; False if a log could not be written, which does not undo the move."""
    line = _line(old, new, who, message)
    return _in_each(logs, lambda log: _append(log, line))


def complete(logs: Iterable[Log], old: str | None, new: str, who: Signature, message: str) -> bool:
    """Write a move down in those logs whose last line does not tell it; False if one could not be written."""
    line = _line(old, new, who, message)
    return _in_each(logs, lambda log: _append_missing(log, line, new))


def remove(git: GitReader, branch: str) -> None:
    """Remove the reflog of a branch, and the folders that only it had needed. Errors: OSError."""
    root = git.common_dir / "logs" / "refs" / "heads"
    path = root / branch
    if path.is_symlink() or is_below_a_link(path, git.common_dir):
        return
    path.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in path.relative_to(root).parents[:-1]:
            (root / folder).rmdir()


def _in_each(logs: Iterable[Log], act: Callable[[Log], None]) -> bool:
    written = True
    for log in logs:
        try:
            act(log)
        except FileNotFoundError:  # a log that is not made if it does not exist
            continue
        except OSError:
            written = False
    return written


def _append_missing(log: Log, line: bytes, new: str) -> None:
    text = log.path.read_bytes() if log.path.exists() else b""
    whole, newline, rest = text.rpartition(b"\n")
    if rest:
        os.truncate(log.path, len(whole + newline))
    if whole.rpartition(b"\n")[2].split(b" ")[1:2] != [new.encode()]:
        _append(log, line)


def _line(old: str | None, new: str, who: Signature, message: str) -> bytes:
    action = "commit" if old else "commit (initial)"
    subject = message.strip().partition("\n")[0].strip()
    return f"{old or _NOTHING} {new} {who.line()}\t{action}: {subject}\n".encode("utf-8", "replace")


def _append(log: Log, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    if log.create:
        log.path.parent.mkdir(parents=True, exist_ok=True)
        if log.path.is_dir():
            # Git, too, removes the empty folders that a branch of a longer name has left.
            remove_empty(log.path)
        flags |= os.O_CREAT
    handle = os.open(log.path, flags, 0o666)
    try:
        size = os.fstat(handle).st_size
        if os.write(handle, line) < len(line):
            # On a disk that fills up; the next line must not be glued to half of this one.
            os.ftruncate(handle, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(handle)
