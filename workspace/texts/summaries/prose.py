"""Read the blocks and passages of a section's own text, in Markdown and similar markups.

Blocks are classified line by line in one pass. This is not a parser: it never fails, and its time is linear
in the text. A wrong classification changes the weight of a block, not its words. The document model
determines the sections; this module only classifies their blocks.

The passages are sentences, classified by their content, and heads of tables, signatures and open tasks.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import LINE_END, LIST_MARKER
from workspace.texts.summaries.passages import (
    WEIGHTS,
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


class BlockShape(Enum):
    """The shape of a block."""

    PARAGRAPH = auto()
    ITEM = auto()
    TASK = auto()  # an open task
    CODE = auto()
    TABLE = auto()


class ProseBlock(NamedTuple):
    """A block: its lines without marks, and the kind of the `admonition` that contains it ("warning")."""

    shape: BlockShape
    lines: list[str]
    admonition: str = ""


_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_LISTING = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})[ \t]*$")
_ITEM_START = re.compile(rf"[ \t]*(?:{LIST_MARKER}|•|#\.)[ \t]+(?=\S)")
_CHECKBOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")

# The characters of the line between the head of a table and its rows.
_RULE_CHARACTERS = "|:- \t"

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

# Lines without words of the document: rules, adornments, definitions of links, directives, marks.
_LINE_WITHOUT_WORDS = re.compile(
    r"[ \t]*(?:[^\w\s`|]{3,}[ \t]*$|:{3,}|\.\.(?:[ \t]|$)|\[[^\]]+\]:[ \t]"
    r"|\[!(?:INCLUDE|include|code-|div|VIDEO)"
    r"|\{\{[<%][^{}]*[>%]\}\}[ \t]*$|<[^<>]*>[ \t]*$|#{1,6}(?:[ \t]|$)|={1,6}[ \t])"
)

_INDENTED_LINE = re.compile(r"(?: {4}|\t)")
_HARD_BREAK = re.compile(r"(?:<br[ \t]*/?>|\\)[ \t]*$", re.IGNORECASE)


def read_prose(text: str) -> Iterator[ProseBlock]:
    """Yield the blocks of a text in order, without headings, rules, comments and definitions of links."""
    return _BlockReader(LINE_END.split(text)).read_blocks()


class _BlockReader:
    """A reader of lines; `_admonition` is the kind of the admonition that contains the next block."""

    def __init__(self, lines: Sequence[str], *, is_quoted: bool = False) -> None:
        self._lines = lines
        self._is_quoted = is_quoted
        self._index = 0
        self._admonition = ""
        self._in_list = False

    def read_blocks(self) -> Iterator[ProseBlock]:
        """Yield the blocks in order."""
        while self._index < len(self._lines):
            line = self._lines[self._index]
            stripped_line = line.lstrip()
            if not stripped_line:
                self._index += 1
            elif stripped_line.startswith("<!--"):
                self._index = _find_end_of_comment(self._lines, self._index)
            elif opening := _FENCE.match(line) or _LISTING.match(line):
                end = _find_closing_line(self._lines, self._index, opening)
                yield self._make_block(BlockShape.CODE, self._lines[self._index + 1 : end], end + 1)
            elif stripped_line.startswith(">") and not self._is_quoted:
                yield from self._read_quotation()
            elif match := _ADMONITION.match(line):
                yield from self._read_admonition(match)
            elif self._is_at_table():
                yield self._read_table()
            elif match := _ITEM_START.match(line):
                yield self._read_item(line[match.end() :])
            elif _LINE_WITHOUT_WORDS.match(line):
                self._index += 1
            elif _INDENTED_LINE.match(line) and not (self._in_list or self._admonition):
                yield self._make_block(
                    BlockShape.CODE, self._lines[self._index : (end := self._find_end_of_indented())], end
                )
            else:
                yield self._read_paragraph()

    def _make_block(self, shape: BlockShape, lines: Sequence[str], next_line: int) -> ProseBlock:
        """Return a block, and continue at the line `next_line`."""
        self._index = next_line
        return ProseBlock(shape, list(lines), self._admonition)

    def _read_quotation(self) -> Iterator[ProseBlock]:
        """Yield the blocks of a quotation; nested quotations are read in the same pass, without recursion."""
        end = self._index
        while end < len(self._lines) and self._lines[end].lstrip().startswith(">"):
            end += 1
        inner_lines = [_QUOTE.sub("", line, count=1) for line in self._lines[self._index : end]]
        self._index = end
        return _BlockReader(inner_lines, is_quoted=True).read_blocks()

    def _read_admonition(self, match: re.Match[str]) -> Iterator[ProseBlock]:
        """Yield the paragraph on the opening line of an admonition, if there is one."""
        self._admonition = next(group for group in match.groups() if group).lower()
        if text := self._lines[self._index][match.end() :].strip():
            end = _find_end_of_paragraph(self._lines, self._index + 1)
            yield self._make_block(BlockShape.PARAGRAPH, [text, *self._lines[self._index + 1 : end]], end)
            self._leave_admonition()
        else:
            self._index += 1

    def _leave_admonition(self) -> None:
        """Leave an admonition after its first paragraph; in a quotation, at the end of the quotation."""
        self._admonition = self._admonition if self._is_quoted else ""

    def _is_at_table(self) -> bool:
        line_below = self._lines[self._index + 1] if self._index + 1 < len(self._lines) else ""
        is_rule = "|" in line_below and "-" in line_below and not line_below.strip(_RULE_CHARACTERS)
        return is_rule and "|" in self._lines[self._index]

    def _read_table(self) -> ProseBlock:
        """Return the head of a table and its rows, without the line between them."""
        head, end = self._lines[self._index], self._index + 2
        while end < len(self._lines) and "|" in self._lines[end]:
            end += 1
        return self._make_block(BlockShape.TABLE, [head, *self._lines[self._index + 2 : end]], end)

    def _read_item(self, first_line: str) -> ProseBlock:
        self._in_list = True
        end = _find_end_of_paragraph(self._lines, self._index + 1)
        checkbox = _CHECKBOX.match(first_line)
        is_open = checkbox is not None and checkbox[1] == " "
        text = first_line[checkbox.end() :] if checkbox and not is_open else first_line
        shape = BlockShape.TASK if is_open else BlockShape.ITEM
        return self._make_block(shape, [text, *self._lines[self._index + 1 : end]], end)

    def _find_end_of_indented(self) -> int:
        """Return the index of the line after indented code."""
        end = self._index
        while end < len(self._lines) and (
            _INDENTED_LINE.match(self._lines[end]) or not self._lines[end].strip()
        ):
            end += 1
        return end

    def _read_paragraph(self) -> ProseBlock:
        self._in_list = self._in_list and _INDENTED_LINE.match(self._lines[self._index]) is not None
        end = _find_end_of_paragraph(self._lines, self._index + 1)
        block = self._make_block(BlockShape.PARAGRAPH, self._lines[self._index : end], end)
        self._leave_admonition()
        return block


def _find_end_of_paragraph(lines: Sequence[str], index: int) -> int:
    """Return the index of the line after a paragraph that contains the line before `index`."""
    while index < len(lines):
        line = lines[index]
        if not line.strip() or _FENCE.match(line) or _ITEM_START.match(line) or _ADMONITION.match(line):
            break
        if line.lstrip().startswith((">", "<!--")) or _LINE_WITHOUT_WORDS.match(line):
            break
        index += 1
    return index


def _find_closing_line(lines: Sequence[str], index: int, opening: re.Match[str]) -> int:
    """Return the index of the line that closes a fence, or the number of lines if no line closes it."""
    mark = opening[0].strip()
    for end in range(index + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(mark) and not line.strip(mark[0]):
            return end
    return len(lines)


def _find_end_of_comment(lines: Sequence[str], index: int) -> int:
    """Return the index of the line after a comment.

    An unclosed comment extends to the end of the text (CommonMark 0.31 §4.6).
    """
    for end in range(index, len(lines)):
        if "-->" in lines[end]:
            return end + 1
    return len(lines)


def has_break_after_first_line(block: ProseBlock) -> bool:
    """Return True if a hard break ends the first of several lines, as after a term."""
    return len(block.lines) > 1 and _HARD_BREAK.search(block.lines[0]) is not None


def strip_hard_break(line: str) -> str:
    """Return a line without the hard break at its end."""
    return _HARD_BREAK.sub("", line)


# Admonitions that only inform have a lower weight than warnings.
_INFORMATIVE_ADMONITIONS = frozenset(("note", "tip", "hint", "info", "seealso", "admonition"))
_INFORMATIVE_ADMONITION_FACTOR = 0.6

# The factor for later sentences of a paragraph, because the first one states the subject.
_LATER_SENTENCE_FACTOR = 0.6
_DEFINITION_LINE = re.compile(r"[ \t]*:[ \t]+\S")
_WORD = re.compile(r"\w")

# A line in bold is used like a heading, and a line that ends with a colon introduces the next lines. Both
# kinds of lines have little content of their own.
_PROSE_LABEL = re.compile(r"\*\*[^*]*\*\*:?$|__[^_]*__:?$|\*[^*]*\*:?$|[^.]*:$")
_PROSE_LABEL_FACTOR = 0.4


def read_prose_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a section's own text without its heading, in order.

    The first sentence that is not a label or in an admonition is the lead.
    """
    has_lead = False
    for block in read_prose(text):
        if block.shape is BlockShape.CODE:
            if signature := find_signature(block.lines):
                yield _make_passage(PassageKind.SIGNATURE, signature)
            yield Passage(PassageKind.CODE, "", 0.0)
        elif block.shape is BlockShape.TABLE:
            yield from _read_table_passages(block)
        elif block.shape is BlockShape.TASK:
            if task_text := strip_markup("\n".join(block.lines)):
                yield _make_passage(PassageKind.TASK, task_text)
        else:
            for passage in _read_text_passages(block):
                if not has_lead and not block.admonition and not _PROSE_LABEL.match(passage.text):
                    has_lead = True
                    yield _make_lead(passage)
                else:
                    yield passage


