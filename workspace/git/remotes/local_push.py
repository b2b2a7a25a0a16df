"""A push to a repository in a folder, with a compare-and-swap of the branch, which libgit2 lacks.

libgit2 sets the ref of such a repository unconditionally, and would remove commits that another client has
pushed in between. So the objects are pushed to a temporary ref first. Then the branch is moved from its
expected commit.
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

_HOOK_NAMES = ("pre-receive", "update", "proc-receive", "reference-transaction")
_INCOMING_PREFIX = "refs/docyard/incoming/"
_STALE_REF_AGE_S = 86_400
ONLY_GIT_PUSH = "which only git push"
"""A part of the reason if `git push` may be accepted, although Docyard cannot push."""

_MAX_ATTEMPTS = 20
_RETRY_INTERVAL_S = 0.05


class FolderPushRefused(Exception):
    """An error: a repository in a folder refused a push. `reason` is a short text, such as `fetch first`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def push_to_folder(
    local_repo: pygit2.Repository,
    url: str,
    commits: Mapping[str, str | None],
    callbacks: pygit2.RemoteCallbacks,
    expected: Mapping[str, str | None] | None = None,
) -> dict[str, str]:
    """Push commits to branches of the repository in a folder; return the reasons for rejections, by branch.

    None for a commit removes the branch. A branch of the folder must be at its commit in `expected` (None:
    missing), or at the pushed commit; a branch that `expected` lacks may be at any ancestor of it.

    Raises:
        FolderPushRefused: the repository has a work tree or a hook, for which only `git push` can be used.
        pygit2.GitError: the repository could not be read or written.
        NotARepository, UnsupportedRepository: the folder cannot be opened.
    """
    path = parse_folder_path(url)
    if not path.is_dir():
        raise pygit2.GitError("the path of the remote is not a folder")
    remote_repo = open_repository(path)
    _check_push_is_allowed(remote_repo)
    old_commits = {branch: _read_target(remote_repo, f"refs/heads/{branch}") for branch in commits}
    rejections: dict[str, str] = {}
    commits_to_push: dict[str, str] = {}
    for branch, commit in commits.items():
        old_commit = old_commits[branch]
        if old_commit not in (commit, (expected or {}).get(branch, old_commit)):
            rejections[branch] = "fetch first"
        elif commit is None:
            if old_commit is not None and not _remove_ref(remote_repo, f"refs/heads/{branch}", old_commit):
                rejections[branch] = "fetch first"
        elif old_commit is not None and not _is_fast_forward(local_repo, commit, old_commit):
            rejections[branch] = "non-fast-forward"
        elif old_commit != commit:
            commits_to_push[branch] = commit
    if not commits_to_push:
        return rejections
    _remove_stale_refs(remote_repo)
    start_time = int(time.time())
    temporary_refs = {
        branch: f"{_INCOMING_PREFIX}{start_time}-{secrets.token_hex(8)}" for branch in commits_to_push
    }
    try:
        refspecs = [f"{commit}:{temporary_refs[branch]}" for branch, commit in commits_to_push.items()]
        local_repo.remotes.create_anonymous(str(path)).push(refspecs, callbacks)
        # An earlier handle does not find the pushed objects.
        remote_repo = open_repository(path)
        for branch, commit in commits_to_push.items():
            try:
                _move_ref(remote_repo, f"refs/heads/{branch}", old_commits[branch], commit)
            except FolderPushRefused as error:
                rejections[branch] = error.reason
    finally:
        for name in temporary_refs.values():
            with suppress(KeyError, OSError, pygit2.GitError):
                open_repository(path).references.delete(name)
    return rejections


def _is_fast_forward(local_repo: pygit2.Repository, commit: str, old_commit: str) -> bool:
    return commit == old_commit or (
        old_commit in local_repo.odb and local_repo.descendant_of(commit, old_commit)
    )


def _remove_stale_refs(remote_repo: pygit2.Repository) -> None:
    """Remove temporary refs that are older than a day: the process of their push died."""
    for name in remote_repo.listall_references():
        start_time = name.removeprefix(_INCOMING_PREFIX).partition("-")[0]
        if (
            name.startswith(_INCOMING_PREFIX)
            and start_time.isdecimal()
            and int(start_time) < time.time() - _STALE_REF_AGE_S
        ):
            with suppress(KeyError, OSError, pygit2.GitError):
                remote_repo.references.delete(name)


def parse_folder_path(url: str) -> Path:
    """Return the folder of a `file://` URL or a path."""
    return Path(unquote(urlsplit(url).path)) if url.startswith("file://") else Path(url)


def _check_push_is_allowed(remote_repo: pygit2.Repository) -> None:
    if not remote_repo.is_bare:
        raise FolderPushRefused(f"the remote repository has a work tree, {ONLY_GIT_PUSH} can update")
    hooks = Path(remote_repo.path or "", "hooks")
    with suppress(KeyError):
        hooks = Path(remote_repo.path or "", str(remote_repo.config["core.hooksPath"])).expanduser()
    for hook in _HOOK_NAMES:
        if os.access(hooks / hook, os.X_OK):
            raise FolderPushRefused(f"the remote repository has the hook {hook}, {ONLY_GIT_PUSH} runs")


def _move_ref(remote_repo: pygit2.Repository, name: str, old_commit: str | None, commit: str) -> None:
    """Move a ref from its expected commit; libgit2 compares while it holds the lock of the ref."""
    for attempt in range(_MAX_ATTEMPTS):
        if _read_target(remote_repo, name) != old_commit:
            raise FolderPushRefused("fetch first")
        try:
            if old_commit is None:
                remote_repo.create_reference_direct(name, pygit2.Oid(hex=commit), False, "push")
            else:
                remote_repo.lookup_reference(name).set_target(commit, "push")
            return
        except (ValueError, OSError, pygit2.GitError):
            # Another program holds the lock of the ref, or has moved it; the next check shows a move.
            if attempt == _MAX_ATTEMPTS - 1:
                if Path(remote_repo.path, f"{name}.lock").exists():
                    raise FolderPushRefused(f"another program has the lock {name}.lock") from None
                raise
        time.sleep(_RETRY_INTERVAL_S)


def _remove_ref(remote_repo: pygit2.Repository, name: str, old_commit: str) -> bool:
    """Remove a ref at a commit, or return False; libgit2 compares while it holds the lock of the ref."""
    try:
        reference = remote_repo.lookup_reference(name)
        if str(reference.target) != old_commit:
            return False
        reference.delete()
    except (KeyError, ValueError, OSError, pygit2.GitError):
        return _read_target(remote_repo, name) is None
    return True


def _read_target(repo: pygit2.Repository, name: str) -> str | None:
    try:
        return str(repo.lookup_reference(name).resolve().target)
    except KeyError:
        return None
