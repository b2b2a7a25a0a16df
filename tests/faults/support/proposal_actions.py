"""Actions on a proposal that a forked child runs, each with an idempotency key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.repositories import Repo
from tests.workspace.proposals.actions.scene import ADA, AGENT, RULE, Scene, make_append
from workspace.errors import WorkspaceError
from workspace.policy.tokens import Tokens
from workspace.proposal_ids import derive_id
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import ReviewDecision
from workspace.workspace import Workspace
from workspace.writing.idempotency import Request, compute_digest
from workspace.writing.plan import Mode

ID = derive_id("opening")
KEY = "the-act"
ACTS = ("open", "write", "propose", "comment", "approve", "refresh", "forward", "merge")


def prepare(path: Path, act: str) -> Repo:
    """Make a repository for an action, with an open proposal unless the action opens one."""
    scene = Scene(path, RULE)
    scene.person()
    if act in ("open", "propose"):
        return scene.repo
    scene.open(key="opening")
    if act != "forward":
        scene.append(ID, "What is proposed.", "specs/api.md", "calls")
        scene.proposal_actions.submit(ID, AGENT)
    if act in ("refresh", "forward"):
        scene.write("Meanwhile.")
    if act == "merge":
        scene.approve(scene.proposal_actions.find(ID))
        scene.write("Meanwhile.")
    return scene.repo


def act(path: Path, arm: Callable[[], None], *, act: str, durable: bool = False) -> Mapping[str, object]:
    """Run an action, and return the response to a client."""
    workspace = Workspace.open(path, durable=durable)
    known = Tokens(workspace.git.common_dir).find_owner("bea")
    assert known is not None
    proposal_actions, bea = workspace.proposal_actions(), ADA._replace(person=known.person)
    arm()
    try:
        _do(workspace, proposal_actions, act, bea)
    except WorkspaceError as error:
        return {"committed": False, "error": error.code, "message": error.message}
    return {"committed": True}


def _do(workspace: Workspace, proposal_actions: ProposalActions, act: str, bea: Actor) -> None:
    request = Request(KEY, compute_digest("edit_document", {}), lambda plan: {})
    operations = [make_append("What is proposed.", "specs/api.md", "calls")]
    match act:
        case "open":
            proposal_actions.open("Say more", "Why.", AGENT, submit=True, key=KEY)
        case "write":
            proposal_actions.open_branch(ID).write(
                operations, mode=Mode.EACH, tool="edit_document", client="an agent", request=request
            )
        case "propose":
            proposal_actions.propose(operations, AGENT, mode=Mode.EACH, request=request)
        case "comment":
            proposal_actions.comment(ID, AGENT, "Why?", file="specs/api.md", slug="calls", key=KEY)
        case "approve":
            proposal_actions.review(ID, bea, ReviewDecision.APPROVE, key=KEY)
        case "merge":
            proposal_actions.merge(ID, bea, key=KEY)
        case _:
            proposal_actions.refresh(ID, AGENT, key=KEY)
