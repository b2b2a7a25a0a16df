"""A push to a repository in a folder, with the compare-and-swap that libgit2 leaves out there.

libgit2 sets the ref of such a repository unconditionally, and would remove commits pushed by another client
in between. So the objects are pushed to a temporary ref first. Then the branch is moved from its expected
commit.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pygit2

from workspace.git.repository import open_repository

_HOOKS = ("pre-receive", "update", "proc-receive", "reference-transaction")
_INCOMING = "refs/docyard/incoming/"
_LONGEST = 86_400  # seconds that an exchange may take at most
_ATTEMPTS = 20
_PAUSE = 0.05


class FolderPushRefused(Exception):
    """A push that a repository in a folder refused; `reason` is worded like Git's own messages."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def push_to_folder(
    ours: pygit2.Repository, url: str, wanted: Mapping[str, str], callbacks: pygit2.RemoteCallbacks
) -> dict[str, str]:
    """Push commits to branches of the repository in a folder; return the reasons for rejections, by branch.

    Raises:
        FolderPushRefused: the repository has rules that only Git can apply.
        pygit2.GitError: the repository could not be read or written.
    """
    path = find_folder(url)
    if not path.is_dir():
        raise pygit2.GitError("its folder has no repository")
    theirs = open_repository(path)
    _check_rules(theirs)
    before = {branch: _read_target(theirs, f"refs/heads/{branch}") for branch in wanted}
    refused: dict[str, str] = {}
    accepted: dict[str, str] = {}
    for branch, commit in wanted.items():
        old = before[branch]
        if old is not None and not _is_fast_forward(ours, commit, old):
            refused[branch] = "non-fast-forward"
        elif old != commit:
            accepted[branch] = commit
    if not accepted:
        return refused
    _remove_stale_refs(theirs)
    start_time = int(time.time())
    incoming = {branch: f"{_INCOMING}{start_time}-{secrets.token_hex(8)}" for branch in accepted}
    try:
        specs = [f"{commit}:{incoming[branch]}" for branch, commit in accepted.items()]
        ours.remotes.create_anonymous(str(path)).push(specs, callbacks)
        # An earlier handle does not find the pushed objects.
        theirs = open_repository(path)
        for branch, commit in accepted.items():
            try:
                _move_ref(theirs, f"refs/heads/{branch}", before[branch], commit)
            except FolderPushRefused as error:
                refused[branch] = error.reason
    finally:
        for name in incoming.values():
            with suppress(KeyError, OSError, pygit2.GitError):
                open_repository(path).references.delete(name)
    return refused


def _is_fast_forward(ours: pygit2.Repository, commit: str, before: str) -> bool:
    return commit == before or (before in ours.odb and ours.descendant_of(commit, before))


def _remove_stale_refs(theirs: pygit2.Repository) -> None:
    """Remove temporary refs of pushes whose process died."""
    for name in theirs.listall_references():
        start_time = name.removeprefix(_INCOMING).partition("-")[0]
        if name.startswith(_INCOMING) and start_time.isdecimal() and int(start_time) < time.time() - _LONGEST:
            with suppress(KeyError, OSError, pygit2.GitError):
                theirs.references.delete(name)


def find_folder(url: str) -> Path:
    """Return the folder of a `file://` URL or a path."""
    return Path(unquote(urlsplit(url).path)) if url.startswith("file://") else Path(url)


def _check_rules(theirs: pygit2.Repository) -> None:
    if not theirs.is_bare:
        raise FolderPushRefused("it has a work tree, which only git can update on a push")
    hooks = Path(theirs.path or "", "hooks")
    with suppress(KeyError):
        hooks = Path(theirs.path or "", str(theirs.config["core.hooksPath"])).expanduser()
    for hook in _HOOKS:
        if os.access(hooks / hook, os.X_OK):
            raise FolderPushRefused(f"its hook {hook} decides, and only git push runs it")


def _move_ref(theirs: pygit2.Repository, name: str, before: str | None, commit: str) -> None:
    """Move a ref from its expected commit; libgit2 compares while it holds the lock of the ref."""
    for attempt in range(_ATTEMPTS):
        if _read_target(theirs, name) != before:
            raise FolderPushRefused("fetch first")
        try:
            if before is None:
                theirs.create_reference_direct(name, pygit2.Oid(hex=commit), False, "push")
            else:
                theirs.lookup_reference(name).set_target(commit, "push")
            return
        except (ValueError, OSError, pygit2.GitError):
            # Another program holds the lock of the ref, or has moved it; the next check shows a move.
            if attempt == _ATTEMPTS - 1:
                if Path(theirs.path, f"{name}.lock").exists():
                    raise FolderPushRefused(f"another program holds its {name}.lock") from None
                raise
        time.sleep(_PAUSE)


def _read_target(repo: pygit2.Repository, name: str) -> str | None:
    try:
        return str(repo.lookup_reference(name).resolve().target)
    except KeyError:
        return None
