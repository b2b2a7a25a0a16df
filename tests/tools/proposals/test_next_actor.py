"""view_proposal: who acts next in each state of a proposal, and who has reviewed it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tests.tools.proposals.conftest import approve_as_person, call_next_step, check_success
from tests.tools.proposals.test_actions import create_conflicting_proposal
from workspace.workspace import Workspace

SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
TAG = {"file": "api.md", "tags": ["x"]}


def view(call_tool: CallTool, proposal: str) -> dict[str, Any]:
    """Return the view of a proposal, and check that its next step is not a merge."""
    data = check_success(call_tool("view_proposal", proposal=proposal))
    assert '"action": "merge"' not in data["next_step"]
    return data


def check_next_actor(call_tool: CallTool, proposal: str, next_actor: str, reviewed_by: list[str]) -> str:
    """Check who acts next and who has reviewed a proposal; return the next step of its view."""
    data = view(call_tool, proposal)
    assert (data["next_actor"], data["reviewed_by"]) == (next_actor, reviewed_by), data["state"]
    assert data["next_step"] in data["rendered"]
    return str(data["next_step"])


def update(call_tool: CallTool, proposal: str, action: str, **fields: object) -> None:
    check_success(call_tool("update_proposal", proposal=proposal, action=action, **fields))


@pytest.fixture
def spec_proposal(call_tool: CallTool) -> str:
    """Return a draft that changes a protected document."""
    return str(check_success(call_tool("edit_document", **SPEC))["proposal"])


def test_author_acts_next_on_draft(call_tool: CallTool, proposal: str) -> None:
    next_step = check_next_actor(call_tool, proposal, "author", [])
    assert next_step.startswith("Write to the proposal, for example with edit_document")
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    check_next_actor(call_tool, proposal, "author", [])
    submission = call_next_step(call_tool, call_tool("view_proposal", proposal=proposal))
    assert submission.data["state"] == "open"


def test_author_acts_next_on_open_proposal_without_own_commit(call_tool: CallTool) -> None:
    fields = {"title": "Empty", "description": "", "submit": True}
    proposal = check_success(call_tool("create_proposal", **fields))["proposal"]
    check_next_actor(call_tool, proposal, "author", [])


def test_reviewer_acts_next_on_open_proposal_without_review(
    call_tool: CallTool, proposal: str, spec_proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    for id in (proposal, spec_proposal):
        update(call_tool, id, "submit")
        next_step = check_next_actor(call_tool, id, "reviewer", [])
        assert next_step == "A reviewer acts next: nobody has reviewed it"


def test_author_acts_next_on_requested_changes(call_tool: CallTool, spec_proposal: str) -> None:
    update(call_tool, spec_proposal, "submit")
    update(call_tool, spec_proposal, "request_changes", text="Say why.")
    next_step = check_next_actor(call_tool, spec_proposal, "author", ["Ada"])
    assert next_step.startswith("Write the requested changes with this proposal, then request a review with ")
    check_success(call_tool("edit_document", **{**SPEC, "content": "Because."}, proposal=spec_proposal))
    check_next_actor(call_tool, spec_proposal, "author", ["Ada"])
    submission = call_next_step(call_tool, call_tool("view_proposal", proposal=spec_proposal))
    assert submission.data["state"] == "open"
    next_step = check_next_actor(call_tool, spec_proposal, "reviewer", ["Ada"])
    assert next_step == "A reviewer acts next: 1 person has reviewed it"


def test_reviewer_acts_next_after_requested_changes_without_protection(
    call_tool: CallTool, proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    update(call_tool, proposal, "submit")
    update(call_tool, proposal, "request_changes", text="Say why.")
    check_success(call_tool("tag_document", file="api.md", tags=["y"], proposal=proposal))
    update(call_tool, proposal, "submit")
    assert [review["holds"] for review in view(call_tool, proposal)["reviews"]] == [False]
    check_next_actor(call_tool, proposal, "reviewer", ["Ada"])


def test_merger_acts_next_on_approved_proposal(
    call_tool: CallTool, workspace: Workspace, proposal: str, spec_proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    for id, token in ((proposal, "ben"), (spec_proposal, "eva")):
        update(call_tool, id, "submit")
        approve_as_person(workspace, id, token)
        assert view(call_tool, id)["state"] == "approved"
        next_step = check_next_actor(call_tool, id, "merger", [token.title()])
        assert next_step == "A person who may merge acts next; the author only waits"


@pytest.mark.parametrize("is_protected", [True, False])
def test_reviewer_acts_next_after_edit_of_approved_proposal(
    call_tool: CallTool, workspace: Workspace, spec_proposal: str, proposal: str, is_protected: bool
) -> None:
    id = spec_proposal if is_protected else proposal
    check_success(call_tool("tag_document", **TAG, proposal=id))
    update(call_tool, id, "submit")
    approve_as_person(workspace, id)
    check_success(call_tool("tag_document", file="api.md", tags=["y"], proposal=id))
    assert [review["void"] for review in view(call_tool, id)["reviews"]] == ["outdated"]
    check_next_actor(call_tool, id, "reviewer", ["Ben"])


def test_reviewer_acts_next_until_all_approvals_are_given(
    call_tool: CallTool, repo: Repo, workspace: Workspace
) -> None:
    repo.commit({"docyard.toml": '[[protect]]\npaths = ["specs/**"]\napprovals = 2\n'})
    proposal = str(check_success(call_tool("edit_document", **SPEC))["proposal"])
    update(call_tool, proposal, "submit")
    approve_as_person(workspace, proposal, "ben")
    check_next_actor(call_tool, proposal, "reviewer", ["Ben"])
    approve_as_person(workspace, proposal, "eva")
    check_next_actor(call_tool, proposal, "merger", ["Ben", "Eva"])


def test_author_acts_next_on_conflict(call_tool: CallTool, workspace: Workspace) -> None:
    proposal = create_conflicting_proposal(call_tool)
    check_next_actor(call_tool, proposal, "author", [])
    update(call_tool, proposal, "submit")
    approve_as_person(workspace, proposal)
    next_step = check_next_actor(call_tool, proposal, "author", ["Ben"])
    assert next_step.startswith("Resolve the conflicts with update_proposal")
    tool, fields = parse_next_call(call_tool("view_proposal", proposal=proposal))
    assert fields["action"] == "refresh"
    assert check_success(call_tool(tool, **fields))["changed"]
    assert "conflicts" not in view(call_tool, proposal)


@pytest.mark.parametrize("action", ["merge", "close"])
def test_ended_proposal_has_no_next_actor(
    call_tool: CallTool, workspace: Workspace, proposal: str, action: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    update(call_tool, proposal, "submit")
    approve_as_person(workspace, proposal)
    update(call_tool, proposal, action)
    next_step = check_next_actor(call_tool, proposal, "nobody", ["Ben"])
    assert next_step == "See the other proposals with view_proposal {}"


def test_proposal_without_branch_has_no_next_actor(
    call_tool: CallTool, repo: Repo, workspace: Workspace, proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    approve_as_person(workspace, proposal)
    repo.git("update-ref", "-d", f"refs/heads/{view(call_tool, proposal)['branch']}")
    check_next_actor(call_tool, proposal, "nobody", ["Ben"])


def test_each_reviewer_is_named_once_in_order_of_first_review(
    call_tool: CallTool, workspace: Workspace, proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    update(call_tool, proposal, "submit")
    for token in ("eva", "ben"):
        approve_as_person(workspace, proposal, token)
    update(call_tool, proposal, "request_changes", text="Say why.")
    update(call_tool, proposal, "request_changes", text="Say when.")
    assert len(view(call_tool, proposal)["reviews"]) == 4
    check_next_actor(call_tool, proposal, "author", ["Eva", "Ben", "Ada"])


def test_every_reviewer_is_named_if_not_all_reviews_are_shown(
    call_tool: CallTool, workspace: Workspace, proposal: str
) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    update(call_tool, proposal, "submit")
    tokens = [f"p{number}" for number in range(22)]
    for token in tokens:
        approve_as_person(workspace, proposal, token)
    data = view(call_tool, proposal)
    assert len(data["reviews"]) < data["reviews_total"] == len(tokens)
    assert data["reviewed_by"] == [token.title() for token in tokens]


def test_views_are_json_with_page_in_field(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("tag_document", **TAG, proposal=proposal))
    for fields in ({}, {"file": "api.md"}):
        answer = call_tool("view_proposal", proposal=proposal, **fields)
        assert answer.text is None
        assert answer.data["rendered"].startswith("# Rate limits\n")
    listing = call_tool("view_proposal")
    assert (listing.text, "rendered" in listing.data) == (None, False)
