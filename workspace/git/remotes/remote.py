"""The remotes of a repository: listing their branches, fetching and pushing.

The refspecs of Git's settings are never used, and nothing is forced on a remote. libgit2 computes the id of
each object of a pack from its bytes, so a remote cannot return other bytes for a requested id.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple

import pygit2

from workspace.errors import WorkspaceError
from workspace.git.remotes.exchange import (
    Exchange,
    Peer,
    Progress,
    PushNotBegun,
    RefMoved,
    RemoteUnreachable,
    clean_message,
)
from workspace.git.remotes.local_push import ONLY_GIT_PUSH, FolderPushRefused, push_to_folder
from workspace.git.remotes.process import RemoteProcess
from workspace.git.remotes.url import RemoteUrl, Transport, parse_remote_url
from workspace.git.repository import open_repository

_HEADS = "refs/heads/"
_REFLOG_MESSAGE = "docyard sync"
_MAX_ATTEMPTS = 5
_MAX_BRANCHES = 5_000
_NOT_AHEAD_MESSAGES = ("non-fastforwardable", "contains commits that are not present locally")


class PushRejected(WorkspaceError):
    """An error: a push that the remote rejected; `reason` is its message, in one line."""

    code: ClassVar[str] = "PUSH_REJECTED"

    def __init__(self, remote: str, reason: str) -> None:
        super().__init__(
            f"the remote `{remote}` rejected the push: {reason}",
            fix="Nothing is lost. Fix the problem or contact the remote's administrator, then retry.",
            remote=remote,
            reason=reason,
        )


class RemoteMoved(PushRejected):
    """An error: a push was rejected, because the remote branch has commits that our branch lacks."""

    code: ClassVar[str] = "REMOTE_MOVED"

    def __init__(self, remote: str) -> None:
        super().__init__(remote, "its branch has commits that our branch does not have")
        self.fix = "Fetch these commits first."


class BranchSelection(NamedTuple):
    """A selection of a remote's branches: some names, and up to 5,000 that match a regular expression.

    `local_commits` maps branches to commits that exist locally; such a commit is not fetched again.
    """

    names: Sequence[str]
    pattern: str = "(?!)"
    local_commits: Mapping[str, str] = {}

    def select(self, heads: Mapping[str, str]) -> dict[str, str]:
        """Return the commits of the selected branches that the remote has, by branch."""
        selected_heads = {name: heads[name] for name in self.names if name in heads}
        matcher = re.compile(self.pattern)
        matching_names = sorted(
            name for name in heads if name not in selected_heads and matcher.fullmatch(name)
        )
        return selected_heads | {name: heads[name] for name in matching_names[:_MAX_BRANCHES]}


class GitRemotes:
    """The remotes of one repository. The end of the `with` block ends their process.

    With `durable`, fetched objects are synced to disk.
    """

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._repo = open_repository(path)
        self._process = RemoteProcess(path, durable=durable)

    def __enter__(self) -> GitRemotes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the process without waiting for it, so that the first exchange is faster. Raises OSError."""
        self._process.start()

    def close(self) -> None:
        """End the process; the next exchange starts another one."""
        self._process.end()

    def resolve_url(self, url: str) -> RemoteUrl:
        """Return the address of a URL, with `url.<base>.insteadOf` applied. Raises UnsupportedRemote.

        A relative path is resolved against the work tree, as in Git.
        """
        try:
            expanded_url = self._repo.remotes.create_anonymous(url).url or ""
        except (ValueError, pygit2.GitError):
            expanded_url = url
        address = parse_remote_url(expanded_url)
        if address.transport is not Transport.FILE or address.url.startswith("file://"):
            return address
        base = Path(self._repo.workdir or self._repo.path)
        return RemoteUrl(Transport.FILE, str(base / Path(address.url).expanduser()))

    def commit_at(self, ref: str) -> str | None:
        """Return the current commit of a local ref; None if the ref does not exist."""
        try:
            reference = self._repo.lookup_reference(ref).resolve()
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return str(reference.target)

    def set_ref(self, ref: str, commit: str | None, *, expected: str | None) -> bool:
        """Move a local ref from the commit `expected`; return True if the ref is at `commit` then.

        None for `expected` creates the ref. None for `commit` removes it, but only from `expected`; the
        result is then True even if the ref was not removed because of another commit.
        """
        try:
            if commit is None:
                if self.commit_at(ref) == expected and expected is not None:
                    self._repo.references.delete(ref)
            elif expected is None:
                self._repo.create_reference_direct(ref, pygit2.Oid(hex=commit), False, _REFLOG_MESSAGE)
            else:
                reference = self._repo.lookup_reference(ref)
                if str(reference.target) != expected:
                    return False
                reference.set_target(commit, _REFLOG_MESSAGE)
        except (KeyError, ValueError, OSError, pygit2.GitError):
            return self.commit_at(ref) == commit
        return True

    def refs(self, prefix: str) -> dict[str, str]:
        """Return the commits of local refs with a prefix, by their names without the prefix."""
        commits: dict[str, str] = {}
        for name in self._repo.listall_references():
            commit = self.commit_at(name) if name.startswith(prefix) else None
            if commit is not None:
                commits[name.removeprefix(prefix)] = commit
        return commits

    def list_branches(self, peer: Peer, selection: BranchSelection) -> dict[str, str]:
        """Return the commits of the selected branches that a remote has, read from the remote.

        Raises the errors of `RemoteProcess.run`.
        """
        return self._process.run(peer, partial(_list_branches, selection=selection))

    def fetch(
        self, peer: Peer, selection: BranchSelection, prefix: str, progress: Progress | None = None
    ) -> dict[str, str]:
        """Fetch branches to local refs with a prefix; return the commits of those that exist.

        Raises the errors of `RemoteProcess.run`.
        """
        return self._process.run(peer, partial(_fetch, selection=selection, prefix=prefix), progress)

    def push(
        self,
        peer: Peer,
        commits: Mapping[str, str | None],
        progress: Progress | None = None,
        *,
        expected: Mapping[str, str | None] | None = None,
    ) -> dict[str, PushRejected]:
        """Push commits to branches in one exchange; return the rejections, by branch.

        None for a commit removes the branch. Nothing is forced: our commits must descend from those of the
        remote, else the error is RemoteMoved. It is the error too if a branch of the remote is neither at its
        commit in `expected` (None: missing) nor at the pushed one. Unless the remote is a folder, libgit2
        then refuses the full push, so each branch has that error. Raises PushNotBegun, and the errors of
        `RemoteProcess.run`.
        """
        call = partial(_push, commits=dict(commits), expected=dict(expected or {}))
        rejections, message = self._process.run(peer, call, progress)
        secrets = (peer.login.secret,) if peer.login is not None else ()
        message = clean_message(message.replace("\n", "; "), secrets)
        return {
            branch: _make_rejection(peer.name, branch, clean_message(reason, secrets), message)
            for branch, reason in rejections.items()
        }


