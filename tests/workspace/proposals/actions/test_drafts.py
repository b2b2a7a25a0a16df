"""Direct writes of one author and client to protected paths share a draft for an hour."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import (
    AGENT_ACTOR,
    GIT_ACTOR,
    RULE,
    ProposalSetup,
    make_append,
)
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.proposals.actions import drafts
from workspace.proposals.actions.repository import Actor, ProposedWrite
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyedRequest, KeyReused
from workspace.writing.plan import BatchMode
from workspace.writing.read_before_write import SeenTexts

OTHER_CLIENT = Actor(
    Author("Ada", "ada@example.org", IdentitySource.CLIENT, "another agent"), "edit_document", "another agent"
)


def create_setup(path: Path) -> ProposalSetup:
    return ProposalSetup(path / "repo", RULE)


def redirect(
    setup: ProposalSetup,
    text: str = "One.",
    *,
    actor: Actor = AGENT_ACTOR,
    key: str | None = None,
    slug: str = "calls",
    workspace: Workspace | None = None,
    dry_run: bool = False,
    message: str | None = None,
    seen_texts: SeenTexts | None = None,
) -> ProposedWrite:
    """Append text by a direct write to a protected path, as the writing tools do."""
    operations: list[Operation] = [AppendContent(file="specs/api.md", slug=slug, content=text)]
    return (
        (workspace or setup.workspace)
        .proposal_actions()
        .propose(
            operations,
            actor,
            mode=BatchMode.EACH,
            is_redirected=True,
            dry_run=dry_run,
            message=message,
            seen_texts=seen_texts,
            keyed_request=KeyedRequest(key, "0" * 64, lambda _: {}) if key else None,
        )
    )


def open_draft(setup: ProposalSetup, **options: object) -> Proposal:
    proposal = redirect(setup, **options).proposal  # type: ignore[arg-type]
    assert proposal is not None
    return proposal


def test_second_write_is_added_to_the_draft(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    first = redirect(setup, "One.")
    second = redirect(setup, "Two.")
    assert first.proposal is not None
    assert second.proposal is not None
    assert (first.was_added, second.was_added) == (False, True)
    assert second.proposal.id == first.proposal.id
    assert second.proposal.tip == second.result.commit != first.proposal.tip
    assert [*setup.show("specs/api.md", first.proposal.content.branch).split()][-2:] == ["One.", "Two."]
    assert "Two." not in setup.show("specs/api.md")
    assert len(setup.proposal_actions.list_all()) == 1
    setup.check_repository_intact()


def test_other_author_or_client_opens_another_draft(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    actors = [AGENT_ACTOR, OTHER_CLIENT, setup.person("bea"), setup.person("cid")]
    ids = [open_draft(setup, actor=actor).id for actor in (*actors, *actors)]
    assert ids[:4] == ids[4:]
    assert len(set(ids)) == 4


def test_person_with_two_clients_has_two_drafts(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    bea = setup.person("bea")
    ids = [open_draft(setup, actor=bea._replace(client=client)).id for client in ("a", "b", "a", "b")]
    assert ids[:2] == ids[2:]
    assert ids[0] != ids[1]


def submit(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)


def review(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.review(draft.id, setup.person("bea"), ReviewDecision.COMMENT, "Hm.")


def comment(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.comment(draft.id, setup.person("bea"), "Hm.")


def rename(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.edit(draft.id, GIT_ACTOR, title="Another title")


def close(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.close(draft.id, AGENT_ACTOR)


def reopen(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.close(draft.id, AGENT_ACTOR)
    setup.proposal_actions.reopen(draft.id, AGENT_ACTOR)


def commit_by_hand(setup: ProposalSetup, draft: Proposal) -> None:
    setup.repo.git("switch", "-q", draft.content.branch)
    setup.repo.commit({"notes.md": "# Notes\n"})
    setup.repo.git("switch", "-q", "main")


def delete_branch(setup: ProposalSetup, draft: Proposal) -> None:
    setup.repo.git("branch", "-qD", draft.content.branch)


def reset_branch(setup: ProposalSetup, draft: Proposal) -> None:
    setup.repo.git("branch", "-qf", draft.content.branch, "main")


def write_with_another_client(setup: ProposalSetup, draft: Proposal) -> None:
    setup.proposal_actions.open_branch(draft.id).write(
        [make_append("More.")], mode=BatchMode.ALL, tool="edit_document", client="another agent"
    )


@loop_over(
    "change",
    [
        submit,
        review,
        comment,
        rename,
        close,
        reopen,
        commit_by_hand,
        delete_branch,
        reset_branch,
        write_with_another_client,
    ],
)
def test_draft_that_others_changed_gets_no_further_write(
    tmp_path: Path, change: Callable[[ProposalSetup, Proposal], None]
) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    change(setup, draft)
    tip = setup.proposal_actions.find(draft.id).tip
    assert open_draft(setup, text="Two.").id != draft.id
    assert setup.proposal_actions.find(draft.id).tip == tip


def test_other_title_in_a_later_session_opens_another_draft(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    first_session = SeenTexts()
    draft = open_draft(setup, message="Describe calls", seen_texts=first_session)
    assert open_draft(setup, message="Fix a typo", seen_texts=first_session).id == draft.id
    later_session = SeenTexts()
    assert open_draft(setup, seen_texts=later_session).id == draft.id
    assert open_draft(setup, message="Describe calls\n\nMore.", seen_texts=later_session).id == draft.id
    other = open_draft(setup, message="Count limits", seen_texts=later_session)
    assert (other.id != draft.id, other.content.title) == (True, "Count limits")
    assert open_draft(setup, message="Fix a typo", seen_texts=later_session).id == other.id


def test_draft_of_an_earlier_hour_gets_no_further_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    age = datetime.now(UTC) - draft.content.opened_at
    monkeypatch.setattr(drafts, "MAX_DRAFT_AGE", age - timedelta(milliseconds=1))
    assert open_draft(setup, text="Two.").id != draft.id
    monkeypatch.setattr(drafts, "MAX_DRAFT_AGE", timedelta(hours=1))
    assert open_draft(setup, text="Three.").id != draft.id


def test_proposal_that_the_caller_opened_gets_no_redirected_write(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    proposal = setup.open("On purpose")
    setup.append(proposal.id, "More.")
    assert setup.propose().proposal is not None
    assert not redirect(setup, "Two.").was_added


def test_write_that_fails_only_in_the_draft_opens_another(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    setup.repo.commit({"specs/api.md": "# API\n\n## Calls\n\nNone.\n\n## Limits\n\nTen.\n"})
    other = redirect(setup, "Two.", slug="limits")
    assert other.proposal is not None
    assert (other.proposal.id != draft.id, other.was_added) == (True, False)
    assert "Ten.\n\nTwo." in setup.show("specs/api.md", other.proposal.content.branch)


def test_write_that_fails_everywhere_opens_nothing(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    failed = redirect(setup, slug="nowhere")
    assert failed.proposal is None
    assert failed.result.steps[0].error is not None
    assert redirect(setup, "Two.", dry_run=True).proposal is None
    assert [proposal.tip for proposal in setup.proposal_actions.list_all()] == [draft.tip]


def test_retry_returns_the_write_that_was_added(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    first = redirect(setup, "Two.", key="key-2")
    assert first.was_added
    retry = redirect(setup, "Two.", key="key-2")
    assert retry.result.recorded_request is not None
    assert retry.result.commit == first.result.commit
    submit(setup, draft)
    again = redirect(setup, "Two.", key="key-2")
    assert again.proposal is not None
    assert (again.proposal.id, again.result.commit) == (draft.id, first.result.commit)
    with pytest.raises(KeyReused):
        setup.proposal_actions.propose(
            [make_append("x")],
            AGENT_ACTOR,
            mode=BatchMode.EACH,
            is_redirected=True,
            keyed_request=KeyedRequest("key-2", "1" * 64, lambda _: {}),
        )


def test_retry_after_the_merge_returns_the_write_that_was_added(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    first = redirect(setup, "Two.", key="key-2")
    submit(setup, draft)
    setup.approve(draft)
    setup.proposal_actions.merge(draft.id, setup.person("bea"))
    setup.repo.git("branch", "-qD", draft.content.branch)
    retry = redirect(setup, "Two.", key="key-2")
    assert retry.result.commit == first.result.commit
    assert len(setup.proposal_actions.list_all()) == 1


def test_submission_during_the_write_opens_another_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = create_setup(tmp_path)
    draft = open_draft(setup)
    find_draft = drafts._find_draft

    def find_and_submit(*arguments: object) -> Proposal | None:
        found = find_draft(*arguments)  # type: ignore[arg-type]
        submit(setup, draft)
        return found

    monkeypatch.setattr(drafts, "_find_draft", find_and_submit)
    second = redirect(setup, "Two.")
    assert second.proposal is not None
    assert second.proposal.id != draft.id
    assert setup.proposal_actions.find(draft.id).tip == draft.tip


def test_two_processes_at_once_open_one_draft(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    workspaces = [Workspace.open(setup.repo.path, durable=False) for _ in range(4)]
    errors: list[Exception] = []

    def write(number: int) -> None:
        try:
            redirect(setup, f"Text {number}.", workspace=workspaces[number])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    [draft] = setup.proposal_actions.list_all()
    text = setup.show("specs/api.md", draft.content.branch)
    assert all(f"Text {number}." in text for number in range(4))
    assert len(setup.log("--format=%h", f"main..{draft.content.branch}")) == 4
