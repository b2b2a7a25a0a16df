"""Anchors: the explicit names that headings carry, in the three forms that a reader may meet.

## Endpoints {#endpoints}              braces (also `{#endpoints .class}`)
## Endpoints <#endpoints>              angle
## <a id="endpoints"></a>Endpoints     HTML, in the heading or on a line of its own just above it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_BRACES = re.compile(r"(?P<space>[ \t]*)\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}$")
_ANGLE = re.compile(r"(?P<space>[ \t]*)<#(?P<name>[^\s<>\[\]]+)>$")
_TAG = r"""<a[ \t]+(?:id|name)[ \t]*=[ \t]*(?:"[^"\s\[\]]+"|'[^'\s\[\]]+')[ \t]*>[ \t]*</a>"""
_HTML = re.compile(_TAG, re.IGNORECASE)
_HTML_PREFIX = re.compile(rf"(?:{_TAG}[ \t]*)+", re.IGNORECASE)
_HTML_LINE = re.compile(rf"[ ]{{0,3}}(?:{_TAG}[ \t]*)+$", re.IGNORECASE)
_HTML_NAME = re.compile(r"""=[ \t]*["']([^"']+)["']""")
_VALID_NAME = re.compile(r"[^\s{}<>\[\]\"'#]{1,200}$")


class AnchorForm(StrEnum):
    """How an anchor is written."""

    BRACES = "braces"
    ANGLE = "angle"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class HeadingText:
    """A heading's inline Markdown taken apart: `prefix` HTML anchors, the `words`, and the `suffix` anchor.

    `name` is the explicit anchor (None if there is none), `aliases` are further names it answers to.
    """

    prefix: str
    words: str
    suffix: str
    name: str | None
    form: AnchorForm | None
    aliases: tuple[str, ...]


def _is_escaped(text: str, position: int) -> bool:
    backslashes = len(text[:position]) - len(text[:position].rstrip("\\"))
    return backslashes % 2 == 1


def read_heading(source: str) -> HeadingText:
    """Takes a heading's anchors off its words. Of several anchors the last braces or angle one is the name."""
    source = source.strip()
    if "<" not in source and not source.endswith("}"):
        return HeadingText("", source, "", None, None, ())
    words, suffix, name, form = source, "", None, None
    for pattern, candidate in ((_BRACES, AnchorForm.BRACES), (_ANGLE, AnchorForm.ANGLE)):
        found = pattern.search(source)
        if found and not _is_escaped(source, found.start("name") - 2):
            words, suffix, name, form = (
                source[: found.start()],
                source[found.start() :],
                found["name"],
                candidate,
            )
            break
    names = html_names(words)
    prefix = ""
    if names:
        leading = _HTML_PREFIX.match(words)
        prefix = leading.group() if leading else ""
        words = _HTML.sub("", words)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(alias for alias in names if alias != name)
    return HeadingText(prefix, words.strip(), suffix, name, form, aliases)


def html_names(text: str) -> tuple[str, ...]:
    """The names of HTML anchors in a text, in order."""
    return tuple(name for tag in _HTML.findall(text) for name in _HTML_NAME.findall(tag))


def is_anchor_line(line: str) -> bool:
    """Whether a line holds HTML anchors and nothing else."""
    return _HTML_LINE.match(line.rstrip()) is not None


def is_valid_name(name: str) -> bool:
    """Whether a name can be written as an anchor in every form."""
    return _VALID_NAME.match(name) is not None


def write_heading(words: str, name: str | None, form: AnchorForm) -> str:
    """A heading's inline Markdown with its anchor."""
    if name is None:
        return words
    match form:
        case AnchorForm.BRACES:
            return f"{words} {{#{name}}}"
        case AnchorForm.ANGLE:
            return f"{words} <#{name}>"
        case AnchorForm.HTML:
            # CommonMark §4.2 takes closing #s off a heading; a backslash keeps those that belong to the words.
            kept = re.sub(r"(?<=[ \t])(#+)$", r"\\\1", words)
            return f'<a id="{name}"></a>{kept}'
