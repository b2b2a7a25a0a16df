"""The search service: search, passages, metadata and links of one workspace, for the tools.

The modules that read and write indexes are imported at the first search, so that a server starts fast.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from index.postgres.options import FILE_ENGINE, EngineOptions
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions, FixedVectors
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from index.comparison import Comparison
    from index.hints import Hint
    from index.link_graph.graph import LinkGraph
    from index.live import IndexLag, LiveIndex
    from index.overlays import Overlays
    from index.passages import Passage
    from index.port import Progress, Query, ScoredSection, SearchType, SectionSelection, VectorRanking
    from index.segments.generation import SegmentReader
    from index.storage.keys import SigningKeys
    from index.storage.metadata import Metadata
    from index.storage.status import IndexStatus
    from index.vectors.embedder import Vectors
    from index.vectors.exchange import SharedVectors
    from index.vectors.related_sections import RelatedSection
    from index.vectors.vector_index import EmbeddingReport, VectorIndex
    from workspace.diff.changed_sections import KeysByPath
    from workspace.document.document import Document
    from workspace.lru_cache import LRUCache
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


_VECTORS_MARK = "+"
"""The mark in a cursor's generation that the state of the vectors follows."""

_MAX_COMPARISONS = 8
"""The number of pairs of commits whose changed sections are cached."""


