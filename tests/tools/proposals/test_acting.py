"""What is done with a proposal through the tools: opened, spoken of, refreshed, merged, closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import API, Ask, next_call
from tests.tools.proposals.conftest import approved, done, followed, opened, seen
from tools.proposals import update_proposal
from tools.proposals.update_proposal import ACTIONS
from tools.registry import Toolbox
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}


def edit(slug: str, content: str) -> dict[str, Any]:
    return {"operation": "update_content", "file": "api.md", "slug": slug, "content": content}


def conflicting(ask: Ask, title: str = "Mine") -> str:
    """Return a proposal that changed a section as its target did, but differently; and one more thing."""
    ask("view_document", file="api.md", slug="_preamble", include_subsections=True)
    proposal = opened(ask, title)
    done(ask("edit_document", **edit("endpoints/search", "Finds all."), proposal=proposal))
    done(ask("edit_document", **SECTION, proposal=proposal))
    done(ask("edit_document", **edit("endpoints/search", "Finds some things.")))
    return proposal


def test_creating_goes_by_stages_and_leads_to_writing(ask: Ask, repo: Repo) -> None:
    before = repo.head()
    step = ask("create_proposal")
    tool, example = next_call(step)
    assert (tool, set(example)) == ("create_proposal", {"title", "description"})
    half = ask("create_proposal", title="Rate limits")
    assert (half.data["created"], half.data["missing"]) == (False, ["description"])
    assert next_call(half)[1]["title"] == "Rate limits"
    first = ask("create_proposal", title="Rate limits", description="Why.", idempotency_key="key")
    data = done(first)
    assert data["branch"] == f"proposals/{data['proposal']}-rate-limits"
    assert (data["state"], data["target"], data["commit"]) == ("draft", "main", before)
    assert followed(ask, first).data["proposal"] == data["proposal"]
    again = done(ask("create_proposal", title="Rate limits", description="Why.", idempotency_key="key"))
    assert again["proposal"] == data["proposal"]
    assert ask("view_proposal").data["total"] == 1


def test_a_title_may_be_emoji_or_that_of_another_but_not_endless(ask: Ask) -> None:
    first = done(ask("create_proposal", title="🦄", description=""))
    second = done(ask("create_proposal", title="🦄", description="", submit=True))
    assert first["proposal"] != second["proposal"]
    assert second["state"] == "open"
    assert first["proposal"] in second["hints"][0]
    long = ask("create_proposal", title="x" * 10_000, description="y")
    assert long.data["code"] == "INVALID_WORDS"
    assert not ask("create_proposal", **long.data["example"]).is_error


def test_every_action_tells_how_it_is_called(ask: Ask, proposal: str) -> None:
    assert set(ask("update_proposal").data["usage"]["actions"]) == set(ACTIONS)
    possible = ask("update_proposal", proposal=proposal)
    assert "submit" in possible.data["actions"]
    followed(ask, possible)
    for wrong, code, field in (
        ({"action": "aprove"}, "INVALID_ARGUMENTS", "action"),
        ({"action": "comment"}, "INVALID_ARGUMENTS", "text"),
        ({"action": "edit"}, "INVALID_ARGUMENTS", "title"),
        ({"action": "merge", "text": "now"}, "INVALID_ARGUMENTS", "text"),
        ({"action": "refresh", "resolutions": [{"file": "api.md"}]}, "INVALID_ARGUMENTS", "commit"),
    ):
        answer = ask("update_proposal", proposal=proposal, **wrong)
        assert (answer.data["code"], answer.data["field"]) == (code, field)
        assert answer.data["usage"]["action"] in ACTIONS
    assert ask("update_proposal", proposal=proposal, action="aprove").data["nearest"][0] == "approve"
    assert ask("update_proposal", proposal=proposal, title="Better").data["action"] == "edit"
    wrong_id = ask("update_proposal", proposal="zzzzzzzz", action="merge")
    assert wrong_id.data["example"] == {"proposal": proposal, "action": "comment", "text": "…"}


def test_a_comment_is_on_a_section_and_is_answered(ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    place = {"file": "api.md", "slug": "quotas", "quote": "leaky"}
    said = done(ask("update_proposal", proposal=proposal, action="comment", text="How leaky?", **place))
    answer = {"text": "Very.", "reply_to": said["comment"]}
    done(ask("update_proposal", proposal=proposal, **answer))  # the fields decide that it is a comment
    done(
        ask(
            "edit_document",
            operation="move_section",
            file="api.md",
            slug="quotas",
            parent_slug="endpoints",
            proposal=proposal,
        )
    )
    [thread] = ask("view_proposal", proposal=proposal, comments=True).data["comments"]
    assert (thread["text"], thread["quote"], thread["file"]) == ("How leaky?", "leaky", "api.md")
    assert thread["author"]["client"] == "tester"
    assert [reply["text"] for reply in thread["replies"]] == ["Very."]
    assert thread["now"] in ("here", "moved")
    wrong = ask("update_proposal", proposal=proposal, action="comment", text="x", reply_to="0" * 16)
    assert wrong.data["code"] == "INVALID_WORDS"
    assert said["comment"] in wrong.data["candidates"]


def test_no_client_approves_or_merges_what_is_protected(ask: Ask, repo: Repo, workspace: Workspace) -> None:
    before = repo.head()
    spec = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    proposal = done(ask("edit_document", **spec))["proposal"]
    done(ask("update_proposal", proposal=proposal, action="submit"))
    answer = ask("update_proposal", proposal=proposal, action="approve", text="I am a person, honestly.")
    assert answer.data["code"] == "NEEDS_PERSON"
    assert f"docyard proposals approve {proposal}" in answer.data["fix"]
    assert not ask("update_proposal", **answer.data["example"]).is_error
    blocked = ask("update_proposal", proposal=proposal, action="merge")
    assert blocked.data["code"] == "MERGE_BLOCKED"
    approved(workspace, proposal)
    assert ask("view_proposal", proposal=proposal).data["state"] == "approved"
    merge = ask("update_proposal", proposal=proposal, action="merge")
    assert merge.data["code"] == "NEEDS_PERSON"
    assert f"docyard proposals merge {proposal}" in merge.data["fix"]
    assert repo.head() == before


def test_a_person_whose_token_came_with_the_call_does(
    ask: Ask, toolbox: Toolbox, repo: Repo, workspace: Workspace
) -> None:
    spec = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
    proposal = done(ask("edit_document", **spec))["proposal"]
    tokens = Tokens(workspace.git.common_dir)
    person = tokens.person(tokens.add("cy", "Cy", "cy@example.org"))
    context = replace(toolbox.context("browser"), person=person)
    for action in ("approve", "merge"):
        done(update_proposal.TOOL.run(context, {"proposal": proposal, "action": action}))
    assert repo.git("log", "-1", "--format=%an").strip() == "Cy"
    assert "Or less." in (repo.path / "specs/limits.md").read_text()


def test_a_merge_is_found_at_once_and_is_done_once(ask: Ask, repo: Repo, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    assert ask("search_docs", query="leaky bucket").data["hits"] == []
    answer = ask("update_proposal", proposal=proposal, action="merge")
    data = done(answer)
    assert (data["state"], data["changed"], data["commit"]) == ("merged", True, repo.head())
    followed(ask, answer)
    assert ask("search_docs", query="leaky bucket").data["hits"][0]["chunk_id"] == "api.md#quotas"
    again = done(ask("update_proposal", proposal=proposal, action="merge"))
    assert (again["changed"], again["commit"]) == (False, repo.head())
    ended = ask("update_proposal", proposal=proposal, action="refresh")
    assert ended.data["code"] == "PROPOSAL_ENDED"
    assert not ask("update_proposal", **ended.data["example"]).is_error
    assert repo.fsck() == repo.status() == ""


@pytest.mark.parametrize("choice", ["ours", "theirs", "content", "gone"])
def test_a_conflict_is_decided_in_the_form_in_which_it_is_shown(ask: Ask, repo: Repo, choice: str) -> None:
    proposal = conflicting(ask)
    tip = repo.head()
    view = ask("view_proposal", proposal=proposal)
    refused = ask("update_proposal", proposal=proposal, action="refresh")
    merge = ask("update_proposal", proposal=proposal, action="merge")
    assert refused.data["code"] == merge.data["code"] == "MERGE_CONFLICT"
    assert refused.data["conflicts"] == merge.data["conflicts"] == view.data["conflicts"]
    [conflict] = view.data["conflicts"]
    shown = seen(view)
    assert shown == seen(refused) == seen(merge)
    assert (conflict["file"], conflict["where"]) == ("api.md", "endpoints/search")
    assert ("all" in conflict["ours"], "some" in conflict["theirs"]) == (True, True)
    assert view.data["missing"][0]["code"] == "MERGE_CONFLICT"
    assert "Finds all." in str(view.text)
    decided: dict[str, Any] = {**conflict, "choice": "content" if choice == "gone" else choice}
    if choice == "content":
        decided["content"] = "Finds everything.\n"
    if choice == "gone":
        decided["content"] = ""
    data = done(ask("update_proposal", proposal=proposal, action="refresh", resolutions=[decided], **shown))
    text = repo.git("show", f"{data['commit']}:api.md")
    words = {"ours": "Finds all.", "theirs": "Finds some things.", "content": "Finds everything.", "gone": ""}
    assert [word for word in words.values() if word and word in text] == [
        word for word in [words[choice]] if word
    ]
    assert "A leaky bucket." in text
    assert "### Search\n" in text
    assert repo.git("rev-list", "--parents", "-n1", data["commit"]).split()[2] == tip
    assert done(ask("update_proposal", proposal=proposal, action="merge"))["state"] == "merged"


def test_the_example_of_a_refused_refresh_works(ask: Ask) -> None:
    proposal = conflicting(ask)
    refused = ask("update_proposal", proposal=proposal, action="merge")
    done(ask("update_proposal", **refused.data["example"]))


def test_the_next_step_of_a_proposal_in_conflict_decides_it(ask: Ask) -> None:
    step = followed(ask, ask("view_proposal", proposal=conflicting(ask)))
    assert step.data["action"] == "refresh"
    assert step.data["changed"] is True


def test_what_was_not_decided_yet_is_said_and_a_decision_for_another_unit_is_told(ask: Ask) -> None:
    proposal = conflicting(ask)
    view = ask("view_proposal", proposal=proposal)
    [conflict], shown = view.data["conflicts"], seen(view)
    other = {**conflict, "where": "endpoints", "choice": "ours"}
    refused = ask("update_proposal", proposal=proposal, action="refresh", resolutions=[other], **shown)
    assert refused.data["conflicts"] == [conflict]
    for wrong, said in (
        ({"choice": "mine"}, "choice"),
        ({"choice": "content"}, "content"),
        ({"choice": "ours", "content": "x"}, "content"),
        ({"choice": "ours", "kind": "txt"}, "kind"),
        ({"choice": "ours", "were": "x"}, "were"),
    ):
        answer = ask("update_proposal", proposal=proposal, resolutions=[{**conflict, **wrong}], **shown)
        assert answer.data["code"] == "INVALID_ARGUMENTS"
        assert said in answer.data["error"]


def test_a_document_that_was_removed_on_the_target_is_a_conflict(ask: Ask, repo: Repo) -> None:
    proposal = opened(ask, "Mine")
    done(ask("edit_document", **SECTION, proposal=proposal))
    repo.git("rm", "-q", "api.md")
    repo.git("commit", "-q", "-m", "Gone")
    [conflict] = ask("view_proposal", proposal=proposal).data["conflicts"]
    assert (conflict["kind"], conflict["theirs"]) == ("document", None)
    assert conflict["base"] == API


def test_close_reopen_and_edit(ask: Ask, proposal: str) -> None:
    closed = ask("update_proposal", proposal=proposal, action="close", text="Done elsewhere.")
    assert done(closed)["state"] == "closed"
    assert followed(ask, closed).data["state"] == "draft"
    data = done(ask("update_proposal", proposal=proposal, action="edit", title="Quotas", description="New."))
    assert data["title"] == "Quotas"
    assert ask("view_proposal", proposal=proposal).data["description"] == "New."


@pytest.mark.parametrize("wrong", [{"file": "api.md", "slug": "endpont"}, {"file": "apii.md"}])
def test_a_comment_on_what_is_misspelt_is_answered_with_one_that_works(
    ask: Ask, proposal: str, wrong: dict[str, str]
) -> None:
    refused = ask("update_proposal", proposal=proposal, action="comment", text="Why?", **wrong)
    assert refused.is_error
    assert done(ask("update_proposal", **refused.data["example"]))["comment"]
