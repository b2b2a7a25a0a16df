"""Where a place of one commit was in its parent: the same place, another name, another document, or none.

A document that came is the one that went, as `renames` tells. A section is followed by `section_pairs`,
backward, to another document too.

Edits that concern no heading, told without a parse: most versions need none.

An edit may make a heading or take one away only by lines that hold what headings, fences, quotes or HTML are
made of, or by ending a list or a block of HTML around one. Both end by themselves at a blank line before one
that is not indented (CommonMark 0.31 §5.2, §4.6), so it is enough to look from the edit to there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.history.places import Place, absent, section_of

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


class Edit(NamedTuple):
    """Where two versions differ, and no heading does: [first, last) became [first, end) of the other."""

    first: int
    last: int
    end: int

    def moved(self, start: int, stop: int) -> tuple[int, int] | None:
        """The bytes that a section at [start, stop) has in the other version; None if that is not sure.

        An edit where a section stops is its own: a heading there would be next to the edit.
        """
        move = self.end - self.last
        if self.first > stop:
            return start, stop
        if self.last <= start:
            return start + move, stop + move
        return (start, stop + move) if self.first > start and self.last <= stop else None


def edit_between(new: bytes, old: bytes) -> Edit | None:
    """Return the edit from one version of a text back to another; None where it may concern a heading."""
    first = common_prefix(new, old)
    # Looked at as whole lines: what a line means depends on how it begins.
    first = new.rfind(b"\n", 0, first) + 1
    size = common_suffix(new, old, first)
    last, end = len(new) - size, len(old) - size
    rest = _REST.search(new, last)
    tail = rest.start() - last if rest else size
    if _MARKS.search(new, first, last + tail) or _MARKS.search(old, first, end + tail):
        return None
    # Without a word above the first heading, the title would be the preamble.
    is_above = not _has_words(new, 0, first) or new.removeprefix(_BOM).startswith(b"---")
    if is_above and not (_has_words(new, first, last) and _has_words(old, first, end)):
        return None
    return Edit(first, last, end)


def _has_words(text: bytes, first: int, last: int) -> bool:
    return bool(text[first:last].removeprefix(_BOM).strip())


def common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts begin with alike."""
    most = min(len(one), len(other))
    at = 0
    while at < most and one[at : at + _BLOCK] == other[at : at + _BLOCK]:
        at += _BLOCK
    at = min(at, most)
    pairs = map(ne, one[at : at + _BLOCK], other[at : at + _BLOCK])
    return at + next(compress(count(), pairs), min(_BLOCK, most - at))


def common_suffix(one: bytes, other: bytes, prefix: int) -> int:
    """Return how many bytes two texts end with alike, beside those that they begin with."""
    most = min(len(one), len(other)) - prefix
    at = 0
    while at + _BLOCK <= most and _tail(one, at, _BLOCK) == _tail(other, at, _BLOCK):
        at += _BLOCK
    size = min(_BLOCK, most - at)
    pairs = map(ne, reversed(_tail(one, at, size)), reversed(_tail(other, at, size)))
    return at + next(compress(count(), pairs), size)


def _tail(text: bytes, at: int, size: int) -> bytes:
    return text[len(text) - at - size : len(text) - at]


_LOOKED_INTO = 100  # other documents of a commit


_COMPARED = 4


_PARSED = 40


_PER_STEP = 256  # bytes that are parsed at the price of a step


_RENAMES = 100


_NAMED = 60  # characters of a slug that are looked for


_WORD = re.compile("[A-Za-z0-9]+")


class Origin(NamedTuple):
    """A place in a parent, perhaps in another document; `work` is what it took, in commits looked at."""

    place: Place
    work: int
    is_elsewhere: bool