class Hit(NamedTuple):
    """A section that matches a query. `start_line` and `end_line` count from 1, inclusive, in the blob.

    `text` is the Markdown of the section without its heading. `title` is that of the document, and `position`
    the section's number in its document, from 1. `start` and `end` are its byte offsets in the blob.
    """

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
    text: bytes
    title: str
    position: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of hits at `commit`; there are further hits if there is a `next_cursor`.

    `is_stale` means that the branch has newer commits that another writer is still indexing. `unreadable` has
    the documents of the commit that were left out because Git could not read them. `is_partial` means that
    not every section with the words of a quoted phrase was checked for the phrase. `notes` report invalid
    operators of the query, which were searched as words. `terms` are the index terms of the search.
    `missing_words` are the words of the query that no section contains; empty for a page after the first.
    `search_type` is the type of the search that found the hits. `embedding` reports the provider of vectors;
    None without a provider, and for a search that asked for words alone. `question_vector` is the vector of
    the question, if one was used. `is_cached` means that an earlier search of the commit found the page.
    """

    hits: tuple[Hit, ...]
    next_cursor: str | None
    hint: Hint | None
    commit: str | None
    is_stale: bool = False
    unreadable: tuple[str, ...] = ()
    is_partial: bool = False
    notes: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    missing_words: tuple[str, ...] = ()
    search_type: SearchType = "bm25"
    embedding: EmbeddingReport | None = None
    question_vector: Vectors | None = field(default=None, compare=False)
    is_cached: bool = field(default=False, compare=False)


class VectorSearchUnavailable(WorkspaceError):
    """A search by vectors without a provider of vectors."""

    code: ClassVar[str] = "VECTOR_SEARCH_UNAVAILABLE"

    def __init__(self) -> None:
        super().__init__(
            "search_type 'vector' is unavailable: no embedding provider is configured",
            fix="Use 'hybrid' or 'bm25'.",
            field="search_type",
        )


class SearchIndex:
    """The search index of a workspace's served branch, which it follows. Safe to use from threads.

    With an embedder, sections are found by their meaning, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        location: Path | None = None,
        embedding: EmbeddingOptions = NO_EMBEDDING,
        engine: EngineOptions = FILE_ENGINE,
    ) -> None:
        """Open nothing yet. `location` is a private folder to use instead of the repository's own."""
        self._workspace = workspace
        self._location = location
        self._embedding = embedding
        self._engine_options = engine

    @property
    def workspace(self) -> Workspace:
        """The indexed workspace."""
        return self._workspace

    @property
    def signing_keys(self) -> SigningKeys:
        """The keys that sign what clients keep."""
        return self._engine_options.signing_keys

    @property
    def is_shared(self) -> bool:
        """Return True if other nodes use the same index."""
        return self._engine_options.database is not None

    @cached_property
    def _live(self) -> LiveIndex:
        from index.live import LiveIndex

        return LiveIndex(self._workspace, self._location, self._engine_options)

    @cached_property
    def _vectors(self) -> VectorIndex | None:
        if self._embedding.provider is None:
            return None
        from index.vectors.vector_index import VectorIndex

        return VectorIndex(
            self._embedding.provider,
            self._live.list_vector_folders,
            self._find_fixed_vectors(),
            in_background=self._embedding.in_background,
            open_shared=self._open_shared_vectors if self._engine_options.database is not None else None,
        )

    def _open_shared_vectors(self, embedding_id: str, probe: Vectors) -> SharedVectors:
        from index.vectors.postgres_vectors import PostgresVectors

        assert self._engine_options.database is not None
        return PostgresVectors(self._engine_options.database, embedding_id, probe)

    def _find_fixed_vectors(self) -> FixedVectors | None:
        """Return the vectors that this index has from its build; None if it embeds sections itself."""
        return None

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
        since: str | None = None,
        search_type: SearchType | None = None,
        progress: Progress | None = None,
    ) -> SearchPage:
        """Find the sections that match a query, best first.

        `index.query` defines the query grammar. `filters` has one value for each key to filter by, and `path`
        is a document, a folder or a glob. `ref` names the commit to search, as `Workspace.at` resolves it;
        None is the tip of the branch. `since` is a ref or a date: only sections whose text changed after that
        commit are found. A cursor is valid only for the commit of its search. `search_type` is by default
        `hybrid` if there is an embedder; a search that cannot use vectors uses words, and the page says so.

        Raises VectorSearchUnavailable, EmptyQuery, QueryTooBroad, UnknownFilter, UnknownFilterValue,
        InvalidCursor, StaleCursor, and the errors of `Workspace.at`. If there is no usable index,
        raises IndexBusy, IndexUnwritable, IndexDamaged or EngineUnavailable.
        """
        from index.cursors import compute_search_digest, read_cursor, write_cursor
        from index.operators import QueryFields
        from index.query import find_missing_words, parse_query
        from index.search import SearchRequest, search_branch, search_commit

        if search_type == "vector" and not self.has_vectors:
            raise VectorSearchUnavailable
        requested_type: SearchType = (search_type or "hybrid") if self.has_vectors else "bm25"
        has_since = since is not None and not since.isspace() and since != ""
        # The changes are those up to one commit, which is therefore fixed before the search.
        snapshot = self._workspace.at(ref) if has_since or (ref and not ref.isspace()) else None
        if snapshot is None:
            fields = QueryFields(self.taxonomy_keys, lambda key: self._has_dates(key, progress))
        else:
            fields = QueryFields(
                lambda: snapshot.config.taxonomy_keys,
                lambda key: self._overlays.get_or_create(snapshot, progress).searcher.has_dates(key),
            )
        parsed_query = parse_query(query, filters or {}, path, fields)
        base = None
        if has_since and since is not None and snapshot is not None:
            base, selection = self._select_changed_sections(since, snapshot, progress)
            parsed_query = replace(parsed_query, sections=selection)
        search_digest = compute_search_digest(
            query,
            parsed_query.filters,
            parsed_query.path,
            base,
            requested_type if self.has_vectors else None,
        )
        generation, offset, vectors_state = None, 0, ""
        if cursor is not None:
            generation, offset = read_cursor(
                self.signing_keys.list_verification_keys(), cursor, search_digest=search_digest
            )
            generation, _, vectors_state = generation.partition(_VECTORS_MARK)
        embedding: EmbeddingReport | None = None
        if requested_type != "bm25" and (cursor is None or vectors_state):
            parsed_query, embedding = self._add_vectors(
                query, parsed_query, requested_type, snapshot, vectors_state, progress
            )
        request = SearchRequest(query, parsed_query, fields, offset, limit, generation)
        if snapshot is None:
            results, hint, is_stale = search_branch(self._live, request, progress)
        else:
            results, hint, is_stale = search_commit(self._overlays, request, snapshot, progress)
        end = offset + len(results.hits)
        terms = (*parsed_query.terms, *results.expanded_terms)
        return SearchPage(
            hits=self._make_hits(results.hits, terms),
            next_cursor=write_cursor(
                self.signing_keys.get_signing_key(),
                generation=results.generation + _format_vectors_state(parsed_query),
                search_digest=search_digest,
                offset=end,
            )
            if results.has_more
            else None,
            hint=hint,
            commit=results.state.commit,
            is_stale=is_stale,
            unreadable=tuple(sorted(results.state.unreadable)),
            is_partial=results.is_partial,
            notes=parsed_query.notes,
            terms=terms,
            missing_words=() if offset else find_missing_words(query, parsed_query, results.absent_terms),
            search_type="bm25" if parsed_query.vector_ranking is None else requested_type,
            embedding=embedding,
            question_vector=None
            if parsed_query.vector_ranking is None
            else parsed_query.vector_ranking.vector,
        )

    def _add_vectors(
        self,
        text: str,
        parsed_query: Query,
        search_type: SearchType,
        snapshot: Snapshot | None,
        state: str,
        progress: Progress | None,
    ) -> tuple[Query, EmbeddingReport]:
        """Return the query with the nearness of sections, if the provider answers in time.

        `state` is that of the earlier pages of the same results; empty for the first page. Raises
        StaleCursor if the vectors of the earlier pages cannot be used now.
        """
        from index.cursors import StaleCursor
        from index.port import ListPosition
        from index.query import count_exact_hits

        assert self._vectors is not None
        readers = self._list_readers(snapshot, progress)
        self._vectors.notify(readers, self._live.texts.read_existing_span)
        vectors_id, _, last_id = state.partition(".")
        position = ListPosition(vectors_id, int(last_id)) if state else None
        ranked = self._vectors.rank(text, search_type, count_exact_hits(text), readers, position)
        coverage = ranked.report.coverage
        if progress and self._vectors.embeds_in_background and coverage.covered < coverage.total:
            progress(coverage.covered, coverage.total, "Embedding sections in the background")
        if state and ranked.ranking is None:
            raise StaleCursor(
                f"the next page cannot be read: {ranked.report.note}",
                fix="Repeat the search without a cursor to start at its first page.",
            )
        return replace(parsed_query, vector_ranking=ranked.ranking), ranked.report

    def _list_readers(self, snapshot: Snapshot | None, progress: Progress | None) -> Sequence[SegmentReader]:
        """Return the segments of a commit, or of the tip of the branch."""
        if snapshot is not None and snapshot.commit != self._workspace.tip():
            return self._overlays.get_or_create(snapshot, progress).searcher.generation.segment_readers
        self._live.update_to_tip(progress)
        generation = self._live.generation(progress)
        return generation.segment_readers if generation is not None else ()

    def embed_sections(self, progress: Progress | None = None) -> EmbeddingReport | None:
        """Embed the sections of the tip that have no vector; return None without an embedder.

        Raises EmbeddingUnavailable. What was embedded before an interruption is kept.
        """
        if self._vectors is None:
            return None
        readers = self._list_readers(None, progress)
        return self._vectors.embed_all(readers, self._live.texts.read_existing_span, progress)

    def find_related(
        self, snapshot: Snapshot, document: Document, keys: Collection[str] | None = None, limit: int = 5
    ) -> tuple[RelatedSection, ...]:
        """Return the sections of other documents that are nearest to a document of the tip, or to its `keys`.

        Documents that the document links to, and those that link to it, are left out. Neither the index nor
        the vectors are updated, so that a page does not wait. Empty without an embedding provider.
        """
        generation = self._live.engine.generation() if self._vectors is not None else None
        if self._vectors is None or generation is None:
            return ()
        from index.port import Query
        from index.vectors.related_sections import find_related

        def search(ranking: VectorRanking, limit: int) -> Sequence[ScoredSection]:
            return self._live.search(Query({}, vector_ranking=ranking), 0, limit).hits

        find_linked_paths = partial(self._find_linked_paths, snapshot, document)
        return find_related(
            self._vectors, generation.segment_readers, search, document.path, keys, find_linked_paths, limit
        )

    def _find_linked_paths(self, snapshot: Snapshot, document: Document) -> set[str]:
        """Return the documents that a document links to, and those that link to it if the graph is ready."""
        from index.link_graph.backlinks import resolve_backlinks, resolve_outgoing
        from workspace.links.file_tree import OverlayFileTree

        file_tree = OverlayFileTree(snapshot)
        paths = {link.path for link in resolve_outgoing(file_tree, document) if link.path is not None}
        with suppress(WorkspaceError):  # another process writes the graph, or the disk is full
            if (records := self.links.find_records(snapshot, document.path)) is not None:
                paths.update(link.source for link in resolve_backlinks(file_tree, document, records))
        return paths

    @property
    def has_vectors(self) -> bool:
        """True if sections can be found by their meaning."""
        return self._embedding.provider is not None

    def connect_provider(self) -> None:
        """Reach the provider before the first question; the next search reports a failure."""
        from index.storage.files import IndexUnwritable
        from index.storage.locking import IndexBusy
        from index.storage.manifest import IndexDamaged
        from index.vectors.embedder import EmbeddingUnavailable

        if self._vectors is not None:
            with suppress(EmbeddingUnavailable, IndexBusy, IndexDamaged, IndexUnwritable):
                self._vectors.connect()

    def _select_changed_sections(
        self, since: str, snapshot: Snapshot, progress: Progress | None
    ) -> tuple[str, SectionSelection]:
        """Return the id of the commit of `since`, and the sections that changed after it.

        The id of the state before the first commit is empty. Raises the errors of `resolve_since`.
        """
        from index.port import SectionSelection
        from workspace.diff.changed_sections import find_changed_sections
        from workspace.revisions import resolve_since
        from workspace.snapshot.snapshot import Snapshot

        base = resolve_since(self._workspace, since)
        if base == snapshot.commit:
            return base or "", SectionSelection({}, "since", since)
        old = self._workspace.at(base) if base is not None else Snapshot(snapshot.git, None)
        keys_by_path = self._changed_sections.get(
            (base, snapshot.commit), find_changed_sections, old, snapshot, progress
        )
        return base or "", SectionSelection(keys_by_path, "since", since)

    @cached_property
    def _changed_sections(self) -> LRUCache[tuple[str | None, str | None], KeysByPath]:
        from workspace.lru_cache import LRUCache

        return LRUCache(_MAX_COMPARISONS)

    def _has_dates(self, key: str, progress: Progress | None) -> bool:
        """Return True if a document of the branch has a date for a key in its front matter."""
        self._live.update_to_tip(progress)
        return self._live.engine.has_dates(key)

    def preload(self) -> None:
        """Import the search modules and open the existing index, so that the first search is fast.

        Builds and updates nothing.
        """
        import index.search  # noqa: F401

        self._live.preload()

    def read_passage(self, chunk_id: str, context: int = 0, ref: str | None = None) -> Passage:
        """Return a section with its neighbours in the file; an old address is resolved to the new one.

        `ref` names the commit to read; None is the tip. Raises ChunkNotFound, InvalidChunkId, and the errors
        of `Workspace.at`.
        """
        from index.passages import read_passage

        return read_passage(self._workspace.at(ref), chunk_id, context, self._workspace.moves)

    def update_to_tip(self, progress: Progress | None = None) -> str | None:
        """Update the index to the tip of the branch, and return the indexed commit.

        With an embedder, the sections without a vector are embedded in the background.
        """
        state = self._live.update_to_tip(progress).state
        if self._vectors is not None:
            self._vectors.notify(self._list_readers(None, progress), self._live.texts.read_existing_span)
        return state.commit

    def read_lag(self) -> IndexLag | None:
        """Return the lag of an index that nodes share, without opening or updating it; None for files."""
        return self._live.read_lag()

    def rebuild(self, progress: Progress | None = None) -> str | None:
        """Rebuild the index next to the old one, swap the two, and return the indexed commit."""
        return self._live.rebuild(progress).commit

    def compare(
        self, other: SearchIndex, question_count: int, progress: Progress | None = None
    ) -> Comparison:
        """Update this index and another one of the branch, and compare their lists of sample questions.

        Raises the errors of `search` about an index that cannot be used.
        """
        from index.comparison import compare_indexes

        return compare_indexes(self._live, other._live, question_count, progress)

    def erase(self, progress: Progress | None = None) -> str | None:
        """Remove all vectors, rebuild the index from the tip, and return the indexed commit.

        So neither contains what was removed from the documents. Shared vectors are removed, too.
        """
        self._live.remove_vectors()
        if self._engine_options.database is not None:
            from index.vectors.postgres_vectors import delete_vectors

            delete_vectors(self._engine_options.database)
        commit = self.rebuild(progress)
        self._live.sweep()
        return commit

    def metadata(self) -> Metadata | None:
        """Return the last `metadata.json` of this branch; None before the first build. Never waits."""
        return self._live.metadata()

    def description(self) -> str:
        """Return one line that describes the documents, also before the first index exists."""
        from index.storage.metadata import format_corpus_description

        if (metadata := self.metadata()) is not None:
            return format_corpus_description(metadata.corpus_description, self._workspace.repository_name)
        try:
            configured = self._workspace.snapshot().config.corpus.description
        except WorkspaceError:  # a call that reads a document reports the error
            configured = None
        return format_corpus_description(configured, self._workspace.repository_name)

    def taxonomy_keys(self) -> Mapping[str, str | None]:
        """Return the keys of the taxonomy at the tip, each with its description. Raises InvalidConfig."""
        return self._workspace.snapshot().config.taxonomy_keys

    def count_taxonomy_values(self) -> Mapping[str, Mapping[str, int]]:
        """Return the number of sections for each value of each key; no values without an index."""
        state = self._live.engine.serving_state()
        return self._live.count_values(state) if state is not None else {}

    def sweep(self) -> int:
        """Remove the files of dead writers; return the number of removed entries. Raises IndexBusy."""
        return self._live.sweep()

    def status(self) -> IndexStatus:
        """Return the status of the index, without changing it."""
        return self._live.status()

    def close(self) -> None:
        """Close the files of the index and of the link graph, and drop the indexes of other commits."""
        if (vectors := vars(self).pop("_vectors", None)) is not None:
            vectors.close()
        if "_overlays" in vars(self):
            self._overlays.close()
        if "_live" in vars(self):  # the index is not opened only to be closed, which could fail
            self._live.close()
        if "links" in vars(self):
            self.links.close()

    @cached_property
    def links(self) -> LinkGraph:
        """The graph of the links between documents. It follows the branch independently of the index."""
        from index.link_graph.graph import LinkGraph

        return LinkGraph(self._workspace, self._live.create_location())

    def find_linking_documents(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents that may link to some paths, as `InboundLinkFinder` requires."""
        return self.links.find_linking_documents(snapshot, paths)

    def read_source(self, hit: Hit) -> bytes:
        """Return the Markdown of a hit with its heading; empty if its blob was lost after indexing."""
        try:
            return self._live.texts.read_range(hit.blob, hit.start, hit.end)
        except DamagedRepository:
            return b""

    def _make_hits(self, sections: Iterable[ScoredSection], terms: Iterable[str]) -> tuple[Hit, ...]:
        from index.matches import Matcher
        from index.snippets import cut_snippet, make_display_text

        texts, matcher = self._live.texts, Matcher(terms)
        hits: list[Hit] = []
        for record, score in sections:
            text, address = texts.read(record), record.chunk_id
            display_text = make_display_text(str(text, "utf-8", "replace"))
            hits.append(
                Hit(
                    chunk_id=address,
                    score=round(score, 6),
                    heading=record.heading,
                    breadcrumb=" > ".join(record.breadcrumb),
                    snippet=cut_snippet(display_text, matcher) or record.heading,
                    filepath=record.path,
                    metadata={key: ", ".join(values) for key, values in record.facets.items()},
                    blob=record.blob,
                    start_line=record.line,
                    end_line=record.end_line,
                    address=address,
                    text=text,
                    title=record.breadcrumb[0] if record.breadcrumb else "",
                    position=record.position,
                    start=record.start,
                    end=record.end,
                )
            )
        return tuple(hits)


def _format_vectors_state(query: Query) -> str:
    """Return what a cursor has about the vectors of a search; empty without vectors."""
    if query.vector_ranking is None:
        return ""
    position = query.vector_ranking.position
    return f"{_VECTORS_MARK}{position.vectors_id}.{position.last_id}"
