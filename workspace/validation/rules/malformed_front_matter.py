"""Front matter that is not read as its author intended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import BOM
from workspace.validation.rule import FRONT_MATTER_KEY, ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_UNCLOSED_FRONT_MATTER = re.compile(rb"---[ \t]*(?:\r\n?|\n)[A-Za-z_][\w.-]{0,99}:(?:[ \t\r\n]|$)")


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    document = context.document
    text_start = len(BOM) if document.data.startswith(BOM) else 0
    error = document.front_matter_error
    if error is not None:
        line = error.line - 1 if error.line else 0
        start = document.lines.offset(min(line, max(document.front_matter_lines - 1, 0)))
        end = start + len(document.lines.line_bytes(document.lines.line_at(start)))
        has_tab = b"\t" in document.data[start:end]
        fix = "Indent with spaces: YAML does not allow tabs." if has_tab else error.fix
        yield ByteFinding(start, end, error.message.removesuffix(f" (line {error.line})"), fix)
    elif document.front_matter_lines:
        yield from _find_repeated_keys(document.data, text_start, document.front_matter_end)
    elif _UNCLOSED_FRONT_MATTER.match(document.data, text_start):
        yield ByteFinding(
            text_start,
            text_start + 3,
            "front matter begins here and is not closed, so it is read as text",
            "Write --- on a separate line after its last key.",
        )


def _find_repeated_keys(data: bytes, start: int, end: int) -> Iterator[ByteFinding]:
    lines: dict[bytes, int] = {}
    for match in FRONT_MATTER_KEY.finditer(data, start, end):
        key = match[2].rstrip()
        line = data.count(b"\n", start, match.start()) + 1
        if key in lines:
            yield ByteFinding(
                match.start(2),
                match.end(2),
                f"the key is on line {lines[key]} too, and the last one counts",
                "Keep one of them.",
                comparison_key="the key occurs twice",
            )
        lines.setdefault(key, line)


RULE = Rule(
    "malformed-front-matter",
    Severity.ERROR,
    "Front matter is not a YAML mapping, is not closed, or has a key twice.",
    _find_problems,
)
