"""The discussion of a proposal: reviews and their validity, comments and their current addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.proposals.view import VOID_REASONS
from docyard.terminal import styles
from docyard.wording import format_author, format_count, format_moment, shorten_id
from tools.proposals.descriptions import describe_author, format_time
from workspace.proposals.approvals import VoidReason, find_void_reason
from workspace.proposals.events import ReviewDecision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.proposals.comments import CommentLocation, LocatedThread
    from workspace.proposals.proposal import Comment, ReviewStatus

_MAX_COMMENT_LINES = 20
_MAX_COMMENT_THREADS = 100
_OMISSION_SUFFIX = "; --json prints all of them"

_VERDICT_STYLES = {
    ReviewDecision.APPROVE: ("approved", styles.PASSED),
    ReviewDecision.REQUEST_CHANGES: ("requested changes", styles.WARNING),
    ReviewDecision.COMMENT: ("commented", styles.NOTE),
}


def print_reviews(
    printer: PagePrinter, reviews: Sequence[ReviewStatus], void_reasons: Mapping[str, VoidReason]
) -> None:
    """Print the reviews in order, each with the reason if it is void."""
    if not reviews:
        return
    printer.print_heading(f"Reviews: {len(reviews):,}")
    for review_status in reviews:
        review = review_status.review
        verdict, style = _VERDICT_STYLES[review.verdict]
        void_reason = find_void_reason(review_status, void_reasons)
        printer.print_line(
            StyledText(format_author(review.author), styles.TITLE),
            " ",
            StyledText(verdict, styles.MUTED if void_reason else style),
            f" at {shorten_id(review.commit)}, {format_moment(review.time)}",
            StyledText(f": {VOID_REASONS[void_reason]}" if void_reason else "", styles.MUTED),
            indent=2,
            hang=2,
        )
        if review.text:
            printer.print_text(review.text, indent=4, max_lines=_MAX_COMMENT_LINES, suffix=_OMISSION_SUFFIX)


def print_comments(printer: PagePrinter, threads: Sequence[LocatedThread]) -> None:
    """Print the comments, each with the current location of its text, and the replies below the comment."""
    if not threads:
        return
    printer.print_heading(
        f"Comments: {sum(1 + len(located_thread.thread.replies) for located_thread in threads):,}"
    )
    for located_thread in threads[:_MAX_COMMENT_THREADS]:
        print_thread(printer, located_thread)
    if len(threads) > _MAX_COMMENT_THREADS:
        printer.print_line(
            f"… and {format_count(len(threads) - _MAX_COMMENT_THREADS, 'later thread')}{_OMISSION_SUFFIX}",
            indent=2,
        )


def print_thread(printer: PagePrinter, located_thread: LocatedThread, *, indent: int = 2) -> None:
    """Print a comment with its current location, its replies, and its resolution."""
    thread = located_thread.thread
    _print_comment(printer, thread.comment, _describe_location(located_thread), indent=indent)
    for reply in thread.replies:
        _print_comment(printer, reply, "", indent=indent + 4)
    if thread.resolution is not None:
        author, time = thread.resolution
        printer.print_line(
            StyledText(f"Resolved by {format_author(author)}, {format_moment(time)}", styles.MUTED),
            indent=indent + 2,
            hang=2,
        )


def _print_comment(printer: PagePrinter, comment: Comment, location: str, *, indent: int) -> None:
    printer.print_line(
        StyledText(format_author(comment.author), styles.TITLE),
        f", {format_moment(comment.time)}",
        StyledText(f"  {location}" if location else "", styles.ADDRESS),
        StyledText(f"  {comment.id}", styles.MUTED),
        indent=indent,
        hang=2,
    )
    if comment.target is not None and comment.target.quote:
        printer.print_text(
            "> " + comment.target.quote.replace("\n", "\n> "), indent=indent + 2, style=styles.MUTED
        )
    printer.print_text(comment.text, indent=indent + 2, max_lines=_MAX_COMMENT_LINES, suffix=_OMISSION_SUFFIX)


def _describe_location(located_thread: LocatedThread) -> str:
    """Return the current address of a comment's text, and how the text has changed since the comment."""
    target = located_thread.thread.comment.target
    if target is None:
        return ""
    old_address = _join_address(target.path, target.slug)
    location = located_thread.location
    if location is None:
        return old_address
    current_address = _join_address(location.path, location.slug)
    match location.status.value:
        case "here":
            return current_address
        case "moved":
            return f"{current_address} (was {old_address})"
        case "outdated":
            return (
                f"{current_address} (its text has changed)"
                if current_address == old_address
                else f"{current_address} (was {old_address}; its text has changed)"
            )
        case _:
            return f"{old_address} (deleted)"


def _join_address(path: str, slug: str | None) -> str:
    return path if slug is None else f"{path}#{slug}"


def review_to_data(review_status: ReviewStatus, void_reasons: Mapping[str, VoidReason]) -> dict[str, Any]:
    """Return a review as data: `holds` is true if the review counts; else `void` is the reason."""
    review, void_reason = review_status.review, find_void_reason(review_status, void_reasons)
    return {
        "id": review.id,
        "author": describe_author(review.author),
        "time": format_time(review.time),
        "verdict": review.verdict.value,
        "text": review.text,
        "commit": review.commit,
        "holds": void_reason is None,
        **({"void": void_reason.value} if void_reason else {}),
    }


def thread_to_data(located_thread: LocatedThread) -> dict[str, Any]:
    """Return a comment as data, with its current location `now`, and the `replies` to it."""
    comment = located_thread.thread.comment
    data = _comment_to_data(comment)
    if comment.target is not None:
        data |= {"file": comment.target.path, "slug": comment.target.slug, "quote": comment.target.quote}
    if located_thread.location is not None:
        data["now"] = _location_to_data(located_thread.location)
    resolution = located_thread.thread.resolution
    if resolution is not None:
        data["resolved"] = {
            "author": describe_author(resolution.author),
            "time": format_time(resolution.time),
        }
    return {**data, "replies": [_comment_to_data(reply) for reply in located_thread.thread.replies]}


def _comment_to_data(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "author": describe_author(comment.author),
        "time": format_time(comment.time),
        "text": comment.text,
        "commit": comment.commit,
    }


def _location_to_data(location: CommentLocation) -> dict[str, Any]:
    return {"state": location.status.value, "file": location.path, "slug": location.slug}
