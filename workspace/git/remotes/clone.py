"""A bare clone of a URL: one branch, tag or commit of the remote, fetched again when it has moved.

The clone contains the remote's refs under their own names, so it is opened like any other repository. HTTP
redirects to another host are refused: they could lead to an address in the operator's own network.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import pygit2
from pygit2.remotes import RemoteHead

from workspace.errors import WorkspaceError
from workspace.git.remotes.exchange import Exchange, Peer, Progress
from workspace.git.remotes.process import RemoteProcess
from workspace.git.repository import open_repository
from workspace.nearest import find_nearest

_BRANCHES, _TAGS = "refs/heads/", "refs/tags/"
_COMMIT_ID = re.compile(r"[0-9a-f]{7,40}")
_REFLOG_MESSAGE = "docyard sources"
_MAX_COMPARED_REFS = 2_000
_LOCK_EXPIRY_S = 600.0  # longer than any fetch


class RemoteRefNotFound(WorkspaceError):
    """An error: a remote has no such branch, tag or commit; `refs` are the most similar names."""

    code: ClassVar[str] = "REMOTE_REF_NOT_FOUND"


class RemoteRedirected(WorkspaceError):
    """An error: a remote redirects to another host, which is not named."""

    code: ClassVar[str] = "REMOTE_REDIRECTED"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the remote '{name}' redirects to another host",
            fix="Use the URL that `git ls-remote` reports as the target of the redirect.",
        )


class FetchedRef(NamedTuple):
    """A fetched ref: its full name in the clone, and its commit. A commit id has no name."""

    name: str | None
    commit: str


def create_clone(folder: Path) -> None:
    """Create an empty bare repository, unless the folder exists. Raises OSError."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(8)}")
    try:
        repo = pygit2.init_repository(draft, bare=True)
        repo.config["http.followRedirects"] = "false"
        with suppress(FileExistsError):  # another process was faster
            _rename_folder(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def fetch_clone(folder: Path, peer: Peer, ref: str | None, progress: Progress | None = None) -> FetchedRef:
    """Fetch a branch, a tag or a commit into a clone; without a ref, the remote's default branch.

    Raises RemoteRefNotFound, RemoteRedirected, and the errors of `RemoteProcess.run`.
    """
    process = RemoteProcess(folder, durable=False)
    try:
        return process.run(peer, partial(_fetch_ref, ref=ref), progress)
    finally:
        process.end()


def _rename_folder(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError as error:  # the folder exists, and is not empty
        raise FileExistsError(str(folder)) from error


# The functions up to `_read_commit` run in the child process that connects to the remote.


def _fetch_ref(repo: pygit2.Repository, peer: Peer, exchange: Exchange, *, ref: str | None) -> FetchedRef:
    remote = repo.remotes.create_anonymous(peer.address.url)
    try:
        remote.connect(exchange, proxy=True)
    except pygit2.GitError as error:
        if "cannot redirect" in str(error):
            raise RemoteRedirected(peer.name) from None
        raise
    heads = {head.name: head for head in remote.list_heads(connect=False) if head.name}
    name = _find_default_branch(heads) if ref is None else _find_full_name(heads, ref)
    if name is not None:
        commit = str(heads[name].oid)
        if _read_ref(repo, name) != commit:
            remote.fetch([f"+{name}:{name}"], _REFLOG_MESSAGE, exchange, proxy=True)
        if ref is None and repo.lookup_reference("HEAD").target != name:
            repo.set_head(name)
        return FetchedRef(name, commit)
    if ref is not None and _COMMIT_ID.fullmatch(ref):
        if (fetched := _read_commit(repo, ref)) is None:
            refspecs = [f"+{prefix}*:{prefix}*" for prefix in (_BRANCHES, _TAGS)]
            remote.fetch(refspecs, _REFLOG_MESSAGE, exchange, proxy=True)
            fetched = _read_commit(repo, ref)
        if fetched is not None:
            return FetchedRef(None, fetched)
    names = [name.removeprefix(_BRANCHES).removeprefix(_TAGS) for name in heads if name != "HEAD"]
    nearest = find_nearest(ref or "", names[:_MAX_COMPARED_REFS])
    raise RemoteRefNotFound(
        f"the remote `{peer.name}` has no branch, tag or commit '{(ref or 'HEAD')[:100]}'",
        fix=f"Did you mean '{nearest[0]}'?" if nearest else "Name a branch, a tag or a commit of the remote.",
        refs=nearest,
    )


def _find_default_branch(heads: dict[str, RemoteHead]) -> str | None:
    """Return the branch that HEAD names, else a branch at HEAD's commit (gitprotocol-v2, "ls-refs")."""
    head = heads.get("HEAD")
    if head is None:
        return None
    if head.symref_target in heads:
        return head.symref_target
    candidates = [
        name for name, other in heads.items() if name.startswith(_BRANCHES) and other.oid == head.oid
    ]
    preferred = [name for name in (f"{_BRANCHES}main", f"{_BRANCHES}master") if name in candidates]
    return next(iter([*preferred, *candidates]), None)


def _find_full_name(heads: dict[str, RemoteHead], ref: str) -> str | None:
    """Return the full name of a branch, else of a tag."""
    names = (ref,) if ref.startswith("refs/") else (_BRANCHES + ref, _TAGS + ref)
    return next((name for name in names if name in heads), None)


def _read_ref(repo: pygit2.Repository, name: str) -> str | None:
    try:
        return str(repo.lookup_reference(name).target)
    except (KeyError, ValueError, pygit2.GitError):
        return None


def _read_commit(repo: pygit2.Repository, id: str) -> str | None:
    try:
        return str(repo.revparse_single(id).peel(pygit2.Commit).id)
    except (KeyError, ValueError, pygit2.GitError):
        return None


def is_clone(folder: Path) -> bool:
    """Return True if a folder is a clone with at least one fetched ref."""
    try:
        return bool(open_repository(folder).listall_references())
    except WorkspaceError:
        return False


def is_damaged_clone(folder: Path) -> bool:
    """Return True if a clone cannot be opened, or if a ref lacks its commit or the commit's tree.

    Locks and empty refs that a crash has left count as damage too. Other objects are not checked.
    """
    if not folder.exists():
        return False
    try:
        repo = open_repository(folder)
        for name in repo.listall_references():
            repo[repo.lookup_reference(name).peel(pygit2.Commit).tree_id]
        files = [path for path in (*folder.glob("*"), *folder.glob("refs/**/*")) if path.is_file()]
        return any(_is_left_by_crash(path) for path in files)
    except FileNotFoundError:  # a lock of a running fetch
        return False
    except (WorkspaceError, KeyError, ValueError, pygit2.GitError, OSError):
        return True


def _is_left_by_crash(path: Path) -> bool:
    """Return True for an old lock, and for an empty ref, which libgit2 does not list."""
    status = path.stat()
    if path.suffix == ".lock":
        return status.st_mtime < time.time() - _LOCK_EXPIRY_S
    return status.st_size == 0 and "refs" in path.parts[-4:]


def remove_clone(folder: Path) -> None:
    """Remove a clone, so that `create_clone` creates it again. Raises OSError."""
    renamed_folder = folder.with_name(f".{folder.name}-{secrets.token_hex(8)}")
    os.replace(folder, renamed_folder)
    shutil.rmtree(renamed_folder, ignore_errors=True)
