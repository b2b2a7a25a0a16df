"""Walkthroughs: tutorials whose level-2 sections are steps (`docs/templates.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.frontmatter.reader import format_value
from workspace.markdown.blocks import BlockKind, parse_nested_blocks
from workspace.markdown.inline import to_plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section

WALKTHROUGH_TYPE = "walkthrough"
"""The document type of walkthroughs."""

MAX_DESCRIPTION_CHARACTERS = 500
MAX_TECHNOLOGY_CHARACTERS = 200

_STEP_LEVEL = 2

# Only the beginning of an introduction is parsed, because its first paragraph is enough.
_MAX_PARSED_BYTES = 20_000
_MAX_PARAGRAPH_BYTES = 5_000


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a walkthrough: a level-2 section. `number` counts from 1.

    `key` is the section's key in its file, and `address` the path, `#` and the key. `source` is the Markdown
    of the section with its heading and its subsections.
    """

    number: int
    title: str
    key: str
    address: str
    source: str


@dataclass(frozen=True, slots=True)
class Walkthrough:
    """A walkthrough. Its `id` is the path of its document.

    `description` is the first paragraph with text in the preamble, as plain text, or "". `technology` has
    the values of this front matter key, joined by ", "; None without values. Both are shortened.
    """

    id: str
    title: str
    description: str
    technology: str | None
    steps: tuple[Step, ...]

    def find_step(self, key: str) -> Step | None:
        """Return the step whose section has this key, or None."""
        return next((step for step in self.steps if step.key == key), None)


def build_walkthrough(document: Document) -> Walkthrough:
    """Return the walkthrough that a document describes, whatever its type is."""
    return Walkthrough(
        id=document.path,
        title=document.title,
        description=read_description(document),
        technology=_read_technology(document.front_matter.get("technology")),
        steps=tuple(
            Step(
                number,
                section.title,
                section.key,
                f"{document.path}#{section.key}",
                document.text(section.start, section.tree_end),
            )
            for number, section in enumerate(find_steps(document), 1)
        ),
    )


def find_steps(document: Document) -> Iterator[Section]:
    """Yield the sections of a document that are the steps of a walkthrough, in order."""
    return (section for section in document.sections if section.level == _STEP_LEVEL)


def read_description(document: Document) -> str:
    """Return the first paragraph with text in a document's preamble, as plain text, shortened; or ""."""
    preamble = document.preamble
    if preamble is None:
        return ""
    end = min(preamble.end, preamble.body_start + _MAX_PARSED_BYTES)
    data = document.data[preamble.body_start : end]
    for block in parse_nested_blocks(data):
        if block.kind is BlockKind.PARAGRAPH:
            source = data[block.start : min(block.end, block.start + _MAX_PARAGRAPH_BYTES)]
            # A paragraph of images alone, such as badges, has no text.
            if text := " ".join(to_plain_text(source.decode("utf-8", "replace")).split()):
                return shorten_text(text, MAX_DESCRIPTION_CHARACTERS)
    return ""


def _read_technology(value: object) -> str | None:
    items = value if isinstance(value, list) else [value]
    texts = dict.fromkeys(text for text in map(format_value, items) if text)
    return shorten_text(", ".join(texts), MAX_TECHNOLOGY_CHARACTERS) or None


def shorten_text(text: str, max_characters: int) -> str:
    """Return a text of at most `max_characters`; a longer text is cut after a word, with an ellipsis."""
    if len(text) <= max_characters:
        return text
    shortened = text[: max_characters - 1]
    return f"{shortened.rpartition(' ')[0] or shortened}…"
