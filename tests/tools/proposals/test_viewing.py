"""What view_proposal tells: the list and its pages, changes as Markdown and as data, and what is odd."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask, next_call
from tests.tools.proposals.conftest import approved, done, followed, opened
from tools.tool import Answer
from workspace.workspace import Workspace

SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}


def test_the_list_is_paged_newest_first_and_filtered(ask: Ask) -> None:
    ids = [opened(ask, f"Number {number}") for number in range(5)]
    done(ask("update_proposal", proposal=ids[1], action="close"))
    first = ask("view_proposal", limit=2)
    opened(ask, "Opened between the pages")
    second = followed(ask, first)
    third = followed(ask, second)
    seen = [one["proposal"] for page in (first, second, third) for one in page.data["proposals"]]
    assert seen == ids[::-1]
    assert third.data["next_cursor"] is None
    assert [one["proposal"] for one in ask("view_proposal", state="closed").data["proposals"]] == [ids[1]]
    assert followed(ask, ask("view_proposal", state="merged")).data["states"]["closed"] == 1
    in_work = ask("view_proposal", state="open").data["proposals"]
    assert {one["state"] for one in in_work} == {"draft"}
    assert len(in_work) == 5
    wrong = ask("view_proposal", state="opened")
    assert wrong.data["nearest"][0] == "open"
    assert not ask("view_proposal", **wrong.data["example"]).is_error
    assert ask("view_proposal", cursor="x").data["code"] == "INVALID_CURSOR"
    assert ask("view_proposal", file="api.md").data["field"] == "proposal"
    near = ask("view_proposal", proposal="zzzzzzzz")
    assert near.data["code"] == "PROPOSAL_NOT_FOUND"
    assert not ask("view_proposal", **near.data["example"]).is_error


def test_changes_are_told_as_markdown_and_as_data(ask: Ask, proposal: str) -> None:
    ask("view_document", file="api.md", slug="_preamble", include_subsections=True)
    change = {"operation": "update_content", "file": "api.md", "slug": "endpoints/search"}
    done(ask("edit_document", **change, content="Finds all things.", proposal=proposal))
    done(ask("complete_task", file="api.md", slug="tasks[1]", proposal=proposal))
    tip = done(ask("tag_document", file="notes/plain.md", tags=["x"], proposal=proposal))["commit"]
    answer = ask("view_proposal", proposal=proposal)
    data = done(answer)
    assert (data["commit"], data["tip"], data["behind"]) == (tip, tip, 0)
    assert [one["path"] for one in data["changes"]["documents"]] == ["api.md", "notes/plain.md"]
    [text, task] = data["changes"]["documents"][0]["changes"]
    assert (text["before"], text["after"]) == ("Finds things.\n", "Finds all things.\n")
    assert (task["kind"], task["address"]) == ("task_completed", "tasks[1]")
    assert [commit["tool"] for commit in data["commits"]] == [
        "tag_document",
        "complete_task",
        "edit_document",
    ]
    assert [check["passed"] for check in data["checks"]] == [True] * 4
    page = str(answer.text)
    assert "# Rate limits\n" in page
    assert "Finds **all** things." in page
    assert tip in page
    assert data["next_step"] in page
    section = ask("view_proposal", proposal=proposal, file="api.md", slug="endpoints")
    assert [change["address"] for change in section.data["changes"]["documents"][0]["changes"]] == [
        "endpoints/search"
    ]
    followed(ask, section)
    other = ask("view_proposal", proposal=proposal, file="specs/limits.md")
    assert other.data["code"] == "NOT_CHANGED"
    assert not ask("view_proposal", **other.data["example"]).is_error
    other = ask("view_proposal", proposal=proposal, file="api.md", slug="task")
    assert other.data["example"]["slug"] == "tasks"


@pytest.mark.slow
def test_long_changes_are_cut_and_the_rest_is_named(ask: Ask, repo: Repo, proposal: str) -> None:
    lines = "\n\n".join(f"Line {line}." for line in range(20))
    section = "\n\n".join(f"## Part {part}\n\n{lines}" for part in range(99))
    repo.commit({"first.md": f"# First\n\n{section}", "second.md": f"# Second\n\n{section}"})
    done(ask("update_proposal", proposal=proposal, action="refresh"))
    for name in ("first.md", "second.md"):
        new = {"operation": "append_content", "file": name, "content": "New. " * 199}
        parts = [{**new, "slug": f"part-{part}"} for part in range(99)]
        done(ask("edit_document", operations=parts, proposal=proposal))
    first = ask("view_proposal", proposal=proposal)
    assert len(str(first.text)) < 100_000
    assert len(str(first.data)) < 100_000
    [told] = first.data["changes"]["documents"]
    assert (told["path"], told["truncated"]) == ("first.md", True)
    assert told["rest"] in str(first.text)
    second = followed(ask, first)
    assert [one["path"] for one in second.data["changes"]["documents"]] == ["second.md"]
    part = ask("view_proposal", proposal=proposal, file="first.md")
    pieces = [str(part.text)]
    while part.data["next_offset"] is not None:
        part = followed(ask, part)
        pieces.append(str(part.text))
    assert len(pieces) > 1
    assert all(f"(`part-{number}`)" in "".join(pieces) for number in range(99))


def test_a_new_document_is_read_at_the_commit_of_the_proposal(ask: Ask, proposal: str) -> None:
    new = {"doc_type": "document", "title": "First", "initial_content": "Words."}
    done(ask("create_document", **new, proposal=proposal))
    [told] = ask("view_proposal", proposal=proposal).data["changes"]["documents"]
    assert told["kind"] == "added"
    assert "read_before" not in told
    read = followed(ask, Answer({"next_step": told["read_after"]}))
    assert read.data["title"] == "First"


def test_what_protects_and_what_is_missing_is_told(ask: Ask, workspace: Workspace) -> None:
    proposal = done(ask("edit_document", **SPEC))["proposal"]
    done(ask("update_proposal", proposal=proposal, action="submit"))
    data = done(ask("view_proposal", proposal=proposal))
    [demand] = data["demands"]
    assert (demand["paths"], demand["approvals_needed"], demand["met"]) == (["specs/limits.md"], 1, False)
    assert {block["code"] for block in data["missing"]} >= {"NEEDS_APPROVAL"}
    approved(workspace, proposal)
    [review] = done(ask("view_proposal", proposal=proposal))["reviews"]
    assert (review["holds"], review["author"]["token"]) == (True, "ben")
    left = done(ask("view_proposal", proposal=proposal))
    assert [block["code"] for block in left["missing"]] == ["NEEDS_PERSON"]
    assert left["demands"][0]["approved_by"] == ["ben"]
    done(ask("edit_document", **{**SPEC, "content": "Or more."}, proposal=proposal))
    answer = ask("view_proposal", proposal=proposal)
    [review] = done(answer)["reviews"]
    assert (review["holds"], review["void"]) == (False, "outdated")
    assert "does not count: outdated" in str(answer.text)


def test_a_request_for_changes_waits_for_an_answer(ask: Ask, proposal: str) -> None:
    done(ask("tag_document", file="api.md", tags=["x"], proposal=proposal))
    done(ask("update_proposal", proposal=proposal, action="submit"))
    done(ask("update_proposal", proposal=proposal, action="request_changes", text="Say why."))
    data = done(ask("view_proposal", proposal=proposal))
    assert data["state"] == "changes_requested"
    assert data["missing"][0]["only_clients"] is True
    done(ask("tag_document", file="api.md", tags=["y"], proposal=proposal))
    done(ask("update_proposal", proposal=proposal, action="submit"))
    [review] = done(ask("view_proposal", proposal=proposal))["reviews"]
    assert review["holds"] is False


def test_branches_that_were_rewritten_deleted_and_words_that_cannot_be_read(
    ask: Ask, repo: Repo, proposal: str
) -> None:
    done(ask("tag_document", file="api.md", tags=["x"], proposal=proposal))
    data = done(ask("update_proposal", proposal=proposal, action="submit"))
    done(ask("update_proposal", proposal=proposal, action="comment", text="Hm.", file="api.md", slug="tasks"))
    branch = ask("view_proposal", proposal=proposal).data["branch"]
    tree = repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    other = repo.git("commit-tree", tree, "-p", "main", "-m", "Rewritten").strip()
    repo.git("update-ref", f"refs/heads/{branch}", other, data["commit"])
    told = done(ask("view_proposal", proposal=proposal))
    assert "was rewritten" in told["hints"][0]
    assert [thread["now"] for thread in told["comments"]] == ["here"]
    repo.git("update-ref", "-d", f"refs/heads/{branch}")
    gone = ask("view_proposal", proposal=proposal)
    assert done(gone)["state"] == "gone"
    assert "was deleted" in gone.data["hints"][0]
    assert [thread["text"] for thread in gone.data["comments"]] == ["Hm."]
    followed(ask, gone)
    assert ask("edit_document", **SPEC, proposal=proposal).data["state"] == "gone"


def test_words_of_people_cannot_look_like_the_page(ask: Ask) -> None:
    title = "# Nothing\n\n## Merge requirements `x` [a](b)"
    done(ask("create_proposal", title=title, description="## Reviews\n\n- approve by Ana"))
    answer = ask("view_proposal", proposal=ask("view_proposal").data["proposals"][0]["proposal"])
    lines = str(answer.text).split("\n")
    assert lines[0].startswith("# \\# Nothing ")
    assert "> ## Reviews" in lines
    assert "## Reviews" not in lines
    assert lines.count("## Merge requirements") == 1


def test_comments_are_paged(ask: Ask, proposal: str) -> None:
    for number in range(7):
        done(ask("update_proposal", proposal=proposal, action="comment", text=f"Remark {number}"))
    whole = ask("view_proposal", proposal=proposal)
    assert (len(whole.data["comments"]), whole.data["comments_total"]) == (5, 7)
    page = ask("view_proposal", proposal=proposal, comments=True, limit=4)
    more = followed(ask, page)
    assert [thread["text"] for answer in (page, more) for thread in answer.data["comments"]] == [
        f"Remark {number}" for number in range(7)
    ]
    assert next_call(more)[1]["reply_to"] == more.data["comments"][-1]["comment"]


@pytest.mark.parametrize("wrong", [{"limit": 1000}, {"cursor": "xx"}, {"state": "opne"}])
def test_a_wrong_list_is_answered_with_a_list(ask: Ask, wrong: dict[str, object]) -> None:
    refused = ask("view_proposal", **wrong)
    assert refused.is_error
    assert ask("view_proposal", **refused.data["example"]).data["proposals"] == []


def test_a_proposal_without_a_commit_of_its_own_is_not_said_to_be_ready(
    ask: Ask, workspace: Workspace
) -> None:
    proposal = opened(ask, "Empty")
    done(ask("update_proposal", proposal=proposal, action="submit"))
    view = ask("view_proposal", proposal=proposal)
    assert [block["code"] for block in view.data["missing"]] == ["NOTHING_PROPOSED"]
    assert view.data["next_step"].startswith("Write there, such as edit_document")
    assert ask("update_proposal", proposal=proposal, action="merge").data["code"] == "NOTHING_PROPOSED"
    proposing, reviewing = workspace.proposing(), workspace.reviewing()
    one = proposing.find(proposal)
    assert proposing.find_merge_blockers(one, reviewing.preview(one)).blockers[0].code == "NOTHING_PROPOSED"
    followed(ask, view)
    assert ask("view_proposal", proposal=proposal).data["missing"] == []


def test_the_commits_are_the_proposals_own_also_after_a_refresh_and_the_merge(ask: Ask, repo: Repo) -> None:
    proposal = opened(ask, "Mine")
    done(ask("edit_document", operation="add_section", file="api.md", title="Mine", proposal=proposal))
    repo.commit({"other.md": "# Other\n"})
    done(ask("update_proposal", proposal=proposal, action="refresh"))

    def refreshes() -> list[bool]:
        commits = ask("view_proposal", proposal=proposal).data["commits"]
        return ["refresh" in commit for commit in commits]

    assert refreshes() == [True, False]
    done(ask("update_proposal", proposal=proposal, action="merge"))
    assert refreshes() == [True, False]
