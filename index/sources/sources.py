"""The sources of one server, and searches in one of them or in all."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from index.cursors import InvalidCursor, StaleCursor, sign_token, verify_token
from index.matches import Matcher, SearchableText
from index.postgres.options import FILE_ENGINE
from index.sources.settings import ALL_NAMESPACES, AnswerLimits, Features, SourcesFile, SourcesLimits
from index.sources.source import Source, SourceUnavailable
from index.vectors.options import NO_EMBEDDING
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from index.port import Progress, SearchType
    from index.postgres.options import EngineOptions
    from index.service import Hit, SearchPage
    from index.storage.keys import SigningKeys
    from index.vectors.embedder import Vectors
    from index.vectors.options import EmbeddingOptions

_FUSION_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

_COVERAGE_HITS = 3
"""The number of sections whose words decide the weight of a source."""

MAX_OFFSET = 1_000
"""The number of hits that the pages of one search can show."""

_CURSOR_KIND = "sources"
_MAX_LISTED_NAMES = 50


class NoNamespacesConfigured(WorkspaceError):
    """The server has no sources."""

    code: ClassVar[str] = "NO_NAMESPACES_CONFIGURED"


class NamespaceRequired(WorkspaceError):
    """The server has several sources, and the call names none; `namespaces` are at most 50 of their names."""

    code: ClassVar[str] = "NAMESPACE_REQUIRED"


class NamespaceNotFound(WorkspaceError):
    """The server has no source of this name; `nearest` are similar names, `namespaces` at most 50 names."""

    code: ClassVar[str] = "NAMESPACE_NOT_FOUND"


class SourcesDifference(NamedTuple):
    """The difference between the sources of a server and those of a file, by name."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]


def diff_sources_files(old: SourcesFile, new: SourcesFile) -> SourcesDifference:
    """Return the difference between two files of sources."""
    common_names = [name for name in new.sources if name in old.sources]
    return SourcesDifference(
        added=tuple(name for name in new.sources if name not in old.sources),
        changed=tuple(name for name in common_names if old.sources[name] != new.sources[name]),
        removed=tuple(name for name in old.sources if name not in new.sources),
        unchanged=tuple(name for name in common_names if old.sources[name] == new.sources[name]),
    )


class SourceFolders(NamedTuple):
    """The folders of a server of sources: that of its settings file, of the clones, and of the indexes."""

    settings_folder: Path
    clone_folder: Path
    index_folder: Path


class Sources:
    """The sources of one server, by namespace, in the order of the file. Safe to use from threads.

    `organization` is the id of their owner; empty if the server has only one. Cursors and handles of one
    organization are invalid for another.
    """

    def __init__(
        self,
        file: SourcesFile,
        folders: SourceFolders,
        embedding: EmbeddingOptions = NO_EMBEDDING,
        organization: str = "",
        engine: EngineOptions = FILE_ENGINE,
    ) -> None:
        self._folders = folders
        self._embedding = embedding
        self._engine = engine
        self._organization = organization
        self._file = file
        self._sources = {name: self._create(name, file) for name in file.sources}

    def restrict(self, names: Collection[str], features: Features, limits: AnswerLimits) -> Sources:
        """Return a server of some of these sources, which it shares. It does not follow `replace`.

        Names without a source are ignored.
        """
        file = SourcesFile(features=features, limits=SourcesLimits(max_tokens=limits.max_tokens))
        view = Sources(file, self._folders, self._embedding, self._organization, self._engine)
        view._sources = {name: source for name, source in self._sources.items() if name in names}
        return view

    @property
    def file(self) -> SourcesFile:
        """The content of the file that names the sources."""
        return self._file

    @property
    def signing_keys(self) -> SigningKeys:
        """The keys that sign what clients keep."""
        return self._engine.signing_keys

    @property
    def features(self) -> Features:
        """The features of the server."""
        return self._file.features

    @property
    def max_tokens(self) -> int:
        """The largest number of tokens of an answer of search_documentation."""
        return self._file.limits.max_tokens

    def __iter__(self) -> Iterator[Source]:
        return iter(tuple(self._sources.values()))

    def __len__(self) -> int:
        return len(self._sources)

    def replace(self, file: SourcesFile) -> SourcesDifference:
        """Apply a changed file: unchanged sources stay open, and the others are opened at their next use."""
        plan = diff_sources_files(self._file, file)
        old_sources = self._sources
        self._sources = {
            name: old_sources[name] if name in plan.unchanged else self._create(name, file)
            for name in file.sources
        }
        self._file = file
        return plan

    def select(self, namespace: str | None, *, allows_all: bool = True) -> tuple[Source, ...]:
        """Return the sources that a call names: one, or all for "*" and for the only source of a server.

        Without `allows_all`, "*" names the only source of a server, and else no source.

        Raises NoNamespacesConfigured, NamespaceRequired, NamespaceNotFound.
        """
        sources, name = self._sources, (namespace or "").strip()
        if not sources:
            raise NoNamespacesConfigured(
                "No documentation namespaces configured for this server",
                fix="Add a source to the server's file of sources.",
            )
        if (name == ALL_NAMESPACES and (allows_all or len(sources) == 1)) or (not name and len(sources) == 1):
            return tuple(sources.values())
        if not name:
            raise NamespaceRequired(
                f"Multiple namespaces available: {_list_names(sources)}",
                fix="Name one in 'namespace'"
                + (f', or search all with "{ALL_NAMESPACES}".' if allows_all else "."),
                field="namespace",
                namespaces=list(sources)[:_MAX_LISTED_NAMES],
            )
        if name not in sources:
            nearest = find_nearest(name, sources)
            raise NamespaceNotFound(
                f"no namespace '{name[:100]}'",
                fix=f"Did you mean '{nearest[0]}'?" if nearest else f"Use one of: {_list_names(sources)}.",
                field="namespace",
                nearest=nearest,
                namespaces=list(sources)[:_MAX_LISTED_NAMES],
            )
        return (sources[name],)

    def close(self) -> None:
        """Close the files of all sources."""
        for source in self:
            source.close()

    def _create(self, name: str, file: SourcesFile) -> Source:
        return Source(
            name, file.sources[name], *self._folders, self._embedding, self._organization, self._engine
        )


