"""Changes by other users during a request: no text is lost, and users see their own changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docyard.web import site
from tests.call_hooks import run_after_call
from tests.docyard.web.proposals.pages import ProposalPages, create_pages
from workspace.proposals.actions import discuss
from workspace.proposals.actions.repository import ProposalRepository
from workspace.proposals.events import ReviewDecision
from workspace.workspace import Workspace


@pytest.fixture
def open_pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


def test_concurrent_description_is_not_overwritten(
    open_pages: ProposalPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    match = re.search(r'name="seen" value="([0-9a-f]+)"', open_pages.get_proposal_page(proposal))
    assert match is not None
    other_actions = Workspace.open(setup.repo.path, durable=False).proposal_actions()
    # This function is the last call before the event is appended under a lock.
    run_after_call(
        monkeypatch,
        discuss,
        "require_writable",
        lambda: other_actions.edit(proposal.id, setup.person("cyd"), description="Theirs."),
    )
    html = open_pages.send_refused_form(
        proposal, "edit", 409, seen=match[1], title=proposal.content.title, description="Of the second."
    )
    assert open_pages.reload(proposal).content.description == "Theirs."
    assert "Theirs.</textarea>" in html
    assert "Of the second.</textarea>" in html


@pytest.mark.parametrize("action", ["comment", "approve"])
def test_form_redirects_to_event_of_its_sender(
    open_pages: ProposalPages, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    other_actions = Workspace.open(setup.repo.path, durable=False).proposal_actions()

    def append_same_event() -> None:
        if action == "comment":
            other_actions.comment(proposal.id, setup.person("cyd"), "Good.")
        else:
            other_actions.review(proposal.id, setup.person("cyd"), ReviewDecision.APPROVE, "Good.")

    run_after_call(monkeypatch, ProposalRepository, "append", append_same_event)
    event_id = open_pages.send_form(proposal, action, text="Good.").partition("#said-")[2]
    discussion = open_pages.reload(proposal).content
    events = [thread.comment for thread in discussion.threads] if action == "comment" else discussion.reviews
    assert {event.id: event.author.name for event in events}[event_id] == "Bea"


def test_writer_sees_own_change_within_one_clock_tick(
    open_pages: ProposalPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Close a proposal while the modification times of the folders of refs stay the same."""
    proposal = open_pages.setup.submit_proposal()
    monkeypatch.setattr(site, "_read_folder_times", lambda git: ((("refs", 1, 0),), True))
    assert proposal.content.title in open_pages.get("/proposals")
    open_pages.send_form(proposal, "close")
    assert proposal.content.title not in open_pages.get("/proposals")
