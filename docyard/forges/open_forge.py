"""The forge of a workspace: the settings `[forge]` and the host of the remote select its kind and URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.forges.forge_repository import ForgeAccess, ForgeRepository, resolve_forge_repository
from workspace.git.remotes.remote import GitRemotes
from workspace.git.remotes.url import RemoteUrl, Transport
from workspace.sync.branches import select_remote

if TYPE_CHECKING:
    from docyard.forges.port import Forge
    from docyard.forges.transport import TransportLimits
    from workspace.workspace import Workspace


def open_forge(
    workspace: Workspace, access: ForgeAccess, limits: TransportLimits | None = None
) -> Forge | None:
    """Open the forge of a workspace; return None if the settings have no `[forge]`.

    The caller closes the connections of the forge.

    Raises NoRemote, UnknownRemote, UnsupportedRemote, InvalidConfig, NotAForge, NoForgeToken.
    """
    repository = find_forge_repository(workspace, access)
    return None if repository is None else create_forge(repository, limits)


def find_forge_repository(
    workspace: Workspace, access: ForgeAccess, kind: str | None = None
) -> ForgeRepository | None:
    """Return the host and repository of a workspace's forge; None if the settings have no `[forge]`.

    With a `kind`, the settings are not needed. Raises the errors of `open_forge`.
    """
    settings = workspace.snapshot().config.forge
    if settings is None and kind is None:
        return None
    forge_kind = kind or (settings.kind if settings is not None else None)
    return resolve_forge_repository(_resolve_remote_url(workspace), forge_kind, access)


def _resolve_remote_url(workspace: Workspace) -> RemoteUrl:
    """Return the remote's push URL after Git's `insteadOf`; the original URL if the result is a folder.

    A folder, such as a mirror, has no forge.
    """
    url = select_remote(workspace).push_url
    with GitRemotes(workspace.git.git_dir, durable=False) as remotes:
        remote_url = remotes.resolve_url(url)
    if remote_url.transport is Transport.FILE:
        from workspace.git.remotes.url import parse_remote_url

        return parse_remote_url(url)
    return remote_url


def create_forge(repository: ForgeRepository, limits: TransportLimits | None = None) -> Forge:
    """Create the client of a forge."""
    from docyard.forges.transport import TransportLimits

    limits = limits or TransportLimits()
    match repository.kind:
        case "github":
            from docyard.forges.github import GitHub

            return GitHub(repository, limits)
        case "gitlab":
            from docyard.forges.gitlab import GitLab

            return GitLab(repository, limits)
        case "gitea":
            from docyard.forges.gitea import Gitea

            return Gitea(repository, limits)
        case kind:
            raise ValueError(f"forge kind {kind!r} has no client")