def _list_names(names: Collection[str]) -> str:
    listed_names, omitted_count = ", ".join(list(names)[:_MAX_LISTED_NAMES]), len(names) - _MAX_LISTED_NAMES
    return f"{listed_names} and {omitted_count} more" if omitted_count > 0 else listed_names


class SourceHit(NamedTuple):
    """A section that matches a question: its source, the hit, and the score by which the list is ordered."""

    source: Source
    hit: Hit
    score: float


class SourcesPage(NamedTuple):
    """The best sections of the searched sources. `has_more` is True if there are further sections.

    `commits` has the searched commit of each source, `unavailable` the reason of each source that could not
    be searched. `missing_words` are the words of the question that no searched source contains. `notes`
    report invalid operators. `suggested_queries` find something where the question finds nothing. `terms` are
    the index terms of the search. `search_type` is the type of the search that found the hits, and
    `embedding_notes` are the reasons why words alone decided. `question_vector` is the vector of the
    question, if one was used. `is_cached` means that an earlier search of the commits found the hits.
    """

    hits: tuple[SourceHit, ...]
    has_more: bool
    commits: Mapping[str, str | None]
    unavailable: Mapping[str, str]
    missing_words: tuple[str, ...]
    notes: tuple[str, ...]
    suggested_queries: tuple[str, ...]
    terms: tuple[str, ...] = ()
    search_type: SearchType = "bm25"
    embedding_notes: tuple[str, ...] = ()
    question_vector: Vectors | None = None
    is_cached: bool = False


def search_sources(
    sources: Sequence[Source],
    query: str,
    *,
    limit: int,
    offset: int = 0,
    search_type: SearchType | None = None,
    progress: Progress | None = None,
) -> SourcesPage:
    """Return the hits [offset, offset + limit) of a question in some sources, best first.

    The lists of several sources are fused by rank. Raises the errors of `SearchIndex.search`, and
    SourceUnavailable if no source can be searched.
    """
    pages: dict[Source, SearchPage] = {}
    unavailable: dict[str, SourceUnavailable] = {}
    for source in sources:
        try:
            pages[source] = source.search(query, offset + limit, progress, search_type)
        except SourceUnavailable as error:
            unavailable[source.name] = error
    if not pages:
        raise next(iter(unavailable.values()))
    hits = fuse_by_rank(pages) if len(sources) > 1 else _list_hits(pages)
    missing_words = [page.missing_words for page in pages.values()]
    hints = [page.hint for page in pages.values() if page.hint is not None]
    queries = dict.fromkeys(query for hint in hints for query in hint.suggested_queries)
    return SourcesPage(
        hits=tuple(hits[offset : offset + limit]),
        has_more=len(hits) > offset + limit or any(page.next_cursor for page in pages.values()),
        commits={source.name: page.commit for source, page in pages.items()},
        unavailable={name: error.reason for name, error in unavailable.items()},
        missing_words=tuple(
            word for word in missing_words[0] if all(word in other for other in missing_words[1:])
        ),
        notes=tuple(dict.fromkeys(note for page in pages.values() for note in page.notes)),
        suggested_queries=() if hits else tuple(queries),
        terms=tuple(dict.fromkeys(term for page in pages.values() for term in page.terms)),
        search_type=join_search_types([page.search_type for page in pages.values()]),
        embedding_notes=tuple(
            dict.fromkeys(
                page.embedding.note for page in pages.values() if page.embedding and page.embedding.note
            )
        ),
        question_vector=next(
            (page.question_vector for page in pages.values() if page.question_vector is not None), None
        ),
        is_cached=all(page.is_cached for page in pages.values()),
    )


