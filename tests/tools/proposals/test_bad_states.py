"""What others do meanwhile to a proposal, its branch or its target, as the tools tell of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import API, Ask, client_of
from tests.tools.proposals.conftest import approved, done, followed, opened, seen
from tools.registry import Toolbox
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}


def at_once(repo: Repo, *calls: Mapping[str, object]) -> list[Answer]:
    """Return the answers of as many servers to a call of `update_proposal` each, at the same moment."""
    answers: list[Answer] = []
    barrier = threading.Barrier(len(calls))

    def one(ask: Ask, call: Mapping[str, object]) -> None:
        barrier.wait()
        answers.append(ask("update_proposal", **call))

    def server() -> Ask:
        workspace = Workspace.open(repo.path, durable=False)
        return client_of(Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False))

    threads = [threading.Thread(target=one, args=(server(), call)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def edited(ask: Ask, title: str, old: str, new: str) -> str:
    """Return a proposal that replaces words of a document."""
    proposal = opened(ask, title)
    change = {"operation": "replace_text", "file": "api.md", "old": old, "new": new}
    done(ask("edit_document", **change, proposal=proposal))
    return proposal


def test_two_merges_of_one_proposal_at_once_make_one(ask: Ask, repo: Repo) -> None:
    proposal = edited(ask, "Mine", "Finds things.", "Finds all.")
    answers = at_once(repo, *[{"proposal": proposal, "action": "merge"}] * 3)
    assert sorted(done(answer)["changed"] for answer in answers) == [False, False, True]
    assert {answer.data["commit"] for answer in answers} == {repo.head()}
    assert len(repo.git("log", "--merges", "--format=%H").split()) == 1
    assert repo.fsck() == repo.status() == ""


def test_two_merges_of_what_is_in_conflict_at_once_leave_one_to_decide(ask: Ask, repo: Repo) -> None:
    both = [edited(ask, title, "Finds things.", f"Finds {title}.") for title in ("all", "some")]
    answers = at_once(repo, *({"proposal": proposal, "action": "merge"} for proposal in both))
    [refused] = [answer for answer in answers if answer.is_error]
    assert refused.data["code"] == "MERGE_CONFLICT"
    [conflict] = refused.data["conflicts"]
    assert conflict["where"] == "endpoints/search"
    done(ask("update_proposal", **refused.data["example"]))
    states = {one["proposal"]: one["state"] for one in ask("view_proposal").data["proposals"]}
    assert sorted(states[proposal] for proposal in both) == ["draft", "merged"]
    assert repo.fsck() == repo.status() == ""


def _rebased(repo: Repo, branch: str) -> None:
    repo.git("checkout", "-q", branch)
    repo.git("rebase", "-q", "main")
    repo.git("checkout", "-q", "main")


def _forced(repo: Repo, branch: str) -> None:
    tree = repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    other = repo.git("commit-tree", tree, "-p", "main", "-m", "Another").strip()
    repo.git("push", "-q", "--force", ".", f"{other}:refs/heads/{branch}")


@pytest.mark.parametrize("rewrite", [_rebased, _forced], ids=["rebased", "forced"])
def test_a_branch_that_is_rewritten_is_told_voids_approvals_and_is_written_on(
    ask: Ask, repo: Repo, workspace: Workspace, rewrite: Callable[[Repo, str], None]
) -> None:
    data = done(ask("edit_document", **SPEC))
    proposal = data["proposal"]
    done(ask("update_proposal", proposal=proposal, action="submit"))
    approved(workspace, proposal)
    repo.commit({"notes/plain.md": "# Plain\n\nMeanwhile.\n"})
    rewrite(repo, data["branch"])
    told = done(ask("view_proposal", proposal=proposal))
    assert "was rewritten" in told["hints"][0]
    assert [(review["holds"], review["void"]) for review in told["reviews"]] == [(False, "outdated")]
    assert "NEEDS_APPROVAL" in {block["code"] for block in told["missing"]}
    written = done(ask("edit_document", **SECTION, proposal=proposal))
    assert repo.git("rev-parse", data["branch"]).strip() == written["commit"]
    assert ask("update_proposal", proposal=proposal, action="merge").data["code"] == "MERGE_BLOCKED"


def test_a_branch_that_is_deleted_is_told_by_every_action(ask: Ask, repo: Repo) -> None:
    proposal = edited(ask, "Mine", "Finds things.", "Finds all.")
    branch = ask("view_proposal", proposal=proposal).data["branch"]
    repo.git("branch", "-q", "-D", branch)
    for action in ("submit", "refresh", "merge", "reopen"):
        answer = ask("update_proposal", proposal=proposal, action=action)
        assert (answer.data["code"], answer.data["state"]) == ("PROPOSAL_ENDED", "gone"), action
        assert "git branch" in answer.data["fix"]
    for tool, fields in (
        ("edit_document", {**SECTION, "proposal": proposal}),
        ("search_docs", {"query": "things", "ref": proposal}),
        ("view_document", {"file": "api.md", "ref": proposal}),
    ):
        answer = ask(tool, **fields)
        assert answer.is_error
        assert answer.data["fix"], tool
        example = answer.data.get("example")
        assert example is None or not ask(tool, **example).is_error, (tool, example)
    followed(ask, ask("update_proposal", proposal=proposal, action="close"))


@pytest.mark.parametrize("choice", ["ours", "theirs", "content"])
def test_a_document_that_was_removed_on_main_is_decided(ask: Ask, repo: Repo, choice: str) -> None:
    proposal = edited(ask, "Mine", "Finds things.", "Finds all.")
    ask("view_document", file="api.md", slug="_preamble", include_subsections=True)
    done(ask("remove_document", path="api.md"))
    # There it can be read, found and written on.
    assert not ask("view_document", file="api.md", ref=proposal).is_error
    done(ask("edit_document", **SECTION, proposal=proposal))
    refused = ask("update_proposal", proposal=proposal, action="merge")
    assert refused.data["code"] == "MERGE_CONFLICT"
    [conflict] = refused.data["conflicts"]
    assert (conflict["file"], conflict["kind"], conflict["theirs"]) == ("api.md", "document", None)
    assert conflict["base"] == API
    decided = {**conflict, "choice": choice}
    if choice == "content":
        decided["content"] = "# API\n\nShort.\n"
    decision = {"action": "refresh", "resolutions": [decided], **seen(refused)}
    tip = done(ask("update_proposal", proposal=proposal, **decision))["commit"]
    kept = repo.git("show", f"{tip}:api.md", check=False)
    assert {"ours": "leaky bucket" in kept, "theirs": kept == "", "content": kept == "# API\n\nShort.\n"}[
        choice
    ]
    done(ask("update_proposal", proposal=proposal, action="merge"))
    assert repo.fsck() == repo.status() == ""


def test_titles_are_kept_as_they_are_and_told_from_each_other(ask: Ask, repo: Repo) -> None:
    family = "👩‍👩‍👧‍👦 🇳🇿 ☃️"
    first = done(ask("create_proposal", title=family, description="🦄" * 100))
    second = done(ask("create_proposal", title=f" {family}\n", description=""))
    assert [first["title"], second["title"]] == [family, family]
    assert first["branch"] != second["branch"]
    assert first["proposal"] in second["hints"][0]
    third = opened(ask, first["proposal"])  # another's id as the title
    assert ask("view_proposal", proposal=first["proposal"]).data["title"] == family
    assert ask("view_proposal", proposal=third).data["title"] == first["proposal"]
    long = ask("update_proposal", proposal=third, action="edit", title="é" * 10_000)
    assert long.data["code"] == "INVALID_WORDS"
    assert "é" * 300 not in str(long.data)
    assert not ask("update_proposal", **long.data["example"]).is_error


def test_a_comment_is_followed_to_where_its_section_went(ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    place = {"file": "api.md", "slug": "quotas", "quote": "leaky"}
    done(ask("update_proposal", proposal=proposal, action="comment", text="How leaky?", **place))
    move = {"operation": "move_section", "file": "api.md", "slug": "quotas"}
    done(ask("edit_document", **move, to_file="notes/plain.md", proposal=proposal))
    [thread] = ask("view_proposal", proposal=proposal).data["comments"]
    assert thread["now"] == "moved"
    assert "notes/plain.md" in str(thread)
    # A comment on where it stood is told where it went.
    late = ask("update_proposal", proposal=proposal, action="comment", text="And now?", **place)
    assert late.is_error
    assert not ask("update_proposal", **late.data["example"]).is_error, late.data
