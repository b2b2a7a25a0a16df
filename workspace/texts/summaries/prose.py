"""Blocks of a section's own text, in Markdown and the markups like it: told by lines, in one pass.

This is not a parser: it never fails, and takes time in proportion to the text. What it takes for a paragraph
is kept word for word whatever it was. The document model says where sections are, this only of what kind
their blocks are.

The passages of a section of prose: sentences by what they say, tables' heads, signatures, open tasks.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import LINE_END, LIST_MARKER
from workspace.texts.summaries.passages import (
    WORTH,
    Passage,
    PassageKind,
    classify_sentence,
    clip,
    find_signature,
    format_count,
    split_sentences,
    strip_markup,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Shape(Enum):
    """The kind of a block."""

    PARAGRAPH = auto()
    ITEM = auto()
    TASK = auto()  # an open one
    CODE = auto()
    TABLE = auto()


class ProseBlock(NamedTuple):
    """A block: its lines without marks, and for what stands in an admonition its `label` ("warning")."""

    shape: Shape
    lines: list[str]
    label: str = ""


_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_LISTING = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})[ \t]*$")
_ITEM = re.compile(rf"[ \t]*(?:{LIST_MARKER}|•|#\.)[ \t]+(?=\S)")
_BOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")

# What the line between the head of a table and its rows is made of.
_RULE = "|:- \t"

_LABEL = (
    r"(note|tip|hint|info|important|warning|caution|danger|attention|error|deprecated|admonition|seealso)"
)

_ADMONITION = re.compile(
    r"[ \t]*(?:\[!" + _LABEL + r"\][ \t]*"
    r"|(?:!!!|\?\?\?\+?|:{3,})[ \t]*\{?" + _LABEL + r"\}?(?:[ \t].*)?$"
    r"|\.\.[ \t]+" + _LABEL + r"::[ \t]*"
    r"|\{\{[<%][ \t]*" + _LABEL + r"\b[^{}]*[>%]\}\}[ \t]*"
    r"|\[" + _LABEL + r"\][ \t]*$"
    r"|(?=(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]))",
    re.IGNORECASE,
)

# Lines that hold no words of the document: rules, adornments, definitions of links, directives, marks.
_WORDLESS = re.compile(
    r"[ \t]*(?:[^\w\s`|]{3,}[ \t]*$|:{3,}|\.\.(?:[ \t]|$)|\[[^\]]+\]:[ \t]"
    r"|\[!(?:INCLUDE|include|code-|div|VIDEO)"
    r"|\{\{[<%][^{}]*[>%]\}\}[ \t]*$|<[^<>]*>[ \t]*$|#{1,6}(?:[ \t]|$)|={1,6}[ \t])"
)

_INDENTED = re.compile(r"(?: {4}|\t)")
_HARD_BREAK = re.compile(r"(?:<br[ \t]*/?>|\\)[ \t]*$", re.IGNORECASE)


def read_prose(text: str) -> Iterator[ProseBlock]:
    """Yield the blocks of a text in order; headings, rules, comments and definitions of links are none."""
    return _Reader(LINE_END.split(text)).blocks()


class _Reader:
    """A walk over lines. `label` is that of the admonition in which the next block stands."""

    def __init__(self, lines: Sequence[str], *, is_quoted: bool = False) -> None:
        self._lines = lines
        self._is_quoted = is_quoted
        self._place = 0
        self._label = ""
        self._in_list = False

    def blocks(self) -> Iterator[ProseBlock]:
        """Yield the blocks in order."""
        while self._place < len(self._lines):
            line = self._lines[self._place]
            first = line.lstrip()
            if not first:
                self._place += 1
            elif first.startswith("<!--"):
                self._place = _after_comment(self._lines, self._place)
            elif opening := _FENCE.match(line) or _LISTING.match(line):
                end = _find_closing_line(self._lines, self._place, opening)
                yield self._block(Shape.CODE, self._lines[self._place + 1 : end], end + 1)
            elif first.startswith(">") and not self._is_quoted:
                yield from self._quotation()
            elif found := _ADMONITION.match(line):
                yield from self._admonition(found)
            elif self._begins_table():
                yield self._table()
            elif found := _ITEM.match(line):
                yield self._item(line[found.end() :])
            elif _WORDLESS.match(line):
                self._place += 1
            elif _INDENTED.match(line) and not (self._in_list or self._label):
                yield self._block(Shape.CODE, self._lines[self._place : (end := self._outdented())], end)
            else:
                yield self._paragraph()

    def _block(self, shape: Shape, lines: Sequence[str], after: int) -> ProseBlock:
        """Return a block, behind which the walk goes on at a line."""
        self._place = after
        return ProseBlock(shape, list(lines), self._label)

    def _quotation(self) -> Iterator[ProseBlock]:
        """Yield the blocks of a quotation; nested quotations are read in the same pass, without recursion."""
        end = self._place
        while end < len(self._lines) and self._lines[end].lstrip().startswith(">"):
            end += 1
        inner = [_QUOTE.sub("", line, count=1) for line in self._lines[self._place : end]]
        self._place = end
        return _Reader(inner, is_quoted=True).blocks()

    def _admonition(self, found: re.Match[str]) -> Iterator[ProseBlock]:
        """Yield the paragraph on the line that opens an admonition, if there is one."""
        self._label = next(group for group in found.groups() if group).lower()
        if rest := self._lines[self._place][found.end() :].strip():
            end = _paragraph_end(self._lines, self._place + 1)
            yield self._block(Shape.PARAGRAPH, [rest, *self._lines[self._place + 1 : end]], end)
            self._leave_admonition()
        else:
            self._place += 1

    def _leave_admonition(self) -> None:
        """Leave an admonition after its first paragraph; in a quotation, with the quotation."""
        self._label = self._label if self._is_quoted else ""

    def _begins_table(self) -> bool:
        below = self._lines[self._place + 1] if self._place + 1 < len(self._lines) else ""
        is_rule = "|" in below and "-" in below and not below.strip(_RULE)
        return is_rule and "|" in self._lines[self._place]

    def _table(self) -> ProseBlock:
        """Return the head of a table and its rows, without the line between them."""
        head, end = self._lines[self._place], self._place + 2
        while end < len(self._lines) and "|" in self._lines[end]:
            end += 1
        return self._block(Shape.TABLE, [head, *self._lines[self._place + 2 : end]], end)

    def _item(self, first: str) -> ProseBlock:
        self._in_list = True
        end = _paragraph_end(self._lines, self._place + 1)
        box = _BOX.match(first)
        is_open = box is not None and box[1] == " "
        words = first[box.end() :] if box and not is_open else first
        shape = Shape.TASK if is_open else Shape.ITEM
        return self._block(shape, [words, *self._lines[self._place + 1 : end]], end)

    def _outdented(self) -> int:
        """Return the line behind code that is indented."""
        end = self._place
        while end < len(self._lines) and (_INDENTED.match(self._lines[end]) or not self._lines[end].strip()):
            end += 1
        return end

    def _paragraph(self) -> ProseBlock:
        self._in_list = self._in_list and _INDENTED.match(self._lines[self._place]) is not None
        end = _paragraph_end(self._lines, self._place + 1)
        block = self._block(Shape.PARAGRAPH, self._lines[self._place : end], end)
        self._leave_admonition()
        return block


def _paragraph_end(lines: Sequence[str], place: int) -> int:
    """Return the line behind a paragraph of which the line before `place` is a part."""
    while place < len(lines):
        line = lines[place]
        if not line.strip() or _FENCE.match(line) or _ITEM.match(line) or _ADMONITION.match(line):
            break
        if line.lstrip().startswith((">", "<!--")) or _WORDLESS.match(line):
            break
        place += 1
    return place


def _find_closing_line(lines: Sequence[str], place: int, opening: re.Match[str]) -> int:
    """Return the line that closes a fence; behind the last one where none does."""
    mark = opening[0].strip()
    for end in range(place + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(mark) and not line.strip(mark[0]):
            return end
    return len(lines)


def _after_comment(lines: Sequence[str], place: int) -> int:
    """Return the line after a comment; the end of the text if it is not closed (CommonMark 0.31 §4.6)."""
    for end in range(place, len(lines)):
        if "-->" in lines[end]:
            return end + 1
    return len(lines)


def breaks_after_term(block: ProseBlock) -> bool:
    """Return True if a paragraph's first line is a term that a hard break parts from what is said of it."""
    return len(block.lines) > 1 and _HARD_BREAK.search(block.lines[0]) is not None


