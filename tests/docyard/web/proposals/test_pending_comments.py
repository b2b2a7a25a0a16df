"""The forms of a decision send pending comments with it; a refused form loses none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.web.proposals.pending_comments import parse_pending_comments
from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from workspace.proposals.events import InvalidEventText

COMMENT = {"id": "1", "file": "guide.md", "slug": "use", "quote": "Use it.", "text": "Why <b>so</b>?"}


@pytest.fixture
def open_pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


@pytest.mark.parametrize("action", ["approve", "request-changes", "comment"])
def test_form_sends_its_pending_comments_once(open_pages: ProposalPages, action: str) -> None:
    proposal = open_pages.setup.submit_proposal()
    fields = {"comments": json.dumps([COMMENT]), "text": "", "key": "0a" * 16}
    locations = {open_pages.send_form(proposal, action, **fields) for _ in range(2)}
    [location] = locations
    assert location.startswith(f"/proposals/{proposal.id}?sent={'0a' * 16}#said-")
    assert len(open_pages.setup.proposal_actions.list_events(proposal)) == 4
    assert "Why so ?" in extract_text(open_pages.get_proposal_page(proposal))


def test_refused_form_shows_and_repeats_its_pending_comments(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    field = json.dumps([COMMENT, {**COMMENT, "quote": "Not there"}])
    html = open_pages.send_refused_form(proposal, "approve", 400, comments=field, text="Good.")
    assert "Comment 2 on guide.md#use: the quote is not in the text" in extract_text(html)
    assert "2 pending comments of your review are not sent yet" in extract_text(html)
    assert "Why &lt;b&gt;so&lt;/b&gt;?" in html
    assert 'name="comments" value="[{&#34;id&#34;' in html
    assert open_pages.reload(proposal).content.threads == ()


def test_refused_form_shows_a_pending_suggestion_as_a_change(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    comment = {**COMMENT, "text": "Shorter:\n\n```suggestion\nUse <b>one</b>.\n```"}
    html = open_pages.send_refused_form(
        proposal, "approve", 409, comments=json.dumps([comment]), text="", commit="0" * 40
    )
    assert "```" not in html.partition("pending-list")[2].partition("</ol>")[0]
    assert '<p class="plain-text">Shorter:</p>' in html
    assert "<ins>&lt;b&gt;one&lt;/b&gt;</ins>" in html


def test_comments_of_a_closed_proposal_can_be_sent_without_a_decision(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.send_form(proposal, "close")
    html = open_pages.send_refused_form(proposal, "approve", 409, comments=json.dumps([COMMENT]), text="")
    assert "Send the comments without a decision" in html
    open_pages.send_form(proposal, "comment", comments=json.dumps([COMMENT]), text="")
    assert len(open_pages.reload(proposal).content.threads) == 1


@pytest.mark.parametrize(
    "text", ["{", "{}", "[1]", "[[]]", '[{"text": 1}]', "[" * 100_000, '[{"file": ["guide.md"]}]']
)
def test_unreadable_pending_comments_are_refused(open_pages: ProposalPages, text: str) -> None:
    with pytest.raises(InvalidEventText):
        parse_pending_comments(text)
    proposal = open_pages.setup.submit_proposal()
    assert "Good." in open_pages.send_refused_form(proposal, "approve", 400, comments=text, text="Good.")
    assert open_pages.reload(proposal).reviews == ()
