"""What stands around a document: who changed it last, what links to it, which proposals change it.

It is remembered for as long as nothing moves, so that a document that is read again costs nothing. No page
waits for a long walk, nor for a graph of links that is being made: that goes on beside it, and the page shows
what it brings when it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.lru_cache import LRUCache
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from docyard.web.asked import PageRequest
    from index.link_graph.backlinks import DocumentLink
    from workspace.document.document import Document
    from workspace.history.commits import CommitChange
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_KEPT = 512
_KEPT_CHANGES = 16  # of commits, each of which may be of megabytes
_LOOKED_AT = 300  # commits that are walked back while a page waits
_PATIENCE = 0.05  # seconds to wait for every document's links, where there are few documents
_FEW = 500  # documents
_MOST_SOURCES = 200  # documents whose links are resolved for one page
_MOST_PROPOSALS = 200  # open ones, newest first, that are looked at
_SHOWN = 12
_READ = 200_000  # bytes of the documents that are read to tell what the places in them are called


class _TooMuchToRead(WorkspaceError):
    """Too much has to be read before it is known."""

    code = "NOT_READ_YET"


class LastChange(NamedTuple):
    """The newest commit that changed a document; None where it cannot be told.

    `has_history` is whether there are commits to walk, `is_known` false while they are still walked.
    """

    change: CommitChange | None
    has_history: bool
    is_known: bool = True


class Backlink(NamedTuple):
    """A place that links to a document: its path, its title, the section that it stands in, and how often.

    `section` and `to` are keys, empty for the document itself; `crumbs` the titles down to the section.
    """

    path: str
    title: str
    section: str
    crumbs: tuple[str, ...]
    to: str
    times: int


class Backlinks(NamedTuple):
    """The first places that link to a document, and how many documents do; it may be more than `total`."""

    places: tuple[Backlink, ...]
    total: int
    is_cut: bool


class DocumentContext:
    """What is known of the documents and commits that were shown last. Safe in several threads."""

    def __init__(self) -> None:
        self._last: LRUCache[tuple[str | None, str], LastChange] = LRUCache(_KEPT)
        self._links: LRUCache[tuple[str | None, str], Backlinks] = LRUCache(_KEPT)
        self._proposals: LRUCache[tuple[str, str], tuple[Proposal, ...]] = LRUCache(_KEPT)
        self._changes: LRUCache[tuple[str | None, str | None], CommitChanges] = LRUCache(_KEPT_CHANGES)

    def last_change(self, asked: PageRequest, path: str) -> LastChange:
        """Return the newest commit that changed a document. A long walk continues in the background."""
        snapshot, history = asked.snapshot, asked.workspace.history

        def look() -> LastChange:
            page = history().changes(snapshot, path, limit=1, looked_at=_LOOKED_AT)
            if not page.entries and not page.complete:
                raise _TooMuchToRead("the history is being read", fix="Ask again in a moment.")
            return LastChange(page.entries[0] if page.entries else None, has_history=bool(page.entries))

        def is_done() -> bool:
            try:
                self._last.get((snapshot.commit, path), look)
            except _TooMuchToRead:
                return False
            return True

        try:
            return self._last.get((snapshot.commit, path), look)
        except _TooMuchToRead:
            asked.site.background.submit((snapshot.commit, path), is_done)
            return LastChange(None, has_history=True, is_known=False)
        except WorkspaceError:  # the page is of the document, whatever its history
            return LastChange(None, has_history=False)

    def backlinks(self, asked: PageRequest, document: Document) -> Backlinks | None:
        """Return the sections of other documents that link to one; None where nobody knows yet."""
        try:
            return self._links.get(
                (asked.snapshot.commit, document.path), lambda: _backlinks(asked, document)
            )
        except WorkspaceError:  # not known yet, another process is at work, or the disk is full
            return None

    def proposals(self, asked: PageRequest, path: str) -> tuple[Proposal, ...]:
        """Return the open proposals that change a document, at the version that the page shows."""
        workspace, version = asked.workspace, asked.version
        if workspace.branch is None:
            return ()

        # To read thousands of refs takes longer than all else; the version stands for them.
        def find() -> tuple[Proposal, ...]:
            among = tuple(one for one in asked.proposals if one.is_open)[:_MOST_PROPOSALS]
            return _select_changing(workspace, among, path)

        return self._proposals.get((version, path), find) if version else find()

    def changes(self, old: Snapshot, new: Snapshot) -> CommitChanges:
        """Return what differs between two commits. Raises DamagedRepository."""
        from workspace.proposals.review.changes import compare_commits

        return self._changes.get((old.commit, new.commit), lambda: compare_commits(old, new))


def _backlinks(asked: PageRequest, document: Document) -> Backlinks:
    from index.link_graph.backlinks import resolve_backlinks
    from workspace.links.world import OverlayFileTree

    graph, snapshot = asked.index.links, asked.snapshot
    records = graph.records(snapshot, document.path)
    if records is None and asked.ref is None:
        reader = graph.begin(snapshot)
        if len(snapshot.documents) <= _FEW:
            reader.join(_PATIENCE)
            records = graph.records(snapshot, document.path)
    if records is None:
        raise _TooMuchToRead("the links are being read", fix="Ask again in a moment.")
    others = [record for record in records if record[0] != document.path]
    found = resolve_backlinks(OverlayFileTree(snapshot), document, others[:_MOST_SOURCES], own=False)
    places: dict[tuple[str, str | None], list[DocumentLink]] = {}
    for link in found:
        places.setdefault((link.source, link.section), []).append(link)
    left = _READ
    shown: list[Backlink] = []
    for links in list(places.values())[:_SHOWN]:
        source = links[0].source
        size = snapshot.git.blob_size(snapshot.blob(source))
        is_read = size <= left
        left -= size if is_read else 0
        shown.append(_list_backlinks(snapshot, links) if is_read else _build_unread_backlink(links))
    return Backlinks(tuple(shown), len(places), len(others) > _MOST_SOURCES)


def _list_backlinks(snapshot: Snapshot, links: list[DocumentLink]) -> Backlink:
    first = links[0]
    source = snapshot.document(first.source)
    section = source.section_by_key(first.section) if first.section else None
    crumbs = source.breadcrumb(section) if section is not None and not section.is_preamble else ()
    return Backlink(first.source, source.title, first.section or "", crumbs, first.to or "", len(links))


def _build_unread_backlink(links: list[DocumentLink]) -> Backlink:
    """Return a place in a document that takes long to read, by the names that it is known by without that."""
    first, key = links[0], links[0].section or ""
    crumbs = (key,) if key and key != PREAMBLE else ()
    return Backlink(first.source, first.source.rpartition("/")[2], key, crumbs, first.to or "", len(links))


def _select_changing(
    workspace: Workspace, proposals: tuple[Proposal, ...], path: str
) -> tuple[Proposal, ...]:
    """Return those in whose branch the document is neither as it was where they began nor as it is now."""
    now = workspace.snapshot().entry(path)
    found: list[Proposal] = []
    for proposal in proposals:
        try:
            there = _entry(workspace, proposal.tip, path)
            if there != now and there != _entry(workspace, proposal.words.base, path):
                found.append(proposal)
        except WorkspaceError:  # its commits cannot be read, as its own page says
            continue
    return tuple(found)


def _entry(workspace: Workspace, commit: str | None, path: str) -> object:
    return trees.find_in_tree(workspace.git, workspace.git.commit(commit).tree, path) if commit else None
