"""view_proposal: the list and its pages, changes as Markdown and as data, and unusual states."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tests.tools.proposals.conftest import approve_as_person, call_next_step, check_success, create_proposal
from tools.tool import Answer
from workspace.workspace import Workspace

SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}


def test_proposals_are_paged_newest_first_and_filtered(call_tool: CallTool) -> None:
    ids = [create_proposal(call_tool, f"Number {number}") for number in range(5)]
    check_success(call_tool("update_proposal", proposal=ids[1], action="close"))
    first_page = call_tool("view_proposal", limit=2)
    create_proposal(call_tool, "Opened between the pages")
    second_page = call_next_step(call_tool, first_page)
    third_page = call_next_step(call_tool, second_page)
    ids_on_pages = [
        entry["proposal"]
        for page in (first_page, second_page, third_page)
        for entry in page.data["proposals"]
    ]
    assert ids_on_pages == ids[::-1]
    assert third_page.data["next_cursor"] is None
    assert [entry["proposal"] for entry in call_tool("view_proposal", state="closed").data["proposals"]] == [
        ids[1]
    ]
    assert call_next_step(call_tool, call_tool("view_proposal", state="merged")).data["states"]["closed"] == 1
    open_proposals = call_tool("view_proposal", state="open").data["proposals"]
    assert {entry["state"] for entry in open_proposals} == {"draft"}
    assert len(open_proposals) == 5
    refusal = call_tool("view_proposal", state="opened")
    assert refusal.data["nearest"][0] == "open"
    assert not call_tool("view_proposal", **refusal.data["example"]).is_error
    assert call_tool("view_proposal", cursor="x").data["code"] == "INVALID_CURSOR"
    assert call_tool("view_proposal", file="api.md").data["field"] == "proposal"
    refusal = call_tool("view_proposal", proposal="zzzzzzzz")
    assert refusal.data["code"] == "PROPOSAL_NOT_FOUND"
    assert not call_tool("view_proposal", **refusal.data["example"]).is_error


def test_changes_are_returned_as_markdown_and_data(call_tool: CallTool, proposal: str) -> None:
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    change = {"operation": "update_content", "file": "api.md", "slug": "endpoints/search"}
    check_success(call_tool("edit_document", **change, content="Finds all things.", proposal=proposal))
    check_success(call_tool("complete_task", file="api.md", slug="tasks[1]", proposal=proposal))
    tip = check_success(call_tool("tag_document", file="notes/plain.md", tags=["x"], proposal=proposal))[
        "commit"
    ]
    answer = call_tool("view_proposal", proposal=proposal)
    data = check_success(answer)
    assert (data["commit"], data["tip"], data["behind"]) == (tip, tip, 0)
    assert [entry["path"] for entry in data["changes"]["documents"]] == ["api.md", "notes/plain.md"]
    [text, task] = data["changes"]["documents"][0]["changes"]
    assert (text["before"], text["after"]) == ("Finds things.\n", "Finds all things.\n")
    assert (task["kind"], task["address"]) == ("task_completed", "tasks[1]")
    assert [commit["tool"] for commit in data["commits"]] == [
        "tag_document",
        "complete_task",
        "edit_document",
    ]
    assert [check["passed"] for check in data["checks"]] == [True] * 4
    assert "# Rate limits\n" in data["rendered"]
    assert "Finds **all** things." in data["rendered"]
    assert tip in data["rendered"]
    assert data["next_step"] in data["rendered"]
    section_view = call_tool("view_proposal", proposal=proposal, file="api.md", slug="endpoints")
    assert [change["address"] for change in section_view.data["changes"]["documents"][0]["changes"]] == [
        "endpoints/search"
    ]
    call_next_step(call_tool, section_view)
    refusal = call_tool("view_proposal", proposal=proposal, file="specs/limits.md")
    assert refusal.data["code"] == "NOT_CHANGED"
    assert not call_tool("view_proposal", **refusal.data["example"]).is_error
    refusal = call_tool("view_proposal", proposal=proposal, file="api.md", slug="task")
    assert refusal.data["example"]["slug"] == "tasks"


@pytest.mark.slow
def test_long_changes_are_cut_with_call_for_the_rest(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    lines = "\n\n".join(f"Line {number}." for number in range(20))
    sections = "\n\n".join(f"## Part {number}\n\n{lines}" for number in range(99))
    repo.commit({"first.md": f"# First\n\n{sections}", "second.md": f"# Second\n\n{sections}"})
    check_success(call_tool("update_proposal", proposal=proposal, action="refresh"))
    for path in ("first.md", "second.md"):
        edit = {"operation": "append_content", "file": path, "content": "New. " * 199}
        operations = [{**edit, "slug": f"part-{number}"} for number in range(99)]
        assert not call_tool("edit_document", operations=operations, proposal=proposal).is_error
    first_view = call_tool("view_proposal", proposal=proposal)
    assert len(first_view.data["rendered"]) < 100_000
    assert len(str(first_view.data)) < 100_000
    [change] = first_view.data["changes"]["documents"]
    assert (change["path"], change["truncated"]) == ("first.md", True)
    assert change["rest"] in first_view.data["rendered"]
    second_view = call_next_step(call_tool, first_view)
    assert [entry["path"] for entry in second_view.data["changes"]["documents"]] == ["second.md"]
    page = call_tool("view_proposal", proposal=proposal, file="first.md")
    parts = [page.data["rendered"]]
    while page.data["next_offset"] is not None:
        page = call_next_step(call_tool, page)
        parts.append(page.data["rendered"])
    assert len(parts) > 1
    assert all(f"(`part-{number}`)" in "".join(parts) for number in range(99))


def test_new_document_is_read_at_commit_of_proposal(call_tool: CallTool, proposal: str) -> None:
    document = {"doc_type": "document", "title": "First", "initial_content": "Words."}
    check_success(call_tool("create_document", **document, proposal=proposal))
    [change] = call_tool("view_proposal", proposal=proposal).data["changes"]["documents"]
    assert change["kind"] == "added"
    assert "read_before" not in change
    view = call_next_step(call_tool, Answer({"next_step": change["read_after"]}))
    assert view.data["title"] == "First"


def test_rules_and_missing_requirements_are_shown(call_tool: CallTool, workspace: Workspace) -> None:
    proposal = check_success(call_tool("edit_document", **SPEC))["proposal"]
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    data = check_success(call_tool("view_proposal", proposal=proposal))
    [demand] = data["demands"]
    assert (demand["paths"], demand["approvals_needed"], demand["met"]) == (["specs/limits.md"], 1, False)
    assert {block["code"] for block in data["missing"]} >= {"NEEDS_APPROVAL"}
    approve_as_person(workspace, proposal)
    [review] = check_success(call_tool("view_proposal", proposal=proposal))["reviews"]
    assert (review["holds"], review["author"]["token"]) == (True, "ben")
    view = check_success(call_tool("view_proposal", proposal=proposal))
    assert [block["code"] for block in view["missing"]] == ["NEEDS_PERSON"]
    assert view["demands"][0]["approved_by"] == ["ben"]
    check_success(call_tool("edit_document", **{**SPEC, "content": "Or more."}, proposal=proposal))
    answer = call_tool("view_proposal", proposal=proposal)
    [review] = check_success(answer)["reviews"]
    assert (review["holds"], review["void"]) == (False, "outdated")
    assert "does not count: outdated" in answer.data["rendered"]


def test_open_change_request_is_shown_until_answered(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("tag_document", file="api.md", tags=["x"], proposal=proposal))
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    check_success(call_tool("update_proposal", proposal=proposal, action="request_changes", text="Say why."))
    data = check_success(call_tool("view_proposal", proposal=proposal))
    assert data["state"] == "changes_requested"
    assert data["missing"][0]["only_clients"] is True
    check_success(call_tool("tag_document", file="api.md", tags=["y"], proposal=proposal))
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    [review] = check_success(call_tool("view_proposal", proposal=proposal))["reviews"]
    assert review["holds"] is False


def test_rewritten_and_deleted_branches_are_reported(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    check_success(call_tool("tag_document", file="api.md", tags=["x"], proposal=proposal))
    data = check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    check_success(
        call_tool(
            "update_proposal", proposal=proposal, action="comment", text="Hm.", file="api.md", slug="tasks"
        )
    )
    branch = call_tool("view_proposal", proposal=proposal).data["branch"]
    tree = repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    rewritten_commit = repo.git("commit-tree", tree, "-p", "main", "-m", "Rewritten").strip()
    repo.git("update-ref", f"refs/heads/{branch}", rewritten_commit, data["commit"])
    view = check_success(call_tool("view_proposal", proposal=proposal))
    assert "was rewritten" in view["hints"][0]
    assert [thread["now"] for thread in view["comments"]] == ["here"]
    repo.git("update-ref", "-d", f"refs/heads/{branch}")
    view_after_deletion = call_tool("view_proposal", proposal=proposal)
    assert check_success(view_after_deletion)["state"] == "gone"
    assert "was deleted" in view_after_deletion.data["hints"][0]
    assert [thread["text"] for thread in view_after_deletion.data["comments"]] == ["Hm."]
    call_next_step(call_tool, view_after_deletion)
    assert call_tool("edit_document", **SPEC, proposal=proposal).data["state"] == "gone"


def test_markdown_in_title_and_description_is_escaped(call_tool: CallTool) -> None:
    title = "# Nothing\n\n## Merge requirements `x` [a](b)"
    check_success(call_tool("create_proposal", title=title, description="## Reviews\n\n- approve by Ana"))
    answer = call_tool("view_proposal", proposal=call_tool("view_proposal").data["proposals"][0]["proposal"])
    lines = answer.data["rendered"].split("\n")
    assert lines[0].startswith("# \\# Nothing ")
    assert "> ## Reviews" in lines
    assert "## Reviews" not in lines
    assert lines.count("## Merge requirements") == 1


def test_comments_are_paged(call_tool: CallTool, proposal: str) -> None:
    for number in range(7):
        check_success(
            call_tool("update_proposal", proposal=proposal, action="comment", text=f"Remark {number}")
        )
    view = call_tool("view_proposal", proposal=proposal)
    assert (len(view.data["comments"]), view.data["comments_total"]) == (5, 7)
    page = call_tool("view_proposal", proposal=proposal, comments=True, limit=4)
    second_page = call_next_step(call_tool, page)
    assert [thread["text"] for answer in (page, second_page) for thread in answer.data["comments"]] == [
        f"Remark {number}" for number in range(7)
    ]
    assert parse_next_call(second_page)[1]["reply_to"] == second_page.data["comments"][-1]["comment"]


@pytest.mark.parametrize("invalid_fields", [{"limit": 1000}, {"cursor": "xx"}, {"state": "opne"}])
def test_invalid_list_arguments_return_working_example(
    call_tool: CallTool, invalid_fields: dict[str, object]
) -> None:
    refusal = call_tool("view_proposal", **invalid_fields)
    assert refusal.is_error
    assert call_tool("view_proposal", **refusal.data["example"]).data["proposals"] == []


def test_proposal_without_own_commit_is_not_ready(call_tool: CallTool, workspace: Workspace) -> None:
    fields = {"title": "Empty", "description": "", "submit": True}
    proposal = check_success(call_tool("create_proposal", **fields))["proposal"]
    submission = call_tool("update_proposal", proposal=proposal, action="submit")
    assert submission.data["code"] == "NOTHING_PROPOSED"
    assert "Write to it with proposal" in submission.data["fix"]
    view = call_tool("view_proposal", proposal=proposal)
    assert [block["code"] for block in view.data["missing"]] == ["NOTHING_PROPOSED"]
    assert view.data["next_step"].startswith("Write to the proposal, for example with edit_document")
    assert call_tool("update_proposal", proposal=proposal, action="merge").data["code"] == "NOTHING_PROPOSED"
    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    proposal_record = proposal_actions.find(proposal)
    assert (
        proposal_actions.find_merge_requirements(proposal_record, proposal_reviews.preview(proposal_record))
        .blockers[0]
        .code
        == "NOTHING_PROPOSED"
    )
    call_next_step(call_tool, view)
    assert "missing" not in call_tool("view_proposal", proposal=proposal).data


def test_only_own_commits_are_listed_after_refresh_and_merge(call_tool: CallTool, repo: Repo) -> None:
    proposal = create_proposal(call_tool, "Mine")
    check_success(
        call_tool("edit_document", operation="add_section", file="api.md", title="Mine", proposal=proposal)
    )
    repo.commit({"other.md": "# Other\n"})
    check_success(call_tool("update_proposal", proposal=proposal, action="refresh"))

    def list_refresh_flags() -> list[bool]:
        commits = call_tool("view_proposal", proposal=proposal).data["commits"]
        return ["refresh" in commit for commit in commits]

    assert list_refresh_flags() == [True, False]
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    assert list_refresh_flags() == [True, False]