class Origins:
    """Finds places in parents, for one walk. `is_document` says which paths count."""

    def __init__(self, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._versions = versions
        self._is_document = is_document
        self._work = 0
        self._is_elsewhere = False

    def of(self, place: Place, tree: str, parent: str, blob: str | None) -> Origin:
        """Return where a place of a tree was in a parent's tree, which has `blob` at its path."""
        self._work, self._is_elsewhere = 0, False
        found = self._found(place, tree, parent, blob)
        return Origin(found, self._work, self._is_elsewhere)

    def _found(self, place: Place, tree: str, parent: str, blob: str | None) -> Place:
        if blob == place.blob:
            return place
        if not place.is_there:
            return self._of_absent(place, tree, parent, blob)
        if blob is not None:
            return place._replace(blob=blob) if place.key is None else self._within(place, tree, parent, blob)
        renames = self._renames(parent, tree)
        path = self._renamed_from(renames, place.path)
        if path is None:
            return self._elsewhere(place, renames) or absent(place.path, place.key)
        if place.key is None:
            return Place(path, None, renames.gone[path])
        return self._same_section(place, path, renames.gone[path]) or self._missing(place, renames, path)

    def _of_absent(self, place: Place, tree: str, parent: str, blob: str | None) -> Place:
        """Return the place of a name that meant nothing: does it mean something in the parent?"""
        if blob is None:
            if place.blob is None or place.key is None:
                return absent(place.path, place.key)
            renames = self._renames(parent, tree)
            path = self._renamed_from(renames, place.path)
            if path is None:
                return absent(place.path, place.key)
            return self._named(path, place.key, renames.gone[path])
        return self._named(place.path, place.key, blob)

    def _named(self, path: str, key: str | None, blob: str) -> Place:
        if key is not None:
            self._work += _COMPARED
            data = self._versions.data(blob)
            if data is None or not _may_name(data, key):
                return absent(path, key, blob)
            self._count(blob)
        return self._versions.named(path, key, blob)

    def _within(self, place: Place, tree: str, parent: str, blob: str) -> Place:
        """Return a section in another version of its document, or in another document."""
        self._work += _COMPARED
        old, new = self._versions.data(blob), self._versions.data(place.blob or "")
        if old is None or new is None:
            return absent(place.path, place.key, blob)
        edit = edit_between(new, old)
        moved = edit.moved(place.start, place.end) if edit else None
        if moved is not None:
            return place._replace(blob=blob, start=moved[0], end=moved[1])
        found = self._same_section(place, place.path, blob)
        if found is not None:
            return found
        return self._missing(place, self._renames(parent, tree), place.path, blob)

    def _missing(self, place: Place, renames: Renames, path: str, blob: str | None = None) -> Place:
        """Return what is in none of the versions of its own document."""
        return self._elsewhere(place, renames) or absent(path, place.key, blob or renames.gone[path])

    def _same_section(self, place: Place, path: str, blob: str) -> Place | None:
        new, section = self._section(place)
        old = self._document(path, blob)
        if new is None or section is None or old is None:
            return None
        found = SectionMatch(old, new, Evidence.SIMILARITY).origin(section)
        return self._versions.place(path, blob, found) if found else None

    def _section(self, place: Place) -> tuple[Document | None, Section | None]:
        """Return the section that stands at a place; an edit beside it may have changed its key meanwhile."""
        document = self._document(place.path, place.blob or "")
        if document is None or place.key is None:
            return document, None
        section = document.section_at(place.start)
        if section is None or section.start != place.start:
            section = section_of(document, place.key)
        return document, section

    def _elsewhere(self, place: Place, renames: Renames) -> Place | None:
        """Return the section of another document that the same commit took away."""
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
        """Yield the other documents of a commit, as they became and as they were."""
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
        """Return the path that a document which came had before."""
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
    """Whether a document may have a section of a name: the words of its slug stand in it, marks aside."""
    return all(pattern.search(data) for pattern in _words(key))


@lru_cache(maxsize=256)
def _words(key: str) -> tuple[re.Pattern[bytes], ...]:
    """The words of ASCII in an address' last part; what a slug leaves out may stand between two letters."""
    last = key.rpartition("/")[2][:_NAMED]
    words = [word for word in _WORD.findall(last) if not word.isdigit()]
    return tuple(re.compile(b"[^A-Za-z0-9]{0,9}".join(map(_byte, word)), re.IGNORECASE) for word in words)


def _byte(letter: str) -> bytes:
    return letter.encode()
