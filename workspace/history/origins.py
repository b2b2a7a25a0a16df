"""The origin of a text range in a parent commit: same place, renamed, in another document, or none.

A new document is the one that was removed if `renames` matches them. A section is matched backward, also in
other documents of the commit.

An edit may add or remove a heading only by lines with the characters of headings, fences, quotes or HTML, or
by ending a list or a block of HTML around one. Both end at a blank line before a line that is not indented
(CommonMark 0.31 §5.2, §4.6), so only the lines from the edit to there are checked, without a parse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.history.places import TextRange, find_section, make_absent_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.places import Versions

# What may begin, end or hide a heading (CommonMark 0.31 §4.2 to §4.6, §5.1). A CR alone ends lines that are
# not looked at one by one.
_MARKS = re.compile(rb"[#<>]|```|~~~|\r(?!\n)|^[ \t]*(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_REST = re.compile(rb"\n[ \t]*\r?\n(?=[^ \t\r\n])")
_BLOCK = 1 << 12
_BOM = b"\xef\xbb\xbf"


class ByteEdit(NamedTuple):
    """The difference of two versions without a change of headings: [first, last) became [first, end)."""

    first: int
    last: int
    end: int

    def map_range(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the range of a section at [start, stop) in the other version; None if it is uncertain.

        An edit where a section stops is its own: a heading there would be next to the edit.
        """
        move = self.end - self.last
        if self.first > stop:
            return start, stop
        if self.last <= start:
            return start + move, stop + move
        return (start, stop + move) if self.first > start and self.last <= stop else None


def find_heading_free_edit(new: bytes, old: bytes) -> ByteEdit | None:
    """Return the edit from one version back to another; None if it may affect a heading."""
    first = measure_common_prefix(new, old)
    # Looked at as whole lines: what a line means depends on how it begins.
    first = new.rfind(b"\n", 0, first) + 1
    size = measure_common_suffix(new, old, first)
    last, end = len(new) - size, len(old) - size
    rest = _REST.search(new, last)
    tail = rest.start() - last if rest else size
    if _MARKS.search(new, first, last + tail) or _MARKS.search(old, first, end + tail):
        return None
    # Without a word above the first heading, the title would be the preamble.
    is_above = not _has_words(new, 0, first) or new.removeprefix(_BOM).startswith(b"---")
    if is_above and not (_has_words(new, first, last) and _has_words(old, first, end)):
        return None
    return ByteEdit(first, last, end)


def _has_words(text: bytes, first: int, last: int) -> bool:
    return bool(text[first:last].removeprefix(_BOM).strip())


