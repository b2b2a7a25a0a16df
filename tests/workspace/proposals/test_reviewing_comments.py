"""Pages of comments, each with the current position of its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workspace.proposals.event_writer import GIT_AUTHOR, TOKEN_AUTHOR
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.document.document import Document
from workspace.proposals.comments import (
    MAX_CHECKED_THREADS,
    MAX_THREADS_PER_PAGE,
    MAX_TRACKED_TEXTS,
    CommentLocation,
    TextStatus,
    build_comment_target,
    find_comment_location_safely,
)
from workspace.proposals.events import Commented
from workspace.proposals.review import review as review_module

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\n## Use\n\nCall it.\n"
PROPOSAL_ID = "k0000001"


def add_comment(setup: ProposalSetup, text: str, slug: str | None = None, reply_to: str | None = None) -> str:
    """Add a comment on a current section of the proposal, or on no text; return its id."""
    tip = setup.find_proposal(PROPOSAL_ID).tip
    target = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), slug) if slug else None
    body = Commented(text, place=target, commit=tip if target else None, reply_to=reply_to)
    return setup.writer.append(body, by=TOKEN_AUTHOR, proposal=PROPOSAL_ID).events[0].id


def test_comments_have_locations_in_proposal_and_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE})
    setup.propose(PROPOSAL_ID, {"other.md": "# Other\n"})
    first_id = add_comment(setup, "Of the setup.", "setup")
    add_comment(setup, "An answer.", reply_to=first_id)
    add_comment(setup, "Of nothing.")
    add_comment(setup, "Of the use.", "use")

    def list_locations() -> list[CommentLocation | None]:
        return [
            thread.location
            for thread in setup.proposal_reviews.comments(setup.find_proposal(PROPOSAL_ID)).threads
        ]

    assert list_locations() == [
        CommentLocation(TextStatus.HERE, "guide.md", "setup"),
        None,
        CommentLocation(TextStatus.HERE, "guide.md", "use"),
    ]
    setup.commit(
        f"proposals/{PROPOSAL_ID}", {"guide.md": None, "b/manual.md": GUIDE.replace("once", "twice")}
    )
    expected = [
        CommentLocation(TextStatus.OUTDATED, "b/manual.md", "setup"),
        None,
        CommentLocation(TextStatus.MOVED, "b/manual.md", "use"),
    ]
    assert list_locations() == expected
    with monkeypatch.context() as patch:
        patch.setattr(review_module, "find_comment_location_safely", None)
        assert list_locations() == expected, "locations at a tip are cached"
    setup.merge(setup.find_proposal(PROPOSAL_ID))
    setup.move_branch(f"proposals/{PROPOSAL_ID}", None)
    assert list_locations() == expected, "a merged proposal has its state at the merge"


def test_deleted_branch_and_invalid_settings_have_no_locations(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE})
    setup.propose(PROPOSAL_ID, {"other.md": "# Other\n"})
    add_comment(setup, "Of the setup.", "setup")
    setup.commit(f"proposals/{PROPOSAL_ID}", {"docyard.toml": "root = 7\n"})
    assert [
        thread.location
        for thread in setup.proposal_reviews.comments(setup.find_proposal(PROPOSAL_ID)).threads
    ] == [None]
    setup.move_branch(f"proposals/{PROPOSAL_ID}", None)
    assert [
        thread.location
        for thread in setup.proposal_reviews.comments(setup.find_proposal(PROPOSAL_ID)).threads
    ] == [None]


def test_threads_are_paged(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE})
    setup.propose(PROPOSAL_ID, {"other.md": "# Other\n"})
    remarks = [
        Commented(f"Remark {number}", place=None, commit=None, reply_to=None)
        for number in range(MAX_THREADS_PER_PAGE + 5)
    ]
    setup.writer.append(*remarks, by=GIT_AUTHOR, proposal=PROPOSAL_ID)
    proposal = setup.find_proposal(PROPOSAL_ID)
    first_page = setup.proposal_reviews.comments(proposal)
    assert (len(first_page.threads), first_page.total, first_page.next) == (
        MAX_THREADS_PER_PAGE,
        MAX_THREADS_PER_PAGE + 5,
        MAX_THREADS_PER_PAGE,
    )
    last_page = setup.proposal_reviews.comments(proposal, after=MAX_THREADS_PER_PAGE, limit=1_000)
    assert (len(last_page.threads), last_page.next) == (5, None)
    texts = [thread.thread.comment.text for thread in (*first_page.threads, *last_page.threads)]
    assert texts == [f"Remark {number}" for number in range(MAX_THREADS_PER_PAGE + 5)]
    middle_page = setup.proposal_reviews.comments(proposal, after=3, limit=2)
    assert ([thread.thread.comment.text for thread in middle_page.threads], middle_page.next) == (
        ["Remark 3", "Remark 4"],
        5,
    )
    assert setup.proposal_reviews.comments(proposal, after=1_000_000).threads == ()


@pytest.mark.slow
def test_page_of_document_tracks_only_possible_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE, "other.md": "# Other\n\n## Part\n\nSome.\n"})
    setup.propose(PROPOSAL_ID, {"other.md": "# Other\n\n## Part\n\nMore.\n"})
    target = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), "setup")
    tip = setup.find_proposal(PROPOSAL_ID).tip
    remark_count, last_count = 1_200, 10
    remarks = [
        Commented(f"{number}", place=target, commit=tip, reply_to=None) for number in range(remark_count)
    ]
    setup.writer.append(*remarks, by=GIT_AUTHOR, proposal=PROPOSAL_ID)
    call_count = 0
    find_safely = find_comment_location_safely

    def count_and_find(*arguments: Any) -> CommentLocation | None:
        nonlocal call_count
        call_count += 1
        return find_safely(*arguments)

    monkeypatch.setattr(review_module, "find_comment_location_safely", count_and_find)

    def count_threads(path: str, slug: str | None, after: int = 0) -> tuple[int, int | None]:
        page = setup.proposal_reviews.comments(
            setup.find_proposal(PROPOSAL_ID), after=after, location=(path, slug)
        )
        return len(page.threads), page.next

    setup.commit(f"proposals/{PROPOSAL_ID}", {"guide.md": GUIDE.replace("once", "twice")})
    assert count_threads("other.md", None) == (0, MAX_CHECKED_THREADS), (
        "the text of the comments cannot have moved to this document"
    )
    assert call_count == 0
    assert count_threads("guide.md", "use") == (0, MAX_TRACKED_TEXTS), (
        "the text may have moved: a page tracks comments up to its limit"
    )
    assert call_count == MAX_TRACKED_TEXTS
    assert count_threads("guide.md", "setup", after=remark_count - last_count) == (last_count, None)
    setup.commit(f"proposals/{PROPOSAL_ID}", {"guide.md": None, "other.md": GUIDE + "\nEnd.\n"})
    assert count_threads("other.md", "setup", after=remark_count - last_count) == (last_count, None), (
        "a moved text is found at its new path"
    )


def test_comment_on_missing_commit_is_found_by_address(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE, "other.md": GUIDE})
    setup.propose(PROPOSAL_ID, {"other.md": "# Other\n"})
    target = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), "setup")
    setup.writer.append(
        Commented("Hm.", place=target, commit="1" * 40, reply_to=None), by=GIT_AUTHOR, proposal=PROPOSAL_ID
    )
    current_proposal = setup.find_proposal(PROPOSAL_ID)
    assert [
        len(setup.proposal_reviews.comments(current_proposal, location=(path, None)).threads)
        for path in ("guide.md", "other.md")
    ] == [1, 0]
