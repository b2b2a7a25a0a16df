"""Parallel changes to a proposal, its branch or its target, and the answers of the tools."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import API_TEXT, CallTool, make_client
from tests.tools.proposals.conftest import (
    approve_as_person,
    call_next_step,
    check_success,
    create_proposal,
    get_commit_fields,
)
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}


def call_in_parallel(repo: Repo, *calls: Mapping[str, object]) -> list[Answer]:
    """Call `update_proposal` on several servers at the same time, and return their answers."""
    answers: list[Answer] = []
    barrier = threading.Barrier(len(calls))

    def call_once(call_tool: CallTool, call: Mapping[str, object]) -> None:
        barrier.wait()
        answers.append(call_tool("update_proposal", **call))

    def start_server() -> CallTool:
        workspace = Workspace.open(repo.path, durable=False)
        return make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))

    threads = [threading.Thread(target=call_once, args=(start_server(), call)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def create_proposal_with_edit(call_tool: CallTool, title: str, old: str, new: str) -> str:
    """Create a proposal that replaces words of a document, and return its id."""
    proposal = create_proposal(call_tool, title)
    change = {"operation": "replace_text", "file": "api.md", "old": old, "new": new}
    check_success(call_tool("edit_document", **change, proposal=proposal))
    return proposal


def test_parallel_merges_of_one_proposal_merge_once(call_tool: CallTool, repo: Repo) -> None:
    proposal = create_proposal_with_edit(call_tool, "Mine", "Finds things.", "Finds all.")
    answers = call_in_parallel(repo, *[{"proposal": proposal, "action": "merge"}] * 3)
    assert sorted(check_success(answer)["changed"] for answer in answers) == [False, False, True]
    assert {answer.data["commit"] for answer in answers} == {repo.head()}
    assert len(repo.git("log", "--merges", "--format=%H").split()) == 1
    assert repo.fsck() == repo.status() == ""


def test_parallel_merges_of_conflicting_proposals_merge_one(call_tool: CallTool, repo: Repo) -> None:
    proposals = [
        create_proposal_with_edit(call_tool, title, "Finds things.", f"Finds {title}.")
        for title in ("all", "some")
    ]
    answers = call_in_parallel(repo, *({"proposal": proposal, "action": "merge"} for proposal in proposals))
    [refusal] = [answer for answer in answers if answer.is_error]
    assert refusal.data["code"] == "MERGE_CONFLICT"
    [conflict] = refusal.data["conflicts"]
    assert conflict["where"] == "endpoints/search"
    check_success(call_tool("update_proposal", **refusal.data["example"]))
    states = {entry["proposal"]: entry["state"] for entry in call_tool("view_proposal").data["proposals"]}
    assert sorted(states[proposal] for proposal in proposals) == ["draft", "merged"]
    assert repo.fsck() == repo.status() == ""


def _rebase_branch(repo: Repo, branch: str) -> None:
    repo.git("checkout", "-q", branch)
    repo.git("rebase", "-q", "main")
    repo.git("checkout", "-q", "main")


def _force_push_branch(repo: Repo, branch: str) -> None:
    tree = repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    commit = repo.git("commit-tree", tree, "-p", "main", "-m", "Another").strip()
    repo.git("push", "-q", "--force", ".", f"{commit}:refs/heads/{branch}")


@pytest.mark.parametrize("rewrite", [_rebase_branch, _force_push_branch], ids=["rebased", "forced"])
def test_rewritten_branch_voids_approvals_and_remains_writable(
    call_tool: CallTool, repo: Repo, workspace: Workspace, rewrite: Callable[[Repo, str], None]
) -> None:
    data = check_success(call_tool("edit_document", **SPEC))
    proposal = data["proposal"]
    check_success(call_tool("update_proposal", proposal=proposal, action="submit"))
    approve_as_person(workspace, proposal)
    repo.commit({"notes/plain.md": "# Plain\n\nMeanwhile.\n"})
    rewrite(repo, data["branch"])
    view = check_success(call_tool("view_proposal", proposal=proposal))
    assert "was rewritten" in view["hints"][0]
    assert [(review["holds"], review["void"]) for review in view["reviews"]] == [(False, "outdated")]
    assert "NEEDS_APPROVAL" in {block["code"] for block in view["missing"]}
    result = check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    assert repo.git("rev-parse", data["branch"]).strip() == result["commit"]
    assert call_tool("update_proposal", proposal=proposal, action="merge").data["code"] == "MERGE_BLOCKED"


def test_every_action_reports_deleted_branch(call_tool: CallTool, repo: Repo) -> None:
    proposal = create_proposal_with_edit(call_tool, "Mine", "Finds things.", "Finds all.")
    branch = call_tool("view_proposal", proposal=proposal).data["branch"]
    repo.git("branch", "-q", "-D", branch)
    for action in ("submit", "refresh", "merge", "reopen"):
        answer = call_tool("update_proposal", proposal=proposal, action=action)
        assert (answer.data["code"], answer.data["state"]) == ("PROPOSAL_ENDED", "gone"), action
        assert "git branch" in answer.data["fix"]
    for tool, fields in (
        ("edit_document", {**SECTION, "proposal": proposal}),
        ("search_docs", {"query": "things", "ref": proposal}),
        ("view_document", {"file": "api.md", "ref": proposal}),
    ):
        answer = call_tool(tool, **fields)
        assert answer.is_error
        assert answer.data["fix"], tool
        example = answer.data.get("example")
        assert example is None or not call_tool(tool, **example).is_error, (tool, example)
    call_next_step(call_tool, call_tool("update_proposal", proposal=proposal, action="close"))


@pytest.mark.parametrize("choice", ["ours", "theirs", "content"])
def test_conflict_with_removed_document_is_resolved(call_tool: CallTool, repo: Repo, choice: str) -> None:
    proposal = create_proposal_with_edit(call_tool, "Mine", "Finds things.", "Finds all.")
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    check_success(call_tool("remove_document", path="api.md"))
    # In the proposal, the document can still be read, found and edited.
    assert not call_tool("view_document", file="api.md", ref=proposal).is_error
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    refusal = call_tool("update_proposal", proposal=proposal, action="merge")
    assert refusal.data["code"] == "MERGE_CONFLICT"
    [conflict] = refusal.data["conflicts"]
    assert (conflict["file"], conflict["kind"], conflict["theirs"]) == ("api.md", "document", None)
    assert conflict["base"] == API_TEXT
    resolution = {**conflict, "choice": choice}
    if choice == "content":
        resolution["content"] = "# API\n\nShort.\n"
    fields = {"action": "refresh", "resolutions": [resolution], **get_commit_fields(refusal)}
    tip = check_success(call_tool("update_proposal", proposal=proposal, **fields))["commit"]
    merged_text = repo.git("show", f"{tip}:api.md", check=False)
    assert {
        "ours": "leaky bucket" in merged_text,
        "theirs": merged_text == "",
        "content": merged_text == "# API\n\nShort.\n",
    }[choice]
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    assert repo.fsck() == repo.status() == ""


def test_equal_and_unusual_titles_are_preserved(call_tool: CallTool, repo: Repo) -> None:
    title = "👩‍👩‍👧‍👦 🇳🇿 ☃️"
    first_proposal = check_success(call_tool("create_proposal", title=title, description="🦄" * 100))
    second_proposal = check_success(call_tool("create_proposal", title=f" {title}\n", description=""))
    assert [first_proposal["title"], second_proposal["title"]] == [title, title]
    assert first_proposal["branch"] != second_proposal["branch"]
    assert first_proposal["proposal"] in second_proposal["hints"][0]
    third_id = create_proposal(
        call_tool, first_proposal["proposal"]
    )  # the title is the id of another proposal
    assert call_tool("view_proposal", proposal=first_proposal["proposal"]).data["title"] == title
    assert call_tool("view_proposal", proposal=third_id).data["title"] == first_proposal["proposal"]
    refusal = call_tool("update_proposal", proposal=third_id, action="edit", title="é" * 10_000)
    assert refusal.data["code"] == "INVALID_WORDS"
    assert "é" * 300 not in str(refusal.data)
    assert not call_tool("update_proposal", **refusal.data["example"]).is_error


def test_comment_shows_new_address_of_moved_section(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    location = {"file": "api.md", "slug": "quotas", "quote": "leaky"}
    check_success(
        call_tool("update_proposal", proposal=proposal, action="comment", text="How leaky?", **location)
    )
    move = {"operation": "move_section", "file": "api.md", "slug": "quotas"}
    check_success(call_tool("edit_document", **move, to_file="notes/plain.md", proposal=proposal))
    [thread] = call_tool("view_proposal", proposal=proposal).data["comments"]
    assert thread["now"] == "moved"
    assert "notes/plain.md" in str(thread)
    # A comment on the old address is refused with the new one.
    refusal = call_tool("update_proposal", proposal=proposal, action="comment", text="And now?", **location)
    assert refusal.is_error
    assert not call_tool("update_proposal", **refusal.data["example"]).is_error, refusal.data


def test_deleted_repository_is_reported_by_all_proposal_tools(
    call_tool: CallTool, repo: Repo, proposal: str
) -> None:
    shutil.rmtree(repo.path)
    for tool, fields in (
        ("view_proposal", {}),
        ("view_proposal", {"proposal": proposal}),
        ("create_proposal", {}),
        ("update_proposal", {"proposal": proposal, "action": "submit"}),
        ("list_comments", {"file": "api.md"}),
        ("edit_document", {**SECTION, "proposal": proposal}),
    ):
        assert call_tool(tool, **fields).data["code"] == "REPOSITORY_GONE", tool
    assert not repo.path.exists()
