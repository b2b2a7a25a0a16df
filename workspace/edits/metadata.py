"""Operations on the front matter of a document, which preserve the bytes of all other keys and comments.

`set_metadata` sets, changes and removes keys. `tag_document` adds, removes and replaces tags.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from workspace.document.splices import Edit, EditContext, Splice, StructureChanged
from workspace.edits.content import check_text
from workspace.edits.operation import DocumentOperation
from workspace.errors import WorkspaceError
from workspace.frontmatter import reader
from workspace.frontmatter.editor import REMOVAL, set_keys
from workspace.frontmatter.reader import (
    MAX_FRONT_MATTER_LENGTH,
    MAX_INTEGER_BITS,
    MAX_NESTING_DEPTH,
    InvalidFrontMatter,
    have_equal_values_and_types,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.document.document import Document


def set_front_matter_keys(
    document: Document, values: Mapping[str, object], *, rewrite_values: bool = False
) -> Splice:
    """Return the splice that sets keys, and removes the keys whose value is REMOVAL.

    With `rewrite_values`, a changed list or mapping is rewritten in full, not only its changed items.
    If no key remains, the front matter is removed with the blank line after it, unless a rule of dashes
    follows, which would then begin front matter.
    Raises InvalidFrontMatter if the existing front matter is invalid.
    """
    ending = document.line_ending.decode()
    return _rewrite_front_matter(
        document, lambda source: set_keys(source, values, ending, rewrite_values=rewrite_values)
    )


def _rewrite_front_matter(document: Document, rewrite: Callable[[str], str]) -> Splice:
    data, lines = document.data, document.lines
    content_start = lines.starts[0]
    if not document.front_matter_lines:
        text = rewrite("").encode()
        if not text:
            return Splice(content_start, content_start, b"")
        delimiter_line = b"---" + document.line_ending
        return Splice(
            content_start,
            content_start,
            delimiter_line + text + delimiter_line + (document.line_ending if data[content_start:] else b""),
        )
    if document.front_matter_error:
        raise document.front_matter_error
    start, end = lines.offset(1), lines.offset(document.front_matter_lines - 1)
    try:
        source = data[start:end].decode()
    except UnicodeDecodeError as error:
        raise InvalidFrontMatter("the front matter is not UTF-8", fix="Save the file as UTF-8.") from error
    new_source = rewrite(source)
    next_line = document.front_matter_lines
    if new_source or not source or lines.line_bytes(next_line).startswith(b"---"):
        return Splice(start, end, new_source.encode())
    is_next_line_blank = next_line < len(lines) and not lines.line_bytes(next_line).strip(b" \t")
    return Splice(content_start, lines.offset(next_line + is_next_line_blank), b"")


# YAML 1.1 §9.1.1: a simple key is on one line, but PyYAML writes a longer key on two.
MAX_KEY_CHARACTERS = 120
_NUMBER_CHARACTERS = 20  # an estimate, for the limit on the size of the metadata
_CONTROL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


class InvalidMetadata(WorkspaceError):
    """An error: metadata is empty, or has keys, numbers, a size or a nesting that cannot be stored."""

    code = "INVALID_METADATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMetadata(DocumentOperation):
    """An update of front matter keys; null removes a key. Other keys, comments and the order are preserved.

    In a list or mapping only different items change. A text that replaces a date, and has the form of a date,
    is written as a date.
    """

    name: ClassVar[str] = "set_metadata"
    implied_by: ClassVar[frozenset[str]] = frozenset({"metadata"})

    file: str
    metadata: Mapping[str, object]

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidMetadata, InvalidContent, InvalidFrontMatter.
        """
        _check_metadata(self.metadata)
        if document.front_matter_error:
            raise document.front_matter_error
        old_values = document.front_matter
        updates: dict[str, object] = {}
        for key, value in self.metadata.items():
            new_value = reader.coerce_value(old_values.get(key), value)
            if value is None:
                if key in old_values:
                    updates[key] = REMOVAL
            elif key not in old_values or not have_equal_values_and_types(old_values[key], new_value):
                updates[key] = new_value
        removed_keys = [key for key, value in updates.items() if value is REMOVAL]
        result: dict[str, object] = {
            "keys_set": [key for key in updates if key not in removed_keys],
            "keys_removed": removed_keys,
        }
        hints: tuple[str, ...] = ()
        if "title" in self.metadata and _has_h1(document):
            hints = ("the document's title is its H1; rename_section with _preamble changes that",)
        if not updates:
            return Edit((), result, f"Set metadata of {self.file}", hints)
        splice = set_front_matter_keys(document, updates)
        position = document.preamble.position if document.preamble else None
        summary = f"Set {', '.join(sorted(updates))[:200]} of {self.file}"
        return Edit(
            (splice,), result, summary, hints, renamed_position=position, may_change_front_matter=True
        )

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        new_values = new_document.front_matter
        for key, value in self.metadata.items() if edit.splices else ():
            old_value = document.front_matter.get(key)
            is_set = value is None or (
                key in new_values
                and have_equal_values_and_types(new_values[key], reader.coerce_value(old_value, value))
            )
            if not is_set or (value is None and key in new_values):
                raise StructureChanged(
                    f"after this edit '{key}' of {document.path} would not have the requested value",
                    fix="Use plain words as keys, and texts without lines of dashes as values.",
                )
        return new_document, edit