def _make_rejection(remote: str, branch: str, reason: str, message: str) -> PushRejected:
    # Git's protocol has only messages for rejections, and no codes.
    if "fast-forward" in reason or "fetch first" in reason or "stale info" in reason:
        return RemoteMoved(remote)
    error = PushRejected(remote, f"{reason} ({message})" if message else reason)
    if ONLY_GIT_PUSH in reason:
        command = shlex.join(["git", "push", remote, branch])
        error.fix = f"Nothing is lost. Run `{command}`, or use a bare repository as the remote."
    return error


# The functions below run in the child process that connects to the remote.


def _list_branches(
    repo: pygit2.Repository, peer: Peer, exchange: Exchange, *, selection: BranchSelection
) -> dict[str, str]:
    return selection.select(_list_heads(_connect(repo, peer, exchange)))


def _fetch(
    repo: pygit2.Repository, peer: Peer, exchange: Exchange, *, selection: BranchSelection, prefix: str
) -> dict[str, str]:
    for attempt in range(_MAX_ATTEMPTS):
        remote = _connect(repo, peer, exchange)
        selected_heads = selection.select(_list_heads(remote))
        refspecs = [
            f"+{_HEADS}{branch}:{prefix}{branch}"
            for branch, commit in selected_heads.items()
            if selection.local_commits.get(branch) != commit
        ]
        try:
            if refspecs:
                remote.fetch(refspecs, _REFLOG_MESSAGE, exchange, proxy=True)
            break
        except (OSError, pygit2.GitError) as error:
            # `git pack-refs` removes empty folders of refs, even one that was just created.
            if attempt == _MAX_ATTEMPTS - 1 or not str(error).endswith(os.strerror(errno.ENOENT)):
                raise
    if parse_remote_url(remote.url or "").password is not None:
        # `insteadOf` has added a password to the URL, and libgit2 writes the URL to FETCH_HEAD.
        Path(repo.path, "FETCH_HEAD").unlink(missing_ok=True)
    return selected_heads


def _push(
    repo: pygit2.Repository,
    peer: Peer,
    exchange: Exchange,
    *,
    commits: Mapping[str, str | None],
    expected: Mapping[str, str | None],
) -> tuple[dict[str, str], str]:
    """Push commits; return the reasons of the remote for rejections, by branch, and its other messages."""
    try:
        if peer.address.transport is Transport.FILE:
            rejections = push_to_folder(repo, peer.address.url, commits, exchange, expected)
            return rejections, exchange.remote_output
        exchange.expected_commits = {f"{_HEADS}{branch}": commit for branch, commit in expected.items()}
        # The refspecs name commits, because the local branches may have moved.
        refspecs = [f"{commit or ''}:{_HEADS}{branch}" for branch, commit in commits.items()]
        _open_remote(repo, peer).push(refspecs, exchange, proxy=True)
    except RefMoved:
        return dict.fromkeys(commits, "fetch first"), exchange.remote_output
    except FolderPushRefused as error:
        return dict.fromkeys(commits, error.reason), exchange.remote_output
    except pygit2.GitError as error:
        # libgit2 checks for a fast-forward before it sends anything; pygit2 does not return the error code.
        if not any(phrase in str(error) for phrase in _NOT_AHEAD_MESSAGES):
            failure = peer.build_error(error)
            if isinstance(failure, RemoteUnreachable) and not exchange.has_begun_push:
                raise PushNotBegun(peer.name, failure.details["reason"]) from error
            raise
        return dict.fromkeys(commits, "non-fast-forward"), exchange.remote_output
    reasons = {name.removeprefix(_HEADS): reason for name, reason in exchange.rejections.items()}
    return reasons, exchange.remote_output


def _connect(repo: pygit2.Repository, peer: Peer, exchange: Exchange) -> pygit2.Remote:
    remote = _open_remote(repo, peer)
    remote.connect(exchange, proxy=True)
    return remote


def _list_heads(remote: pygit2.Remote) -> dict[str, str]:
    """Return the commits of a remote's branches, by their names."""
    return {
        str(head.name).removeprefix(_HEADS): str(head.oid)
        for head in remote.list_heads(connect=False)
        if head.name is not None and head.name.startswith(_HEADS)
    }


def _open_remote(repo: pygit2.Repository, peer: Peer) -> pygit2.Remote:
    return repo.remotes.create_anonymous(peer.address.url)
