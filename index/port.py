"""The interface of a search engine, and the values that pass through it.

An engine stores the sections of one commit and searches them. `index.live` passes it the changes of the
branch; the engine itself never reads Git. A change that it has confirmed is not lost.
`tests/index/whoosh_engine/test_engines.py` is the full contract: every engine passes it.

    state               return the indexed commit and its figures; None before the first commit is indexed
    apply               index the changes from one commit to the next, in one step, if the base is unchanged
    rebuild             index a full commit next to the current index, and swap the two
    search              return the best sections for a query, in a fixed order
    count_values        count the sections that have each value of a taxonomy key
    find_similar_terms  return terms that a misspelt word may mean
    close               close open files; the next call opens them again
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol

from index.conditions import Condition, HasPrefix, HasSimilarWord
from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SearchType = Literal["bm25", "vector", "hybrid"]
"""A search by words, by the vectors of sections, or by both."""

Progress = Callable[[int, int, str], None]
"""Receives the number of finished documents, the number of all documents, and the name of the work."""

MAX_PATH_LENGTH = 1_000
"""The largest number of characters of a path or glob to filter by."""


class BaseMoved(WorkspaceError):
    """The index is not at the base commit of the change; `details` has the `commit` of the index."""

    code: ClassVar[str] = "BASE_MOVED"

    @classmethod
    def to(cls, commit: str | None) -> BaseMoved:
        """Return the error for an index at another commit."""
        return cls(
            "the index is not at the base of the change",
            fix="Compute the change from the index's own commit.",
            commit=commit,
        )


class NotIndexed(WorkspaceError):
    """There is no index yet."""

    code: ClassVar[str] = "NOT_INDEXED"


class GenerationGone(WorkspaceError):
    """The requested page of results belongs to another generation than the current one."""

    code: ClassVar[str] = "GENERATION_GONE"


class EngineUnavailable(WorkspaceError):
    """The database in which the index is stored cannot be used now. The message names no host and no user."""

    code: ClassVar[str] = "ENGINE_UNAVAILABLE"


class QueryTooBroad(WorkspaceError):
    """A query over a limit, or one that excludes a phrase.

    `details` may have the `limit`, and the `part` of the query that is over it.
    """

    code: ClassVar[str] = "QUERY_TOO_BROAD"


@dataclass(frozen=True, slots=True)
class State:
    """The indexed commit, and the figures of its index.

    `files` counts the documents of the commit, `chunks` their sections, `length` the sum of the weights of
    all terms of all sections. `indexed_at` is the UTC time of the change, in ISO 8601 to the second.
    `unreadable` has the documents that were left out because Git could not read them, each with its blob.
    """

    commit: str | None
    files: int
    chunks: int
    length: int
    indexed_at: str
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SectionSelection:
    """The sections that a search is restricted to: keys by the path of their document.

    `name` and `value` are the parameter of the search that selects them.
    """

    keys_by_path: Mapping[str, frozenset[str]]
    name: str
    value: str


class Fusion(NamedTuple):
    """The way in which the lists of words and of vectors become one.

    `rank`: the sum of reciprocal ranks, the list of words counted `lexical_weight` times. `sum`: the sum of
    the scores, each relative to the best of its list; `lexical_weight` is the share of words, from 0 to 1.
    """

    method: Literal["rank", "sum"]
    lexical_weight: float


class ListPosition(NamedTuple):
    """The state of the vectors at the first page of results, so that later pages have the same results.

    `vectors_id` is the id of the vectors, and `last_id` that of the last one.
    """

    vectors_id: str
    last_id: int


class VectorRanking(Protocol):
    """The nearness of sections to a question. Sections are given by their digests.

    `vector` is that of the question. `position` is the state of the vectors, which a cursor contains.
    `fusion` is None if the results are the nearest sections alone. The first `pinned_count` sections of the
    list of words stay first.
    """

    @property
    def vector(self) -> NDArray[np.float32]: ...

    @property
    def position(self) -> ListPosition: ...

    @property
    def fusion(self) -> Fusion | None: ...

    @property
    def pinned_count(self) -> int: ...

    def estimate(self, segment_id: str, digests: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the estimated cosine of each section of a segment; -inf for a section without a vector."""

    def measure(self, digests: Sequence[bytes]) -> list[float]:
        """Return the exact cosine of some sections; -inf for a section without a vector."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: `terms` are joined by OR, each with its weight; no excluded term may occur.

    Every phrase must occur, unless `phrases_first` is set: then sections without the phrases follow.
    A scored phrase need not occur: it counts as one more term.

    `filters` has taxonomy keys, each with a value: only documents that have this value, among others, match.
    `path` is a document, a folder, or a glob in which `*` crosses folders. `condition` selects sections, too.
    With `includes_all_selected`, every selected section is a result, even if it contains none of the terms.

    If `sections` is given, only these sections match.

    `name_parts` are the terms that occur only as parts of names, such as `api` of `--api-group`.

    `expansions` are further terms: each matches all words with a prefix, or all similar words.
    `notes` report the parts of the text that look like operators but are invalid.

    With `vector_ranking`, the nearest sections that the other fields allow are results, too.
    """

    terms: Mapping[str, int]
    excluded: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    phrases_first: bool = False
    scored_phrases: tuple[tuple[str, ...], ...] = ()
    condition: Condition | None = None
    expansions: tuple[HasPrefix | HasSimilarWord, ...] = ()
    includes_all_selected: bool = False
    notes: tuple[str, ...] = ()
    name_parts: frozenset[str] = frozenset()
    sections: SectionSelection | None = None
    vector_ranking: VectorRanking | None = None


