"""What a commit says of itself: who, when, in which words, and by which client."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workspace.git.messages import read_trailers

if TYPE_CHECKING:
    from workspace.git import Commit

_LATEST = 253_402_300_799  # the last second of the year 9999, past which no date is written


@dataclass(frozen=True, slots=True)
class Told:
    """A commit's author, their time in UTC, its first line, and what its trailers say."""

    commit: str
    author_name: str
    author_email: str
    time: datetime
    subject: str
    client: str | None
    tool: str | None
    proposal: str | None


def told(commit: Commit) -> Told:
    """What a commit says. Times out of the years 1970 to 9999 are shown as the nearest of these."""
    trailers = read_trailers(commit.message)
    return Told(
        commit=commit.id,
        author_name=commit.author.name,
        author_email=commit.author.email,
        time=datetime.fromtimestamp(min(max(commit.author.time, 0), _LATEST), UTC),
        subject=commit.message.strip().partition("\n")[0].strip(),
        client=trailers.get("Docyard-Client"),
        tool=trailers.get("Docyard-Tool"),
        proposal=trailers.get("Docyard-Proposal"),
    )
