"""Changes as values: of a section, a task, a key of front matter, or a document.

`compare_metadata` compares the front matter of two versions, key by key.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.text import BLANKS, decode_trimmed
from workspace.frontmatter.reader import have_equal_values_and_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.document.document import Document


class ChangeKind(StrEnum):
    """The kind of a change to a part of a document. The values are visible to users."""

    METADATA = "metadata"
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    RENAMED = "renamed"
    CHANGED = "changed"
    TASK_ADDED = "task_added"
    TASK_REMOVED = "task_removed"
    TASK_MOVED = "task_moved"
    TASK_COMPLETED = "task_completed"
    TASK_REOPENED = "task_reopened"
    TASK_CHANGED = "task_changed"


class PartVersion(NamedTuple):
    """The location and the text of a part in one version.

    `address` is the address of a section or a task in its document, or a key of front matter. `line` counts
    from 1. `parent_titles` are the titles of the parent sections, outermost first, without the document's
    title. `previous_title` is the title of the previous sibling section, or None for the first sibling.
    `text` has LF line endings, no blank lines around it, and U+FFFD for bytes that are not UTF-8.
    """

    path: str
    address: str
    title: str
    line: int
    text: str
    parent_titles: tuple[str, ...] = ()
    previous_title: str | None = None


class SectionChange(NamedTuple):
    """One change between two versions; `before` is None for an addition, `after` for a removal.

    The texts depend on the kind:

    - Added, removed, moved: the section with its heading.
    - Renamed, or changed with the `field` `heading`: the heading.
    - Changed: the section's text without the lines of changed tasks.
    - Task added, removed, moved, completed, reopened: the lines of the task.
    - Task changed: the value of its `field`, which is `title`, `criteria`, `completed`, `note`, `assignee`,
      or `text` for all other text.
    - Metadata: the value of a key, or the full front matter.

    `workspace.diff.text.diff_texts` returns the edits between the texts.
    """

    kind: ChangeKind
    before: PartVersion | None
    after: PartVersion | None
    field: str | None = None

    @property
    def location(self) -> PartVersion:
        """The location after the change, or before it for a removed part."""
        version = self.after or self.before
        assert version is not None  # a change has at least one version
        return version

    @property
    def section_address(self) -> str:
        """The address of the section that contains the change; "" for metadata."""
        if self.kind is ChangeKind.METADATA:
            return ""
        address = self.location.address
        return address.rpartition("[")[0] if self.kind in TASK_KINDS else address

    @property
    def section_title(self) -> str:
        """The title of the changed section, or of the section that contains the task; a key of metadata."""
        return self.location.parent_titles[-1] if self.kind in TASK_KINDS else self.location.title


TASK_KINDS = frozenset(kind for kind in ChangeKind if kind.startswith("task_"))
"""The kinds of changes to tasks."""


class DocumentChangeKind(StrEnum):
    """The kind of a change to a document. The values are visible to users."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    CHANGED = "changed"


class DocumentChange(NamedTuple):
    """A document that differs between two versions of a workspace, and its changes.

    `section_changes` is empty if at most the path, blank lines, line endings or bytes that are not text
    differ. It is also empty if a version cannot be read as a document; `error_code` is the code of the error.
    `path` is the new path, or the old path of a removed document.
    """

    kind: DocumentChangeKind
    old_path: str | None
    path: str
    title: str
    section_changes: tuple[SectionChange, ...] = ()
    error_code: str | None = None

    @property
    def is_addition_or_removal(self) -> bool:
        """Return True if the document was added or removed, so that its sections need no descriptions."""
        return self.kind in (DocumentChangeKind.ADDED, DocumentChangeKind.REMOVED)

    @property
    def described_changes(self) -> tuple[SectionChange, ...]:
        """The changes with descriptions: of an added or removed document, those of its front matter."""
        if not self.is_addition_or_removal:
            return self.section_changes
        return tuple(change for change in self.section_changes if change.kind is ChangeKind.METADATA)


WHOLE_FRONT_MATTER = "front matter"
"""The address and title of a change to the front matter that is not split by key."""


def compare_metadata(old: Document | None, new: Document | None) -> Iterator[SectionChange]:
    """Yield a change for each key whose value differs, in the order of the new, then of the old version.

    The full front matter is one change if a version is invalid, or if only comments, order or style differ.
    None is the missing version of a document that was added or removed.
    """
    texts = _read_front_matter(old), _read_front_matter(new)
    if texts[0] == texts[1]:
        return
    if any(document is not None and document.front_matter_error for document in (old, new)):
        yield _make_full_change(old, new, texts)
        return
    old_values, new_values = ({} if document is None else document.front_matter for document in (old, new))
    keys = [
        key
        for key in dict.fromkeys([*new_values, *old_values])
        if not _has_same_value(old_values, new_values, key)
    ]
    for key in keys:
        yield SectionChange(ChangeKind.METADATA, _make_part(old, key), _make_part(new, key))
    if not keys:
        yield _make_full_change(old, new, texts)


def _read_front_matter(document: Document | None) -> str:
    return "" if document is None else decode_trimmed(document.data[: document.front_matter_end])


def _make_full_change(old: Document | None, new: Document | None, texts: tuple[str, str]) -> SectionChange:
    parts = [
        PartVersion(document.path, WHOLE_FRONT_MATTER, WHOLE_FRONT_MATTER, 1, text)
        if document is not None and text
        else None
        for document, text in zip((old, new), texts, strict=True)
    ]
    return SectionChange(ChangeKind.METADATA, parts[0], parts[1])


def _has_same_value(old_values: Mapping[str, object], new_values: Mapping[str, object], key: str) -> bool:
    return (
        key in old_values
        and key in new_values
        and have_equal_values_and_types(old_values[key], new_values[key])
    )


def _make_part(document: Document | None, key: str) -> PartVersion | None:
    if document is None or key not in document.front_matter:
        return None
    value = document.front_matter[key]
    return PartVersion(document.path, str(key), str(key), 1, _format_value(value))


def _format_value(value: object) -> str:
    """Return a value as text: a string unchanged, another value as JSON; `str` converts unknown types."""
    if isinstance(value, str):
        text = value.strip(BLANKS)
        return text + "\n" if text else ""
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True) + "\n"
