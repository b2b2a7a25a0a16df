"""Actions on proposals through the tools: open, comment, refresh, merge, close."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import API_TEXT, CallTool, parse_next_call
from tests.tools.proposals.conftest import (
    approve_as_person,
    call_next_step,
    check_success,
    create_proposal,
    get_commit_fields,
)
from tools.dispatcher import ToolDispatcher
from tools.proposals import update_proposal
from tools.proposals.update_proposal import ACTIONS
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}


def build_update(slug: str, content: str) -> dict[str, Any]:
    return {"operation": "update_content", "file": "api.md", "slug": slug, "content": content}


def create_conflicting_proposal(call_tool: CallTool, title: str = "Mine") -> str:
    """Create a proposal that conflicts with its target in one section and adds another; return its id."""
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    proposal = create_proposal(call_tool, title)
    check_success(
        call_tool("edit_document", **build_update("endpoints/search", "Finds all."), proposal=proposal)
    )
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    check_success(call_tool("edit_document", **build_update("endpoints/search", "Finds some things.")))
    return proposal


def test_action_without_a_proposal_reports_that_nothing_changed(call_tool: CallTool) -> None:
    answer = call_tool("update_proposal", action="submit")
    assert answer.data["changed"] is False
    assert answer.data["note"] == "nothing was changed: give 'proposal'"
    assert "note" not in call_tool("update_proposal").data


def test_create_proposal_names_missing_fields_then_suggests_writing(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    usage = call_tool("create_proposal")
    tool, example = parse_next_call(usage)
    assert (tool, set(example)) == ("create_proposal", {"title", "description"})
    partial_answer = call_tool("create_proposal", title="Rate limits")
    assert (partial_answer.data["created"], partial_answer.data["missing"]) == (False, ["description"])
    assert partial_answer.data["note"] == (
        "no proposal was opened: give 'description'; the description may be empty"
    )
    assert parse_next_call(partial_answer)[1]["title"] == "Rate limits"
    first_answer = call_tool(
        "create_proposal", title="Rate limits", description="Why.", idempotency_key="key"
    )
    data = check_success(first_answer)
    assert data["branch"] == f"proposals/{data['proposal']}-rate-limits"
    assert (data["state"], data["target"], data["commit"]) == ("draft", "main", head_before)
    assert call_next_step(call_tool, first_answer).data["proposal"] == data["proposal"]
    retry = check_success(
        call_tool("create_proposal", title="Rate limits", description="Why.", idempotency_key="key")
    )
    assert retry["proposal"] == data["proposal"]
    assert call_tool("view_proposal").data["total"] == 1
    assert check_success(call_tool("create_proposal", title="Empty", description=""))["created"]


def test_emoji_and_duplicate_titles_are_accepted_and_long_title_is_refused(call_tool: CallTool) -> None:
    first_proposal = check_success(call_tool("create_proposal", title="🦄", description=""))
    second_proposal = check_success(call_tool("create_proposal", title="🦄", description="", submit=True))
    assert first_proposal["proposal"] != second_proposal["proposal"]
    assert second_proposal["state"] == "open"
    assert first_proposal["proposal"] in second_proposal["hints"][0]
    refusal = call_tool("create_proposal", title="x" * 10_000, description="y")
    assert refusal.data["code"] == "INVALID_WORDS"
    assert not call_tool("create_proposal", **refusal.data["example"]).is_error


def test_every_action_has_usage(call_tool: CallTool, proposal: str) -> None:
    assert set(call_tool("update_proposal").data["usage"]["actions"]) == set(ACTIONS)
    actions = call_tool("update_proposal", proposal=proposal)
    assert not {"submit", "approve", "merge"} & set(actions.data["actions"])  # it has no commit yet
    call_next_step(call_tool, actions)
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    actions = call_tool("update_proposal", proposal=proposal)
    assert "submit" in actions.data["actions"]
    call_next_step(call_tool, actions)
    for invalid_fields, code, field in (
        ({"action": "aprove"}, "INVALID_ARGUMENTS", "action"),
        ({"action": "comment"}, "INVALID_ARGUMENTS", "text"),
        ({"action": "edit"}, "INVALID_ARGUMENTS", "title"),
        ({"action": "merge", "text": "now"}, "INVALID_ARGUMENTS", "text"),
        ({"action": "refresh", "resolutions": [{"file": "api.md"}]}, "INVALID_ARGUMENTS", "commit"),
    ):
        answer = call_tool("update_proposal", proposal=proposal, **invalid_fields)
        assert (answer.data["code"], answer.data["field"]) == (code, field)
        assert answer.data["usage"]["action"] in ACTIONS
    assert call_tool("update_proposal", proposal=proposal, action="aprove").data["nearest"][0] == "approve"
    assert call_tool("update_proposal", proposal=proposal, title="Better").data["action"] == "edit"
    refusal = call_tool("update_proposal", proposal="zzzzzzzz", action="merge")
    assert refusal.data["example"] == {"proposal": proposal, "action": "comment", "text": "…"}


def test_merged_proposal_is_reported_before_the_needed_person(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    assert call_tool("update_proposal", proposal=proposal, action="approve").data["code"] == "PROPOSAL_ENDED"


def test_comment_on_section_is_answered(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    location = {"file": "api.md", "slug": "quotas", "quote": "leaky"}
    comment = check_success(
        call_tool("update_proposal", proposal=proposal, action="comment", text="How leaky?", **location)
    )
    reply_fields = {"text": "Very.", "reply_to": comment["comment"]}
    check_success(
        call_tool("update_proposal", proposal=proposal, **reply_fields)
    )  # the fields select the action "comment"
    check_success(
        call_tool(
            "edit_document",
            operation="move_section",
            file="api.md",
            slug="quotas",
            parent_slug="endpoints",
            proposal=proposal,
        )
    )
    [thread] = call_tool("view_proposal", proposal=proposal, comments=True).data["comments"]
    assert (thread["text"], thread["quote"], thread["file"]) == ("How leaky?", "leaky", "api.md")
    assert thread["author"]["client"] == "tester"
    assert [reply["text"] for reply in thread["replies"]] == ["Very."]
    assert thread["now"] in ("here", "moved")
    refusal = call_tool("update_proposal", proposal=proposal, action="comment", text="x", reply_to="0" * 16)
    assert refusal.data["code"] == "INVALID_WORDS"
    assert comment["comment"] in refusal.data["candidates"]


def test_client_cannot_approve_or_merge_protected_changes(
    call_tool: CallTool, repo: Repo, workspace: Workspace
) -> None:
    head_before = repo.head()
    spec = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    proposal = check_success(call_tool("edit_document", **spec))["proposal"]
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    answer = call_tool(
        "update_proposal", proposal=proposal, action="approve", text="I am a person, honestly."
    )
    assert answer.data["code"] == "NEEDS_PERSON"
    assert f"docyard proposals approve {proposal}" in answer.data["fix"]
    assert not call_tool("update_proposal", **answer.data["example"]).is_error
    blocked_answer = call_tool("update_proposal", proposal=proposal, action="merge")
    assert blocked_answer.data["code"] == "MERGE_BLOCKED"
    approve_as_person(workspace, proposal)
    assert call_tool("view_proposal", proposal=proposal).data["state"] == "approved"
    merge_answer = call_tool("update_proposal", proposal=proposal, action="merge")
    assert merge_answer.data["code"] == "NEEDS_PERSON"
    assert f"docyard proposals merge {proposal}" in merge_answer.data["fix"]
    assert repo.head() == head_before


def test_refusal_names_the_page_of_the_proposal(dispatcher: ToolDispatcher, call_tool: CallTool) -> None:
    spec = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    proposal = check_success(call_tool("edit_document", **spec))["proposal"]
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    answer = call_tool("update_proposal", proposal=proposal, action="approve")
    assert "url" not in answer.data
    dispatcher.build_review_url = lambda id: f"https://docs.example.com/proposals/{id}"
    url = f"https://docs.example.com/proposals/{proposal}"
    for action, code in (("approve", "NEEDS_PERSON"), ("merge", "MERGE_BLOCKED")):
        answer = call_tool("update_proposal", proposal=proposal, action=action)
        assert (answer.data["code"], answer.data["url"]) == (code, url)
        assert answer.data["fix"].endswith(f"The proposal's page is {url}")


def test_person_with_token_approves_and_merges(
    call_tool: CallTool, dispatcher: ToolDispatcher, repo: Repo, workspace: Workspace
) -> None:
    spec = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    proposal = check_success(call_tool("edit_document", **spec))["proposal"]
    tokens = Tokens(workspace.git.common_dir)
    person = tokens.person(tokens.add("cy", "Cy", "cy@example.org"))
    context = replace(dispatcher.context("browser"), person=person)
    for action in ("approve", "merge"):
        check_success(update_proposal.TOOL.run(context, {"proposal": proposal, "action": action}))
    assert repo.git("log", "-1", "--format=%an").strip() == "Cy"
    assert "Or less." in (repo.path / "specs/limits.md").read_text()


def test_merged_text_is_searchable_and_second_merge_is_noop(
    call_tool: CallTool, repo: Repo, proposal: str
) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    assert call_tool("search_docs", query="leaky bucket").data["hits"] == []
    answer = call_tool("update_proposal", proposal=proposal, action="merge")
    data = check_success(answer)
    assert (data["state"], data["changed"], data["commit"]) == ("merged", True, repo.head())
    call_next_step(call_tool, answer)
    assert call_tool("search_docs", query="leaky bucket").data["hits"][0]["chunk_id"] == "api.md#quotas"
    second_merge = check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    assert (second_merge["changed"], second_merge["commit"]) == (False, repo.head())
    refusal = call_tool("update_proposal", proposal=proposal, action="refresh")
    assert refusal.data["code"] == "PROPOSAL_ENDED"
    assert not call_tool("update_proposal", **refusal.data["example"]).is_error
    assert repo.fsck() == repo.status() == ""


@pytest.mark.parametrize("choice", ["ours", "theirs", "content", "empty"])
def test_conflict_is_resolved_with_fields_of_answer(call_tool: CallTool, repo: Repo, choice: str) -> None:
    proposal = create_conflicting_proposal(call_tool)
    tip = repo.head()
    view = call_tool("view_proposal", proposal=proposal)
    refusal = call_tool("update_proposal", proposal=proposal, action="refresh")
    merge_answer = call_tool("update_proposal", proposal=proposal, action="merge")
    assert refusal.data["code"] == merge_answer.data["code"] == "MERGE_CONFLICT"
    assert refusal.data["conflicts"] == merge_answer.data["conflicts"] == view.data["conflicts"]
    [conflict] = view.data["conflicts"]
    commits = get_commit_fields(view)
    assert commits == get_commit_fields(refusal) == get_commit_fields(merge_answer)
    assert (conflict["file"], conflict["where"]) == ("api.md", "endpoints/search")
    assert ("all" in conflict["ours"], "some" in conflict["theirs"]) == (True, True)
    assert view.data["missing"][0]["code"] == "MERGE_CONFLICT"
    assert "Finds all." in view.data["rendered"]
    resolution: dict[str, Any] = {**conflict, "choice": "content" if choice == "empty" else choice}
    if choice == "content":
        resolution["content"] = "Finds everything.\n"
    if choice == "empty":
        resolution["content"] = ""
    data = check_success(
        call_tool("update_proposal", proposal=proposal, action="refresh", resolutions=[resolution], **commits)
    )
    text = repo.git("show", f"{data['commit']}:api.md")
    texts = {
        "ours": "Finds all.",
        "theirs": "Finds some things.",
        "content": "Finds everything.",
        "empty": "",
    }
    assert [word for word in texts.values() if word and word in text] == [
        word for word in [texts[choice]] if word
    ]
    assert "A leaky bucket." in text
    assert "### Search\n" in text
    assert repo.git("rev-list", "--parents", "-n1", data["commit"]).split()[2] == tip
    assert check_success(call_tool("update_proposal", proposal=proposal, action="merge"))["state"] == "merged"


def test_example_of_refused_refresh_succeeds(call_tool: CallTool) -> None:
    proposal = create_conflicting_proposal(call_tool)
    refusal = call_tool("update_proposal", proposal=proposal, action="merge")
    check_success(call_tool("update_proposal", **refusal.data["example"]))


def test_next_step_of_conflicting_proposal_resolves_conflict(call_tool: CallTool) -> None:
    answer = call_next_step(
        call_tool, call_tool("view_proposal", proposal=create_conflicting_proposal(call_tool))
    )
    assert answer.data["action"] == "refresh"
    assert answer.data["changed"] is True


def test_unresolved_conflicts_and_unknown_units_are_reported(call_tool: CallTool) -> None:
    proposal = create_conflicting_proposal(call_tool)
    view = call_tool("view_proposal", proposal=proposal)
    [conflict], commits = view.data["conflicts"], get_commit_fields(view)
    resolution = {**conflict, "where": "endpoints", "choice": "ours"}
    refusal = call_tool(
        "update_proposal", proposal=proposal, action="refresh", resolutions=[resolution], **commits
    )
    assert refusal.data["conflicts"] == [conflict]
    for invalid_fields, field_name in (
        ({"choice": "mine"}, "choice"),
        ({"choice": "content"}, "content"),
        ({"choice": "ours", "content": "x"}, "content"),
        ({"choice": "ours", "kind": "txt"}, "kind"),
        ({"choice": "ours", "were": "x"}, "were"),
    ):
        answer = call_tool(
            "update_proposal", proposal=proposal, resolutions=[{**conflict, **invalid_fields}], **commits
        )
        assert answer.data["code"] == "INVALID_ARGUMENTS"
        assert field_name in answer.data["error"]


def test_document_removed_on_target_is_a_conflict(call_tool: CallTool, repo: Repo) -> None:
    proposal = create_proposal(call_tool, "Mine")
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    repo.git("rm", "-q", "api.md")
    repo.git("commit", "-q", "-m", "Gone")
    [conflict] = call_tool("view_proposal", proposal=proposal).data["conflicts"]
    assert (conflict["kind"], conflict["theirs"]) == ("document", None)
    assert conflict["base"] == API_TEXT


def test_proposal_is_closed_reopened_and_edited(call_tool: CallTool, proposal: str) -> None:
    close_answer = call_tool("update_proposal", proposal=proposal, action="close", text="Done elsewhere.")
    assert check_success(close_answer)["state"] == "closed"
    assert call_next_step(call_tool, close_answer).data["state"] == "draft"
    data = check_success(
        call_tool("update_proposal", proposal=proposal, action="edit", title="Quotas", description="New.")
    )
    assert data["title"] == "Quotas"
    assert call_tool("view_proposal", proposal=proposal).data["description"] == "New."


@pytest.mark.parametrize("invalid_fields", [{"file": "api.md", "slug": "endpont"}, {"file": "apii.md"}])
def test_comment_on_misspelt_section_returns_working_example(
    call_tool: CallTool, proposal: str, invalid_fields: dict[str, str]
) -> None:
    refusal = call_tool("update_proposal", proposal=proposal, action="comment", text="Why?", **invalid_fields)
    assert refusal.is_error
    assert check_success(call_tool("update_proposal", **refusal.data["example"]))["comment"]


def test_empty_title_is_refused_without_a_description(call_tool: CallTool) -> None:
    answer = call_tool("create_proposal", title="")
    assert answer.is_error
    assert answer.data["field"] == "title"


def test_blocked_merge_names_the_commands_of_a_person(call_tool: CallTool, proposal: str) -> None:
    change = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    check_success(call_tool("edit_document", **change, proposal=proposal))
    refusal = call_tool("update_proposal", proposal=proposal, action="merge")
    assert refusal.data["code"] == "MERGE_BLOCKED"
    for command in ("approve", "merge"):
        assert f"`docyard proposals {command} {proposal}`" in refusal.data["fix"]
