"""Which remote is meant: the one that is named, in the settings or by Git, or the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import nearest
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.workspace import Workspace


class NoRemote(WorkspaceError):
    """The repository has no remote, or several and none is said to be meant; `remotes` names them."""

    code: ClassVar[str] = "NO_REMOTE"

    def __init__(self, remotes: tuple[str, ...]) -> None:
        if remotes:
            message = "the repository has several remotes, and it is not said which is meant"
            fix = "Name one, or set remote.name in docyard.toml."
        else:
            message, fix = "the repository has no remote", "Add one by git remote add origin URL."
        super().__init__(message, fix=fix, remotes=list(remotes))


class UnknownRemote(WorkspaceError):
    """The repository has no remote of this name; `remotes` are the nearest that it has."""

    code: ClassVar[str] = "REMOTE_NOT_FOUND"

    def __init__(self, name: str, remotes: tuple[str, ...]) -> None:
        close = nearest(name, remotes)
        super().__init__(
            f"the repository has no remote {name[:100]!a}",
            fix=f"Did you mean '{close[0]}'?" if close else "Add it by git remote add.",
            remotes=list(close),
        )


class Chosen(NamedTuple):
    """A remote of Git's settings: where it is fetched from, and where it is pushed to."""

    name: str
    url: str
    push_url: str


def chosen(workspace: Workspace, name: str | None = None) -> Chosen:
    """The remote that is meant.

    The one that is named; else that of `remote.name` in docyard.toml; else the branch's own
    (`branch.<name>.remote`); else `origin`; else the only one. Raises NoRemote, UnknownRemote, InvalidConfig.
    """
    git = workspace.git
    remotes = git.remotes()
    wanted = name or workspace.snapshot().config.remote.name
    if wanted is None:
        own = git.config(f"branch.{workspace.branch}.remote")
        wanted = own if own in remotes else "origin" if "origin" in remotes else None
    if wanted is None:
        if len(remotes) != 1:
            raise NoRemote(tuple(remotes))
        (wanted,) = remotes
    if wanted not in remotes:
        raise UnknownRemote(wanted, tuple(remotes))
    url = remotes[wanted]
    return Chosen(wanted, url, git.config(f"remote.{wanted}.pushurl") or url)
