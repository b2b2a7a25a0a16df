"""Anchors: the explicit names that headings carry, in the three forms that a reader may meet.

## Endpoints {#endpoints}              braces (also `{#endpoints .class}`)
## Endpoints <#endpoints>              angle
## <a id="endpoints"></a>Endpoints     HTML, in the heading or on a line of its own just above it
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

_BRACES = re.compile(r"\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}")
_ANGLE = re.compile(r"<#(?P<name>[^\s<>\[\]]+)>")
_TAG = r"""<a[ \t]+(?:id|name)[ \t]*=[ \t]*(?:"[^"\s\[\]]+"|'[^'\s\[\]]+')[ \t]*>[ \t]*</a>"""
_HTML = re.compile(_TAG, re.IGNORECASE)
# How nearly all HTML anchors in headings are written: one, before words in which nothing else could be one.
_HTML_FIRST = re.compile(r"""(<a (?:id|name)="([^"'\s<>\[\]]+)"></a>)([^<`\\}]*)""")
_HTML_LINE = re.compile(rf"[ ]{{0,3}}(?:{_TAG}[ \t]*)+$", re.IGNORECASE)
_HTML_NAME = re.compile(r"""=[ \t]*["']([^"']+)["']""")
# CommonMark §2.4 and §6.1: what a backslash or a code span makes literal is no anchor.
_LITERAL_OR_HTML = re.compile(
    rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|(?P<tag>{_TAG})", re.IGNORECASE | re.DOTALL
)
_VALID_NAME = re.compile(r"[^\s{}<>\[\]\"'#]{1,1000}$")

# A longer line is no heading that a person wrote; looking for tags between its code spans could take long.
_MAX_HEADING = 10_000


class AnchorForm(StrEnum):
    """How an anchor is written."""

    BRACES = "braces"
    ANGLE = "angle"
    HTML = "html"


class HeadingText(NamedTuple):
    """A heading's inline Markdown taken apart: the `words`, and the anchors that stand before and after them.

    `name` is the explicit anchor (None if there is none), `aliases` are further names it answers to.
    """

    prefix: str
    words: str
    suffix: str
    name: str | None
    form: AnchorForm | None
    aliases: tuple[str, ...]

    def with_words(self, words: str) -> str:
        """The heading's inline Markdown with other words between the same anchors."""
        return f"{self.prefix}{words if self.suffix else _last_marks_kept(words)}{self.suffix}"


def read_heading(source: str) -> HeadingText:
    """Takes a heading's anchors off its words. Braces or an angle name it, else its last HTML anchor."""
    source = source.strip()
    if "<" not in source and not source.endswith("}"):
        return HeadingText("", source, "", None, None, ())
    if first := _HTML_FIRST.fullmatch(source):
        words = first[3].lstrip()
        gap = first[3][: len(first[3]) - len(words)]
        return HeadingText(first[1] + gap, words.rstrip(), "", first[2], AnchorForm.HTML, ())
    words, suffix, name, form = source, "", None, None
    for pattern, opening, candidate in (
        (_BRACES, "{#", AnchorForm.BRACES),
        (_ANGLE, "<#", AnchorForm.ANGLE),
    ):
        start = source.rfind(opening)
        found = pattern.fullmatch(source, start) if start >= 0 else None
        if found and not _is_escaped(source, start):
            words, name, form = source[:start].rstrip(" \t"), found["name"], candidate
            suffix = source[len(words) :]
            break
    prefix, words, html_suffix = _html_parted(words)
    names = html_names(prefix + html_suffix)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(dict.fromkeys(alias for alias in names if alias != name))
    if prefix:
        prefix += words[: len(words) - len(words.lstrip())]
    return HeadingText(prefix, words.strip(), html_suffix + suffix, name, form, aliases)


def _is_escaped(text: str, position: int) -> bool:
    before = text[:position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _html_parted(text: str) -> tuple[str, str, str]:
    """The HTML anchors before a text, the text, and those after it; one amid the words counts as before."""
    tags = []
    if len(text) <= _MAX_HEADING and _HTML.search(text):
        tags = [found for found in _LITERAL_OR_HTML.finditer(text) if found["tag"]]
    if not tags:
        return "", text, ""
    leading = trailing = 0
    start, end = 0, len(text)
    for tag in tags:
        if text[start : tag.start()].strip():
            break
        start, leading = tag.end(), leading + 1
    for tag in reversed(tags[leading:]):
        if text[tag.end() : end].strip():
            break
        end, trailing = tag.start(), trailing + 1
    words, position, amid = "", start, ""
    for tag in tags[leading : len(tags) - trailing]:
        words += text[position : tag.start()]
        amid, position = amid + tag.group(), tag.end()
    words += text[position:end]
    end -= len(words) - len(words.rstrip(" \t"))
    return text[:start] + amid, words, text[end:]


def html_names(text: str) -> tuple[str, ...]:
    """The names of HTML anchors in a text, in order."""
    return tuple(name for tag in _HTML.findall(text) for name in _HTML_NAME.findall(tag))


def is_anchor_line(line: str) -> bool:
    """Whether a line holds HTML anchors and nothing else."""
    return _HTML_LINE.match(line.rstrip()) is not None


def is_valid_name(name: str) -> bool:
    """Whether a name can be written as an anchor in every form."""
    return _VALID_NAME.match(name) is not None


def write_heading(words: str, name: str, form: AnchorForm) -> str:
    """A heading's inline Markdown with its anchor."""
    match form:
        case AnchorForm.BRACES:
            return f"{words} {{#{name}}}".lstrip(" ")
        case AnchorForm.ANGLE:
            return f"{words} <#{name}>".lstrip(" ")
        case AnchorForm.HTML:
            return f'<a id="{name}"></a>{_last_marks_kept(words)}'


def _last_marks_kept(words: str) -> str:
    """Words that end a line: CommonMark §4.2 takes closing #s off a heading, and a backslash keeps them."""
    return re.sub(r"(^|[ \t])(#+)$", r"\1\\\2", words)
