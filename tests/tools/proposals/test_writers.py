"""Writing to a proposal, and a direct write that becomes one because the policy asks for review."""

from __future__ import annotations

import json
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of
from tests.tools.proposals.conftest import approved, done, followed, opened
from tools.registry import Toolbox
from tools.tool import NextStep, call
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
WRITES: dict[str, dict[str, Any]] = {
    "create_document": {"doc_type": "document", "title": "New", "initial_content": "Words."},
    "edit_document": SECTION,
    "remove_document": {"path": "notes/plain.md"},
    "complete_task": {"file": "api.md", "slug": "tasks[1]"},
    "reopen_task": {"file": "api.md", "slug": "tasks[0]"},
    "tag_document": {"file": "api.md", "tags": ["quota"]},
    "restore_document": {"file": "notes/plain.md", "ref": "HEAD~1"},
}


def test_every_writer_takes_a_proposal() -> None:
    writers = {
        tool.name for tool in all_tools() if tool.writes and "operations" in tool.arguments.model_fields
    }
    assert writers == set(WRITES)
    assert all("proposal" in tool.arguments.model_fields for tool in all_tools() if tool.name in writers)


def test_every_writer_commits_there_and_leaves_the_target(ask: Ask, repo: Repo, proposal: str) -> None:
    before = repo.commit({"notes/plain.md": "# Plain\n\nOther words.\n"})
    proposal = opened(ask, "After that")
    ask("view_document", file="notes/plain.md", slug="_preamble")
    # The restored document comes first, as it is removed later.
    for tool in sorted(WRITES, key=lambda name: name != "restore_document"):
        answer = ask(tool, **WRITES[tool], proposal=proposal)
        assert done(answer)["proposal"] == proposal
        assert answer.data["overlaps"] == []
        tip = answer.data["commit"]
        assert repo.git("rev-parse", f"proposals/{proposal}-after-that").strip() == tip
        assert f"Docyard-Proposal: {proposal}" in repo.git("log", "-1", "--format=%B", tip)
        assert proposal in answer.data["next_step"]
    assert repo.head() == before
    assert repo.status() == repo.fsck() == ""


def test_the_next_step_of_a_write_stays_in_the_proposal(ask: Ask, repo: Repo, proposal: str) -> None:
    before = repo.head()
    answer = ask("edit_document", operation="add_section", file="api.md", title="Empty", proposal=proposal)
    written = followed(ask, answer)  # "Write it with edit_document {…}"
    assert written.data["proposal"] == proposal
    read = followed(ask, written)
    assert read.data["commit"] == written.data["commit"]
    assert repo.head() == before


def test_a_call_that_only_asks_how_is_answered_with_calls_that_write_there(ask: Ask, proposal: str) -> None:
    for tool in WRITES:
        answer = ask(tool, proposal=proposal)
        assert not answer.is_error, (tool, answer.data)
    step = ask("create_document", proposal=proposal).data["next_step"]
    assert json.dumps(proposal) in step


def test_steps_are_kept_to_a_proposal_by_the_field_that_each_tool_has() -> None:
    fields = {"view_document": "ref", "edit_document": "proposal", "create_document": "proposal"}
    read, edit = call("view_document", file="a {.md"), call("edit_document", file="a.md")
    step = NextStep("Read ", read, ", or ", edit, "; else ", call("create_document"))
    assert step.for_proposal("k7m2q9xa").text(fields) == (
        'Read view_document {"file": "a {.md", "ref": "k7m2q9xa"}, or edit_document {"file": "a.md", '
        '"proposal": "k7m2q9xa"}; else create_document {}'
    )
    step = NextStep("Complete tasks[2]").for_proposal("k7m2q9xa")
    assert step.text(fields) == "Complete tasks[2], with proposal k7m2q9xa"
    step = NextStep('Finish: view_document {"file": "x"}, with ', call("git_log")).for_proposal("k7m2q9xa")
    assert step.text(fields) == 'Finish: view_document {"file": "x"}, with git_log {}'


def test_a_proposal_that_is_not_there_or_has_ended(ask: Ask, repo: Repo, proposal: str) -> None:
    answer = ask("edit_document", **SECTION, proposal="zzzzzzzz")
    assert answer.data["code"] == "PROPOSAL_NOT_FOUND"
    assert proposal in answer.data["candidates"]
    example = answer.data["example"]
    assert example["proposal"] == proposal
    assert example["dry_run"] is True
    before = repo.git("for-each-ref")
    assert not ask("edit_document", **example).is_error
    assert repo.git("for-each-ref") == before
    done(ask("update_proposal", proposal=proposal, action="close"))
    answer = ask("edit_document", **SECTION, proposal=proposal)
    assert (answer.data["code"], answer.data["state"]) == ("PROPOSAL_ENDED", "closed")


