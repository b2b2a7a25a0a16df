"""Places: where a document or section stands in one commit, by its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.errors import LimitExceeded
from workspace.markdown.lines import Lines
from workspace.snapshot.snapshot import DocumentCache, NotADocument

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.reader import GitReader

    Read = Callable[[str, int], bytes | None]


class Place(NamedTuple):
    """What is followed: the bytes [start, end) of a blob at a path.

    `key` is a section's, None for a document. A section counts with its subsections, the preamble alone.
    `blob` is None where nothing stood; what is followed then is its name.
    """

    path: str
    key: str | None
    blob: str | None
    start: int = 0
    end: int = 0

    @property
    def is_there(self) -> bool:
        """Whether anything stood there: `end` is -1 for a document without the section."""
        return self.blob is not None and self.end >= 0

    @property
    def address(self) -> tuple[str, str | None]:
        """Its path, and its key within the file."""
        return self.path, self.key


def absent(path: str, key: str | None, blob: str | None = None) -> Place:
    """Return the place of what is not there; `blob` is the document that lacks the section."""
    return Place(path, key, blob, 0, -1)


class Versions:
    """The versions of documents, read within a limit of bytes each. Safe in several threads.

    `read` gives the bytes of a blob, None where they are more than so many. `is_cut` says that one was
    larger, and not read.
    """

    def __init__(self, git: GitReader, read: Read, cache: DocumentCache, most: int) -> None:
        self.git = git
        self._read = read
        self._cache = cache
        self.most = most
        self.is_cut = False

    def data(self, blob: str) -> bytes | None:
        """Return the bytes of a version; None for one that is too large."""
        data = self._read(blob, self.most)
        self.is_cut |= data is None
        return data

    def text(self, place: Place) -> bytes | None:
        """Return the bytes at a place; None where there are none, or too many."""
        data = self.data(place.blob) if place.blob is not None and place.is_there else None
        if data is None:
            return None
        return data if place.key is None else data[place.start : place.end]

    def size(self, place: Place) -> int:
        """Return how many bytes stand at a place."""
        if place.blob is None or not place.is_there:
            return 0
        return self.git.blob_size(place.blob) if place.key is None else place.end - place.start

    def line(self, place: Place) -> int:
        """Return the line of its document on which a place begins, counted from 1."""
        if place.blob is None or place.start == 0:
            return 1
        return Lines(self.data(place.blob) or b"").line_at(place.start) + 1

    def document(self, path: str, blob: str) -> Document | None:
        """Return a version, parsed; None for one that is too large, or no text."""
        if self.git.blob_size(blob) > self.most:
            self.is_cut = True
            return None
        try:
            return self._cache.get(self.git, path, blob)
        except (NotADocument, LimitExceeded):
            return None

    def place(self, path: str, blob: str, section: Section | None) -> Place:
        """Return the place of a section of a version; None stands for all of it."""
        if section is None:
            return Place(path, None, blob)
        return Place(path, section.key, blob, section.start, extent(section))

    def named(self, path: str, key: str | None, blob: str) -> Place:
        """The place of what a name means in a version; an absent one where it means nothing for sure."""
        if key is None:
            return Place(path, None, blob)
        document = self.document(path, blob)
        section = section_of(document, key) if document is not None else None
        return absent(path, key, blob) if section is None else self.place(path, blob, section)


def section_of(document: Document, name: str) -> Section | None:
    """The one section that a name means, that of a task for a task's address; None if there is no such."""
    known = document.section_by_key(name)
    found = (known,) if known else find_sections_by_name(document, read_fragment(name).section)
    return found[0] if len(found) == 1 else None


def extent(section: Section) -> int:
    """Where a section ends that counts with its subsections; the preamble does not hold the document."""
    return section.end if section.is_preamble else section.tree_end
