"""The function that opens the pull request of a submitted proposal, and the report that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docyard.forges.forge_repository import ForgeAccess
    from docyard.forges.pull_requests import OpenedPullRequest
    from workspace.git.remotes.credentials import Access
    from workspace.proposals.actions.actions import PullRequestReport
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


def build_pull_request_opener(
    workspace: Workspace, forge_access: Callable[[], ForgeAccess], access: Callable[[], Access]
) -> Callable[[Proposal], PullRequestReport | None]:
    """Return a function that opens a proposal's pull request and reports the result.

    The function returns None if the settings have no forge, or if the proposal is not open. A failure does
    not change the proposal.
    """

    def open_and_report(proposal: Proposal) -> PullRequestReport | None:
        from workspace.proposals.actions.actions import PullRequestFailed, PullRequestReport

        forge = ""
        try:
            settings = workspace.snapshot().config.forge
            if settings is None or not proposal.is_open:
                return None
            forge = settings.kind or ""
            from docyard.forges.open_forge import open_forge
            from docyard.forges.pull_requests import open_pull_request

            client = open_forge(workspace, forge_access())
            if client is None:
                return None
            forge = client.name
            try:
                opened_request = open_pull_request(workspace, proposal, client, access())
            finally:
                client.close_connections()
        except WorkspaceError as error:
            return PullRequestReport(forge, error=PullRequestFailed(error))
        except OSError as error:
            return PullRequestReport(forge, error=PullRequestFailed(_describe_failure(error)))
        return _build_report(forge, opened_request)

    return open_and_report


def _build_report(forge: str, opened_request: OpenedPullRequest) -> PullRequestReport:
    from workspace.proposals.actions.actions import PullRequestReport

    pull_request = opened_request.pull_request
    return PullRequestReport(
        forge, pull_request.number, pull_request.url, opened_request.is_new, None, opened_request.send_error
    )


def _describe_failure(error: OSError) -> WorkspaceError:
    reason = error.strerror or type(error).__name__
    return WorkspaceError(f"the exchange cannot begin: {reason}", fix="Fix the reported problem.")
