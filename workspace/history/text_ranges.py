"""Text ranges: the bytes of a document or section in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.errors import LimitExceeded
from workspace.markdown.lines import Lines
from workspace.snapshot.snapshot import DocumentCache, LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.reader import GitReader

    ReadBlob = Callable[[str, int], bytes | None]


class TextRange(NamedTuple):
    """The tracked text: the bytes [start, end) of a blob at a path.

    `key` is the key of a section, None for a document. A section includes its subsections; the preamble does
    not include the sections. `blob` is None if the path does not exist; then the address is tracked.
    """

    path: str
    key: str | None
    blob: str | None
    start: int = 0
    end: int = 0

    @property
    def exists(self) -> bool:
        """Return True if the text exists; `end` is -1 if the document lacks the section."""
        return self.blob is not None and self.end >= 0

    @property
    def address(self) -> tuple[str, str | None]:
        """The path, and the key of the section."""
        return self.path, self.key


def make_absent_range(path: str, key: str | None, blob: str | None = None) -> TextRange:
    """Return the range of a missing document or section; `blob` is a document without the section."""
    return TextRange(path, key, blob, 0, -1)


class Versions:
    """The versions of documents, none larger than `max_bytes`. Thread-safe.

    `read_blob` returns the bytes of a blob, or None if the blob is larger than a limit. `has_unread_version`
    is True if a version was too large and was not read.
    """

    def __init__(self, git: GitReader, read_blob: ReadBlob, cache: DocumentCache, max_bytes: int) -> None:
        self.git = git
        self._read_blob = read_blob
        self._cache = cache
        self.max_bytes = max_bytes
        self.has_unread_version = False

    def data(self, blob: str) -> bytes | None:
        """Return the bytes of a version; None if it is too large."""
        data = self._read_blob(blob, self.max_bytes)
        self.has_unread_version |= data is None
        return data

    def text(self, text_range: TextRange) -> bytes | None:
        """Return the bytes of a range; None if it is absent or too large."""
        data = self.data(text_range.blob) if text_range.blob is not None and text_range.exists else None
        if data is None:
            return None
        return data if text_range.key is None else data[text_range.start : text_range.end]

    def size(self, text_range: TextRange) -> int:
        """Return the number of bytes of a range."""
        if text_range.blob is None or not text_range.exists:
            return 0
        return (
            self.git.blob_size(text_range.blob)
            if text_range.key is None
            else text_range.end - text_range.start
        )

    def line(self, text_range: TextRange) -> int:
        """Return the number of the line on which a range begins, counted from 1."""
        if text_range.blob is None or text_range.start == 0:
            return 1
        return Lines(self.data(text_range.blob) or b"").line_at(text_range.start) + 1

    def document(self, path: str, blob: str) -> Document | None:
        """Return a parsed version; None if it is too large, or cannot be read as a document."""
        if self.git.blob_size(blob) > self.max_bytes:
            self.has_unread_version = True
            return None
        try:
            return self._cache.get(self.git, path, blob)
        except (LfsTextMissing, LimitExceeded):
            return None

    def make_range(self, path: str, blob: str, section: Section | None) -> TextRange:
        """Return the range of a section of a version; None selects the full document."""
        if section is None:
            return TextRange(path, None, blob)
        return TextRange(path, section.key, blob, section.start, find_section_end(section))

    def find_range_by_name(self, path: str, key: str | None, blob: str) -> TextRange:
        """Return the range of a section by its name; an absent range if the name is missing or ambiguous."""
        if key is None:
            return TextRange(path, None, blob)
        document = self.document(path, blob)
        section = find_section(document, key) if document is not None else None
        return make_absent_range(path, key, blob) if section is None else self.make_range(path, blob, section)


def find_section(document: Document, name: str) -> Section | None:
    """Return the section of a name or of a task's address; None if there is not exactly one such section."""
    section_of_key = document.section_by_key(name)
    matches = (
        (section_of_key,) if section_of_key else find_sections_by_name(document, read_fragment(name).section)
    )
    return matches[0] if len(matches) == 1 else None


def find_section_end(section: Section) -> int:
    """Return the end of a section with its subsections; the preamble ends at the first section."""
    return section.end if section.is_preamble else section.tree_end
