"""Pages of comments, each with the current position of its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workspace.proposals.event_writer import ADA, BEA
from tests.workspace.proposals.review.scene import Scene
from workspace.document.document import Document
from workspace.proposals.comments import (
    MAX_CHECKED,
    MAX_COMMENTS,
    MAX_TRACKED,
    CommentAnchor,
    TextStatus,
    build_comment_target,
    find_comment_anchor_safely,
)
from workspace.proposals.events import Commented
from workspace.proposals.review import review as module

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\n## Use\n\nCall it.\n"
ID = "k0000001"


def add_comment(scene: Scene, text: str, slug: str | None = None, reply_to: str | None = None) -> str:
    """Add a comment on a current section of the proposal, or on no text; return its id."""
    tip = scene.one(ID).tip
    place = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), slug) if slug else None
    words = Commented(text, place=place, commit=tip if place else None, reply_to=reply_to)
    return scene.writer.append(words, by=BEA, proposal=ID).events[0].id


def test_comments_have_anchors_in_proposal_and_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path / "repo", {"guide.md": GUIDE})
    scene.propose(ID, {"other.md": "# Other\n"})
    first = add_comment(scene, "Of the setup.", "setup")
    add_comment(scene, "An answer.", reply_to=first)
    add_comment(scene, "Of nothing.")
    add_comment(scene, "Of the use.", "use")

    def anchors() -> list[CommentAnchor | None]:
        return [one.anchor for one in scene.proposal_reviews.comments(scene.one(ID)).threads]

    assert anchors() == [
        CommentAnchor(TextStatus.HERE, "guide.md", "setup"),
        None,
        CommentAnchor(TextStatus.HERE, "guide.md", "use"),
    ]
    scene.commit(f"proposals/{ID}", {"guide.md": None, "b/manual.md": GUIDE.replace("once", "twice")})
    after = [
        CommentAnchor(TextStatus.OUTDATED, "b/manual.md", "setup"),
        None,
        CommentAnchor(TextStatus.MOVED, "b/manual.md", "use"),
    ]
    assert anchors() == after
    with monkeypatch.context() as patch:
        patch.setattr(module, "find_comment_anchor_safely", None)
        assert anchors() == after, "anchors of a tip are cached"
    scene.merge(scene.one(ID))
    scene.move(f"proposals/{ID}", None)
    assert anchors() == after, "a merged proposal has its state at the merge"


def test_deleted_branch_and_invalid_settings_have_no_anchors(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", {"guide.md": GUIDE})
    scene.propose(ID, {"other.md": "# Other\n"})
    add_comment(scene, "Of the setup.", "setup")
    scene.commit(f"proposals/{ID}", {"docyard.toml": "root = 7\n"})
    assert [one.anchor for one in scene.proposal_reviews.comments(scene.one(ID)).threads] == [None]
    scene.move(f"proposals/{ID}", None)
    assert [one.anchor for one in scene.proposal_reviews.comments(scene.one(ID)).threads] == [None]


def test_threads_are_paged(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", {"guide.md": GUIDE})
    scene.propose(ID, {"other.md": "# Other\n"})
    words = [
        Commented(f"Remark {number}", place=None, commit=None, reply_to=None)
        for number in range(MAX_COMMENTS + 5)
    ]
    scene.writer.append(*words, by=ADA, proposal=ID)
    proposal = scene.one(ID)
    first = scene.proposal_reviews.comments(proposal)
    assert (len(first.threads), first.total, first.next) == (MAX_COMMENTS, MAX_COMMENTS + 5, MAX_COMMENTS)
    rest = scene.proposal_reviews.comments(proposal, after=MAX_COMMENTS, limit=1_000)
    assert (len(rest.threads), rest.next) == (5, None)
    texts = [one.thread.comment.text for one in (*first.threads, *rest.threads)]
    assert texts == [f"Remark {number}" for number in range(MAX_COMMENTS + 5)]
    two = scene.proposal_reviews.comments(proposal, after=3, limit=2)
    assert ([one.thread.comment.text for one in two.threads], two.next) == (["Remark 3", "Remark 4"], 5)
    assert scene.proposal_reviews.comments(proposal, after=1_000_000).threads == ()


@pytest.mark.slow
def test_page_of_document_tracks_only_possible_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path / "repo", {"guide.md": GUIDE, "other.md": "# Other\n\n## Part\n\nSome.\n"})
    scene.propose(ID, {"other.md": "# Other\n\n## Part\n\nMore.\n"})
    place = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), "setup")
    tip = scene.one(ID).tip
    many = [Commented(f"{number}", place=place, commit=tip, reply_to=None) for number in range(1_200)]
    scene.writer.append(*many, by=ADA, proposal=ID)
    followed = 0
    really = find_comment_anchor_safely

    def counted(*given: Any) -> CommentAnchor | None:
        nonlocal followed
        followed += 1
        return really(*given)

    monkeypatch.setattr(module, "find_comment_anchor_safely", counted)

    def numbers(path: str, slug: str | None, after: int = 0) -> tuple[int, int | None]:
        page = scene.proposal_reviews.comments(scene.one(ID), after=after, at=(path, slug))
        return len(page.threads), page.next

    scene.commit(f"proposals/{ID}", {"guide.md": GUIDE.replace("once", "twice")})
    assert numbers("other.md", None) == (0, MAX_CHECKED), "their text cannot have moved there"
    assert followed == 0
    assert numbers("guide.md", "use") == (0, MAX_TRACKED), "it may have moved: the limit of a page is tracked"
    assert followed == MAX_TRACKED
    assert numbers("guide.md", "setup", after=1_190) == (10, None)
    scene.commit(f"proposals/{ID}", {"guide.md": None, "other.md": GUIDE + "\nEnd.\n"})
    assert numbers("other.md", "setup", after=1_190) == (10, None), "a moved text is found at its new path"


def test_comment_on_missing_commit_is_found_by_address(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", {"guide.md": GUIDE, "other.md": GUIDE})
    scene.propose(ID, {"other.md": "# Other\n"})
    place = build_comment_target(Document.parse(GUIDE.encode(), "guide.md"), "setup")
    scene.writer.append(Commented("Hm.", place=place, commit="1" * 40, reply_to=None), by=ADA, proposal=ID)
    one = scene.one(ID)
    assert [
        len(scene.proposal_reviews.comments(one, at=(path, None)).threads)
        for path in ("guide.md", "other.md")
    ] == [1, 0]
