"""Track a document or section from one tree to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.document.section_text import read_comparable_text, remove_moved_parts
from workspace.errors import LimitExceeded
from workspace.snapshot.snapshot import LfsTextMissing, check_lfs_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.reader import GitReader

_MAX_OTHER_DOCUMENTS = 100  # if more documents differ between two trees, none of them is searched


class SectionPosition(NamedTuple):
    """A position in a tree: a path, the version of the document there, and a section of it.

    The last two are None for the full document.
    """

    path: str
    document: Document | None = None
    section: Section | None = None

    @property
    def address(self) -> tuple[str, str | None]:
        """The path, and the section's key."""
        return self.path, self.section.key if self.section else None


class SectionTracker:
    """A tracker of positions from tree to tree.

    Each document version is parsed once. At most `max_bytes` bytes are parsed in total.
    """

    def __init__(self, git: GitReader, is_document: Callable[[str], bool], max_bytes: int) -> None:
        self._git, self._is_document = git, is_document
        self._remaining_bytes = max_bytes
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._entries: dict[tuple[str, str], str | None] = {}

    @property
    def is_exhausted(self) -> bool:
        """Return True if a version was not parsed because of the limit of bytes."""
        return self._remaining_bytes < 0

    def step(self, position: SectionPosition, old: str, new: str) -> SectionPosition | None:
        """Map a position in the tree `old` to the tree `new`; return None if it is missing or ambiguous."""
        new_blob = self.blob(new, position.path)
        if new_blob is not None:
            if position.section is None or new_blob == self.blob(old, position.path):
                return position
            return self._find_in_version(position, position.path, new_blob) or self._find_in_other_documents(
                position, self._compare_trees(old, new)
            )
        renames = self._compare_trees(old, new)
        path = renames.find_new_path(position.path)
        if path is None:
            return self._find_in_other_documents(position, renames)
        if position.section is None:
            return SectionPosition(path)
        return self._find_in_version(
            position, path, renames.added_blobs[path]
        ) or self._find_in_other_documents(position, renames)

    def blob(self, tree: str, path: str) -> str | None:
        """Return the blob at a path, or None; folders that several trees share are read once."""
        visited_keys: list[tuple[str, str]] = []
        folder: str | None = tree
        remaining_path = path
        while folder is not None and remaining_path:
            if (folder, remaining_path) in self._entries:
                folder = self._entries[folder, remaining_path]
                break
            visited_keys.append((folder, remaining_path))
            name, slash, remaining_path = remaining_path.partition("/")
            entry = self._git.entry(folder, name) if name else None
            folder = (
                entry.id if entry and (entry.is_tree if slash and remaining_path else entry.is_blob) else None
            )
        self._entries.update(dict.fromkeys(visited_keys, folder))
        return folder

    def document(self, path: str, blob: str) -> Document | None:
        """Return a version of a document; None if it cannot be parsed, or if the byte limit is reached."""
        key = (path, blob)
        if key not in self._documents:
            self._documents[key] = self._read_document(path, blob)
        return self._documents[key]

    def _read_document(self, path: str, blob: str) -> Document | None:
        from workspace.document.document import Document

        self._remaining_bytes -= self._git.blob_size(blob)
        if self._remaining_bytes < 0:
            return None
        data = self._git.blob(blob)
        try:
            check_lfs_pointer(path, data)
            return Document.parse(data, path)
        except (LfsTextMissing, LimitExceeded):
            return None

    def _compare_trees(self, old: str, new: str) -> Renames:
        return Renames(self._git, old, new, self._is_document)

    def _find_in_version(self, position: SectionPosition, path: str, blob: str) -> SectionPosition | None:
        """Return the same section in another version of its document, or None."""
        document = self.document(path, blob)
        if document is None or position.document is None or position.section is None:
            return None
        section = SectionMatch(position.document, document, Evidence.TEXT).find_successor(position.section)
        return SectionPosition(path, document, section) if section else None

    def _find_in_other_documents(self, position: SectionPosition, renames: Renames) -> SectionPosition | None:
        """Return the same section in another document that differs between these trees, or None."""
        if position.document is None or position.section is None or position.section.is_preamble:
            return None
        text = read_comparable_text(position.document, position.section)
        if not text:
            return None
        other_documents = self._iterate_changed_documents(renames, text)
        match = find_moved_section(position.document, position.section, other_documents, Evidence.TEXT)
        return SectionPosition(match[0].path, *match) if match else None

    def _iterate_changed_documents(
        self, renames: Renames, text: bytes
    ) -> Iterator[tuple[Document | None, Document]]:
        """Yield the other changed documents that contain a text, each as it was before and after."""
        other_documents = {
            **{path: (None, blob) for path, blob in renames.added_blobs.items()},
            **renames.changed_blobs,
        }
        if len(other_documents) > _MAX_OTHER_DOCUMENTS:
            return
        # A search for a line is much faster than the removal of what a move changes.
        lines = (line for line in text.split(b"\n") if b"](" not in line and b"]: " not in line)
        unchanged_line = max(lines, key=len, default=b"")
        for path, (before, after) in other_documents.items():
            data = self._git.blob(after)
            is_candidate = unchanged_line in data and text in remove_moved_parts(data)
            if is_candidate and (document := self.document(path, after)) is not None:
                yield (self.document(path, before) if before else None), document