def measure_common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts begin with alike."""
    most = min(len(one), len(other))
    at = 0
    while at < most and one[at : at + _BLOCK] == other[at : at + _BLOCK]:
        at += _BLOCK
    at = min(at, most)
    pairs = map(ne, one[at : at + _BLOCK], other[at : at + _BLOCK])
    return at + next(compress(count(), pairs), min(_BLOCK, most - at))


def measure_common_suffix(one: bytes, other: bytes, prefix: int) -> int:
    """Return how many bytes two texts end with alike, after a common prefix."""
    most = min(len(one), len(other)) - prefix
    at = 0
    while at + _BLOCK <= most and _read_tail(one, at, _BLOCK) == _read_tail(other, at, _BLOCK):
        at += _BLOCK
    size = min(_BLOCK, most - at)
    pairs = map(ne, reversed(_read_tail(one, at, size)), reversed(_read_tail(other, at, size)))
    return at + next(compress(count(), pairs), size)


def _read_tail(text: bytes, at: int, size: int) -> bytes:
    return text[len(text) - at - size : len(text) - at]


_LOOKED_INTO = 100  # other documents of a commit
_COMPARED = 4
_PARSED = 40
_PER_STEP = 256  # bytes that are parsed at the price of a step
_RENAMES = 100
_NAMED = 60  # characters of a slug that are looked for
_WORD = re.compile("[A-Za-z0-9]+")


class Origin(NamedTuple):
    """A range in a parent, perhaps in another document; `work` is its cost, in commits scanned."""

    place: TextRange
    work: int
    is_elsewhere: bool


class Origins:
    """The search for ranges in parents, for one walk. `is_document` selects the paths that count."""

    def __init__(self, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._versions = versions
        self._is_document = is_document
        self._work = 0
        self._is_elsewhere = False

    def find(self, place: TextRange, tree: str, parent: str, blob: str | None) -> Origin:
        """Return the range in a parent's tree of one in a tree; the parent has `blob` at its path."""
        self._work, self._is_elsewhere = 0, False
        found = self._found(place, tree, parent, blob)
        return Origin(found, self._work, self._is_elsewhere)

    def _found(self, place: TextRange, tree: str, parent: str, blob: str | None) -> TextRange:
        if blob == place.blob:
            return place
        if not place.is_there:
            return self._of_absent(place, tree, parent, blob)
        if blob is not None:
            return place._replace(blob=blob) if place.key is None else self._within(place, tree, parent, blob)
        renames = self._renames(parent, tree)
        path = self._renamed_from(renames, place.path)
        if path is None:
            return self._elsewhere(place, renames) or make_absent_range(place.path, place.key)
        if place.key is None:
            return TextRange(path, None, renames.gone[path])
        return self._same_section(place, path, renames.gone[path]) or self._missing(place, renames, path)

    def _of_absent(self, place: TextRange, tree: str, parent: str, blob: str | None) -> TextRange:
        """Return the range of a name that named nothing: the parent may have it."""
        if blob is None:
            if place.blob is None or place.key is None:
                return make_absent_range(place.path, place.key)
            renames = self._renames(parent, tree)
            path = self._renamed_from(renames, place.path)
            if path is None:
                return make_absent_range(place.path, place.key)
            return self._named(path, place.key, renames.gone[path])
        return self._named(place.path, place.key, blob)

    def _named(self, path: str, key: str | None, blob: str) -> TextRange:
        if key is not None:
            self._work += _COMPARED
            data = self._versions.data(blob)
            if data is None or not _may_name(data, key):
                return make_absent_range(path, key, blob)
            self._count(blob)
        return self._versions.find_named(path, key, blob)

    def _within(self, place: TextRange, tree: str, parent: str, blob: str) -> TextRange:
        """Return a section in another version of its document, or in another document."""
        self._work += _COMPARED
        old, new = self._versions.data(blob), self._versions.data(place.blob or "")
        if old is None or new is None:
            return make_absent_range(place.path, place.key, blob)
        edit = find_heading_free_edit(new, old)
        moved = edit.map_range(place.start, place.end) if edit else None
        if moved is not None:
            return place._replace(blob=blob, start=moved[0], end=moved[1])
        found = self._same_section(place, place.path, blob)
        if found is not None:
            return found
        return self._missing(place, self._renames(parent, tree), place.path, blob)

    def _missing(self, place: TextRange, renames: Renames, path: str, blob: str | None = None) -> TextRange:
        """Return the range of a section that none of the versions of its own document has."""
        return self._elsewhere(place, renames) or make_absent_range(
            path, place.key, blob or renames.gone[path]
        )

    def _same_section(self, place: TextRange, path: str, blob: str) -> TextRange | None:
        new, section = self._section(place)
        old = self._document(path, blob)
        if new is None or section is None or old is None:
            return None
        found = SectionMatch(old, new, Evidence.SIMILARITY).origin(section)
        return self._versions.place(path, blob, found) if found else None

    def _section(self, place: TextRange) -> tuple[Document | None, Section | None]:
        """Return the section at a range; an edit next to it may have changed its key meanwhile."""
        document = self._document(place.path, place.blob or "")
        if document is None or place.key is None:
            return document, None
        section = document.section_at(place.start)
        if section is None or section.start != place.start:
            section = find_section(document, place.key)
        return document, section

    def _elsewhere(self, place: TextRange, renames: Renames) -> TextRange | None:
        """Return the section of another document that the same commit removed."""
        if place.key is None:
            return None
        document, section = self._section(place)
        if document is None or section is None or section.is_preamble:
            return None
        others = self._beside(renames, place.path)
        found = find_moved_section(document, section, others, Evidence.SIMILARITY)
        if found is None:
            return None
        self._is_elsewhere = True
        path = found[0].path
        blob = renames.gone[path] if path in renames.gone else renames.changed[path][0]
        return self._versions.place(path, blob, found[1])

    def _beside(self, renames: Renames, path: str) -> Iterator[tuple[Document | None, Document]]:
        """Yield the other changed documents of a commit, after and before."""
        others: dict[str, tuple[str, str | None]] = {
            **{gone: (blob, None) for gone, blob in renames.gone.items()},
            **{changed: (before, after) for changed, (before, after) in renames.changed.items()},
        }
        others.pop(path, None)
        if len(others) > _LOOKED_INTO:
            return
        for other, (before, after) in others.items():
            was = self._document(other, before)
            if was is not None:
                yield (self._document(other, after) if after else None), was

    def _document(self, path: str, blob: str) -> Document | None:
        self._count(blob)
        return self._versions.document(path, blob)

    def _count(self, blob: str) -> None:
        self._work += _PARSED + self._versions.git.blob_size(blob) // _PER_STEP

    def _renamed_from(self, renames: Renames, path: str) -> str | None:
        """Return the old path of an added document."""
        blob = renames.come.get(path)
        if blob is None:
            return None
        same = [gone for gone, id in renames.gone.items() if id == blob]
        found = next((gone for gone in same or renames.gone if renames.of(gone) == path), None)
        self._work += renames.read // _PER_STEP
        return found

    def _renames(self, old: str, new: str) -> Renames:
        self._work += _RENAMES
        return Renames(self._versions.git, old, new, self._is_document)


def _may_name(data: bytes, key: str) -> bool:
    """Return True if a document may have a section of a name: it contains the words of the slug."""
    return all(pattern.search(data) for pattern in _find_slug_words(key))


@lru_cache(maxsize=256)
def _find_slug_words(key: str) -> tuple[re.Pattern[bytes], ...]:
    """Return the ASCII words in an address' last part; a slug may leave out letters between two of them."""
    last = key.rpartition("/")[2][:_NAMED]
    words = [word for word in _WORD.findall(last) if not word.isdigit()]
    return tuple(
        re.compile(b"[^A-Za-z0-9]{0,9}".join(map(_encode_letter, word)), re.IGNORECASE) for word in words
    )


def _encode_letter(letter: str) -> bytes:
    return letter.encode()
