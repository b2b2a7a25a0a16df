"""White space at the end of a line that changes its meaning, or seems to.

Two spaces at the end of a line of text are a hard break (CommonMark §6.7), and a single space has no
meaning: both may stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_SPACE_AFTER_BACKSLASH = re.compile(rb"\\(?<!\\\\)([ \t]+)(?=\r?$)", re.MULTILINE)
_TAB_IN_BREAK = re.compile(rb"(?<=\S) {2,100}\t[ \t]{0,100}(?=\r?$)", re.MULTILINE)
# U+00A0, U+1680, U+2000 to U+200A, U+202F, U+205F, U+3000: displayed as blank, but text (CommonMark §2.1).
_WIDE_SPACE = rb"\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
_WIDE_SPACES_ONLY = re.compile(
    rb"^[ \t]*((?:%b)(?:%b|[ \t]){0,1000})(?=\r?$)" % (_WIDE_SPACE, _WIDE_SPACE), re.MULTILINE
)
_SPACE_AFTER_DELIMITER = re.compile(rb"^---([ \t]+)(?=\r?$)", re.MULTILINE)
_SPACE_CHARACTERS = b" \t"


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data, document = context.data, context.document
    for section in document.sections:
        if section.heading is None or section.heading.block.is_setext:
            continue
        text = data[section.heading_start : section.body_start].rstrip(b"\r\n")
        space_count = len(text) - len(text.rstrip(_SPACE_CHARACTERS))
        if space_count:
            yield _make_byte_finding(
                section.heading_start + len(text) - space_count,
                space_count,
                "white space ends the heading's line",
                True,
            )
    for match in _SPACE_AFTER_DELIMITER.finditer(data, 0, document.front_matter_end):
        yield _make_byte_finding(
            match.start(1),
            len(match[1]),
            "white space after a delimiter of front matter, which some tools reject",
            True,
        )
    for match in _SPACE_AFTER_BACKSLASH.finditer(data, document.front_matter_end):
        yield _make_byte_finding(
            match.start(1),
            len(match[1]),
            "white space after a backslash at the end of a line, which therefore is not a line break",
            False,
        )
    if b"  \t" in data:
        for match in _TAB_IN_BREAK.finditer(data, document.front_matter_end):
            if not context.is_literal(match.start()):
                yield _make_byte_finding(
                    match.start(), len(match[0]), "because of a tab these spaces are not a line break", False
                )
    if not data.isascii():
        for match in _WIDE_SPACES_ONLY.finditer(data, document.front_matter_end):
            if not context.is_literal(match.start(1)):
                yield _make_byte_finding(
                    match.start(1),
                    len(match[1]),
                    "the line looks blank but is not, so it ends no paragraph",
                    False,
                )


def _make_byte_finding(start: int, length: int, message: str, is_safe: bool) -> ByteFinding:
    fix = (Splice(start, start + length, b""),) if is_safe else ()
    return ByteFinding(start, start + length, message, "Remove the white space.", fix)


RULE = Rule(
    "trailing-space",
    Severity.WARNING,
    "White space at the end of a line changes what it means, or seems to.",
    _find_problems,
)
