"""The page shows a suggestion as a change, and applies it with one form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docyard.caller import REVIEW_SCOPE, SCOPES
from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from workspace.proposals.proposal import Proposal

SCRIPT = "<script>alert(1)</script>"
TARGET = {"file": "guide.md", "slug": "use", "quote": "More."}


@pytest.fixture
def open_pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


def suggest(open_pages: ProposalPages, proposal: Proposal, new_text: str) -> str:
    """Suggest a text for the quoted words, and return the id of the comment."""
    text = f"Clearer:\n\n```suggestion\n{new_text}\n```"
    location = open_pages.send_form(proposal, "comment", text=text, **TARGET)
    return location.partition("#said-")[2]


def test_suggestion_is_shown_and_applied_once(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    comment = suggest(open_pages, proposal, f"More {SCRIPT}.")
    for part in ("", "changes"):
        html = open_pages.get_proposal_page(proposal, part)
        assert f'action="/proposals/{proposal.id}/apply-suggestion"' in html
        assert SCRIPT not in html
        assert "Clearer: " in extract_text(html)
    for _ in range(2):
        location = open_pages.send_form(proposal, "apply-suggestion", comment=comment)
        assert location == f"/proposals/{proposal.id}#said-{comment}"
    assert open_pages.setup.show("guide.md", proposal.content.branch).endswith(f"More {SCRIPT}.\n")
    html = open_pages.get_proposal_page(proposal)
    assert "Applied as" in extract_text(html)
    assert "Resolved by Bea" in extract_text(html)
    assert "apply-suggestion" not in html


def test_person_confirms_before_becoming_an_author(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    comment = suggest(open_pages, proposal, "Less.")
    question = "You become an author of this proposal"
    for part in ("", "changes"):
        html = open_pages.get_proposal_page(proposal, part)
        assert re.search(r"<details[^>]*><summary[^>]*>Apply the suggestion</summary>\s*<form", html)
        assert question in extract_text(html)
    # An author, a person without the scope of reviews, and a session without a person approve nothing anyway.
    open_pages.scopes = frozenset(SCOPES) - {REVIEW_SCOPE}
    assert question not in extract_text(open_pages.get_proposal_page(proposal))
    open_pages.scopes, open_pages.sender_name = frozenset(SCOPES), None
    assert question not in extract_text(open_pages.get_proposal_page(proposal))
    open_pages.sender_name = "bea"
    open_pages.send_form(proposal, "apply-suggestion", comment=comment)
    suggest_again = {**TARGET, "quote": "Less.", "text": "```suggestion\nLeast.\n```"}
    open_pages.send_form(proposal, "comment", **suggest_again)
    html = open_pages.get_proposal_page(proposal)
    assert "<button>Apply the suggestion</button>" in html
    assert question not in extract_text(html)


LINKED_TEXT = "Busy, see [Retries](notes.md). Wait."


@pytest.mark.parametrize("quote", ["Busy, see [Retries", "Busy, see Retries", "e"])
def test_suggestion_for_a_part_of_a_link_is_refused_with_its_text(
    open_pages: ProposalPages, quote: str
) -> None:
    proposal = open_pages.setup.submit_proposal(LINKED_TEXT)
    fields = {"file": "guide.md", "slug": "use", "quote": quote, "text": "```suggestion\nIdle.\n```"}
    html = open_pages.send_refused_form(proposal, "comment", 409, **fields)
    assert "```suggestion Idle. ```" in extract_text(html)
    assert open_pages.reload(proposal).content.threads == ()
    pending = json.dumps([{**fields, "id": "1", "commit": proposal.tip}])
    html = open_pages.send_refused_form(proposal, "request-changes", 409, text="See.", comments=pending)
    assert "1 pending comment of your review is not sent yet" in extract_text(html)
    assert open_pages.reload(proposal).content.threads == ()


def test_suggested_lines_are_the_source_that_is_replaced(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal(LINKED_TEXT)

    def find_lines(quote: str) -> tuple[int, dict[str, str]]:
        query = {"file": "guide.md", "slug": "use", "quote": quote, "commit": str(proposal.tip)}
        response = open_pages.client.get(f"/proposals/{proposal.id}/suggested-lines", params=query)
        return response.status_code, response.json()

    assert find_lines("Busy, see Retries") == (200, {"lines": LINKED_TEXT})
    status, answer = find_lines("e")
    assert status == 409
    assert "times in guide.md#use" in answer["message"]
    location = open_pages.send_form(
        proposal,
        "comment",
        file="guide.md",
        slug="use",
        quote=LINKED_TEXT,
        text="```suggestion\nIdle, see [Retries](notes.md).\n```",
    )
    comment = location.partition("#said-")[2]
    open_pages.send_form(proposal, "apply-suggestion", comment=comment)
    text = open_pages.setup.show("guide.md", proposal.content.branch)
    assert text.endswith("Idle, see [Retries](notes.md).\n")
    assert LINKED_TEXT not in text


def test_suggestion_without_its_words_has_no_form(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    comment = suggest(open_pages, proposal, "Less.")
    open_pages.send_form(proposal, "apply-suggestion", comment=suggest(open_pages, proposal, "Other."))
    html = open_pages.get_proposal_page(proposal)
    assert "apply-suggestion" not in html
    html = open_pages.send_refused_form(proposal, "apply-suggestion", 409, comment=comment)
    assert "The quoted words are no longer in guide.md#use" in extract_text(html)


def test_suggestion_of_a_closed_or_read_only_proposal_has_no_form(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    comment = suggest(open_pages, proposal, "Less.")
    reader = ProposalPages(open_pages.setup, read_only=True)
    assert "apply-suggestion" not in reader.get_proposal_page(proposal)
    open_pages.send_form(proposal, "close")
    assert "apply-suggestion" not in open_pages.get_proposal_page(proposal)
    html = open_pages.send_refused_form(proposal, "apply-suggestion", 409, comment=comment)
    assert "was closed" in extract_text(html)
    open_pages.send_refused_form(proposal, "apply-suggestion", 409, comment="0" * 16)
