"""The changes between two commits by document: added, removed, renamed, edited.

A section that left one document for another is known by its text and its name, and told in both.

Sections that left one document for another one, of several that changed together.

A section is the one of its text and its name, if both versions have only one of these among what went and
what came; those below it came with it. Where links lead is left out of the text, since a move writes them
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import DocumentChange, DocumentKind
from workspace.diff.documents import Comparison, compare_matched_sections
from workspace.diff.renames import Renames
from workspace.diff.sections import DESTINATION, is_same_name
from workspace.document.section_text import read_comparable_text
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.diff.changes import SectionChange
    from workspace.diff.documents import Comparison, DocumentVersion
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot


class CrossDocumentMoves(NamedTuple):
    """The changes of a document's sections that moved away (by their old positions) and that arrived."""

    gone: dict[int, list[SectionChange]]
    come: dict[int, list[SectionChange]]


class _Found(NamedTuple):
    """A section of a version of one of the documents, by the number of that document."""

    number: int
    version: DocumentVersion
    section: Section


def detect_cross_document_moves(comparisons: Sequence[Comparison | None]) -> list[CrossDocumentMoves]:
    """Return what crossed between documents, for each of them; none for one that could not be read."""
    told = [CrossDocumentMoves({}, {}) for _ in comparisons]
    for (one, other), pairs in _match_across_documents(comparisons).items():
        old, new = comparisons[one], comparisons[other]
        if old is None or new is None or old.old is None or new.new is None:
            continue
        was, is_now = old.old.document.sections, new.new.document.sections
        # What came along with the section that it stands below has not moved by itself.
        moved = {two for two, at in pairs.items() if pairs.get(_above(is_now[two])) != _above(was[at])}
        changes = compare_matched_sections(old.old, new.new, pairs, moved)
        for two, at in pairs.items():
            told[other].come[two] = changes.get(two, [])
            told[one].gone[at] = changes.get(two, [])[:1] if two in moved else []
    return told


def _above(section: Section) -> int:
    return -1 if section.parent is None else section.parent


def _match_across_documents(
    comparisons: Sequence[Comparison | None],
) -> dict[tuple[int, int], dict[int, int]]:
    """Return the old positions of moved sections by their new ones, for each pair of documents."""
    went, came = _by_text(_list_removed(comparisons)), _by_text(_list_added(comparisons))
    crossed: dict[tuple[int, int], dict[int, int]] = {}
    taken: set[tuple[int, int]] = set()
    for text, olds in went.items():
        news = came.get(text, ())
        if len(olds) != 1 or len(news) != 1:
            continue
        old, new = olds[0], news[0]
        if old.number != new.number and is_same_name(old.section, new.section):
            pairs = crossed.setdefault((old.number, new.number), {})
            pairs[new.section.position] = old.section.position
            taken |= {(old.number, old.section.position)}
    for (one, other), pairs in crossed.items():
        _add_those_below(comparisons[one], comparisons[other], one, pairs, taken)
    return crossed


def _add_those_below(
    old: Comparison | None,
    new: Comparison | None,
    number: int,
    pairs: dict[int, int],
    taken: set[tuple[int, int]],
) -> None:
    """Pair the only subsections of one name below sections that are paired."""
    if old is None or new is None or old.old is None or new.new is None:
        return
    before, after = old.old.document, new.new.document
    gone = {item.position for item in old.gone}
    come = {item.position for item in new.come}
    waiting = list(pairs.items())
    known = {*pairs.values()}
    while waiting:
        two, one = waiting.pop()
        below: dict[str, list[Section]] = {}
        for item in before.children(before.sections[one]):
            below.setdefault(item.slug, []).append(item)
        for item in after.children(after.sections[two]):
            same = below.pop(item.slug, [])
            if len(same) != 1 or item.position in pairs or item.position not in come:
                continue
            at = same[0].position
            if at in gone and at not in known and (number, at) not in taken:
                pairs[item.position] = at
                known.add(at)
                taken.add((number, at))
                waiting.append((item.position, at))


