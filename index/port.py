"""The port to a search engine: what every engine does, and the values that pass through.

An engine keeps the sections of one commit and answers queries about them. It is told what changed by those
who follow the branch (`index.live`), never looks into Git by itself, and forgets nothing that it confirmed.
`tests/index/test_engines.py` is the contract in full: any engine passes it.

    state     what the index stands for; None before the first commit was taken in
    apply     go from one commit to the next: a compare-and-set on the base, in one step
    rebuild   take in a whole commit beside what serves, and swap
    search    the best sections for a query, in a fixed order
    values    how many sections have each value of a taxonomy key
    similar   what a misspelt word may stand for
    close     let go of what is open; the next call opens it again
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

from index.page import IndexedDocument, SectionRecord, UnreadableDocument
from workspace.errors import WorkspaceError

Progress = Callable[[int, int, str], None]
"""Told the number of documents done, the number of all, and what is being done."""


class BaseMoved(WorkspaceError):
    """The index does not stand at the base of the change; `details` has its `commit`."""

    code: ClassVar[str] = "BASE_MOVED"


class NotIndexed(WorkspaceError):
    """There is no index yet."""

    code: ClassVar[str] = "NOT_INDEXED"


class GenerationGone(WorkspaceError):
    """A page of results was asked for of another generation than the one that serves."""

    code: ClassVar[str] = "GENERATION_GONE"


@dataclass(frozen=True, slots=True)
class State:
    """What an index stands for: a commit, and how much it holds.

    `files` counts the documents of the commit, `chunks` their sections, `length` the weights of all terms of
    all sections. `indexed_at` is the UTC time of the change, in ISO 8601 to the second. `unreadable` has the
    documents that were left out because Git could not read them, each with its blob.
    """

    commit: str | None
    files: int
    chunks: int
    length: int
    indexed_at: str
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A question: `terms` are joined by OR, each with its weight; no excluded term may occur.

    Every phrase must occur; with `phrases_first`, sections where they do not follow those where they do.

    A filter keeps the sections of documents that have this value, among others perhaps, for a taxonomy key.
    `path` is a document, a folder, or a glob in which `*` crosses folders.
    """

    terms: Mapping[str, int]
    excluded: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    phrases_first: bool = False


class Scored(NamedTuple):
    """A section that answers, and its score."""

    record: SectionRecord
    score: float


@dataclass(frozen=True, slots=True)
class Results:
    """A range of results.

    `more` reports whether there are further ones, `partial` that a phrase was not searched for to the end.
    `generation` identifies the state of the index that decides the results.
    """

    hits: tuple[Scored, ...]
    more: bool
    generation: str
    state: State
    partial: bool = False


class Source(Protocol):
    """The documents of a commit, which another process may read too: a source can be pickled."""

    @property
    def commit(self) -> str | None: ...

    def paths(self) -> tuple[str, ...]:
        """Return every document, in order."""

    def pages(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Return some of the documents, in the order requested."""


class Engine(Protocol):
    """A search engine. Errors are WorkspaceErrors; IndexDamaged asks for `rebuild`."""

    def state(self) -> State | None: ...

    def apply(
        self,
        base: str | None,
        commit: str | None,
        upserts: Iterable[IndexedDocument | UnreadableDocument],
        deletes: Iterable[str],
    ) -> State:
        """Take in what differs between two commits, `upserts` in ascending order of path.

        To be at `commit` already is a success that does nothing. With `base` and `commit` the same, documents
        that could not be read before are taken in. Raises BaseMoved if the index stands neither at `base` nor
        at `commit`, or had to begin anew elsewhere.
        """

    def rebuild(
        self,
        source: Source,
        progress: Progress | None = None,
        *,
        unless: Callable[[State], bool] | None = None,
    ) -> State:
        """Take in a whole commit beside what serves, and swap; give the state that serves then.

        `unless` is asked, when nobody else writes any more, whether what serves by then will do.
        """

    def search(
        self,
        query: Query,
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """Return the hits [offset, offset + limit) of a query. Raises GenerationGone, NotIndexed.

        `generation` binds a page to the list that its earlier pages came from.
        """

    def values(self, key: str) -> Mapping[str, int]:
        """Count the sections that have each value of a taxonomy key."""

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Return at most so many terms of live sections that a folded word may have meant, its own left out.

        They are one edit away if there are such, else two: the stems of words one edit away, and terms with
        the first two letters of its own, as far from this as `index.spelling.reach` says. Those that most
        sections hold come first, then by the alphabet.
        """

    def close(self) -> None: ...
