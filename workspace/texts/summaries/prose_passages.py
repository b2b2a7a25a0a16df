"""The passages of a section of prose: sentences by what they say, tables' heads, signatures, open tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.texts.summaries.passages import WORTH, Kind, Passage, clipped, counted, kind_of
from workspace.texts.summaries.prose import Shape, breaks_after_term, read_prose, without_break
from workspace.texts.summaries.sentences import split_sentences
from workspace.texts.summaries.shown import as_shown
from workspace.texts.summaries.signatures import signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.texts.summaries.prose import Block

# Admonitions that only inform are worth less than those that warn.
_MILD = frozenset(("note", "tip", "hint", "info", "seealso", "admonition"))
_MILD_SHARE = 0.6
# What a further sentence of a paragraph is worth: the first tells what the others are about.
_LATER_SHARE = 0.6
_DEFINITION_LINE = re.compile(r"[ \t]*:[ \t]+\S")
_WORD = re.compile(r"\w")

# A line of bold words is a heading in all but name, and one that ends with a colon leads to what follows:
# by themselves they tell little.
_LABEL = re.compile(r"\*\*[^*]*\*\*:?$|__[^_]*__:?$|\*[^*]*\*:?$|[^.]*:$")
_LABEL_SHARE = 0.4


def passages_of_prose(text: str) -> Iterator[Passage]:
    """The passages of a section's own text without its heading, in order. The first sentence leads."""
    is_led = False
    for block in read_prose(text):
        if block.shape is Shape.CODE:
            if found := signature(block.lines):
                yield _passage(Kind.SIGNATURE, found)
            yield Passage(Kind.CODE, "", 0.0)
        elif block.shape is Shape.TABLE:
            yield from _of_table(block)
        elif block.shape is Shape.TASK:
            if shown := as_shown("\n".join(block.lines)):
                yield _passage(Kind.TASK, shown)
        else:
            for passage in _of_text(block):
                if not is_led and not block.label and not _LABEL.match(passage.text):
                    is_led = True
                    yield _leading(passage)
                else:
                    yield passage


def _passage(kind: Kind, shown: str, share: float = 1.0) -> Passage:
    return Passage(kind, clipped(shown), WORTH[kind] * share)


def _leading(passage: Passage) -> Passage:
    """A section's first sentence: worth the most, whatever else it is."""
    kind = Kind.LEAD if passage.kind in (Kind.SENTENCE, Kind.FIGURE) else passage.kind
    return passage._replace(kind=kind, worth=max(passage.worth, WORTH[Kind.LEAD]), is_first=True)


def _of_table(block: Block) -> Iterator[Passage]:
    head, rows = as_shown(block.lines[0]), block.lines[1:]
    if _WORD.search(head):
        yield _passage(Kind.TABLE, head)._replace(note=counted(len(rows), "row"))
    for row in rows:
        if _WORD.search(shown := as_shown(row)):
            yield _passage(Kind.ROW, shown)


def _of_text(block: Block) -> Iterator[Passage]:
    """The sentences of a paragraph or a list item; a term and what is said of it stay together."""
    is_term = breaks_after_term(block) or any(map(_DEFINITION_LINE.match, block.lines[1:2]))
    source = " ".join(map(without_break, block.lines))
    for position, sentence in enumerate(split_sentences(as_shown(source))):
        if not _WORD.search(sentence):
            continue
        kind, share = kind_of(sentence), 1.0 if position == 0 else _LATER_SHARE
        if block.label:
            kind, share = Kind.WARNING, share * (_MILD_SHARE if block.label in _MILD else 1.0)
        elif is_term and position == 0 and kind is Kind.SENTENCE:
            kind = Kind.DEFINITION
        elif kind is Kind.SENTENCE and _LABEL.match(sentence):
            share *= _LABEL_SHARE
        yield _passage(kind, sentence, share)
