"""The search for the origin of a text range in a parent commit.

The origin is at the same path, at a renamed path, or in another document.

A new document has its origin in a removed document if `renames` matches the two. A section is searched
for in the parent's version of its document, then in the other documents that the commit changed.

An edit can add or remove a heading only in two ways: it changes lines with the characters of headings,
fences, quotations or HTML, or it moves the end of a list or of a block of HTML past a heading. A list and a
block of HTML end at a blank line before a line that is not indented (CommonMark 0.31 §5.2, §4.6). So only
the lines from the edit to that blank line are checked, without a parse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.history.text_ranges import TextRange, find_section, make_absent_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.text_ranges import Versions

# The marks that may begin, end or hide a heading (CommonMark 0.31 §4.2 to §4.6, §5.1). A lone CR also
# ends a line, but `^` does not match after it, so the pattern matches the CR itself.
_HEADING_MARKS = re.compile(rb"[#<>]|```|~~~|\r(?!\n)|^[ \t]*(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_BLOCK_END = re.compile(rb"\n[ \t]*\r?\n(?=[^ \t\r\n])")
_CHUNK_BYTES = 1 << 12
_BOM = b"\xef\xbb\xbf"


class ByteEdit(NamedTuple):
    """An edit that changes no heading: it replaced the bytes [start, old_end) by [start, new_end)."""

    start: int
    new_end: int
    old_end: int

    def map_range(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the old range of a section at [start, end) in the new version; None if it is uncertain.

        An edit at the end of a section belongs to the section: the next heading follows the edit.
        """
        shift = self.old_end - self.new_end
        if self.start > end:
            return start, end
        if self.new_end <= start:
            return start + shift, end + shift
        return (start, end + shift) if self.start > start and self.new_end <= end else None


def find_heading_free_edit(new: bytes, old: bytes) -> ByteEdit | None:
    """Return the edit between two versions; None if it may affect a heading."""
    start = measure_common_prefix(new, old)
    # The edit begins at the start of a line, because the meaning of a line depends on its beginning.
    start = new.rfind(b"\n", 0, start) + 1
    suffix_size = measure_common_suffix(new, old, start)
    new_end, old_end = len(new) - suffix_size, len(old) - suffix_size
    block_end = _BLOCK_END.search(new, new_end)
    tail_size = block_end.start() - new_end if block_end else suffix_size
    if _HEADING_MARKS.search(new, start, new_end + tail_size) or _HEADING_MARKS.search(
        old, start, old_end + tail_size
    ):
        return None
    # A title at the start of the document is the preamble; text before it would make it a section.
    is_edit_at_start = not _has_text(new, 0, start) or new.removeprefix(_BOM).startswith(b"---")
    if is_edit_at_start and not (_has_text(new, start, new_end) and _has_text(old, start, old_end)):
        return None
    return ByteEdit(start, new_end, old_end)


def _has_text(text: bytes, start: int, end: int) -> bool:
    return bool(text[start:end].removeprefix(_BOM).strip())


def measure_common_prefix(left: bytes, right: bytes) -> int:
    """Return the number of equal bytes at the beginning of two texts."""
    max_size = min(len(left), len(right))
    size = 0
    while size < max_size and left[size : size + _CHUNK_BYTES] == right[size : size + _CHUNK_BYTES]:
        size += _CHUNK_BYTES
    size = min(size, max_size)
    differences = map(ne, left[size : size + _CHUNK_BYTES], right[size : size + _CHUNK_BYTES])
    return size + next(compress(count(), differences), min(_CHUNK_BYTES, max_size - size))


def measure_common_suffix(left: bytes, right: bytes, prefix_size: int) -> int:
    """Return the number of equal bytes at the end of two texts, after their common prefix."""
    max_size = min(len(left), len(right)) - prefix_size
    position = 0
    while position + _CHUNK_BYTES <= max_size and _read_tail(left, position, _CHUNK_BYTES) == _read_tail(
        right, position, _CHUNK_BYTES
    ):
        position += _CHUNK_BYTES
    size = min(_CHUNK_BYTES, max_size - position)
    differences = map(
        ne, reversed(_read_tail(left, position, size)), reversed(_read_tail(right, position, size))
    )
    return position + next(compress(count(), differences), size)


