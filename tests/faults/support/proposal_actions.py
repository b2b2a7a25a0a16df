"""The actions on a proposal that a forked child runs, each with an idempotency key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import (
    AGENT_ACTOR,
    GIT_ACTOR,
    RULE,
    ProposalSetup,
    make_append,
)
from workspace.errors import WorkspaceError
from workspace.policy.tokens import Tokens
from workspace.proposal_ids import derive_id
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import Actor
from workspace.proposals.answers import CommentAnswer
from workspace.proposals.events import ReviewDecision
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyedRequest, compute_call_digest
from workspace.writing.plan import BatchMode

PROPOSAL_ID = derive_id("opening")
KEY = "action-key"
PROPOSAL_ACTIONS = ("open", "write", "propose", "comment", "answer", "approve", "refresh", "forward", "merge")


def make_proposal_repository(path: Path, action_name: str) -> Repo:
    """Create a repository for an action, with an open proposal unless the action opens one."""
    setup = ProposalSetup(path, RULE)
    setup.person()
    if action_name in ("open", "propose"):
        return setup.repo
    setup.open(key="opening")
    if action_name != "forward":
        setup.append(PROPOSAL_ID, "A proposed text.", "specs/api.md", "calls")
        setup.proposal_actions.submit(PROPOSAL_ID, AGENT_ACTOR)
    if action_name == "answer":
        setup.proposal_actions.comment(PROPOSAL_ID, AGENT_ACTOR, "Why?")
    if action_name in ("refresh", "forward"):
        setup.write("Another text.")
    if action_name == "merge":
        setup.approve(setup.proposal_actions.find(PROPOSAL_ID))
        setup.write("Another text.")
    return setup.repo


def run_proposal_action(
    path: Path, arm: Callable[[], None], *, action_name: str, durable: bool = False
) -> Mapping[str, object]:
    """Run the named action, and return the response to a client."""
    workspace = Workspace.open(path, durable=durable)
    owner = Tokens(workspace.git.common_dir).find_owner("bea")
    assert owner is not None
    proposal_actions, person = workspace.proposal_actions(), GIT_ACTOR._replace(person=owner.person)
    arm()
    try:
        _run_action(workspace, proposal_actions, action_name, person)
    except WorkspaceError as error:
        return {"committed": False, "error": error.code, "message": error.message}
    return {"committed": True}


def _run_action(
    workspace: Workspace, proposal_actions: ProposalActions, action_name: str, person: Actor
) -> None:
    request = KeyedRequest(KEY, compute_call_digest("edit_document", {}), lambda plan: {})
    operations = [make_append("A proposed text.", "specs/api.md", "calls")]
    match action_name:
        case "open":
            proposal_actions.open("Say more", "Why.", AGENT_ACTOR, submit=True, key=KEY)
        case "write":
            proposal_actions.open_branch(PROPOSAL_ID).write(
                operations,
                mode=BatchMode.EACH,
                tool="edit_document",
                client="an agent",
                keyed_request=request,
            )
        case "propose":
            proposal_actions.propose(operations, AGENT_ACTOR, mode=BatchMode.EACH, keyed_request=request)
        case "comment":
            proposal_actions.comment(
                PROPOSAL_ID, AGENT_ACTOR, "Why?", file="specs/api.md", slug="calls", key=KEY
            )
        case "answer":
            [thread] = proposal_actions.find(PROPOSAL_ID).content.threads
            answer = CommentAnswer(thread.comment.id, "Because.", True)
            proposal_actions.answer(PROPOSAL_ID, AGENT_ACTOR, [answer], key=KEY)
        case "approve":
            proposal_actions.review(PROPOSAL_ID, person, ReviewDecision.APPROVE, key=KEY)
        case "merge":
            proposal_actions.merge(PROPOSAL_ID, person, key=KEY)
        case _:  # "refresh", or "forward": a refresh of a proposal without commits, which fast-forwards
            proposal_actions.refresh(PROPOSAL_ID, AGENT_ACTOR, key=KEY)
