"""What was said of a pull request on a forge, as words of its proposal here.

Whoever said it there is named, `via` the forge: nothing here can prove who it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.proposals.actions.discuss import RelayedEvent
from workspace.proposals.actions.register import Actor
from workspace.proposals.events import (
    MAX_TEXT,
    Author,
    Closed,
    Commented,
    KnownBy,
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

NAMES = {"github": "GitHub", "gitlab": "GitLab", "gitea": "Gitea"}
"""The forges as people call them, which is also the label of who speaks there."""

TOOL = "forge"
_FULL = 40
_OWN = re.compile(r"<!-- docyard proposal [0-9a-z]+ -->\s*")
"""How what Docyard itself wrote on a forge ends, so that it is not heard again as another's."""

_OPENED = re.compile(r"Opened as pull request \[\d+\]\((https?://\S+)\)\.")
"""The link in the text of a comment that was written before the link was a field."""


def title_of(forge: str) -> str:
    """Return what people call a kind of forge."""
    return NAMES.get(forge, forge)


def speaker(forge: str, login: str) -> Actor:
    """Somebody on a forge; the address is none (RFC 2606), and only tells one from another."""
    name = join_lines(login).translate({ord(char): None for char in "<>\\"})[:100] or "somebody"
    label = title_of(forge)
    address = f"{''.join(name.split())}@{forge}.invalid"
    return Actor(Author(name, address, KnownBy.CLIENT, label), TOOL, label)


def is_of(forge: str, author: Author) -> bool:
    """Return True if words came from a forge. A client may call itself by any name, so the address counts."""
    return author.known_by is KnownBy.CLIENT and author.email.endswith(f"@{forge}.invalid")


def opened(forge: str, request: PullRequest, proposal: Proposal) -> RelayedEvent:
    """That a proposal has a pull request, and where."""
    text = f"Opened as pull request [{request.number}]({request.url})."
    key = f"{forge} pull request {request.number} opened"
    words = Commented(text, None, proposal.tip, pull_request=request.url)
    return RelayedEvent(words, speaker(forge, title_of(forge)), key)


def link_of(events: Sequence[Event]) -> str | None:
    """Return where the pull request is that was said last to be opened."""
    for event in reversed(events):
        words = event.words
        if isinstance(words, Commented) and any(is_of(forge, event.author) for forge in NAMES):
            if words.pull_request is not None:
                return words.pull_request
            if old := _OPENED.fullmatch(words.text):
                return old[1]
    return None


def reviews(
    forge: str,
    found: Sequence[ForgeReview],
    request: PullRequest,
    proposal: Proposal,
    said: Sequence[Event],
) -> Iterator[RelayedEvent]:
    """Reviews as words: verdicts on the commit that they were given on.

    Where the forge does not tell it, that is the one that was submitted last before, by what was `said` here.
    """
    for one in found:
        words = _review(forge, one, one.commit or _submitted(said, one) or request.head_sha, proposal)
        if words is not None:
            # What a forge lets be changed under one id, such as by a dismissal, is another saying.
            key = f"{forge} review {one.id} {one.verdict}"
            yield RelayedEvent(words, speaker(forge, one.author), key)


def comments(forge: str, found: Sequence[ForgeComment], proposal: Proposal) -> Iterator[RelayedEvent]:
    """General comments as words, those of Docyard itself aside."""
    for one in found:
        is_own = _OWN.fullmatch(one.text.strip().rpartition("\n")[2])
        if one.text.strip() and not is_own:
            words = Commented(one.text[:MAX_TEXT], None, proposal.tip)
            yield RelayedEvent(words, speaker(forge, one.author), f"{forge} comment {one.id}")


def closed(forge: str, request: PullRequest, text: str, times: int) -> RelayedEvent:
    """Return the end of a proposal whose pull request has ended; `times` tells one end from the next."""
    key = f"{forge} pull request {request.number} closed {times}"
    return RelayedEvent(Closed(text), speaker(forge, title_of(forge)), key)


def reopened(forge: str, request: PullRequest, times: int) -> RelayedEvent:
    """Return a proposal is taken up again whose pull request was."""
    text = f"Reopened on {title_of(forge)}: {request.url}"
    key = f"{forge} pull request {request.number} reopened {times}"
    return RelayedEvent(Reopened(text), speaker(forge, title_of(forge)), key)


def _submitted(said: Sequence[Event], one: ForgeReview) -> str | None:
    """Return the commit that was submitted last before a review was given; None where none was."""
    before = (event.words for event in said if event.time <= one.time)
    commits = [words.commit for words in before if isinstance(words, Submitted)]
    return commits[-1] if commits else None


def _review(forge: str, one: ForgeReview, commit: str, proposal: Proposal) -> Reviewed | Commented | None:
    place, text = title_of(forge), one.text[: MAX_TEXT - 200]
    if len(commit) != _FULL:
        return None
    match one.verdict:
        case "approved":
            return Reviewed(ReviewDecision.APPROVE, text, commit)
        case "changes_requested" if commit in (proposal.tip, proposal.words.submitted):
            return Reviewed(
                ReviewDecision.REQUEST_CHANGES, text or f"Changes were requested on {place}.", commit
            )
        case "changes_requested":
            # A submission came between that and now, which answers it.
            lead = f"Changes were requested on {place}, of an earlier version."
            return Reviewed(ReviewDecision.COMMENT, f"{lead}\n\n{text}".strip(), commit)
        case "dismissed":
            lead = f"A review was dismissed on {place}. If it asked for changes, submit again to answer it."
            return Commented(f"{lead}\n\n{text}".strip(), None, proposal.tip)
        case _:
            return Reviewed(ReviewDecision.COMMENT, text, commit) if text.strip() else None