def test_an_error_in_a_proposal_has_an_example_that_works_there(ask: Ask, repo: Repo, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    before = repo.head()
    wrong = {"operation": "append_content", "file": "api.md", "slug": "quota", "content": "x"}
    answer = ask("edit_document", **wrong, proposal=proposal)
    assert answer.data["code"] == "SECTION_NOT_FOUND"
    assert answer.data["example"]["slug"] == "quotas"  # which only the proposal has
    nowhere = ask("edit_document", **{**wrong, "slug": "zzzz"}, proposal=proposal)
    assert f'"ref": "{proposal}"' in nowhere.data["fix"]
    assert done(ask("edit_document", **answer.data["example"]))["proposal"] == proposal
    assert repo.head() == before


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_direct_write_that_is_protected_becomes_a_proposal(ask: Ask, repo: Repo, is_batch: bool) -> None:
    before = repo.head()
    sent: dict[str, Any] = {"operations": [SPEC, SECTION]} if is_batch else SPEC
    answer = ask("edit_document", **sent)
    data = done(answer)
    assert data["protected"] == ["specs/limits.md"]
    assert "main has not changed" in data["note"]
    assert repo.head() == before
    assert repo.git("rev-parse", data["branch"]).strip() == data["commit"]
    changed = repo.git("diff", "--name-only", before, data["commit"]).split()
    assert changed == (["api.md", "specs/limits.md"] if is_batch else ["specs/limits.md"])
    assert followed(ask, answer).data["state"] == "open"


def test_what_is_not_protected_is_written_at_once(ask: Ask, repo: Repo) -> None:
    data = done(ask("edit_document", **SECTION))
    assert "proposal" not in data
    assert data["commit"] == repo.head()


def test_a_dry_run_says_that_it_would_become_one(ask: Ask, repo: Repo) -> None:
    before = repo.git("for-each-ref")
    data = done(ask("edit_document", **SPEC, dry_run=True))
    assert data["protected"] == ["specs/limits.md"]
    assert "becomes a proposal" in data["note"]
    assert "+Or less." in data["diff"]
    assert repo.git("for-each-ref") == before
    assert "protected" not in done(ask("edit_document", **SECTION, dry_run=True))


def test_removing_moving_and_the_rules_themselves_are_protected_too(ask: Ask, repo: Repo) -> None:
    before = repo.head()
    ask("view_document", file="specs/limits.md", slug="_preamble", include_subsections=True)
    for tool, fields in (
        ("remove_document", {"path": "specs/limits.md"}),
        ("edit_document", {"operation": "move_document", "file": "specs/limits.md", "new_path": "free.md"}),
        ("edit_document", {"operation": "move_document", "file": "api.md", "new_path": "specs/api.md"}),
    ):
        assert done(ask(tool, **fields))["proposal"]
    assert repo.head() == before


def test_a_retry_of_what_became_a_proposal_finds_it_also_after_the_merge(
    ask: Ask, repo: Repo, workspace: Workspace
) -> None:
    first = done(ask("edit_document", **SPEC, idempotency_key="key"))
    again = done(ask("edit_document", **SPEC, idempotency_key="key"))
    assert again["repeated"] is True
    assert (again["proposal"], again["commit"]) == (first["proposal"], first["commit"])
    assert len(ask("view_proposal").data["proposals"]) == 1
    other = ask("edit_document", **{**SPEC, "content": "Other."}, idempotency_key="key")
    assert other.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    approved(workspace, first["proposal"])
    repo.git("merge", "-q", "--no-edit", first["branch"])
    late = done(ask("edit_document", **SPEC, idempotency_key="key"))
    assert (late["proposal"], late["repeated"]) == (first["proposal"], True)
    assert repo.git("show", "HEAD:specs/limits.md").count("Or less.") == 1


def test_without_its_tools_the_answer_names_the_command_line(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    ask = client_of(Toolbox(workspace, SearchIndex(workspace), DEFAULT_TOOLSETS, False))
    answer = ask("edit_document", **SPEC)
    assert f"docyard proposals submit {answer.data['proposal']}" in answer.data["next_step"]
    followed(ask, answer)


def test_overlaps_are_told_when_a_proposal_is_edited(ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    done(ask("complete_task", file="api.md", slug="tasks[1]", proposal=proposal))
    other = opened(ask, "Other")
    data = done(ask("complete_task", file="api.md", slug="tasks[1]", proposal=other))
    assert data["overlaps"] == [{"proposal": proposal, "title": "Rate limits", "addresses": ["api.md#tasks"]}]
    assert "overlaps" not in done(ask("tag_document", file="api.md", tags=["x"]))


def test_the_title_of_a_direct_write_is_not_cut_as_a_subject_is(ask: Ask) -> None:
    title = "How many calls a client may make in a second, and what becomes of those that are more"
    change = {"operation": "add_section", "file": "specs/limits.md", "title": title, "content": "Ten."}
    proposal = done(ask("edit_document", **change))["proposal"]
    data = done(ask("view_proposal", proposal=proposal))
    assert len(data["title"]) > 72
    assert "…" not in data["title"] + data["description"]
