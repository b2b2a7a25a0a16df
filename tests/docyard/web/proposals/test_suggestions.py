"""The page shows a suggestion as a change, and applies it with one form."""

from __future__ import annotations

from pathlib import Path

import pytest

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
