"""set_metadata: keys of a document's front matter set, changed inside, or taken out.

tag_document: the tags in a document's front matter added to, taken from, or replaced.

Set keys of a document's front matter, and leave every other byte of the block as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from workspace.document.splices import Edit, Splice, StructureChanged, Style
from workspace.edits.content import check_text
from workspace.edits.operation import DocumentOperation
from workspace.errors import WorkspaceError
from workspace.frontmatter import reader
from workspace.frontmatter.editor import REMOVED, set_keys
from workspace.frontmatter.reader import MAX_BITS, MAX_FRONT_MATTER, MAX_NESTING, InvalidFrontMatter, are_same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.document.document import Document


def set_front_matter_keys(
    document: Document, values: Mapping[str, object], *, is_whole: bool = False
) -> Splice:
    """Set keys, or take them out where the value is `frontmatter.REMOVED`; `is_whole` writes values anew.

    Front matter that holds nothing any more goes altogether, with the blank line after it.
    Raises InvalidFrontMatter where the block that is there is no mapping.
    """
    ending = document.ending.decode()
    return _rewrite(document, lambda source: set_keys(source, values, ending, is_whole=is_whole))


def _rewrite(document: Document, rewrite: Callable[[str], str]) -> Splice:
    data, lines = document.data, document.lines
    first = lines.starts[0]
    if not document.front_matter_lines:
        text = rewrite("").encode()
        if not text:
            return Splice(first, first, b"")
        mark = b"---" + document.ending
        return Splice(first, first, mark + text + mark + (document.ending if data[first:] else b""))
    if document.front_matter_error:
        raise document.front_matter_error
    start, end = lines.offset(1), lines.offset(document.front_matter_lines - 1)
    try:
        source = data[start:end].decode()
    except UnicodeDecodeError as error:
        raise InvalidFrontMatter("the front matter is not UTF-8", fix="Save the file as UTF-8.") from error
    written = rewrite(source)
    after = document.front_matter_lines
    if written or not source or lines.raw(after).startswith(b"---"):
        return Splice(start, end, written.encode())
    blank = after < len(lines) and not lines.raw(after).strip(b" \t")
    return Splice(first, lines.offset(after + blank), b"")


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
        """Return the edit; none where all is so already. Raises InvalidMetadata, InvalidFrontMatter."""
        _check(self.metadata)
        if document.front_matter_error:
            raise document.front_matter_error
        known = document.front_matter
        wanted: dict[str, object] = {}
        for key, value in self.metadata.items():
            meant = reader.coerce_value(known.get(key), value)
            if value is None:
                if key in known:
                    wanted[key] = REMOVED
            elif key not in known or not are_same(known[key], meant):
                wanted[key] = meant
        removed = [key for key, value in wanted.items() if value is REMOVED]
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
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        read = changed.front_matter
        for key, value in self.metadata.items() if edit.splices else ():
            known = document.front_matter.get(key)
            is_set = value is None or (key in read and are_same(read[key], reader.coerce_value(known, value)))
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
    """Raise InvalidMetadata or InvalidContent for what front matter cannot hold."""
    if not metadata:
        raise InvalidMetadata(
            "'metadata' is empty",
            fix='Give keys and values, such as {"status": "draft"}; null removes a key.',
        )
    if sum(_size(value, 0) + len(key) for key, value in metadata.items()) > MAX_FRONT_MATTER:
        raise InvalidMetadata("'metadata' is over 64 KiB", fix="Put long texts into the document's sections.")
    for key in metadata:
        _check_key(key)


def _check_key(key: object) -> None:
    if isinstance(key, str):
        check_text(key, "metadata")
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or _CONTROL.search(key):
        raise InvalidMetadata(
            "a key of the metadata is empty, over 120 characters, or holds a line break or control character",
            fix='Use short words as keys: {"status": "draft"}.',
        )


def _size(value: object, depth: int) -> int:
    """Return about how many characters a value takes; checks all that is in it."""
    if depth >= MAX_NESTING:
        raise InvalidMetadata("the metadata is nested too deeply", fix="Keep its values flat.")
    if isinstance(value, dict):
        for key in value:
            _check_key(key)
        return sum(len(key) + _size(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return sum(1 + _size(item, depth + 1) for item in value)
    if isinstance(value, str):
        check_text(value, "metadata")
        return len(value)
    if value is None or isinstance(value, bool):
        return 4
    if isinstance(value, int) and value.bit_length() <= MAX_BITS:
        return 20
    if isinstance(value, float) and math.isfinite(value):
        return 20
    raise InvalidMetadata(
        "the metadata holds a number that front matter cannot carry",
        fix="Give it as text, in quotes.",
    )


MAX_TAG = 128
MAX_TAGS = 64
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class InvalidTag(WorkspaceError):
    """A tag that is empty, too long, or holds a comma or an invisible character."""

    code = "INVALID_TAG"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDocument(DocumentOperation):
    """Adds tags; with `remove` takes them away, with `replace` leaves these and no others."""

    name: ClassVar[str] = "tag_document"

    file: str
    tags: tuple[str, ...]
    remove: bool = False
    replace: bool = False

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where the tags are these already. Raises InvalidTag, InvalidFrontMatter."""
        given = normalise_tags(self.tags)
        if self.remove and self.replace:
            raise InvalidTag("'remove' and 'replace' are both set", fix="Set one of them.")
        lowered = {tag.casefold() for tag in given}
        if self.replace:
            tags = given
        elif self.remove:
            tags = tuple(tag for tag in document.tags if tag.casefold() not in lowered)
        else:
            known = {tag.casefold() for tag in document.tags}
            tags = (*document.tags, *(tag for tag in given if tag.casefold() not in known))
        if len(tags) > MAX_TAGS:
            raise InvalidTag(f"a document carries at most {MAX_TAGS} tags", fix="Remove some first.")
        answer: dict[str, object] = {"tags_applied": list(given), "total_tags": len(tags), "tags": list(tags)}
        if self.remove:
            answer = {"tags_removed": list(given), **answer, "tags_applied": []}
        if tags == document.tags:
            return Edit((), answer, f"Tag {self.file}")
        if not self.replace:
            _check_words(document)
        value = list(tags) if tags else REMOVED
        splice = set_front_matter_keys(document, {"tags": value}, is_whole=True)
        return Edit((splice,), answer, f"Tag {self.file}: {', '.join(tags)}", is_front_matter=True)


