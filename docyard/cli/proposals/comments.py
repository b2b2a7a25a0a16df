"""The discussion of a proposal: reviews and their validity, comments and their current place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import Paper, StyledText
from docyard.proposals.view import VOID_REASONS
from docyard.wording import format_author, format_count, format_moment, shorten_id
from tools.proposals.descriptions import describe_author, format_time
from workspace.proposals.approvals import VoidReason, find_void_reason
from workspace.proposals.events import ReviewDecision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.proposals.comments import AnchoredThread, CommentAnchor
    from workspace.proposals.proposal import Comment, ReviewStatus

_LINES = 20  # of one comment
_THREADS = 100
_REST = "; --json has all"

_VERDICTS = {
    ReviewDecision.APPROVE: ("approved", "green"),
    ReviewDecision.REQUEST_CHANGES: ("requested changes", "yellow"),
    ReviewDecision.COMMENT: ("commented", "cyan"),
}


def print_reviews(paper: Paper, reviews: Sequence[ReviewStatus], void_by: Mapping[str, VoidReason]) -> None:
    """Print the reviews in order, each with whether it is valid."""
    if not reviews:
        return
    paper.head(f"Reviews: {len(reviews):,}")
    for bound in reviews:
        review = bound.review
        verdict, style = _VERDICTS[review.verdict]
        void = find_void_reason(bound, void_by)
        paper.line(
            StyledText(format_author(review.author), "bold"),
            " ",
            StyledText(verdict, "dim" if void else style),
            f" at {shorten_id(review.commit)}, {format_moment(review.time)}",
            StyledText(f": {VOID_REASONS[void]}" if void else "", "dim"),
            indent=2,
            hang=2,
        )
        if review.text:
            paper.text(review.text, indent=4, most=_LINES, rest=_REST)


def print_comments(paper: Paper, threads: Sequence[AnchoredThread]) -> None:
    """Print the comments, each with the state of its text, and the replies below it."""
    if not threads:
        return
    paper.head(f"Comments: {sum(1 + len(placed.thread.replies) for placed in threads):,}")
    for placed in threads[:_THREADS]:
        _print_comment(paper, placed.thread.comment, _describe_anchor(placed), indent=2)
        for reply in placed.thread.replies:
            _print_comment(paper, reply, "", indent=6)
    if len(threads) > _THREADS:
        paper.line(f"… and {format_count(len(threads) - _THREADS, 'later thread')}{_REST}", indent=2)


def _print_comment(paper: Paper, comment: Comment, where: str, *, indent: int) -> None:
    paper.line(
        StyledText(format_author(comment.author), "bold"),
        f", {format_moment(comment.time)}",
        StyledText(f"  {where}" if where else "", "cyan"),
        StyledText(f"  {comment.id}", "dim"),
        indent=indent,
        hang=2,
    )
    if comment.target is not None and comment.target.quote:
        paper.text("> " + comment.target.quote.replace("\n", "\n> "), indent=indent + 2, style="dim")
    paper.text(comment.text, indent=indent + 2, most=_LINES, rest=_REST)


def _describe_anchor(placed: AnchoredThread) -> str:
    """Return the place of a comment, and its change since."""
    place = placed.thread.comment.target
    if place is None:
        return ""
    was = _address(place.path, place.slug)
    found = placed.anchor
    if found is None:
        return was
    now = _address(found.path, found.slug)
    match found.status.value:
        case "here":
            return now
        case "moved":
            return f"{now} (was {was})"
        case "outdated":
            return (
                f"{now} (its text has changed)" if now == was else f"{now} (was {was}; its text has changed)"
            )
        case _:
            return f"{was} (deleted)"


def _address(path: str, slug: str | None) -> str:
    return path if slug is None else f"{path}#{slug}"


def review_to_data(bound: ReviewStatus, void_by: Mapping[str, VoidReason]) -> dict[str, Any]:
    """Return a review as data: `holds` is whether it counts, and `void` why it does not."""
    review, void = bound.review, find_void_reason(bound, void_by)
    return {
        "id": review.id,
        "author": describe_author(review.author),
        "time": format_time(review.time),
        "verdict": review.verdict.value,
        "text": review.text,
        "commit": review.commit,
        "holds": void is None,
        **({"void": void.value} if void else {}),
    }


def thread_to_data(placed: AnchoredThread) -> dict[str, Any]:
    """Return a comment as data, with its current place `now`, and the `replies` to it."""
    comment = placed.thread.comment
    data = _comment_to_data(comment)
    if comment.target is not None:
        data |= {"file": comment.target.path, "slug": comment.target.slug, "quote": comment.target.quote}
    if placed.anchor is not None:
        data["now"] = _anchor_to_data(placed.anchor)
    return {**data, "replies": [_comment_to_data(reply) for reply in placed.thread.replies]}


def _comment_to_data(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "author": describe_author(comment.author),
        "time": format_time(comment.time),
        "text": comment.text,
        "commit": comment.commit,
    }


def _anchor_to_data(found: CommentAnchor) -> dict[str, Any]:
    return {"state": found.status.value, "file": found.path, "slug": found.slug}
