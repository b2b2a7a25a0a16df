"""The decision that a refused merge lacks: found only if nothing else blocks the merge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.proposals.conftest import RULES, approve_as_person, check_success
from tools.dispatcher import ToolDispatcher
from tools.proposals.missing_decision import MissingDecision, find_missing_decision, read_decision_state
from workspace.policy.tokens import Person
from workspace.workspace import Workspace

SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
BEN = Person("ben", "Ben", "ben@example.org")


@pytest.fixture
def spec_proposal(call_tool: CallTool) -> str:
    """Return an open proposal that changes a protected document."""
    id = str(check_success(call_tool("edit_document", **SPEC))["proposal"])
    check_success(call_tool("update_proposal", proposal=id, action="submit"))
    return id


def find(
    dispatcher: ToolDispatcher, person: Person | None = None, **arguments: Any
) -> MissingDecision | None:
    context = replace(dispatcher.context(), person=person)
    return find_missing_decision(context, {"action": "merge", **arguments})


def test_missing_decision_names_proposal_requirement_and_commit(
    dispatcher: ToolDispatcher, workspace: Workspace, spec_proposal: str
) -> None:
    tip = workspace.proposal_actions().find(spec_proposal).tip
    decision = find(dispatcher, proposal=spec_proposal, idempotency_key="k-1")
    assert decision is not None
    assert decision.proposal == spec_proposal
    assert decision.arguments == {
        "action": "merge",
        "proposal": spec_proposal,
        "idempotency_key": "k-1",
        "commit": tip,
    }
    assert "specs/limits.md needs 1 approval" in decision.message
    assert decision.message.endswith("and approve it and merge it there.")
    decision = find(dispatcher, BEN, proposal=spec_proposal, commit=tip)
    assert decision is not None
    assert decision.message.endswith("and approve it there.")


def test_approved_proposal_lacks_only_a_person(
    dispatcher: ToolDispatcher, workspace: Workspace, spec_proposal: str
) -> None:
    approve_as_person(workspace, spec_proposal, "ana")
    decision = find(dispatcher, proposal=spec_proposal)
    assert decision is not None
    assert "approval" not in decision.message
    assert decision.message.endswith("and merge it there.")
    assert find(dispatcher, BEN, proposal=spec_proposal) is None


def test_no_decision_is_missing_if_something_else_blocks(
    dispatcher: ToolDispatcher, call_tool: CallTool, repo: Repo, spec_proposal: str, proposal: str
) -> None:
    assert find(dispatcher, proposal=proposal) is None  # it has no commit
    assert find(dispatcher, proposal="none") is None
    assert find(dispatcher, proposal=spec_proposal, commit="0" * 40) is None
    assert find(dispatcher, proposal=spec_proposal, action="submit") is None
    assert find(dispatcher, proposal=spec_proposal, action="unknown") is None
    assert find(dispatcher, proposal=spec_proposal, text="no field of merge") is None
    assert find(dispatcher) is None
    repo.commit({"docyard.toml": RULES + 'merge = ["ana"]\n'})
    assert find(dispatcher, BEN, proposal=spec_proposal) is None
    assert find(dispatcher, replace_token(BEN, "ana"), proposal=spec_proposal) is not None
    repo.commit({"specs/limits.md": "# Limits\n\nFair use.\n"})
    assert find(dispatcher, proposal=spec_proposal) is None  # a conflict
    repo.commit({"specs/limits.md": "# Limits\n\nFair use.\n\n## Rate\n\nTen a second.\n"})
    assert find(dispatcher, proposal=spec_proposal) is not None
    check_success(call_tool("update_proposal", proposal=spec_proposal, action="request_changes", text="No."))
    assert find(dispatcher, proposal=spec_proposal) is None
    check_success(call_tool("update_proposal", proposal=spec_proposal, action="close"))
    assert find(dispatcher, proposal=spec_proposal) is None


def replace_token(person: Person, token: str) -> Person:
    return Person(token, person.name, person.email)


def test_long_title_is_cut_and_invisible_characters_are_escaped(
    dispatcher: ToolDispatcher, call_tool: CallTool, spec_proposal: str
) -> None:
    title = "\u202e" + "x" * 250
    check_success(call_tool("update_proposal", proposal=spec_proposal, action="edit", title=title))
    decision = find(dispatcher, proposal=spec_proposal)
    assert decision is not None
    assert f'"\\u202e{"x" * 199}…"' in decision.message


def test_state_changes_with_each_part_of_a_decision(
    dispatcher: ToolDispatcher, call_tool: CallTool, workspace: Workspace, repo: Repo, spec_proposal: str
) -> None:
    states: list[object] = []

    def check_new_state() -> None:
        state = read_decision_state(dispatcher.context(), spec_proposal)
        assert state == read_decision_state(dispatcher.context(), spec_proposal)
        assert state not in states
        states.append(state)

    check_new_state()
    approve_as_person(workspace, spec_proposal, "ana")
    check_new_state()
    repo.commit({"notes/plain.md": "# Plain\n"})
    check_new_state()
    check_success(call_tool("edit_document", proposal=spec_proposal, **{**SPEC, "content": "Or none."}))
    check_new_state()
    check_success(call_tool("update_proposal", proposal=spec_proposal, action="close"))
    check_new_state()
    (repo.path / ".git/docyard/tokens.json").chmod(0o644)
    assert read_decision_state(dispatcher.context(), spec_proposal) is None
    assert read_decision_state(dispatcher.context(), "none") is None
