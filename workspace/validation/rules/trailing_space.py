"""White space at the end of a line that changes its meaning, or seems to.

Two spaces at the end of a line of text are a hard break (CommonMark §6.7), and a single space has no
meaning: both may stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

_BACKSLASH = re.compile(rb"\\(?<!\\\\)([ \t]+)(?=\r?$)", re.MULTILINE)
_TAB_IN_BREAK = re.compile(rb"(?<=\S) {2,100}\t[ \t]{0,100}(?=\r?$)", re.MULTILINE)
# U+00A0, U+1680, U+2000 to U+200A, U+202F, U+205F, U+3000: displayed as blank, but text (CommonMark §2.1).
_WIDE = rb"\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
_NOT_BLANK = re.compile(rb"^[ \t]*((?:%b)(?:%b|[ \t]){0,1000})(?=\r?$)" % (_WIDE, _WIDE), re.MULTILINE)
_MARK = re.compile(rb"^---([ \t]+)(?=\r?$)", re.MULTILINE)
_SPACES = b" \t"


def _find(subject: Subject) -> Iterator[Spot]:
    data, document = subject.data, subject.document
    for section in document.sections:
        if section.heading is None or section.heading.block.is_setext:
            continue
        text = data[section.heading_start : section.body].rstrip(b"\r\n")
        spaces = len(text) - len(text.rstrip(_SPACES))
        if spaces:
            yield _make_spot(
                section.heading_start + len(text) - spaces,
                spaces,
                "white space ends the heading's line",
                True,
            )
    for match in _MARK.finditer(data, 0, document.front_matter_end):
        yield _make_spot(
            match.start(1),
            len(match[1]),
            "white space after a delimiter of front matter, which tools refuse",
            True,
        )
    for match in _BACKSLASH.finditer(data, document.front_matter_end):
        yield _make_spot(
            match.start(1),
            len(match[1]),
            "white space after a backslash at the end of a line, which therefore is not a line break",
            False,
        )
    if b"  \t" in data:
        for match in _TAB_IN_BREAK.finditer(data, document.front_matter_end):
            if not subject.is_literal(match.start()):
                yield _make_spot(
                    match.start(), len(match[0]), "because of a tab these spaces are not a line break", False
                )
    if not data.isascii():
        for match in _NOT_BLANK.finditer(data, document.front_matter_end):
            if not subject.is_literal(match.start(1)):
                yield _make_spot(
                    match.start(1),
                    len(match[1]),
                    "the line looks blank but is not, so it ends no paragraph",
                    False,
                )


def _make_spot(start: int, length: int, message: str, is_safe: bool) -> Spot:
    fix = (Splice(start, start + length, b""),) if is_safe else ()
    return Spot(start, start + length, message, "Take it out.", fix)


RULE = Rule(
    "trailing-space",
    Severity.WARNING,
    "White space at the end of a line changes what it means, or seems to.",
    _find,
)
