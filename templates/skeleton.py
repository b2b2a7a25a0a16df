"""`document.md`: the first headings and text of a new document.

The format is a strict subset of Markdown, which is read without a Markdown parser: every heading begins with
`#` at the start of its line. Titles are unique in the file, because headings in the content of a new document
are matched with the headings of the skeleton by title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from templates.invalid import InvalidTemplate
from templates.text import decode_text

MAX_FILE_BYTES = 64_000
MAX_HEADING_CHARACTERS = 200
MAX_HEADINGS = 60
TITLE_PLACEHOLDER = "{title}"

_HEADING = re.compile(r"( {0,3})(#{1,6})(?:[ \t]+(.*))?")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ANCHOR = re.compile(r"\{(?::|/\*)?[ \t]*[#.][^{}]*\}$|<#[^<>]*>$|<a\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the title. `level` is 2 to 6."""

    title: str
    level: int


def parse_skeleton(markdown: bytes) -> tuple[str, tuple[Heading, ...]]:
    """Return the skeleton, which begins with `# {title}`, and its other headings in order.

    A missing level-1 heading is added. Raises InvalidTemplate with the line.
    """
    lines = decode_text(markdown, "document.md", MAX_FILE_BYTES).strip("\n").split("\n")
    if lines[0].rstrip() == "---":
        _raise_invalid(0, "a type must have no front matter; Docyard writes it")
    headings: list[Heading] = []
    has_title = False
    for line_index, level, title in _scan_headings(lines):
        lines[line_index] = f"{'#' * level} {title}"
        if level == 1:
            if line_index != 0 or title != TITLE_PLACEHOLDER:
                _raise_invalid(
                    line_index, f"the only level-1 heading must be `# {TITLE_PLACEHOLDER}`, on the first line"
                )
            has_title = True
        else:
            _check_heading(line_index, level, title, headings)
            headings.append(Heading(title, level))
    body = "\n".join(lines).strip("\n")
    if not has_title:
        body = f"# {TITLE_PLACEHOLDER}\n\n{body}" if body.strip() else f"# {TITLE_PLACEHOLDER}"
    return body + "\n", tuple(headings)


def _scan_headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the line index, level and title of each heading outside of fenced code and HTML comments."""
    open_fence = ""
    is_comment = False
    for index, line in enumerate(lines):
        if open_fence:
            if re.fullmatch(rf" {{0,3}}{open_fence[0]}{{{len(open_fence)},}}[ \t]*", line):
                open_fence = ""
        elif is_comment or line.lstrip().startswith("<!--"):
            is_comment = "-->" not in line
        elif fence_match := _FENCE.match(line):
            open_fence = fence_match[1]
        elif heading := _HEADING.fullmatch(line):
            if heading[1]:
                _raise_invalid(index, "a heading must begin at the start of its line")
            yield index, len(heading[2]), _CLOSING_MARKS.sub("", heading[3] or "").strip()
        elif index and _UNDERLINE.fullmatch(line) and lines[index - 1].strip():
            _raise_invalid(index, "a heading must be written with `#`, and a rule must follow an empty line")
    if open_fence or is_comment:
        _raise_invalid(len(lines) - 1, "a code fence or a comment is not closed")


def _check_heading(line_index: int, level: int, title: str, previous_headings: list[Heading]) -> None:
    if not title:
        _raise_invalid(line_index, "a heading must have a title")
    if len(title) > MAX_HEADING_CHARACTERS:
        _raise_invalid(line_index, f"a heading must have at most {MAX_HEADING_CHARACTERS} characters")
    if len(previous_headings) == MAX_HEADINGS:
        _raise_invalid(line_index, f"a type must have at most {MAX_HEADINGS} headings")
    if _ANCHOR.search(title):
        _raise_invalid(
            line_index, "a heading must have no anchor; Docyard writes anchors when a document is created"
        )
    if level > (previous_headings[-1].level if previous_headings else 1) + 1:
        _raise_invalid(line_index, "a heading must be at most one level below the heading before it")
    if title.casefold() in {heading.title.casefold() for heading in previous_headings}:
        _raise_invalid(line_index, "another heading has the same title")


def _raise_invalid(index: int, message: str) -> NoReturn:
    raise InvalidTemplate("document.md", f"line {index + 1}: {message}")
