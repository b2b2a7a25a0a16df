"""Changes by others during a form's request: nothing is lost, and a writer sees their own change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docyard.web import site
from tests.call_hooks import run_after_call
from tests.docyard.web.proposals.pages import Pages, create_pages
from workspace.proposals.actions import discuss
from workspace.proposals.actions.repository import ProposalRepository
from workspace.proposals.events import ReviewDecision
from workspace.workspace import Workspace


@pytest.fixture
def open_pages(tmp_path: Path) -> Pages:
    return create_pages(tmp_path)


def test_concurrent_description_is_not_overwritten(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    match = re.search(r'name="seen" value="([0-9a-f]+)"', open_pages.show(proposal))
    assert match is not None
    other_actions = Workspace.open(setup.repo.path, durable=False).proposal_actions()
    # The last call before the event is appended under its own lock.
    run_after_call(
        monkeypatch,
        discuss,
        "require_writable",
        lambda: other_actions.edit(proposal.id, setup.person("cyd"), description="Theirs."),
    )
    html = open_pages.submit_refused(
        proposal, "edit", 409, seen=match[1], title=proposal.content.title, description="Of the second."
    )
    assert open_pages.reload(proposal).content.description == "Theirs."
    assert "Theirs.</textarea>" in html
    assert "Of the second.</textarea>" in html


@pytest.mark.parametrize("act", ["comment", "approve"])
def test_form_redirects_to_its_own_event(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    other_actions = Workspace.open(setup.repo.path, durable=False).proposal_actions()

    def append_same_event() -> None:
        if act == "comment":
            other_actions.comment(proposal.id, setup.person("cyd"), "Good.")
        else:
            other_actions.review(proposal.id, setup.person("cyd"), ReviewDecision.APPROVE, "Good.")

    run_after_call(monkeypatch, ProposalRepository, "append", append_same_event)
    event_id = open_pages.submit(proposal, act, text="Good.").partition("#said-")[2]
    discussion = open_pages.reload(proposal).content
    events = [thread.comment for thread in discussion.threads] if act == "comment" else discussion.reviews
    assert {event.id: event.author.name for event in events}[event_id] == "Bea"


def test_writer_sees_own_change_within_one_clock_tick(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make two changes within one tick of the folders' clock, which their times cannot distinguish."""
    proposal = open_pages.setup.submit_proposal()
    monkeypatch.setattr(site, "_read_folder_times", lambda git: ((("refs", 1, 0),), True))
    assert proposal.content.title in open_pages.get("/proposals")
    open_pages.submit(proposal, "close")
    assert proposal.content.title not in open_pages.get("/proposals")