def _read_tail(text: bytes, distance: int, size: int) -> bytes:
    return text[len(text) - distance - size : len(text) - distance]


_MAX_OTHER_DOCUMENTS = 100  # in a commit
# Costs in scanned commits.
_COMPARE_WORK = 4
_PARSE_WORK = 40
_RENAMES_WORK = 100
_BYTES_PER_COMMIT = 256  # parsed bytes that cost as much as one scanned commit
_MAX_SLUG_LENGTH = 60  # characters; the rest of a longer slug is not searched for
_WORD = re.compile("[A-Za-z0-9]+")


class Origin(NamedTuple):
    """A range in a parent. `work` is the cost of the search, in scanned commits."""

    text_range: TextRange
    work: int
    is_in_other_document: bool


class OriginFinder:
    """A search for the origins of text ranges in parent commits, for one walk through the history.

    `is_document` selects the paths of documents.
    """

    def __init__(self, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._versions = versions
        self._is_document = is_document
        self._work = 0
        self._is_in_other_document = False

    def find(self, text_range: TextRange, tree: str, parent_tree: str, blob: str | None) -> Origin:
        """Return the origin of a range of `tree` in `parent_tree`, where the blob at its path is `blob`."""
        self._work, self._is_in_other_document = 0, False
        origin = self._find_range(text_range, tree, parent_tree, blob)
        return Origin(origin, self._work, self._is_in_other_document)

    def _find_range(self, text_range: TextRange, tree: str, parent_tree: str, blob: str | None) -> TextRange:
        if blob == text_range.blob:
            return text_range
        if not text_range.exists:
            return self._find_removed_range(text_range, tree, parent_tree, blob)
        if blob is not None:
            return (
                text_range._replace(blob=blob)
                if text_range.key is None
                else self._find_in_document(text_range, tree, parent_tree, blob)
            )
        renames = self._compare_trees(parent_tree, tree)
        path = self._find_old_path(renames, text_range.path)
        if path is None:
            return self._find_in_other_documents(text_range, renames) or make_absent_range(
                text_range.path, text_range.key
            )
        if text_range.key is None:
            return TextRange(path, None, renames.removed_blobs[path])
        return self._match_section(
            text_range, path, renames.removed_blobs[path]
        ) or self._find_outside_document(text_range, renames, path)

    def _find_removed_range(
        self, text_range: TextRange, tree: str, parent_tree: str, blob: str | None
    ) -> TextRange:
        """Return the range in the parent of a document or section that does not exist in the commit."""
        if blob is None:
            if text_range.blob is None or text_range.key is None:
                return make_absent_range(text_range.path, text_range.key)
            renames = self._compare_trees(parent_tree, tree)
            path = self._find_old_path(renames, text_range.path)
            if path is None:
                return make_absent_range(text_range.path, text_range.key)
            return self._find_by_name(path, text_range.key, renames.removed_blobs[path])
        return self._find_by_name(text_range.path, text_range.key, blob)

    def _find_by_name(self, path: str, key: str | None, blob: str) -> TextRange:
        if key is not None:
            self._work += _COMPARE_WORK
            data = self._versions.data(blob)
            if data is None or not _may_contain_name(data, key):
                return make_absent_range(path, key, blob)
            self._add_work(blob)
        return self._versions.find_range_by_name(path, key, blob)

    def _find_in_document(self, text_range: TextRange, tree: str, parent_tree: str, blob: str) -> TextRange:
        """Return the section in the parent's version of its document, or in another document."""
        self._work += _COMPARE_WORK
        old, new = self._versions.data(blob), self._versions.data(text_range.blob or "")
        if old is None or new is None:
            return make_absent_range(text_range.path, text_range.key, blob)
        edit = find_heading_free_edit(new, old)
        old_range = edit.map_range(text_range.start, text_range.end) if edit else None
        if old_range is not None:
            return text_range._replace(blob=blob, start=old_range[0], end=old_range[1])
        section_range = self._match_section(text_range, text_range.path, blob)
        if section_range is not None:
            return section_range
        return self._find_outside_document(
            text_range, self._compare_trees(parent_tree, tree), text_range.path, blob
        )

    def _find_outside_document(
        self, text_range: TextRange, renames: Renames, path: str, blob: str | None = None
    ) -> TextRange:
        """Return the range of a section that is missing in the parent's version of its document."""
        return self._find_in_other_documents(text_range, renames) or make_absent_range(
            path, text_range.key, blob or renames.removed_blobs[path]
        )

    def _match_section(self, text_range: TextRange, path: str, blob: str) -> TextRange | None:
        new, section = self._resolve_section(text_range)
        old = self._read_document(path, blob)
        if new is None or section is None or old is None:
            return None
        origin = SectionMatch(old, new, Evidence.SIMILARITY).find_origin(section)
        return self._versions.make_range(path, blob, origin) if origin else None

    def _resolve_section(self, text_range: TextRange) -> tuple[Document | None, Section | None]:
        """Return the section of a range; an edit next to it may have changed its key."""
        document = self._read_document(text_range.path, text_range.blob or "")
        if document is None or text_range.key is None:
            return document, None
        section = document.section_at(text_range.start)
        if section is None or section.start != text_range.start:
            section = find_section(document, text_range.key)
        return document, section

    def _find_in_other_documents(self, text_range: TextRange, renames: Renames) -> TextRange | None:
        """Return the section in another document from which the same commit removed it."""
        if text_range.key is None:
            return None
        document, section = self._resolve_section(text_range)
        if document is None or section is None or section.is_preamble:
            return None
        other_documents = self._iterate_changed_documents(renames, text_range.path)
        match = find_moved_section(document, section, other_documents, Evidence.SIMILARITY)
        if match is None:
            return None
        self._is_in_other_document = True
        path = match[0].path
        blob = (
            renames.removed_blobs[path] if path in renames.removed_blobs else renames.changed_blobs[path][0]
        )
        return self._versions.make_range(path, blob, match[1])

    def _iterate_changed_documents(
        self, renames: Renames, path: str
    ) -> Iterator[tuple[Document | None, Document]]:
        """Yield the other documents that a commit changed, each as it was after and before the commit."""
        other_documents: dict[str, tuple[str, str | None]] = {
            **{removed_path: (blob, None) for removed_path, blob in renames.removed_blobs.items()},
            **{
                changed_path: (before, after)
                for changed_path, (before, after) in renames.changed_blobs.items()
            },
        }
        other_documents.pop(path, None)
        if len(other_documents) > _MAX_OTHER_DOCUMENTS:
            return
        for other_path, (before, after) in other_documents.items():
            old_document = self._read_document(other_path, before)
            if old_document is not None:
                yield (self._read_document(other_path, after) if after else None), old_document

    def _read_document(self, path: str, blob: str) -> Document | None:
        self._add_work(blob)
        return self._versions.document(path, blob)

    def _add_work(self, blob: str) -> None:
        self._work += _PARSE_WORK + self._versions.git.blob_size(blob) // _BYTES_PER_COMMIT

    def _find_old_path(self, renames: Renames, path: str) -> str | None:
        """Return the old path of an added document."""
        blob = renames.added_blobs.get(path)
        if blob is None:
            return None
        equal_paths = [path_before for path_before, id in renames.removed_blobs.items() if id == blob]
        old_path = next(
            (
                path_before
                for path_before in equal_paths or renames.removed_blobs
                if renames.find_new_path(path_before) == path
            ),
            None,
        )
        self._work += renames.bytes_read // _BYTES_PER_COMMIT
        return old_path

    def _compare_trees(self, old: str, new: str) -> Renames:
        self._work += _RENAMES_WORK
        return Renames(self._versions.git, old, new, self._is_document)


def _may_contain_name(data: bytes, key: str) -> bool:
    """Return True if a document contains all words of a slug. Otherwise it cannot have such a section."""
    return all(pattern.search(data) for pattern in _compile_slug_patterns(key))


@lru_cache(maxsize=256)
def _compile_slug_patterns(key: str) -> tuple[re.Pattern[bytes], ...]:
    """Return patterns of the ASCII words in the last part of a key.

    A slug omits the punctuation between letters, so a pattern allows up to nine characters between them.
    """
    slug = key.rpartition("/")[2][:_MAX_SLUG_LENGTH]
    words = [word for word in _WORD.findall(slug) if not word.isdigit()]
    return tuple(
        re.compile(b"[^A-Za-z0-9]{0,9}".join(map(_encode_letter, word)), re.IGNORECASE) for word in words
    )


def _encode_letter(letter: str) -> bytes:
    return letter.encode()
