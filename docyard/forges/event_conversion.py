"""Conversion of a pull request's reviews and comments to events of its proposal.

An event names the author on the forge and the forge itself, because Docyard cannot verify the author.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docyard.forges.kinds import FORGE_NAMES
from workspace.proposals.actions.discuss import RelayedEvent
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import (
    MAX_TEXT_CHARACTERS,
    Author,
    Closed,
    Commented,
    IdentitySource,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
    join_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from docyard.forges.port import ForgeComment, ForgeReview, PullRequest
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal

TOOL = "forge"
_SHA_CHARS = 40
_MAX_INTRODUCTION_CHARS = 200  # the sentences that are put before the text of a review
_OWN_MARKER = re.compile(r"<!-- docyard proposal [0-9a-z]+ -->\s*")
"""The last line of each comment that Docyard wrote on a forge. Such comments are not imported."""

_OLD_LINK_TEXT = re.compile(r"Opened as pull request \[\d+\]\((https?://\S+)\)\.")
"""The text of a link comment of an older version; newer versions store the link in a separate field."""


def format_forge_name(forge: str) -> str:
    """Return the display name of a kind of forge."""
    return FORGE_NAMES.get(forge, forge)


def build_actor(forge: str, login: str) -> Actor:
    """Return the actor of a forge's user. The invalid email address (RFC 2606) only identifies the user."""
    name = join_lines(login).translate({ord(char): None for char in "<>\\"})[:100] or "somebody"
    label = format_forge_name(forge)
    email = f"{''.join(name.split())}@{forge}.invalid"
    return Actor(Author(name, email, IdentitySource.CLIENT, label), TOOL, label)


def is_from_forge(forge: str, author: Author) -> bool:
    """Return True if the author of an event is a user of a forge.

    The email address is compared, because a client may use any name.
    """
    return author.known_by is IdentitySource.CLIENT and author.email.endswith(f"@{forge}.invalid")


def build_opened_event(forge: str, pull_request: PullRequest, proposal: Proposal) -> RelayedEvent:
    """Return the event with the link of a proposal's new pull request."""
    text = f"Opened as pull request [{pull_request.number}]({pull_request.url})."
    key = f"{forge} pull request {pull_request.number} opened"
    body = Commented(text, None, proposal.tip, pull_request=pull_request.url)
    return RelayedEvent(body, build_actor(forge, format_forge_name(forge)), key)


def find_pull_request_url(events: Sequence[Event]) -> str | None:
    """Return the URL of the last opened pull request; None if no event has one."""
    for event in reversed(events):
        body = event.body
        if isinstance(body, Commented) and any(is_from_forge(forge, event.author) for forge in FORGE_NAMES):
            if body.pull_request is not None:
                return body.pull_request
            if link_match := _OLD_LINK_TEXT.fullmatch(body.text):
                return link_match[1]
    return None


def reviews_to_events(
    forge: str,
    reviews: Sequence[ForgeReview],
    pull_request: PullRequest,
    proposal: Proposal,
    events: Sequence[Event],
) -> Iterator[RelayedEvent]:
    """Convert reviews to events, with the verdicts on the reviewed commits.

    If the forge does not report the reviewed commit, the event names the last commit that was submitted
    before the review, according to `events`, or else the tip of the pull request.
    """
    for review in reviews:
        commit = review.commit or _find_last_submitted(events, review) or pull_request.head_sha
        body = _build_review_event(forge, review, commit, proposal)
        if body is not None:
            # A forge may change a review's verdict, such as by a dismissal; each verdict is a separate event.
            key = f"{forge} review {review.id} {review.verdict}"
            yield RelayedEvent(body, build_actor(forge, review.author), key)


def comments_to_events(
    forge: str, comments: Sequence[ForgeComment], proposal: Proposal
) -> Iterator[RelayedEvent]:
    """Convert general comments to events, except those that Docyard wrote."""
    for comment in comments:
        is_own = _OWN_MARKER.fullmatch(comment.text.strip().rpartition("\n")[2])
        if comment.text.strip() and not is_own:
            body = Commented(comment.text[:MAX_TEXT_CHARACTERS], None, proposal.tip)
            yield RelayedEvent(body, build_actor(forge, comment.author), f"{forge} comment {comment.id}")


def build_closed_event(
    forge: str, pull_request: PullRequest, text: str, earlier_closings: int
) -> RelayedEvent:
    """Return the event that closes a proposal with its pull request.

    `earlier_closings` is the number of times that the proposal was closed before. The number is part of the
    event's idempotency key, so that a proposal can be closed again.
    """
    key = f"{forge} pull request {pull_request.number} closed {earlier_closings}"
    return RelayedEvent(Closed(text), build_actor(forge, format_forge_name(forge)), key)


def build_reopened_event(forge: str, pull_request: PullRequest, earlier_closings: int) -> RelayedEvent:
    """Return the event that reopens a proposal with its pull request.

    `earlier_closings` is the number of times that the proposal was closed before, a part of the event's key.
    """
    text = f"Reopened on {format_forge_name(forge)}: {pull_request.url}"
    key = f"{forge} pull request {pull_request.number} reopened {earlier_closings}"
    return RelayedEvent(Reopened(text), build_actor(forge, format_forge_name(forge)), key)


def _find_last_submitted(events: Sequence[Event], review: ForgeReview) -> str | None:
    """Return the last commit that was submitted before a review; None if no commit was submitted."""
    bodies = (event.body for event in events if event.time <= review.time)
    commits = [body.commit for body in bodies if isinstance(body, Submitted)]
    return commits[-1] if commits else None


def _build_review_event(
    forge: str, review: ForgeReview, commit: str, proposal: Proposal
) -> Reviewed | Commented | None:
    forge_name, text = format_forge_name(forge), review.text[: MAX_TEXT_CHARACTERS - _MAX_INTRODUCTION_CHARS]
    if len(commit) != _SHA_CHARS:
        return None
    match review.verdict:
        case "approved":
            return Reviewed(ReviewDecision.APPROVE, text, commit)
        case "changes_requested" if commit in (proposal.tip, proposal.content.submitted_commit):
            return Reviewed(
                ReviewDecision.REQUEST_CHANGES, text or f"Changes were requested on {forge_name}.", commit
            )
        case "changes_requested":
            # A later submission has already answered this request.
            introduction = f"Changes were requested on {forge_name}, of an earlier version."
            return Reviewed(ReviewDecision.COMMENT, f"{introduction}\n\n{text}".strip(), commit)
        case "dismissed":
            introduction = (
                f"A review was dismissed on {forge_name}. If it requested changes, submit again to answer it."
            )
            return Commented(f"{introduction}\n\n{text}".strip(), None, proposal.tip)
        case _:
            return Reviewed(ReviewDecision.COMMENT, text, commit) if text.strip() else None
