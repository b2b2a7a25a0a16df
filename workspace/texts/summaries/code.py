"""The passages of a part of source code: its declaration, and what its comments and its docstring say.

The passages of a log: how it begins and ends, and the first line of each level of trouble.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END
from workspace.texts.summaries.passages import (
    WORTH,
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
_CLOSES = re.compile(r"\*/[ \t]*$")
_DECORATOR = re.compile(r"[ \t]*(?:@\w|#\[|\[\w)")
_OPEN_WORK = re.compile(r"(?:TODO|FIXME|XXX|HACK)\b")

_PREPROCESSOR = re.compile(
    r"[ \t]*#[ \t]*(?:include|define|ifdef|ifndef|if|endif|else|pragma|undef|import)\b"
)


def read_source_passages(text: str, *, declares: bool) -> Iterator[Passage]:
    """Yield the passages of a part of source code, in order; `declares` says that a declaration begins it."""
    lines = LINE_END.split(text)
    if declares:
        first = next((place for place, line in enumerate(lines) if _is_code(line)), None)
        if first is not None:
            kept = clip(join_declaration(lines[first:]))
            yield Passage(PassageKind.SIGNATURE, kept, WORTH[PassageKind.LEAD], is_first=True)
    is_led = declares
    for words in _read_comment_words(lines):
        for position, sentence in enumerate(split_sentences(words)):
            kind = PassageKind.TASK if _OPEN_WORK.match(sentence) else classify_sentence(sentence)
            if position == 0 and not is_led and kind is PassageKind.SENTENCE:
                kind = PassageKind.LEAD
            share = 1.0 if position == 0 else 0.6
            yield Passage(kind, clip(sentence), WORTH[kind] * share, is_first=not is_led)
            is_led = True


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not _COMMENT.match(line) and not _DECORATOR.match(line)


def _read_comment_words(lines: Sequence[str]) -> Iterator[str]:
    """Yield the runs of words in comments and docstrings; an empty line of a comment ends a run."""
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


_LEVEL = re.compile(r"\b(?:FATAL|CRITICAL|ERROR|WARN(?:ING)?|Traceback|panic|Exception)\b")
_LOOKED_AT = 400
_ENDS = 3


def read_log_passages(text: str) -> Iterator[Passage]:
    """Return the first and last lines of a log, and the first line of each level with its line count."""
    lines = [line for line in LINE_END.split(text) if line.strip()]
    counts: dict[str, int] = {}
    first: dict[int, str] = {}
    for place, line in enumerate(lines):
        if found := _LEVEL.search(line[:_LOOKED_AT]):
            if found[0] not in counts:
                first[place] = found[0]
            counts[found[0]] = counts.get(found[0], 0) + 1
    ends = {*range(_ENDS), *range(len(lines) - _ENDS, len(lines))}
    for place, line in enumerate(lines):
        shown = clip(" ".join(line.split()))
        if (level := first.get(place)) is not None:
            note = f"{format_count(counts[level], 'line')} with {level}"
            yield Passage(PassageKind.LEVEL, shown, WORTH[PassageKind.LEVEL], note, is_first=place == 0)
        elif place in ends:
            yield Passage(PassageKind.LEAD, shown, WORTH[PassageKind.LEAD], is_first=place == 0)
        else:
            yield Passage(PassageKind.SENTENCE, shown, WORTH[PassageKind.ROW])
