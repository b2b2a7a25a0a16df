"""The context of a document: its last change, the links to it, and the proposals that change it.

The context is cached until a branch moves, so that a second request is fast. No page waits for a long walk of
the history, or for the graph of links. This work continues in the background, and the page shows the result
later.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.lru_cache import LRUCache
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from docyard.web.documents.comments import DocumentComments
    from docyard.web.page_request import PageRequest
    from index.link_graph.backlinks import DocumentLink
    from index.vectors.related_sections import RelatedSection
    from workspace.document.document import Document
    from workspace.history.commits import CommitChange
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_MAX_CACHE_ENTRIES = 512
_MAX_CACHED_CHANGES = 16  # commits, each of which may have megabytes of changes
_MAX_WALKED_COMMITS = 300  # a page waits for the walk; a longer walk continues in the background
_GRAPH_TIMEOUT_S = 0.05  # a page waits this long for the graph of links of a small workspace
_MAX_SMALL_WORKSPACE_DOCUMENTS = 500
_MAX_LINKING_DOCUMENTS = 200  # their links are resolved for one page
_MAX_PROPOSALS = 200  # the newest open proposals, which are compared with the document
_MAX_BACKLINKS = 12
_MAX_READ_BYTES = 200_000  # the total size of the documents that are read for their titles


class _NotReadYet(WorkspaceError):
    """The requested data is not read yet."""

    code = "NOT_READ_YET"


class LastChange(NamedTuple):
    """The newest commit that changed a document; None if it is unknown.

    `has_history` is true if there are commits to walk. `is_known` is false while they are still being walked.
    """

    change: CommitChange | None
    has_history: bool
    is_known: bool = True


class Backlink(NamedTuple):
    """A section that links to a document, and the number of its links.

    `path` and `title` are those of the linking document. `section` is the key of the linking section, and
    `target_section` the key of the linked section; each is empty for a whole document. `crumbs` has the
    titles from the top of the linking document down to the section.
    """

    path: str
    title: str
    section: str
    crumbs: tuple[str, ...]
    target_section: str
    link_count: int


class Backlinks(NamedTuple):
    """The first sections that link to a document, and the number of all linking sections.

    `is_cut` is true if some linking documents were not read, so that `total` is too small.
    """

    sections: tuple[Backlink, ...]
    total: int
    is_cut: bool


class DocumentContext:
    """A cache of the context of recently shown documents and commits. Thread-safe."""

    def __init__(self) -> None:
        self._last_changes: LRUCache[tuple[str | None, str], LastChange] = LRUCache(_MAX_CACHE_ENTRIES)
        self._backlinks: LRUCache[tuple[str | None, str], Backlinks] = LRUCache(_MAX_CACHE_ENTRIES)
        self._proposals: LRUCache[tuple[str, str], tuple[Proposal, ...]] = LRUCache(_MAX_CACHE_ENTRIES)
        self._comments: LRUCache[tuple[str, str], DocumentComments | None] = LRUCache(_MAX_CACHE_ENTRIES)
        self._changes: LRUCache[tuple[str | None, str | None], CommitChanges] = LRUCache(_MAX_CACHED_CHANGES)

    def find_last_change(self, request: PageRequest, path: str) -> LastChange:
        """Return the newest commit that changed a document. A long walk continues in the background."""
        snapshot, history = request.snapshot, request.workspace.history

        def read_last_change() -> LastChange:
            page = history().changes(snapshot, path, limit=1, max_scanned=_MAX_WALKED_COMMITS)
            if not page.entries and not page.is_complete:
                raise _NotReadYet("the history is being read", fix="Try again in a moment.")
            return LastChange(page.entries[0] if page.entries else None, has_history=bool(page.entries))

        def continue_walk() -> bool:
            try:
                self._last_changes.get((snapshot.commit, path), read_last_change)
            except _NotReadYet:
                return False
            return True

        try:
            return self._last_changes.get((snapshot.commit, path), read_last_change)
        except _NotReadYet:
            request.site.background.submit((snapshot.commit, path), continue_walk)
            return LastChange(None, has_history=True, is_known=False)
        except WorkspaceError:  # the document is shown even if its history is unreadable
            return LastChange(None, has_history=False)

    def find_backlinks(self, request: PageRequest, document: Document) -> Backlinks | None:
        """Return the sections of other documents that link to a document; None if they are unknown yet."""
        try:
            return self._backlinks.get(
                (request.snapshot.commit, document.path), lambda: _find_backlinks(request, document)
            )
        except WorkspaceError:  # not read yet, another process writes the graph, or the disk is full
            return None

    def find_related(self, request: PageRequest, document: Document) -> tuple[RelatedSection, ...]:
        """Return the sections of other documents that are nearest in meaning to a document."""
        try:
            return request.index.find_related(request.snapshot, document)
        except WorkspaceError:  # the index is being replaced
            return ()

    def find_proposals(self, request: PageRequest, path: str) -> tuple[Proposal, ...]:
        """Return the open proposals that change a document, at the version that the page shows."""
        workspace, version = request.workspace, request.version
        if workspace.branch is None:
            return ()

        # Reading thousands of refs is slow, so the result is cached by version.
        def read_proposals() -> tuple[Proposal, ...]:
            open_proposals = tuple(proposal for proposal in request.proposals if proposal.is_open)[
                :_MAX_PROPOSALS
            ]
            return _select_changing_proposals(workspace, open_proposals, path)

        return self._proposals.get((version, path), read_proposals) if version else read_proposals()

    def find_comments(self, request: PageRequest, path: str) -> DocumentComments | None:
        """Return the open comments on a document, at the shown version; None if they cannot be read."""
        from docyard.web.documents.comments import build_document_comments

        version = request.version
        read_comments = partial(build_document_comments, request, path)
        return self._comments.get((version, path), read_comments) if version else read_comments()

    def find_changes(self, old: Snapshot, new: Snapshot) -> CommitChanges:
        """Return the differences of two commits. Raises DamagedRepository."""
        from workspace.proposals.review.changes import compare_commits

        return self._changes.get((old.commit, new.commit), lambda: compare_commits(old, new))


def _find_backlinks(request: PageRequest, document: Document) -> Backlinks:
    from index.link_graph.backlinks import resolve_backlinks
    from workspace.links.file_tree import OverlayFileTree

    graph, snapshot = request.index.links, request.snapshot
    records = graph.find_records(snapshot, document.path)
    if records is None and request.ref is None:
        thread = graph.update_in_background(snapshot)
        if len(snapshot.documents) <= _MAX_SMALL_WORKSPACE_DOCUMENTS:
            thread.join(_GRAPH_TIMEOUT_S)
            records = graph.find_records(snapshot, document.path)
    if records is None:
        raise _NotReadYet("the links are being read", fix="Try again in a moment.")
    other_records = [record for record in records if record[0] != document.path]
    links = resolve_backlinks(
        OverlayFileTree(snapshot), document, other_records[:_MAX_LINKING_DOCUMENTS], include_own=False
    )
    sections: dict[tuple[str, str | None], list[DocumentLink]] = {}
    for link in links:
        sections.setdefault((link.source, link.section), []).append(link)
    remaining_bytes = _MAX_READ_BYTES
    backlinks: list[Backlink] = []
    for group in list(sections.values())[:_MAX_BACKLINKS]:
        size = snapshot.git.blob_size(snapshot.blob(group[0].source))
        fits_limit = size <= remaining_bytes
        remaining_bytes -= size if fits_limit else 0
        backlinks.append(_build_backlink(snapshot, group) if fits_limit else _build_unread_backlink(group))
    return Backlinks(tuple(backlinks), len(sections), len(other_records) > _MAX_LINKING_DOCUMENTS)


def _build_backlink(snapshot: Snapshot, links: list[DocumentLink]) -> Backlink:
    first_link = links[0]
    document = snapshot.document(first_link.source)
    section = document.section_by_key(first_link.section) if first_link.section else None
    crumbs = document.breadcrumb(section) if section is not None and not section.is_preamble else ()
    return Backlink(
        first_link.source,
        document.title,
        first_link.section or "",
        crumbs,
        first_link.target_key or "",
        len(links),
    )


def _build_unread_backlink(links: list[DocumentLink]) -> Backlink:
    """Return a backlink with the section's key instead of titles, because its document is too large."""
    first_link, key = links[0], links[0].section or ""
    crumbs = (key,) if key and key != PREAMBLE else ()
    return Backlink(
        first_link.source,
        first_link.source.rpartition("/")[2],
        key,
        crumbs,
        first_link.target_key or "",
        len(links),
    )


def _select_changing_proposals(
    workspace: Workspace, proposals: tuple[Proposal, ...], path: str
) -> tuple[Proposal, ...]:
    """Return the proposals whose document differs from both their base and the served branch."""
    current_entry = workspace.snapshot().entry(path)
    changing_proposals: list[Proposal] = []
    for proposal in proposals:
        try:
            proposed_entry = _find_entry(workspace, proposal.tip, path)
            if proposed_entry != current_entry and proposed_entry != _find_entry(
                workspace, proposal.content.base, path
            ):
                changing_proposals.append(proposal)
        except WorkspaceError:  # the proposal's own page shows the error
            continue
    return tuple(changing_proposals)


def _find_entry(workspace: Workspace, commit: str | None, path: str) -> object:
    return trees.find_in_tree(workspace.git, workspace.git.commit(commit).tree, path) if commit else None
