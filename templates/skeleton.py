"""`document.md`: the headings, and perhaps some text, that a new document begins with.

The form is a small, strict part of Markdown, so that it can be checked without a Markdown parser: every
heading is written with `#` at the start of its line. Its title is unique in the file, because headings in the
content of a new document are matched with these by title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from templates.invalid import InvalidTemplate
from templates.text import decode

MAX_FILE = 64_000
MAX_HEADING = 200
MAX_HEADINGS = 60
TITLE = "{title}"

_HEADING = re.compile(r"( {0,3})(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ANCHOR = re.compile(r"\{(?::|/\*)?[ \t]*[#.][^{}]*\}$|<#[^<>]*>$|<a\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the title. `level` is 2 to 6."""

    title: str
    level: int


def parse_skeleton(markdown: bytes) -> tuple[str, tuple[Heading, ...]]:
    """Return the skeleton as text, which begins with `# {title}`, and its other headings in order.

    The title is put in front if the file has none. Raises InvalidTemplate, which names the line.
    """
    lines = decode(markdown, "document.md", MAX_FILE).strip("\n").split("\n")
    if lines[0].rstrip() == "---":
        _refuse(0, "front matter is written by Docyard and cannot be part of a type")
    headings: list[Heading] = []
    titled = False
    for at, level, title in _scan(lines):
        lines[at] = f"{'#' * level} {title}"
        if level == 1:
            if at != 0 or title != TITLE:
                _refuse(at, f"the only level-1 heading is `# {TITLE}`, on the first line")
            titled = True
        else:
            _check(at, level, title, headings)
            headings.append(Heading(title, level))
    body = "\n".join(lines).strip("\n")
    if not titled:
        body = f"# {TITLE}\n\n{body}" if body.strip() else f"# {TITLE}"
    return body + "\n", tuple(headings)


def _scan(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """(line, level, title) of each heading, fenced code and HTML comments left out."""
    fence = ""
    comment = False
    for at, line in enumerate(lines):
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = ""
        elif comment or line.lstrip().startswith("<!--"):
            comment = "-->" not in line
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif heading := _HEADING.fullmatch(line):
            if heading[1]:
                _refuse(at, "a heading begins at the start of its line")
            yield at, len(heading[2]), _CLOSING.sub("", heading[3] or "").strip()
        elif at and _UNDERLINE.fullmatch(line) and lines[at - 1].strip():
            _refuse(at, "headings are written with `#`, and a rule has an empty line before it")
    if fence or comment:
        _refuse(len(lines) - 1, "a code fence or a comment is still open at the end")


def _check(at: int, level: int, title: str, before: list[Heading]) -> None:
    if not title:
        _refuse(at, "a heading needs a title")
    if len(title) > MAX_HEADING:
        _refuse(at, f"a heading has at most {MAX_HEADING} characters")
    if len(before) == MAX_HEADINGS:
        _refuse(at, f"a type has at most {MAX_HEADINGS} headings")
    if _ANCHOR.search(title):
        _refuse(at, "headings carry no anchors here; they are written when a document is created")
    if level > (before[-1].level if before else 1) + 1:
        _refuse(at, "a heading is at most one level below the heading before it")
    if title.casefold() in {heading.title.casefold() for heading in before}:
        _refuse(at, "another heading has the same title")


def _refuse(at: int, message: str) -> NoReturn:
    raise InvalidTemplate("document.md", f"line {at + 1}: {message}")