def _make_passage(kind: PassageKind, text: str, factor: float = 1.0) -> Passage:
    return Passage(kind, clip(text), WEIGHTS[kind] * factor)


def _make_lead(passage: Passage) -> Passage:
    """Return a section's first sentence with the highest weight, whatever its kind."""
    kind = PassageKind.LEAD if passage.kind in (PassageKind.SENTENCE, PassageKind.FIGURE) else passage.kind
    return passage._replace(kind=kind, weight=max(passage.weight, WEIGHTS[PassageKind.LEAD]), is_first=True)


def _read_table_passages(block: ProseBlock) -> Iterator[Passage]:
    head, rows = strip_markup(block.lines[0]), block.lines[1:]
    if _WORD.search(head):
        yield _make_passage(PassageKind.TABLE, head)._replace(note=format_count(len(rows), "row"))
    for row in rows:
        if _WORD.search(row_text := strip_markup(row)):
            yield _make_passage(PassageKind.ROW, row_text)


def _read_text_passages(block: ProseBlock) -> Iterator[Passage]:
    """Yield the sentences of a paragraph or a list item; a term and its definition stay together."""
    is_term = has_break_after_first_line(block) or any(map(_DEFINITION_LINE.match, block.lines[1:2]))
    source = " ".join(map(strip_hard_break, block.lines))
    for position, sentence in enumerate(split_sentences(strip_markup(source))):
        if not _WORD.search(sentence):
            continue
        kind, factor = classify_sentence(sentence), 1.0 if position == 0 else _LATER_SENTENCE_FACTOR
        if block.admonition:
            kind, factor = (
                PassageKind.WARNING,
                factor
                * (_INFORMATIVE_ADMONITION_FACTOR if block.admonition in _INFORMATIVE_ADMONITIONS else 1.0),
            )
        elif is_term and position == 0 and kind is PassageKind.SENTENCE:
            kind = PassageKind.DEFINITION
        elif kind is PassageKind.SENTENCE and _PROSE_LABEL.match(sentence):
            factor *= _PROSE_LABEL_FACTOR
        yield _make_passage(kind, sentence, factor)
