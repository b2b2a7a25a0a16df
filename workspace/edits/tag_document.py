"""tag_document: the tags in a document's front matter added to, taken from, or replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from workspace import frontmatter
from workspace.document.splices import Edit, Style
from workspace.edits.content import checked_text
from workspace.edits.front_matter import set_front_matter_keys
from workspace.edits.operation import DocumentOperation
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.document import Document

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
        """The edit; none where the tags are these already. Raises InvalidTag, InvalidFrontMatter."""
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
        value = list(tags) if tags else frontmatter.REMOVED
        splice = set_front_matter_keys(document, {"tags": value}, is_whole=True)
        return Edit((splice,), answer, f"Tag {self.file}: {', '.join(tags)}", is_front_matter=True)


def _check_words(document: Document) -> None:
    """Raises InvalidFrontMatter where the tags that are there would be lost: they are not all words."""
    value = document.front_matter.get("tags")
    items = value if isinstance(value, list) else [] if value is None or isinstance(value, str) else [value]
    if any(item is not None and not isinstance(item, (str, int, float, date)) for item in items) or any(
        isinstance(item, bool) for item in items
    ):
        raise frontmatter.InvalidFrontMatter(
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
        text = " ".join(checked_text(tag, "tags").split())
        if not text or len(text) > MAX_TAG or "," in text or _INVISIBLE.search(text):
            raise InvalidTag(
                "a tag is empty, over 128 characters, or holds a comma or an invisible character",
                fix='Use short words, one for each tag: ["backend", "search"].',
            )
        normal.setdefault(text.casefold(), text)
    return tuple(normal.values())
