"""The index at one moment, as values: what it stands for, its parts, and what in them is alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from index.chunks import Record
    from index.engine import Segment

SCHEMA = 2
"""The version of format and analysis; an index of another version lives in another folder."""

TEXT, PATH, TYPE, TAGS, STATE = "text", "path", "type", "tags", "state"


@dataclass(frozen=True, slots=True)
class State:
    """What an index stands for: a commit (None before the first), and how much it holds.

    `files` counts the documents of the commit, `indexed_at` is the UTC time of the change, in ISO 8601 to the
    second. `unreadable` has the documents that were left out because Git could not read them, each with its
    blob.
    """

    commit: str | None
    files: int
    chunks: int
    indexed_at: str
    schema: int = SCHEMA
    unreadable: Mapping[str, str] = field(default_factory=dict)


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

    def is_untouched(self) -> bool:
        """Whether the files are as they were when their checksums were right."""
        return all(part.segment.is_untouched() for part in self.parts)

    def values(self, field: str) -> dict[str, int]:
        """Count the live chunks of each value of an exact field."""
        counts: dict[str, int] = {}
        for part in self.parts:
            for term in part.segment.terms(field):
                if found := len(part.live(field, term)):
                    counts[term] = counts.get(term, 0) + found
        return counts