def _list_removed(comparisons: Sequence[Comparison | None]) -> Iterator[_Found]:
    for number, item in enumerate(comparisons):
        if item and item.old:
            yield from (_Found(number, item.old, section) for section in item.gone)


def _list_added(comparisons: Sequence[Comparison | None]) -> Iterator[_Found]:
    for number, item in enumerate(comparisons):
        if item and item.new:
            yield from (_Found(number, item.new, section) for section in item.come)


def _by_text(found: Iterator[_Found]) -> dict[bytes, list[_Found]]:
    texts: dict[bytes, list[_Found]] = {}
    for item in found:
        text = DESTINATION.sub(b"", read_comparable_text(item.version.document, item.section))
        if text and not item.section.is_preamble:
            texts.setdefault(text, []).append(item)
    return texts


_TOGETHER = (
    200  # documents that are held to find sections that moved between them; of more, each is told alone
)

_COMPARED = 1_000_000  # pairs of documents that went and came; of more, only the same bytes are the same one


class _Pair(NamedTuple):
    """The paths of a document before and after; None where it is not there."""

    old: str | None
    new: str | None


class _OpenedDocument(NamedTuple):
    pair: _Pair
    comparison: Comparison | None
    title: str
    unread: str | None


def compare_trees(old: Snapshot, new: Snapshot) -> Iterator[DocumentChange]:
    """Yield what happened to the documents between two snapshots of one repository, in order of their paths.

    Sections are followed from one document to another where at most 200 documents differ. Documents that
    cannot be read (too large, pointers) are told without their sections.
    """
    pairs = _pair_paths(old, new)
    if len(pairs) > _TOGETHER:
        for pair in pairs:
            yield _describe(_open(pair, old, new), CrossDocumentMoves({}, {}))
        return
    opened = [_open(pair, old, new) for pair in pairs]
    found = detect_cross_document_moves([item.comparison for item in opened])
    for item, crossed in zip(opened, found, strict=True):
        yield _describe(item, crossed)


def compare_document(old: Document | None, new: Document | None) -> DocumentChange | None:
    """Return the change of one document, of which one version may be missing; None if the bytes are equal."""
    if old is not None and new is not None and (old.data, old.path) == (new.data, new.path):
        return None
    last = new or old
    if last is None:
        return None
    pair = _Pair(old.path if old else None, new.path if new else None)
    return _describe(
        _OpenedDocument(pair, Comparison(old, new), last.title, None), CrossDocumentMoves({}, {})
    )


def _pair_paths(old: Snapshot, new: Snapshot) -> list[_Pair]:
    changes = list(changed_documents(old, new))
    gone = {path: blob for path, blob, other in changes if blob is not None and other is None}
    come = {path: blob for path, other, blob in changes if blob is not None and other is None}
    renamed = _find_renamed(old, new, gone, come) if gone and come else {}
    stayed = {before: after for after, before in renamed.items()}
    pairs = [
        _Pair(renamed.get(path) if one is None else path, None if other is None else path)
        for path, one, other in changes
        if path not in stayed
    ]
    return sorted(pairs, key=lambda pair: pair.new or pair.old or "")


def _find_renamed(
    old: Snapshot, new: Snapshot, gone: Mapping[str, str], come: Mapping[str, str]
) -> dict[str, str]:
    """Return the old path of each document that has another one now; where two claim it, neither had it."""
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
    """Return documents whose bytes went once and came once."""
    places: dict[str, list[str]] = {}
    for now, blob in come.items():
        places.setdefault(blob, []).append(now)
    found = [(path, places.get(blob, ())) for path, blob in gone.items()]
    return [(path, now[0]) for path, now in found if len(now) == 1]


def _open(pair: _Pair, old: Snapshot, new: Snapshot) -> _OpenedDocument:
    try:
        before = old.document(pair.old) if pair.old is not None else None
        after = new.document(pair.new) if pair.new is not None else None
    except WorkspaceError as error:
        return _OpenedDocument(pair, None, pair.new or pair.old or "", error.code)
    last = after or before
    return _OpenedDocument(pair, Comparison(before, after), last.title if last else "", None)


def _describe(item: _OpenedDocument, crossed: CrossDocumentMoves) -> DocumentChange:
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
