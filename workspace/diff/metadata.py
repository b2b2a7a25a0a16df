"""What happened to a document's front matter, key by key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workspace.diff.changes import Kind, Place, SectionChange
from workspace.diff.texts import BLANKS, readable
from workspace.frontmatter import are_same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.document.document import Document

WHOLE = "front matter"
"""The address and title of front matter that is told as a whole."""


def metadata_changes(old: Document, new: Document) -> Iterator[SectionChange]:
    """A change for each key whose value differs, in the order of the new version, then of the old one.

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
        yield SectionChange(Kind.METADATA, _place(old, key), _place(new, key))
    if not keys:
        yield _whole(old, new, texts)


def _lines(document: Document) -> str:
    return readable(document.data[: document.front_matter_end])


def _whole(old: Document, new: Document, texts: tuple[str, str]) -> SectionChange:
    places = [
        Place(document.path, WHOLE, WHOLE, 1, text) if text else None
        for document, text in zip((old, new), texts, strict=True)
    ]
    return SectionChange(Kind.METADATA, places[0], places[1])


def _are_same(was: Mapping[str, object], is_now: Mapping[str, object], key: str) -> bool:
    return key in was and key in is_now and are_same(was[key], is_now[key])


def _place(document: Document, key: str) -> Place | None:
    if key not in document.front_matter:
        return None
    value = document.front_matter[key]
    return Place(document.path, str(key), str(key), 1, _text(value))


def _text(value: object) -> str:
    """A value as text: words as they are, all others as JSON, and what JSON has not as Python writes it."""
    if isinstance(value, str):
        words = value.strip(BLANKS)
        return words + "\n" if words else ""
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True) + "\n"
