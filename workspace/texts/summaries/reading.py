"""The passages of each section of a text, by the kind of text that it is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END
from workspace.texts.summaries.code import passages_of_source
from workspace.texts.summaries.log_passages import passages_of_log
from workspace.texts.summaries.passages import AGAIN
from workspace.texts.summaries.prose_passages import passages_of_prose
from workspace.texts.text_file import Kind as TextKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.texts.outline import Entry, Outline
    from workspace.texts.summaries.passages import Passage
    from workspace.texts.text_file import TextFile

# A book has some ten thousand; each costs up to 20 µs.
MAX_PASSAGES = 200_000

# The markups whose headings are lines of their sections.
_TITLED = (TextKind.RESTRUCTUREDTEXT, TextKind.ASCIIDOC)


def read_passages(text: TextFile, outline: Outline) -> list[list[Passage]]:
    """The passages of each section's own text, in order. One that comes again word for word is worth less.

    Those past the first MAX_PASSAGES are not read, which bounds what a hostile text may cost.
    """
    seen: set[str] = set()
    found: list[list[Passage]] = []
    room = MAX_PASSAGES
    for entry in outline.entries:
        passages: list[Passage] = []
        for passage in islice(_of_entry(text, entry), room):
            if passage.text in seen:
                passage = passage._replace(worth=passage.worth * AGAIN)
            elif passage.text:
                seen.add(passage.text)
            passages.append(passage)
        room -= len(passages)
        found.append(passages)
    return found


def _of_entry(text: TextFile, entry: Entry) -> Iterator[Passage]:
    body = body_of(text, entry)
    match text.kind:
        case TextKind.SOURCE:
            return passages_of_source(body, declares=entry.level > 0)
        case TextKind.LOG:
            return passages_of_log(body)
        case _:
            return passages_of_prose(body)


def body_of(text: TextFile, entry: Entry) -> str:
    """A section's own text without its heading; a declaration of source code is its own heading."""
    document = text.document
    section = document.section_by_key(entry.address) if document is not None else None
    if section is not None:
        return text.text(section.body, section.end)
    own = text.text(entry.start, entry.end)
    if not entry.title or text.kind not in _TITLED:
        return own
    # The line of the title goes; rules above and below it hold no words.
    lines = LINE_END.split(own)
    place = entry.line - entry.first_line
    del lines[place : place + 1]
    return "\n".join(lines)