class ScoredSection(NamedTuple):
    """A section that matches a query, and its score."""

    record: SectionRecord
    score: float


@dataclass(frozen=True, slots=True)
class Results:
    """A range of results.

    `has_more` is True if there are further results. `is_partial` is True if some sections were not checked
    for a phrase. `generation` identifies the state of the index that decides the results. `expanded_terms`
    are the terms that the expansions of the query match. `absent_terms` are the terms of the query that no
    section contains.
    """

    hits: tuple[ScoredSection, ...]
    has_more: bool
    generation: str
    state: State
    is_partial: bool = False
    expanded_terms: tuple[str, ...] = ()
    absent_terms: frozenset[str] = frozenset()


class DocumentSource(Protocol):
    """The documents of a commit. A source can be pickled, so that another process can read it."""

    @property
    def commit(self) -> str | None: ...

    def paths(self) -> tuple[str, ...]:
        """Return the path of every document, in order."""

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Read the documents with these paths, in the order of the paths."""


class Engine(Protocol):
    """A search engine. Errors are WorkspaceErrors; after IndexDamaged the caller calls `rebuild`."""

    def state(self) -> State | None: ...

    def apply(
        self,
        base: str | None,
        commit: str | None,
        upserts: Iterable[IndexedDocument | UnreadableDocument],
        deletes: Iterable[str],
    ) -> State:
        """Index the difference between two commits, with `upserts` in ascending order of path.

        If the index is already at `commit`, nothing changes. If `base` and `commit` are equal, documents that
        could not be read before are indexed. Raises BaseMoved if the index is neither at `base` nor at
        `commit`, or has to be rebuilt at another location.
        """

    def rebuild(
        self,
        source: DocumentSource,
        progress: Progress | None = None,
        *,
        unless: Callable[[State], bool] | None = None,
    ) -> State:
        """Index a full commit next to the current index, swap the two, and return the new state.

        `unless` is called under the write lock with the current state. If it returns True, that state is
        returned and nothing is built.
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

        `generation` is the generation of the earlier pages of the same results.
        """

    def count_values(self, key: str) -> Mapping[str, int]:
        """Count the sections that have each value of a taxonomy key."""

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms of live sections that a misspelt, folded word may mean.

        The term of the word itself is not returned. The nearest terms are returned: those one edit away, or,
        if there are none, those two edits away. Terms one edit away include the stems of all words one edit
        away. Terms two edits away have the same first two letters, and the word must be long enough for two
        edits (`index.spelling.compute_max_edits`). The terms are sorted by the number of sections that have
        them, then alphabetically.
        """

    def close(self) -> None: ...
