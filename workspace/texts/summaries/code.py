"""The passages of a part of source code: its declaration, and what its comments and its docstring say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END
from workspace.texts.summaries.passages import WORTH, Kind, Passage, clipped, kind_of
from workspace.texts.summaries.sentences import split_sentences
from workspace.texts.summaries.signatures import declaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMMENT = re.compile(r"[ \t]*(?:///?!?|#+!?|--|;+|\*(?!/)|%|/\*\*?!?)[ \t]?(.*)$")
_DOCSTRING = re.compile(r"[ \t]*[rRbBuU]{0,2}(\"\"\"|''')(.*)$")
_CLOSES = re.compile(r"\*/[ \t]*$")
_DECORATOR = re.compile(r"[ \t]*(?:@\w|#\[|\[\w)")
_OPEN_WORK = re.compile(r"(?:TODO|FIXME|XXX|HACK)\b")
_PREPROCESSOR = re.compile(
    r"[ \t]*#[ \t]*(?:include|define|ifdef|ifndef|if|endif|else|pragma|undef|import)\b"
)


def passages_of_source(text: str, *, declares: bool) -> Iterator[Passage]:
    """The passages of a part of source code, in order; `declares` says that a declaration begins it."""
    lines = LINE_END.split(text)
    if declares:
        first = next((place for place, line in enumerate(lines) if _is_code(line)), None)
        if first is not None:
            kept = clipped(declaration(lines[first:]))
            yield Passage(Kind.SIGNATURE, kept, WORTH[Kind.LEAD], is_first=True)
    is_led = declares
    for words in _said(lines):
        for position, sentence in enumerate(split_sentences(words)):
            kind = Kind.TASK if _OPEN_WORK.match(sentence) else kind_of(sentence)
            if position == 0 and not is_led and kind is Kind.SENTENCE:
                kind = Kind.LEAD
            share = 1.0 if position == 0 else 0.6
            yield Passage(kind, clipped(sentence), WORTH[kind] * share, is_first=not is_led)
            is_led = True


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not _COMMENT.match(line) and not _DECORATOR.match(line)


def _said(lines: Sequence[str]) -> Iterator[str]:
    """The runs of words in comments and docstrings; an empty line of a comment ends a run."""
    run: list[str] = []
    closing = ""
    for line in lines:
        words: str | None = None
        if closing:
            words, found, _ = line.partition(closing)
            closing = "" if found else closing
        elif opening := _DOCSTRING.match(line):
            words, found, _ = opening[2].partition(opening[1])
            closing = "" if found else opening[1]
        elif not _PREPROCESSOR.match(line) and (comment := _COMMENT.match(line)):
            words = _CLOSES.sub("", comment[1])
        if words is not None and words.strip():
            run.append(words.strip())
        elif run:
            yield " ".join(run)
            run = []
    if run:
        yield " ".join(run)
