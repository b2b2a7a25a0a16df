"""Searching and fetching: the questions that the tools ask of an index.

Start-up time counts, so what reads and writes indexes is imported when the first question is asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.chunks import Record
    from index.follow import Progress
    from index.hints import Hint
    from index.live import LiveIndex
    from index.metadata import Metadata
    from index.passages import Passage
    from index.ranking import Ranked, Ranking
    from index.view import Status, View
    from workspace.workspace import Workspace


class EmptyQuery(WorkspaceError):
    """A search without a query."""

    code: ClassVar[str] = "EMPTY_QUERY"


class UnknownFilter(WorkspaceError):
    """A filter by a key that the taxonomy does not have."""

    code: ClassVar[str] = "UNKNOWN_FILTER"


class UnknownFilterValue(WorkspaceError):
    """A filter value that no document has; `details` has the nearest and the known values."""

    code: ClassVar[str] = "UNKNOWN_FILTER_VALUE"


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query. `start_line` and `end_line` count from 1, inclusive, in the blob."""

    chunk_id: str
    score: float
    heading: str
    breadcrumb: str
    snippet: str
    filepath: str
    metadata: Mapping[str, str]
    blob: str
    start_line: int
    end_line: int
    address: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of hits at `commit`; `total` counts the hits of all pages.

    `stale` means that the branch has moved on while another writer is still indexing it. `unreadable`
    are the documents of the commit that were left out, because Git could not read them.
    """

    hits: tuple[Hit, ...]
    next_cursor: str | None
    hint: Hint | None
    commit: str | None
    total: int
    stale: bool = False
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    terms: Mapping[str, int]
    filters: Mapping[str, str]
    path: str | None


class SearchIndex:
    """The search index of a workspace's served branch, which it follows. Safe to use from threads."""

    def __init__(self, workspace: Workspace, *, location: Path | None = None) -> None:
        """Open nothing yet. `location` is a private folder to use instead of the repository's own."""
        self._workspace = workspace
        self._location = location

    @cached_property
    def _live(self) -> LiveIndex:
        from index.live import LiveIndex

        return LiveIndex(self._workspace, self._location)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        cursor: str | None = None,
        filters: Mapping[str, str] | None = None,
        path: str | None = None,
        progress: Progress | None = None,
    ) -> SearchPage:
        """Find the chunks that answer a query, best first.

        A query is its first 64 words, joined by OR; it has no syntax. `filters` are by `type` and `tags`, and
        `path` is a folder or a glob. Raises EmptyQuery, UnknownFilter, UnknownFilterValue, InvalidCursor,
        StaleCursor; IndexBusy, IndexUnwritable or IndexDamaged if there is no index to ask.
        """
        from index.analysis import terms_of_query
        from index.integrity import IndexDamaged

        if not query.strip():
            raise EmptyQuery("the query is empty", fix="Ask with a few words, such as 'retry backoff'.")
        question = _Question(terms_of_query(query), dict(filters or {}), path)
        view = self._live.follow(progress)
        try:
            return self._answer(view, query, question, limit, cursor)
        except IndexDamaged:
            view = self._live.replace(view, progress)
            return self._answer(view, query, question, limit, cursor)

    def get(self, chunk_id: str, context: int = 0) -> Passage:
        """Read a chunk at the tip with its neighbours in the file. Raises ChunkNotFound, InvalidChunkId."""
        from index.passages import passage

        return passage(self._workspace.snapshot(), chunk_id, context)

    def follow(self, progress: Progress | None = None) -> str | None:
        """Bring the index to the tip of the branch, and give the commit that it then stands for."""
        return self._live.follow(progress).commit

    def rebuild(self, progress: Progress | None = None) -> str | None:
        """Build the index anew beside the old one and swap them; give the commit that it stands for."""
        return self._live.rebuild(progress).commit

    def metadata(self) -> Metadata | None:
        """Give the last `metadata.json` of this branch; None before the first index. Never waits."""
        return self._live.metadata()

    def sweep(self) -> int:
        """Remove what writers that died left behind; return how many files and folders. Raises IndexBusy."""
        return self._live.sweep()

    def status(self) -> Status:
        """Say what there is of an index, without changing it."""
        return self._live.status()

    def close(self) -> None:
        """Let go of the index's files."""
        self._live.close()

    def _answer(
        self, view: View, query: str, question: _Question, limit: int, cursor: str | None
    ) -> SearchPage:
        from index.cursors import read_cursor, search_digest, write_cursor
        from index.hints import SAMPLE, hint
        from index.keys import user_key

        self._check(view, question)
        search = search_digest(query, question.filters, question.path)
        offset = (
            read_cursor(user_key(), cursor, commit=view.edition, search=search) if cursor is not None else 0
        )
        ranking = self._rank(view, question, offset, limit)

        def ask(filters: Mapping[str, str]) -> list[Record]:
            other = _Question(question.terms, filters, question.path)
            return [ranked.record for ranked in self._rank(view, other, 0, SAMPLE).page]

        end = offset + len(ranking.page)
        more = end < ranking.total
        return SearchPage(
            hits=tuple(self._hit(ranked, question.terms) for ranked in ranking.page),
            next_cursor=write_cursor(user_key(), commit=view.edition, search=search, offset=end)
            if more
            else None,
            hint=None if ranking.total else hint(question.terms, question.filters, question.path, ask),
            commit=view.commit,
            total=ranking.total,
            stale=view.stale,
            unreadable=tuple(sorted(view.generation.state.unreadable)),
        )

    def _rank(self, view: View, question: _Question, offset: int, limit: int) -> Ranking:
        from index.filters import by_path, by_value
        from index.ranking import rank

        filters = [by_value(key, value) for key, value in question.filters.items()]
        if question.path:
            filters.append(by_path(question.path))
        return rank(view.generation, question.terms, filters, offset=offset, limit=limit)

    def _check(self, view: View, question: _Question) -> None:
        for key, value in question.filters.items():
            if key not in view.values:
                raise UnknownFilter(
                    f"there is no filter '{_plain(key)}'",
                    fix=f"Filter by {' or '.join(view.values)}.",
                    nearest=difflib.get_close_matches(_plain(key), view.values, n=1),
                    known=list(view.values),
                )
            known = view.values[key]
            if value not in known:
                raise _unknown_value(key, value, known)

    def _hit(self, ranked: Ranked, terms: Mapping[str, int]) -> Hit:
        from index.snippets import snippet

        record = ranked.record
        text = self._text(record)
        metadata = {"type": record.type or "", "tags": ", ".join(record.tags)}
        return Hit(
            chunk_id=record.chunk_id,
            score=round(ranked.score, 6),
            heading=record.heading,
            breadcrumb=" > ".join(record.breadcrumb),
            snippet=snippet(text, terms) or record.heading,
            filepath=record.path,
            metadata={key: value for key, value in metadata.items() if value},
            blob=record.blob,
            start_line=record.line,
            end_line=record.end_line,
            address=record.chunk_id,
        )

    def _text(self, record: Record) -> str:
        """The text under a hit's heading; none if the blob was lost after it was indexed."""
        from workspace.git import DamagedRepository

        try:
            return self._workspace.git.blob(record.blob)[record.body : record.end].decode("utf-8", "replace")
        except DamagedRepository:
            return ""


def _unknown_value(key: str, value: str, known: Mapping[str, int]) -> UnknownFilterValue:
    from index.metadata import is_listable

    shown = [name for name in sorted(known, key=lambda name: (-known[name], name)) if is_listable(name)]
    folded = {name.casefold(): name for name in shown[:2_000]}
    close = difflib.get_close_matches(_plain(value).casefold(), folded, n=5, cutoff=0.5)
    near = [folded[name] for name in close]
    if shown:
        fix = "Did you mean " + " or ".join(f"'{name}'" for name in near or shown[:5]) + "?"
    else:
        fix = f"No document has {key}: leave this filter out."
    return UnknownFilterValue(
        f"no document has {key} '{_plain(value)}'", fix=fix, nearest=near, known=shown[:50]
    )


def _plain(text: str) -> str:
    """Shorten a caller's text for a message, without characters that cannot be encoded."""
    return text[:100].encode("utf-8", "replace").decode()
