"""Searching and fetching: the questions that the tools ask of an index.

Start-up time counts, so what reads and writes indexes is imported when the first question is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.hints import Hint
    from index.link_graph.graph import LinkGraph
    from index.live import LiveIndex
    from index.overlays import Overlays
    from index.passages import Passage
    from index.port import Progress, Query, Scored
    from index.status import Status
    from index.storage.metadata import Metadata
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


class Hit(NamedTuple):
    """A section that answers a query. `start_line` and `end_line` count from 1, inclusive, in the blob."""

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
    """One page of hits at `commit`; there are more of them if there is a `next_cursor`.

    `stale` means that the branch has moved on while another writer is still indexing it. `unreadable`
    are the documents of the commit that were left out, because Git could not read them. `partial` means
    that a quoted phrase was not looked for in every section that holds its words.
    """

    hits: tuple[Hit, ...]
    next_cursor: str | None
    hint: Hint | None
    commit: str | None
    stale: bool = False
    unreadable: tuple[str, ...] = ()
    partial: bool = False


class SearchIndex:
    """The search index of a workspace's served branch, which it follows. Safe to use from threads."""

    def __init__(self, workspace: Workspace, *, location: Path | None = None) -> None:
        """Open nothing yet. `location` is a private folder to use instead of the repository's own."""
        self._workspace = workspace
        self._location = location

    @property
    def workspace(self) -> Workspace:
        """The workspace whose sections these are."""
        return self._workspace

    @cached_property
    def _live(self) -> LiveIndex:
        from index.live import LiveIndex

        return LiveIndex(self._workspace, self._location)

    @cached_property
    def _overlays(self) -> Overlays:
        from index.overlays import Overlays

        return Overlays(self._workspace, self._live)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        cursor: str | None = None,
        filters: Mapping[str, str] | None = None,
        path: str | None = None,
        ref: str | None = None,
        progress: Progress | None = None,
    ) -> SearchPage:
        """Find the sections that answer a query, best first.

        `index.query` says what a query may hold. `filters` has a value for each of some keys of the taxonomy,
        and `path` is a document, a folder or a glob. `ref` names the commit that is searched, as
        `Workspace.at` reads it; None is the tip of the branch. A cursor goes on at its own commit alone.

        Raises EmptyQuery, QueryTooBroad, UnknownFilter, UnknownFilterValue, InvalidCursor, StaleCursor; what
        `Workspace.at` raises; IndexBusy, IndexUnwritable or IndexDamaged if there is no index to ask.
        """
        from index.cursors import read_cursor, search_digest, write_cursor
        from index.query import parse
        from index.search import Question, search_branch, search_commit
        from index.storage.keys import load_user_key

        parsed = parse(query, filters or {}, path)
        search = search_digest(query, parsed.filters, parsed.path)
        generation, offset = None, 0
        if cursor is not None:
            generation, offset = read_cursor(load_user_key(), cursor, search=search)
        question = Question(query, parsed, offset, limit, generation)
        if ref is None or not ref.strip():
            results, hint, is_stale = search_branch(self._live, question, progress)
        else:
            snapshot = self._workspace.at(ref)
            results, hint, is_stale = search_commit(self._overlays, question, snapshot, progress)
        end = offset + len(results.hits)
        return SearchPage(
            hits=self._hits(results.hits, parsed),
            next_cursor=write_cursor(
                load_user_key(), generation=results.generation, search=search, offset=end
            )
            if results.more
            else None,
            hint=hint,
            commit=results.state.commit,
            stale=is_stale,
            unreadable=tuple(sorted(results.state.unreadable)),
            partial=results.partial,
        )

    def warm(self) -> None:
        """Import what searches and open the index that is there, so that the first search is quick.

        Builds and follows nothing.
        """
        import index.search  # noqa: F401

        self._live.warm()

    def get(self, chunk_id: str, context: int = 0, ref: str | None = None) -> Passage:
        """Read a section with its neighbours in the file; an old address leads to where it moved.

        `ref` names the commit that is read, None the tip. Raises ChunkNotFound, InvalidChunkId, and what
        `Workspace.at` raises.
        """
        from index.passages import read_passage

        return read_passage(self._workspace.at(ref), chunk_id, context, self._workspace.moves)

    def follow(self, progress: Progress | None = None) -> str | None:
        """Bring the index to the tip of the branch, and give the commit that it then stands for."""
        return self._live.follow(progress).state.commit

    def rebuild(self, progress: Progress | None = None) -> str | None:
        """Build the index anew beside the old one and swap them; give the commit that it stands for."""
        return self._live.rebuild(progress).commit

    def metadata(self) -> Metadata | None:
        """Return the last `metadata.json` of this branch; None before the first index. Never waits."""
        return self._live.metadata()

    def description(self) -> str:
        """Say in one line what the documents are; before the first index, as its `metadata.json` will say."""
        from index.storage.metadata import corpus_description

        if (told := self.metadata()) is not None:
            return corpus_description(told.corpus_description, self._workspace.name)
        try:
            configured = self._workspace.snapshot().config.corpus.description
        except WorkspaceError:  # whoever asks for a document will be told
            configured = None
        return corpus_description(configured, self._workspace.name)

    def keys(self) -> Mapping[str, str | None]:
        """Return the keys of the taxonomy at the tip, each with its description. Raises InvalidConfig."""
        return self._workspace.snapshot().config.taxonomy_keys

    def values(self) -> Mapping[str, Mapping[str, int]]:
        """Count the sections that have each value of each key, by the index as it is, if there is one."""
        state = self._live.engine.serving()
        return self._live.values(state) if state is not None else {}

    def sweep(self) -> int:
        """Remove what writers that died left behind; return how many files and folders. Raises IndexBusy."""
        return self._live.sweep()

    def status(self) -> Status:
        """Say what there is of an index, without changing it."""
        return self._live.status()

    def close(self) -> None:
        """Let go of the files of index and graph, and of what was made of other commits."""
        if "_overlays" in vars(self):
            self._overlays.close()
        if "_live" in vars(self):  # opening it only to close it could fail
            self._live.close()
        if "links" in vars(self):
            self.links.close()

    @cached_property
    def links(self) -> LinkGraph:
        """The graph of the links between documents, which follows the branch beside the index."""
        from index.link_graph.graph import LinkGraph

        return LinkGraph(self._workspace, self._live.home())

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents that may link to some paths, as `workspace.links.inbound.Inbound` says."""
        return self.links.linking_to(snapshot, paths)

    def _hits(self, found: Iterable[Scored], question: Query) -> tuple[Hit, ...]:
        from index.matches import Matcher
        from index.snippets import cut_snippet

        shown, matcher = self._live.texts.display_text, Matcher(question.terms)
        return tuple(
            Hit(
                chunk_id=(address := record.chunk_id),
                score=round(score, 6),
                heading=record.heading,
                breadcrumb=" > ".join(record.breadcrumb),
                snippet=cut_snippet(shown(record), matcher) or record.heading,
                filepath=record.path,
                metadata={key: ", ".join(values) for key, values in record.facets.items()},
                blob=record.blob,
                start_line=record.line,
                end_line=record.end_line,
                address=address,
            )
            for record, score in found
        )
