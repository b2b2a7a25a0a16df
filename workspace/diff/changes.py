"""Changes as values: of a section, a task, a key of metadata, or a document.

What happened to a document's front matter, key by key.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.text import BLANKS, decode_trimmed
from workspace.frontmatter.reader import are_same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.document.document import Document


class ChangeKind(StrEnum):
    """The kind of a change to a part of a document; the values are shown to users."""

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

    `address` is a section's or a task's within its document (the key, for metadata), `line` counts from 1.
    `below` are the titles of the sections in which it stands, outermost first (the document's is not one),
    and `after` is the title of the section before it among its siblings (None: it is the first). `text` has
    LF line ends, no blank lines around it, and U+FFFD for bytes that are not UTF-8.
    """

    path: str
    address: str
    title: str
    line: int
    text: str
    below: tuple[str, ...] = ()
    after: str | None = None


class SectionChange(NamedTuple):
    """One thing that happened between two versions; what was not there before, or is not after, is None.

    The texts are those of a section with its heading (added, removed, moved), its heading alone (renamed, and
    changed if `field` is `heading`), its text without what is told of its tasks (changed), a task's lines
    (added, removed, moved, completed, reopened), or what its `field` says (changed); for metadata the value
    of a key. A task's `field` is `title`, `criteria`, `completed`, `note`, `assignee`, or `text` for what
    else it says. `workspace.diff.text.diff_texts` tells which words of the texts differ.
    """

    kind: ChangeKind
    before: PartVersion | None
    after: PartVersion | None
    field: str | None = None

    @property
    def place(self) -> PartVersion:
        """The location after the change, or before it for a removed part."""
        found = self.after or self.before
        assert found is not None  # one of the two is always there
        return found

    @property
    def section(self) -> str:
        """The address of the section in which it happened, also of a task; "" for metadata."""
        if self.kind is ChangeKind.METADATA:
            return ""
        address = self.place.address
        return address.rpartition("[")[0] if self.kind in TASK_KINDS else address

    @property
    def heading(self) -> str:
        """The title of that section."""
        return self.place.below[-1] if self.kind in TASK_KINDS else self.place.title


TASK_KINDS = frozenset(kind for kind in ChangeKind if kind.startswith("task_"))
"""What happens to tasks."""


class DocumentKind(StrEnum):
    """The kind of a change to a document as a whole."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    CHANGED = "changed"


class DocumentChange(NamedTuple):
    """A document that two versions of a workspace have differently, and what happened in it.

    `sections` is empty where only blank lines, line ends or bytes that are no text differ, and where a
    version cannot be read as a document: `unread` is the code of that error then. `path` is that of now, else
    the old one.
    """

    kind: DocumentKind
    old_path: str | None
    path: str
    title: str
    sections: tuple[SectionChange, ...] = ()
    unread: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return True if it came or went, so that its sections need not be told one by one."""
        return self.kind in (DocumentKind.ADDED, DocumentKind.REMOVED)


WHOLE = "front matter"
"""The address and title of front matter that is told as a whole."""


def compare_metadata(old: Document, new: Document) -> Iterator[SectionChange]:
    """Yield a change for each key whose value differs, in the order of the new version, then of the old one.

    Front matter that cannot be read, and one of which only comments, order or style differ, is told as a
    whole.
    """
    texts = _lines(old), _lines(new)
    if texts[0] == texts[1]:
        return
    if old.front_matter_error or new.front_matter_error:
        yield _whole(old, new, texts)
        return
    was, is_now = old.front_matter, new.front_matter
    keys = [key for key in dict.fromkeys([*is_now, *was]) if not _are_same(was, is_now, key)]
    for key in keys:
        yield SectionChange(ChangeKind.METADATA, _place(old, key), _place(new, key))
    if not keys:
        yield _whole(old, new, texts)


def _lines(document: Document) -> str:
    return decode_trimmed(document.data[: document.front_matter_end])


def _whole(old: Document, new: Document, texts: tuple[str, str]) -> SectionChange:
    places = [
        PartVersion(document.path, WHOLE, WHOLE, 1, text) if text else None
        for document, text in zip((old, new), texts, strict=True)
    ]
    return SectionChange(ChangeKind.METADATA, places[0], places[1])


def _are_same(was: Mapping[str, object], is_now: Mapping[str, object], key: str) -> bool:
    return key in was and key in is_now and are_same(was[key], is_now[key])


def _place(document: Document, key: str) -> PartVersion | None:
    if key not in document.front_matter:
        return None
    value = document.front_matter[key]
    return PartVersion(document.path, str(key), str(key), 1, _text(value))


def _text(value: object) -> str:
    """Return a value as text: strings as they are, others as JSON, or else as Python writes them."""
    if isinstance(value, str):
        words = value.strip(BLANKS)
        return words + "\n" if words else ""
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True) + "\n"