def _check_words(document: Document) -> None:
    """Raise InvalidFrontMatter where the tags that are there would be lost: they are not all words."""
    value = document.front_matter.get("tags")
    items = value if isinstance(value, list) else [] if value is None or isinstance(value, str) else [value]
    if any(item is not None and not isinstance(item, (str, int, float, date)) for item in items) or any(
        isinstance(item, bool) for item in items
    ):
        raise InvalidFrontMatter(
            "the tags in the front matter are not all words",
            fix='Write them as a list of words (`tags: [backend, "on"]`; YAML reads a bare `on` as true), '
            "or set replace.",
        )


def normalise_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Tags trimmed, inner white space folded, repeats (whatever their case) left out. Raises InvalidTag."""
    if not tags:
        raise InvalidTag("'tags' is empty", fix='Give at least one, such as "tags": ["backend"].')
    normal: dict[str, str] = {}
    for tag in tags:
        text = " ".join(check_text(tag, "tags").split())
        if not text or len(text) > MAX_TAG or "," in text or _INVISIBLE.search(text):
            raise InvalidTag(
                "a tag is empty, over 128 characters, or holds a comma or an invisible character",
                fix='Use short words, one for each tag: ["backend", "search"].',
            )
        normal.setdefault(text.casefold(), text)
    return tuple(normal.values())