def join_search_types(types: Sequence[SearchType]) -> SearchType:
    """Return the type of several searches: hybrid if some used vectors and others did not."""
    return types[0] if len(set(types)) == 1 else "hybrid" if types else "bm25"


def _list_hits(pages: Mapping[Source, SearchPage]) -> list[SourceHit]:
    return [SourceHit(source, hit, hit.score) for source, page in pages.items() for hit in page.hits]


def fuse_by_rank(pages: Mapping[Source, SearchPage]) -> list[SourceHit]:
    """Return the hits of several sources as one list, by weighted reciprocal rank fusion.

    No section is in two sources, so the ranks alone would show the sources in turn. Scores of several indexes
    cannot be compared: a word that is rare in one may be frequent in another. The weight of a source is
    therefore the share of the question's terms that its best sections contain, plus that in their headings.
    """
    hits_by_score: defaultdict[float, list[SourceHit]] = defaultdict(list)
    for source, page in pages.items():
        weight = measure_term_coverage(page)
        for rank, hit in enumerate(page.hits, 1):
            score = round(weight / (_FUSION_CONSTANT + rank), 6)
            hits_by_score[score].append(SourceHit(source, hit, score))
    return [hit for score in sorted(hits_by_score, reverse=True) for hit in hits_by_score[score]]


def measure_term_coverage(page: SearchPage) -> float:
    """Return the share of a question's terms in the best of the first sections, plus that in its headings.

    The result is between 0 and 2; it is 1 for a question without terms, such as one of filters alone.
    """
    if not page.terms:
        return 1.0
    matcher, terms = Matcher(page.terms), frozenset(page.terms)

    def count(text: str) -> int:
        matched_terms = matcher.find_words(SearchableText(text))[1]
        return len(terms.intersection(chain.from_iterable(matched_terms)))

    best_hits = page.hits[:_COVERAGE_HITS]
    text_counts = [count(f"{hit.breadcrumb}\n{str(hit.text, 'utf-8', 'replace')}") for hit in best_hits]
    heading_counts = [count(hit.breadcrumb) for hit in best_hits]
    return (max(text_counts, default=0) + max(heading_counts, default=0)) / len(terms)


def write_sources_cursor(
    keys: SigningKeys, digest: str, commits: Mapping[str, str | None], offset: int
) -> str:
    """Return the cursor that continues a search at `offset`. `digest` is that of its arguments."""
    values = [_CURSOR_KIND, digest, _digest(sorted(commits.items())), offset]
    return sign_token(keys.get_signing_key(), values)


def read_sources_cursor(keys: SigningKeys, cursor: str, digest: str) -> tuple[str, int]:
    """Return the digest of the commits, and the offset of the next hit. Raises InvalidCursor."""
    kind, cursor_digest, commits_digest, offset = verify_token(keys.list_verification_keys(), cursor, 4)
    if kind != _CURSOR_KIND or cursor_digest != digest:
        raise InvalidCursor(
            "the cursor belongs to another search",
            fix="Repeat the search without a cursor to start at its first page.",
        )
    return str(commits_digest), int(offset)


def check_cursor_commits(commits_digest: str, commits: Mapping[str, str | None]) -> None:
    """Raise StaleCursor if a source has another commit than that of the cursor."""
    if commits_digest != _digest(sorted(commits.items())):
        raise StaleCursor(
            "the documents have changed since the cursor was issued",
            fix="Repeat the search without a cursor to start at its first page.",
        )


def compute_arguments_digest(*values: object) -> str:
    """Return a digest of the arguments that decide the hits of a search."""
    return _digest(values)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
