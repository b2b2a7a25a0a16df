"""What happened between two commits, document by document: added, removed, renamed, changed.

A section that left one document for another is known by its text and its name, and told in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import DocumentChange, DocumentKind
from workspace.diff.crossing import Crossings, crossings
from workspace.diff.documents import Comparison
from workspace.diff.renames import Renames
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_TOGETHER = (
    200  # documents that are held to find sections that moved between them; of more, each is told alone
)
_COMPARED = 1_000_000  # pairs of documents that went and came; of more, only the same bytes are the same one


class _Pair(NamedTuple):
    """The paths of a document before and after; None where it is not there."""

    old: str | None
    new: str | None


class _Opened(NamedTuple):
    pair: _Pair
    comparison: Comparison | None
    title: str
    unread: str | None


def tree_changes(old: Snapshot, new: Snapshot) -> Iterator[DocumentChange]:
    """What happened to the documents between two snapshots of one repository, in order of their paths.

    Sections are followed from one document to another where at most 200 documents differ. Documents that
    cannot be read (too large, pointers) are told without their sections.
    """
    pairs = _paired(old, new)
    if len(pairs) > _TOGETHER:
        for pair in pairs:
            yield _told(_opened(pair, old, new), Crossings({}, {}))
        return
    opened = [_opened(pair, old, new) for pair in pairs]
    found = crossings([item.comparison for item in opened])
    for item, crossed in zip(opened, found, strict=True):
        yield _told(item, crossed)


def document_change(old: Document | None, new: Document | None) -> DocumentChange | None:
    """What happened to one document, of which one version may be missing; None if the bytes are the same."""
    if old is not None and new is not None and (old.data, old.path) == (new.data, new.path):
        return None
    last = new or old
    if last is None:
        return None
    pair = _Pair(old.path if old else None, new.path if new else None)
    return _told(_Opened(pair, Comparison(old, new), last.title, None), Crossings({}, {}))


def _paired(old: Snapshot, new: Snapshot) -> list[_Pair]:
    changes = list(changed_documents(old, new))
    gone = {path: blob for path, blob, other in changes if blob is not None and other is None}
    come = {path: blob for path, other, blob in changes if blob is not None and other is None}
    renamed = _renamed(old, new, gone, come) if gone and come else {}
    stayed = {before: after for after, before in renamed.items()}
    pairs = [
        _Pair(renamed.get(path) if one is None else path, None if other is None else path)
        for path, one, other in changes
        if path not in stayed
    ]
    return sorted(pairs, key=lambda pair: pair.new or pair.old or "")


def _renamed(
    old: Snapshot, new: Snapshot, gone: Mapping[str, str], come: Mapping[str, str]
) -> dict[str, str]:
    """The old path of each document that has another one now; where two claim it, neither had it."""
    if old.tree is None or new.tree is None:
        return {}
    if len(gone) * len(come) > _COMPARED:
        claims = _same_bytes(gone, come)
    else:
        renames = Renames(new.git, old.tree, new.tree, new.config.is_document)
        claims = [(path, now) for path in gone if (now := renames.of(path)) is not None and now in come]
    targets: dict[str, list[str]] = {}
    for path, now in claims:
        targets.setdefault(now, []).append(path)
    return {now: paths[0] for now, paths in targets.items() if len(paths) == 1}


def _same_bytes(gone: Mapping[str, str], come: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Documents whose bytes went once and came once."""
    places: dict[str, list[str]] = {}
    for now, blob in come.items():
        places.setdefault(blob, []).append(now)
    found = [(path, places.get(blob, ())) for path, blob in gone.items()]
    return [(path, now[0]) for path, now in found if len(now) == 1]


def _opened(pair: _Pair, old: Snapshot, new: Snapshot) -> _Opened:
    try:
        before = old.document(pair.old) if pair.old is not None else None
        after = new.document(pair.new) if pair.new is not None else None
    except WorkspaceError as error:
        return _Opened(pair, None, pair.new or pair.old or "", error.code)
    last = after or before
    return _Opened(pair, Comparison(before, after), last.title if last else "", None)


def _told(item: _Opened, crossed: Crossings) -> DocumentChange:
    old, new = item.pair
    kind = (
        DocumentKind.ADDED
        if old is None
        else DocumentKind.REMOVED
        if new is None
        else DocumentKind.RENAMED
        if old != new
        else DocumentKind.CHANGED
    )
    changes = tuple(item.comparison.changes(crossed.come, crossed.gone)) if item.comparison else ()
    return DocumentChange(kind, old, new or old or "", item.title, changes, item.unread)