def strip_hard_break(line: str) -> str:
    """Return a line without the hard break at its end."""
    return _HARD_BREAK.sub("", line)


# Admonitions that only inform are worth less than those that warn.
_MILD = frozenset(("note", "tip", "hint", "info", "seealso", "admonition"))
_MILD_SHARE = 0.6

# What a further sentence of a paragraph is worth: the first tells what the others are about.
_LATER_SHARE = 0.6
_DEFINITION_LINE = re.compile(r"[ \t]*:[ \t]+\S")
_WORD = re.compile(r"\w")

# A line of bold words is a heading in all but name, and one that ends with a colon leads to what follows:
# by themselves they tell little.
_PROSE_LABEL = re.compile(r"\*\*[^*]*\*\*:?$|__[^_]*__:?$|\*[^*]*\*:?$|[^.]*:$")
_LABEL_SHARE = 0.4


def read_prose_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a section's own text without its heading, in order. The first sentence leads."""
    is_led = False
    for block in read_prose(text):
        if block.shape is Shape.CODE:
            if found := find_signature(block.lines):
                yield _passage(PassageKind.SIGNATURE, found)
            yield Passage(PassageKind.CODE, "", 0.0)
        elif block.shape is Shape.TABLE:
            yield from _of_table(block)
        elif block.shape is Shape.TASK:
            if shown := strip_markup("\n".join(block.lines)):
                yield _passage(PassageKind.TASK, shown)
        else:
            for passage in _of_text(block):
                if not is_led and not block.label and not _PROSE_LABEL.match(passage.text):
                    is_led = True
                    yield _read_leading_sentence(passage)
                else:
                    yield passage


