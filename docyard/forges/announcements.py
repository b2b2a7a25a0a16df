"""A submitted proposal becomes a pull request, if the settings ask for it; what fails undoes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docyard.forges.place import ForgeAccess
    from docyard.forges.pull_requests import OpenedPullRequest
    from workspace.git.remotes.credentials import Access
    from workspace.proposals.actions.actions import Announced
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


def announcer(
    workspace: Workspace, forge_access: Callable[[], ForgeAccess], access: Callable[[], Access]
) -> Callable[[Proposal], Announced | None]:
    """What opens the pull request of a workspace's proposal; nothing is imported or asked before that."""

    def announce(proposal: Proposal) -> Announced | None:
        from workspace.proposals.actions.actions import Announced, NotAnnounced

        forge = ""
        try:
            settings = workspace.snapshot().config.forge
            if settings is None or not proposal.is_open:
                return None
            forge = settings.kind or ""
            from docyard.forges.choice import forge_of
            from docyard.forges.pull_requests import open_pull_request

            found = forge_of(workspace, forge_access())
            if found is None:
                return None
            forge = found.name
            try:
                opened = open_pull_request(workspace, proposal, found, access())
            finally:
                found.end()
        except WorkspaceError as error:
            return Announced(forge, error=NotAnnounced(error))
        except OSError as error:
            return Announced(forge, error=NotAnnounced(_cannot(error)))
        return _told(forge, opened)

    return announce


def _told(forge: str, opened: OpenedPullRequest) -> Announced:
    from workspace.proposals.actions.actions import Announced

    one = opened.pull_request
    return Announced(forge, one.number, one.url, opened.is_new, None, opened.unsent)


def _cannot(error: OSError) -> WorkspaceError:
    reason = error.strerror or type(error).__name__
    return WorkspaceError(f"the exchange could not be begun: {reason}", fix="Mend what it says.")