def _has_h1(document: Document) -> bool:
    headings = (section.heading for section in document.sections)
    return any(heading is not None and heading.block.level == 1 for heading in headings)


def _check_metadata(metadata: Mapping[str, object]) -> None:
    """Raise InvalidMetadata or InvalidContent for metadata that front matter cannot store."""
    if not metadata:
        raise InvalidMetadata(
            "'metadata' is empty",
            fix='Set keys to values, such as {"status": "draft"}; null removes a key.',
        )
    size = sum(_check_and_measure_value(value, 0) + len(key) for key, value in metadata.items())
    if size > MAX_FRONT_MATTER_LENGTH:
        raise InvalidMetadata(
            f"'metadata' has {size:,} characters (limit {MAX_FRONT_MATTER_LENGTH:,})",
            fix="Write long texts into the document's sections.",
        )
    for key in metadata:
        _check_key(key)


def _check_key(key: object) -> None:
    if isinstance(key, str):
        check_text(key, "metadata")
    if (
        not isinstance(key, str)
        or not key.strip()
        or len(key) > MAX_KEY_CHARACTERS
        or _CONTROL_CHARACTER.search(key)
    ):
        raise InvalidMetadata(
            f"the key {str(key)[:MAX_KEY_CHARACTERS]!r} of the metadata must have "
            f"1 to {MAX_KEY_CHARACTERS} characters, without line breaks and control characters",
            fix='Use short words as keys: {"status": "draft"}.',
        )


