"""A write of a command: a commit on the served branch, or in a proposal if the policy requires review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.policy.protection import Protected
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.writing.plan import BatchMode

if TYPE_CHECKING:
    from workspace.edits.operation import Operation
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult


def write_operation(
    workspace: Workspace, operation: Operation, tool: str, message: str | None = None
) -> tuple[WriteResult, Proposal | None]:
    """Write an operation to the served branch, or to a new proposal if a document is protected.

    `tool` is the name of the command. Raises the errors of `Workspace.write` and `ProposalActions.propose`.
    """
    client = "command line"
    try:
        return workspace.write(
            [operation], mode=BatchMode.ALL, tool=tool, client=client, message=message
        ), None
    except Protected:
        actor = Actor(Author(*workspace.author(), IdentitySource.GIT), tool, client)
        proposal_result = workspace.proposal_actions().propose(
            [operation], actor, mode=BatchMode.ALL, message=message
        )
        return proposal_result.result, proposal_result.proposal
