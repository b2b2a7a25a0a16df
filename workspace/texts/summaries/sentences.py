"""Sentences: where they end in a paragraph, told without knowing its language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a sentence ends with, and the marks that may close around it. Full-width marks need no space behind.
_END = re.compile(r"[.!?][\"'\u201d\u2019)\]*_]*(?=\s)|[\u3002\uff01\uff1f]")
CODE_SPAN = re.compile(r"(?<!`)(?:``(?!`)(?:[^`]|`(?!`))+``|`[^`]+`)(?!`)")
_SPACE = re.compile(r"\s*")
_LAST_WORD = re.compile(r"[^\s(\[*_\"']*$")
_WORD_LENGTH = 40

# English ones, and the most usual of German.
_ABBREVIATIONS = re.compile(
    r"(?:e\.g|i\.e|etc|vs|cf|al|approx|ca|dr|eqs?|figs?|incl?|jr|ltd|mrs?|ms|nos?|nr|pp?|prof|refs?|resp"
    r"|sect?|sr|st|vol|viz|bzw|usw|z\.b|d\.h|u\.a)$",
    re.IGNORECASE,
)


def split_sentences(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph, in order, as they stand in it, without the white space around them.

    A full stop ends none in a code span, after an abbreviation or an initial, or before a small letter.
    """
    start = 0
    spans = CODE_SPAN.finditer(paragraph)
    span = next(spans, None)
    for found in _END.finditer(paragraph):
        while span is not None and span.end() <= found.start():
            span = next(spans, None)
        if span is not None and span.start() <= found.start():
            continue
        if paragraph[found.start()] == "." and not _ends(paragraph, start, found):
            continue
        if sentence := paragraph[start : found.end()].strip():
            yield sentence
        start = found.end()
    if rest := paragraph[start:].strip():
        yield rest


def _ends(paragraph: str, start: int, found: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence, by the word before it and the letter behind it."""
    before = paragraph[max(start, found.start() - _WORD_LENGTH) : found.start()]
    last = _LAST_WORD.search(before)
    word = last[0] if last else ""
    if _ABBREVIATIONS.match(word) or (len(word) == 1 and word.isalpha() and word.isupper()):
        return False
    if word.isdigit() and found.start() - start < _WORD_LENGTH and not before.removesuffix(word).strip():
        return False  # the number of a list item
    space = _SPACE.match(paragraph, found.end())
    following = paragraph[space.end() : space.end() + 1] if space else ""
    return not following.islower()