def _check_and_measure_value(value: object, depth: int) -> int:
    """Return the approximate number of characters of a value. Raises InvalidMetadata or InvalidContent."""
    if depth >= MAX_NESTING_DEPTH:
        raise InvalidMetadata(
            f"the metadata is nested too deeply (limit {MAX_NESTING_DEPTH} levels)",
            fix="Make its values flat.",
        )
    if isinstance(value, dict):
        for key in value:
            _check_key(key)
        return sum(len(key) + _check_and_measure_value(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return sum(1 + _check_and_measure_value(item, depth + 1) for item in value)
    if isinstance(value, str):
        check_text(value, "metadata")
        return len(value)
    if value is None or isinstance(value, bool):
        return len("null")
    if isinstance(value, int) and value.bit_length() <= MAX_INTEGER_BITS:
        return _NUMBER_CHARACTERS
    if isinstance(value, float) and math.isfinite(value):
        return _NUMBER_CHARACTERS
    raise InvalidMetadata(
        "the metadata has a number that front matter cannot store",
        fix="Send the number as text, in quotes.",
    )


MAX_TAG_CHARACTERS = 128
MAX_TAGS = 64
_INVISIBLE_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class InvalidTag(WorkspaceError):
    """An error: a tag is empty, too long, or has a comma or an invisible character.

    It is also raised for no tags, for too many tags, and for `remove` together with `replace`.
    """

    code = "INVALID_TAG"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDocument(DocumentOperation):
    """An update of tags: the given tags are added, removed (`remove`), or replace all tags (`replace`)."""

    name: ClassVar[str] = "tag_document"

    file: str
    tags: tuple[str, ...]
    remove: bool = False
    replace: bool = False

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidTag, InvalidContent, InvalidFrontMatter.
        """
        requested_tags = normalize_tags(self.tags)
        if self.remove and self.replace:
            raise InvalidTag("'remove' and 'replace' are both set", fix="Set only one of them.")
        folded_tags = {tag.casefold() for tag in requested_tags}
        if self.replace:
            tags = requested_tags
        elif self.remove:
            tags = tuple(tag for tag in document.tags if tag.casefold() not in folded_tags)
        else:
            folded_existing_tags = {tag.casefold() for tag in document.tags}
            tags = (
                *document.tags,
                *(tag for tag in requested_tags if tag.casefold() not in folded_existing_tags),
            )
        if len(tags) > MAX_TAGS:
            raise InvalidTag(
                f"the document would have {len(tags)} tags (limit {MAX_TAGS})", fix="Remove some tags first."
            )
        result: dict[str, object] = {
            "tags_applied": list(requested_tags),
            "total_tags": len(tags),
            "tags": list(tags),
        }
        if self.remove:
            result = {"tags_removed": list(requested_tags), **result, "tags_applied": []}
        if tags == document.tags:
            return Edit((), result, f"Tag {self.file}")
        if not self.replace:
            _check_existing_tags(document)
        value = list(tags) if tags else REMOVAL
        splice = set_front_matter_keys(document, {"tags": value}, rewrite_values=True)
        return Edit((splice,), result, f"Tag {self.file}: {', '.join(tags)}", may_change_front_matter=True)


def _check_existing_tags(document: Document) -> None:
    """Raise InvalidFrontMatter if an existing tag is not a text, number or date, and would be lost."""
    value = document.front_matter.get("tags")
    items = value if isinstance(value, list) else [] if value is None or isinstance(value, str) else [value]
    if any(item is not None and not isinstance(item, (str, int, float, date)) for item in items) or any(
        isinstance(item, bool) for item in items
    ):
        raise InvalidFrontMatter(
            f"the tags in the front matter of {document.path} must all be words",
            fix='Write the tags as a list of words (`tags: [backend, "on"]`; YAML reads a bare `on` as true) '
            "or set replace.",
        )


def normalize_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags without surrounding and repeated white space, and without duplicates.

    Tags that differ only in letter case are duplicates. Raises InvalidTag, InvalidContent.
    """
    if not tags:
        raise InvalidTag("'tags' is empty", fix='Set at least one tag, such as "tags": ["backend"].')
    tags_by_folded_name: dict[str, str] = {}
    for tag in tags:
        text = " ".join(check_text(tag, "tags").split())
        if not text or len(text) > MAX_TAG_CHARACTERS or "," in text or _INVISIBLE_CHARACTER.search(text):
            raise InvalidTag(
                f"the tag {text[:MAX_TAG_CHARACTERS]!r} must have 1 to {MAX_TAG_CHARACTERS} characters, "
                "without commas and invisible characters",
                fix='Use short words, one for each tag: ["backend", "search"].',
            )
        tags_by_folded_name.setdefault(text.casefold(), text)
    return tuple(tags_by_folded_name.values())
