"""Which forge a workspace's proposals go to: `[forge]` in its settings, and the host of its remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.forges.place import ForgeAccess, ForgePlace, place_of
from workspace.git.remotes.remote import GitRemotes
from workspace.git.remotes.url import RemoteUrl, Transport
from workspace.sync.branches import chosen

if TYPE_CHECKING:
    from docyard.forges.port import Forge
    from docyard.forges.transport import Patience
    from workspace.workspace import Workspace


def forge_of(workspace: Workspace, access: ForgeAccess, patience: Patience | None = None) -> Forge | None:
    """Return the forge of a workspace; None where its settings have no `[forge]`. To be ended by who asks.

    Raises NoRemote, UnknownRemote, UnsupportedRemote, InvalidConfig, NotAForge, NoForgeToken.
    """
    place = forge_place(workspace, access)
    return None if place is None else made(place, patience)


def forge_place(workspace: Workspace, access: ForgeAccess) -> ForgePlace | None:
    """Return where the forge of a workspace is, and its repository there. Raises what `forge_of` does."""
    settings = workspace.snapshot().config.forge
    return None if settings is None else place_of(_address(workspace), settings.kind, access)


def _address(workspace: Workspace) -> RemoteUrl:
    """Return where pull requests come from: where the remote is pushed to, with Git's `insteadOf`.

    One that only leads to a folder by it, as to a mirror, is where it says it is.
    """
    url = chosen(workspace).push_url
    with GitRemotes(workspace.git.git_dir, durable=False) as remotes:
        found = remotes.address(url)
    if found.transport is Transport.FILE:
        from workspace.git.remotes.url import parse_remote_url

        return parse_remote_url(url)
    return found


def made(place: ForgePlace, patience: Patience | None = None) -> Forge:
    """Return what speaks with a forge of a kind."""
    from docyard.forges.transport import Patience

    patience = patience or Patience()
    match place.kind:
        case "github":
            from docyard.forges.github import GitHub

            return GitHub(place, patience)
        case "gitlab":
            from docyard.forges.gitlab import GitLab

            return GitLab(place, patience)
        case _:
            from docyard.forges.gitea import Gitea

            return Gitea(place, patience)
