"""The changes since the review of the caller, on the page of a proposal's changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR
from workspace.proposals.events import ReviewDecision
from workspace.proposals.proposal import Proposal


@pytest.fixture
def reviewed(tmp_path: Path) -> tuple[ProposalPages, Proposal]:
    """Return the pages of a proposal in which Bea has requested changes."""
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal("Proposed text.")
    pages.setup.proposal_actions.review(
        proposal.id, pages.setup.person(), ReviewDecision.REQUEST_CHANGES, "Say why."
    )
    return pages, proposal


def list_sections(html: str) -> list[str]:
    """Return the ids of the changed sections on a page."""
    return re.findall(r'<section class="changed-section" id="([^"]+)"', html)


def test_changes_since_review_are_a_choice(reviewed: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = reviewed
    pages.setup.append(proposal.id, "The reason.", slug="install")
    pages.setup.write("A text of the target.", slug="_preamble")
    pages.setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    html = pages.get_proposal_page(proposal, "changes")
    assert "All changes Since your review (1 section)" in extract_text(html)
    assert len(list_sections(html)) == 2
    link = re.search(r'href="([^"]+)"[^>]*>Since your review', html)
    assert link is not None
    html = pages.get(link[1].replace("&amp;", "&"))
    text = extract_text(html)
    assert len(list_sections(html)) == 1
    assert "The reason." in text
    assert "Proposed text." not in text
    assert "A text of the target." not in text
    assert "Changes since your review of" in text
    assert "since=review" in html.partition('aria-label="Views"')[2].partition("</nav>")[0]
    assert '<input type="hidden" name="since" value="review">' in html
    rendered = pages.get_proposal_page(proposal, "changes?since=review&view=rendered")
    assert "The reason." in extract_text(rendered)


def test_rendered_view_explains_why_a_document_is_shown_as_source(
    reviewed: tuple[ProposalPages, Proposal],
) -> None:
    pages, proposal = reviewed
    pages.setup.append(proposal.id, "The reason.", slug="install")
    pages.setup.write("A text of the target.", slug="_preamble")
    pages.setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    note = "A document that main changed too is shown as source."
    assert note in extract_text(pages.get_proposal_page(proposal, "changes?since=review&view=rendered"))
    assert note not in extract_text(pages.get_proposal_page(proposal, "changes?since=review&view=side"))
    assert note not in extract_text(pages.get_proposal_page(proposal, "changes?view=rendered"))


def test_form_returns_to_the_changes_since_review(reviewed: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = reviewed
    pages.setup.append(proposal.id, "The reason.", slug="install")
    url = pages.send_form(
        proposal, "comment", text="Good.", file="guide.md", slug="install", view="side", since="review"
    )
    assert "since=review" in url
    assert "Good." in extract_text(pages.get(url.partition("#")[0]))


@loop_over("verdict", [*ReviewDecision])
def test_page_states_that_the_proposal_is_unchanged_since_review(
    tmp_path: Path, verdict: ReviewDecision
) -> None:
    pages = create_pages(tmp_path / verdict)
    proposal = pages.setup.submit_proposal("Proposed text.")
    pages.setup.proposal_actions.review(proposal.id, pages.setup.person(), verdict, "Read.")
    text = extract_text(pages.get_proposal_page(proposal, "changes?since=review"))
    assert "Since your review (no changes)" in text
    assert "Nothing has changed since your review of" in text
    assert "Proposed text." not in text


def test_missing_reviewed_commit_is_named_and_all_changes_are_shown(
    reviewed: tuple[ProposalPages, Proposal],
) -> None:
    pages, proposal = reviewed
    repo = pages.setup.repo
    assert proposal.tip is not None
    repo.git("switch", "-q", proposal.content.branch)
    repo.git("commit", "-q", "--amend", "-m", "Rewritten", "--date", "2020-01-01T00:00:00Z")
    repo.git("switch", "-q", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("update-ref", "-d", "ORIG_HEAD")
    repo.git("gc", "-q", "--prune=now")
    text = extract_text(pages.get_proposal_page(proposal, "changes?since=review"))
    assert f"The commit {proposal.tip[:8]} that you reviewed is no longer in this repository" in text
    assert "Proposed text." in text


def test_caller_without_a_review_has_no_choice(reviewed: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = reviewed
    pages.sender_name = "cid"
    html = pages.get_proposal_page(proposal, "changes?since=review")
    assert "Since your review" not in html
    assert "Proposed text." in html
    note = "You have not reviewed this proposal, so all changes are shown."
    assert note in extract_text(html)
    assert note not in extract_text(pages.get_proposal_page(proposal, "changes"))


def test_merged_proposal_has_no_choice(reviewed: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = reviewed
    pages.setup.approve(proposal)
    pages.setup.proposal_actions.merge(proposal.id, pages.setup.person())
    html = pages.get_proposal_page(proposal, "changes?since=review")
    assert "Since your review" not in html
    assert "This proposal is merged, so all changes are shown." in extract_text(html)


def test_comment_on_the_whole_alone_is_no_review(reviewed: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = reviewed
    pages.setup.append(proposal.id, "The reason.", slug="install")
    pages.send_form(proposal, "comment", text="I continue tomorrow.")
    text = extract_text(pages.get_proposal_page(proposal, "changes?since=review"))
    assert "Since your review (1 section)" in text
    assert "The reason." in text
