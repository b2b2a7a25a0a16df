"""What came of a round on a forge, as data for programs and in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.forges.relay import title_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docyard.forges.pull_request_sync import Followed, FollowedPullRequest

_DONE = {
    "closed": "closed, as it was there",
    "reopened": "reopened, as it was there",
    "closed_there": "closed there, as it was here",
}


def followed_data(followed: Followed | None) -> dict[str, object] | None:
    """A round as data; None where there was none."""
    if followed is None:
        return None
    error = followed.error
    return {
        "forge": followed.forge,
        "pull_requests": [{**one._asdict(), "done": list(one.done)} for one in followed.pull_requests],
        "error": None if error is None else {"code": error.code, "message": error.message, "fix": error.fix},
    }


def followed_lines(followed: Followed) -> list[str]:
    """What happened on a forge and what is left to do, a line or two each; nothing where nothing did."""
    place = title_of(followed.forge)
    lines = [line for one in followed.pull_requests for line in _lines(one, place)]
    if followed.error is not None:
        lines.append(f"{place} was not followed to the end: {followed.error.message}.")
        lines.append(f"  next: {followed.error.fix}")
    return lines


def _lines(one: FollowedPullRequest, place: str) -> Iterator[str]:
    what = [_counted(one.reviews, "review"), _counted(one.comments, "comment"), *map(_DONE.get, one.done)]
    told = [words for words in what if words]
    if told:
        yield f"Proposal {one.proposal}, {place} {one.number}: {', '.join(told)}."
    match one.waits:
        case "conflict":
            yield f"Proposal {one.proposal} is in conflict with its target on {place}."
            yield f"  next: docyard proposals refresh {one.proposal}"
        case "not_fetched":
            yield f"Proposal {one.proposal} was merged on {place}; its target here does not have that yet."
            yield "  next: docyard sync --fetch"
        case "gone_on":
            yield f"Proposal {one.proposal} was merged on {place} without the last commits that it has here."
            yield f"  next: docyard proposals submit {one.proposal}, or close {one.proposal}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'} taken in" if count else ""
