"""set_metadata: keys of a document's front matter set, changed inside, or taken out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import frontmatter
from workspace.document.splices import Edit, StructureChanged, Style
from workspace.edits.content import checked_text
from workspace.edits.front_matter import set_front_matter_keys
from workspace.edits.operation import DocumentOperation
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.document import Document

# YAML 1.1 §9.1.1: a simple key is on one line, and PyYAML writes a longer one over two.
MAX_KEY = 120
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


class InvalidMetadata(WorkspaceError):
    """Metadata that front matter cannot hold: a key of two lines, a number that is none, too much nesting."""

    code = "INVALID_METADATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMetadata(DocumentOperation):
    """Sets keys of the front matter; null removes one. Other keys, comments and their order stay.

    Inside a list or mapping only what differs is changed. A date given as text stays a date where one stood.
    """

    name: ClassVar[str] = "set_metadata"
    implied_by: ClassVar[frozenset[str]] = frozenset({"metadata"})

    file: str
    metadata: Mapping[str, object]

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where all is so already. Raises InvalidMetadata, InvalidFrontMatter."""
        _check(self.metadata)
        if document.front_matter_error:
            raise document.front_matter_error
        known = document.front_matter
        wanted: dict[str, object] = {}
        for key, value in self.metadata.items():
            meant = frontmatter.meant(known.get(key), value)
            if value is None:
                if key in known:
                    wanted[key] = frontmatter.REMOVED
            elif key not in known or not frontmatter.are_same(known[key], meant):
                wanted[key] = meant
        removed = [key for key, value in wanted.items() if value is frontmatter.REMOVED]
        answer: dict[str, object] = {
            "keys_set": [key for key in wanted if key not in removed],
            "keys_removed": removed,
        }
        hints: tuple[str, ...] = ()
        if "title" in self.metadata and _has_h1(document):
            hints = ("the document's title is its H1; rename_section with _preamble changes that",)
        if not wanted:
            return Edit((), answer, f"Set metadata of {self.file}", hints)
        splice = set_front_matter_keys(document, wanted)
        position = document.preamble.position if document.preamble else None
        summary = f"Set {', '.join(sorted(wanted))[:200]} of {self.file}"
        return Edit((splice,), answer, summary, hints, renamed=position, is_front_matter=True)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        read = changed.front_matter
        for key, value in self.metadata.items() if edit.splices else ():
            known = document.front_matter.get(key)
            is_set = value is None or (
                key in read and frontmatter.are_same(read[key], frontmatter.meant(known, value))
            )
            if not is_set or (value is None and key in read):
                raise StructureChanged(
                    f"after this edit the front matter of {document.path} would not read as was asked",
                    fix="Give plain words as keys, and texts without lines of dashes as values.",
                )
        return changed, edit


def _has_h1(document: Document) -> bool:
    headings = (section.heading for section in document.sections)
    return any(heading is not None and heading.block.level == 1 for heading in headings)


def _check(metadata: Mapping[str, object]) -> None:
    """Raises InvalidMetadata or InvalidContent for what front matter cannot hold."""
    if not metadata:
        raise InvalidMetadata(
            "'metadata' is empty",
            fix='Give keys and values, such as {"status": "draft"}; null removes a key.',
        )
    if sum(_size(value, 0) + len(key) for key, value in metadata.items()) > frontmatter.MAX_FRONT_MATTER:
        raise InvalidMetadata("'metadata' is over 64 KiB", fix="Put long texts into the document's sections.")
    for key in metadata:
        _check_key(key)


def _check_key(key: object) -> None:
    if isinstance(key, str):
        checked_text(key, "metadata")
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or _CONTROL.search(key):
        raise InvalidMetadata(
            "a key of the metadata is empty, over 120 characters, or holds a line break or control character",
            fix='Use short words as keys: {"status": "draft"}.',
        )


def _size(value: object, depth: int) -> int:
    """About how many characters a value takes; checks all that is in it."""
    if depth >= frontmatter.MAX_NESTING:
        raise InvalidMetadata("the metadata is nested too deeply", fix="Keep its values flat.")
    if isinstance(value, dict):
        for key in value:
            _check_key(key)
        return sum(len(key) + _size(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return sum(1 + _size(item, depth + 1) for item in value)
    if isinstance(value, str):
        checked_text(value, "metadata")
        return len(value)
    if value is None or isinstance(value, bool):
        return 4
    if isinstance(value, int) and value.bit_length() <= frontmatter.MAX_BITS:
        return 20
    if isinstance(value, float) and math.isfinite(value):
        return 20
    raise InvalidMetadata(
        "the metadata holds a number that front matter cannot carry",
        fix="Give it as text, in quotes.",
    )
