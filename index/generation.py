"""The index at one moment, as values: what it stands for, its parts, and what in them is alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.chunks import Record
    from index.engine import Segment

SCHEMA = 1
"""The version of format and analysis; an index of another version lives in another folder."""

TEXT, PATH, TYPE, TAGS, STATE = "text", "path", "type", "tags", "state"


class IndexDamaged(WorkspaceError):
    """The index's files could not be read; it can always be rebuilt from Git."""

    code: ClassVar[str] = "INDEX_DAMAGED"


@dataclass(frozen=True, slots=True)
class State:
    """What an index stands for: a commit (None before the first), and how much it holds.

    `indexed_at` is the UTC time of the change, in ISO 8601 to the second.
    """

    commit: str | None
    files: int
    chunks: int
    indexed_at: str
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class Part:
    """A segment as one generation sees it; `offset` is the number of its first document in the index."""

    segment: Segment
    offset: int
    deleted: frozenset[int]

    def live(self, field: str, term: str) -> list[int]:
        """List the live documents of this segment that hold a term."""
        ids, _ = self.segment.postings(field, term)
        return [document for document in ids if document not in self.deleted]

    def record(self, document: int) -> Record:
        return self.segment.record(document)


@dataclass(frozen=True, slots=True)
class Generation:
    """The whole index at one moment: it stays readable after later writes and rebuilds.

    `total_length` is the sum of the weights of all terms of all live chunks.
    """

    number: int
    state: State
    parts: tuple[Part, ...]
    total_length: int

    def values(self, field: str) -> dict[str, int]:
        """Count the live chunks of each value of an exact field."""
        counts: dict[str, int] = {}
        for part in self.parts:
            for term in part.segment.terms(field):
                if found := len(part.live(field, term)):
                    counts[term] = counts.get(term, 0) + found
        return counts