def _passage(kind: PassageKind, shown: str, share: float = 1.0) -> Passage:
    return Passage(kind, clip(shown), WORTH[kind] * share)


def _read_leading_sentence(passage: Passage) -> Passage:
    """Return a section's first sentence: worth the most, whatever else it is."""
    kind = PassageKind.LEAD if passage.kind in (PassageKind.SENTENCE, PassageKind.FIGURE) else passage.kind
    return passage._replace(kind=kind, worth=max(passage.worth, WORTH[PassageKind.LEAD]), is_first=True)


def _of_table(block: ProseBlock) -> Iterator[Passage]:
    head, rows = strip_markup(block.lines[0]), block.lines[1:]
    if _WORD.search(head):
        yield _passage(PassageKind.TABLE, head)._replace(note=format_count(len(rows), "row"))
    for row in rows:
        if _WORD.search(shown := strip_markup(row)):
            yield _passage(PassageKind.ROW, shown)


def _of_text(block: ProseBlock) -> Iterator[Passage]:
    """Yield the sentences of a paragraph or a list item; a term and what is said of it stay together."""
    is_term = breaks_after_term(block) or any(map(_DEFINITION_LINE.match, block.lines[1:2]))
    source = " ".join(map(strip_hard_break, block.lines))
    for position, sentence in enumerate(split_sentences(strip_markup(source))):
        if not _WORD.search(sentence):
            continue
        kind, share = classify_sentence(sentence), 1.0 if position == 0 else _LATER_SHARE
        if block.label:
            kind, share = PassageKind.WARNING, share * (_MILD_SHARE if block.label in _MILD else 1.0)
        elif is_term and position == 0 and kind is PassageKind.SENTENCE:
            kind = PassageKind.DEFINITION
        elif kind is PassageKind.SENTENCE and _PROSE_LABEL.match(sentence):
            share *= _LABEL_SHARE
        yield _passage(kind, sentence, share)
