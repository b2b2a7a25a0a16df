"""Passages of source code and of logs.

The passages of source code are the declaration, comments and docstrings. The passages of a log are its lines.
Its first and last lines, and the first line of each level of errors and warnings, have higher weights.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END
from workspace.texts.summaries.passages import (
    WEIGHTS,
    Passage,
    PassageKind,
    classify_sentence,
    clip,
    format_count,
    join_declaration,
    split_sentences,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMMENT = re.compile(r"[ \t]*(?:///?!?|#+!?|--|;+|\*(?!/)|%|/\*\*?!?)[ \t]?(.*)$")
_DOCSTRING = re.compile(r"[ \t]*[rRbBuU]{0,2}(\"\"\"|''')(.*)$")
_LATER_SENTENCE_FACTOR = 0.6  # the first sentence of a comment usually says most
_COMMENT_END = re.compile(r"\*/[ \t]*$")
_DECORATOR = re.compile(r"[ \t]*(?:@\w|#\[|\[\w)")
_TASK_MARK = re.compile(r"(?:TODO|FIXME|XXX|HACK)\b")

_PREPROCESSOR = re.compile(
    r"[ \t]*#[ \t]*(?:include|define|ifdef|ifndef|if|endif|else|pragma|undef|import)\b"
)


def read_source_passages(text: str, *, has_declaration: bool) -> Iterator[Passage]:
    """Yield the passages of a part of source code, in order.

    `has_declaration` is True if the part begins with a declaration.
    """
    lines = LINE_END.split(text)
    if has_declaration:
        first_code_line = next((index for index, line in enumerate(lines) if _is_code(line)), None)
        if first_code_line is not None:
            declaration = clip(join_declaration(lines[first_code_line:]))
            yield Passage(PassageKind.SIGNATURE, declaration, WEIGHTS[PassageKind.LEAD], is_first=True)
    has_lead = has_declaration
    for comment in _read_comments(lines):
        for position, sentence in enumerate(split_sentences(comment)):
            kind = PassageKind.TASK if _TASK_MARK.match(sentence) else classify_sentence(sentence)
            if position == 0 and not has_lead and kind is PassageKind.SENTENCE:
                kind = PassageKind.LEAD
            factor = 1.0 if position == 0 else _LATER_SENTENCE_FACTOR
            yield Passage(kind, clip(sentence), WEIGHTS[kind] * factor, is_first=not has_lead)
            has_lead = True


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not _COMMENT.match(line) and not _DECORATOR.match(line)


def _read_comments(lines: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs of comments and docstrings; an empty line or a line of code ends a paragraph."""
    paragraph: list[str] = []
    closing_mark = ""
    for line in lines:
        text: str | None = None
        if closing_mark:
            text, end_mark, _ = line.partition(closing_mark)
            closing_mark = "" if end_mark else closing_mark
        elif docstring := _DOCSTRING.match(line):
            text, end_mark, _ = docstring[2].partition(docstring[1])
            closing_mark = "" if end_mark else docstring[1]
        elif not _PREPROCESSOR.match(line) and (comment := _COMMENT.match(line)):
            text = _COMMENT_END.sub("", comment[1])
        if text is not None and text.strip():
            paragraph.append(text.strip())
        elif paragraph:
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


_LOG_LEVEL = re.compile(r"\b(?:FATAL|CRITICAL|ERROR|WARN(?:ING)?|Traceback|panic|Exception)\b")
_MAX_SEARCHED_CHARACTERS = 400
_EDGE_LINE_COUNT = 3


def read_log_passages(text: str) -> Iterator[Passage]:
    """Yield the lines of a log that are not blank.

    The first line of each level has a note with the number of lines of that level. This line, and the
    three first and the three last lines, have higher weights.
    """
    lines = [line for line in LINE_END.split(text) if line.strip()]
    counts: dict[str, int] = {}
    levels_by_first_line: dict[int, str] = {}
    for index, line in enumerate(lines):
        if match := _LOG_LEVEL.search(line[:_MAX_SEARCHED_CHARACTERS]):
            if match[0] not in counts:
                levels_by_first_line[index] = match[0]
            counts[match[0]] = counts.get(match[0], 0) + 1
    edge_indexes = {*range(_EDGE_LINE_COUNT), *range(len(lines) - _EDGE_LINE_COUNT, len(lines))}
    for index, line in enumerate(lines):
        passage_text = clip(" ".join(line.split()))
        if (level := levels_by_first_line.get(index)) is not None:
            note = f"{format_count(counts[level], 'line')} with {level}"
            yield Passage(
                PassageKind.LEVEL, passage_text, WEIGHTS[PassageKind.LEVEL], note, is_first=index == 0
            )
        elif index in edge_indexes:
            yield Passage(PassageKind.LEAD, passage_text, WEIGHTS[PassageKind.LEAD], is_first=index == 0)
        else:
            yield Passage(PassageKind.SENTENCE, passage_text, WEIGHTS[PassageKind.ROW])
