"""Enclosing: the escapes that a destination needs where it is written."""

from __future__ import annotations

import re

from workspace.links.link import Enclosure

# CommonMark §6.2: an ampersand is itself unless a name or number follows it.
_ENTITY = re.compile(r"&(?=[#A-Za-z])")
# CommonMark §2.4: a backslash before ASCII punctuation escapes it.
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_BLANK = re.compile(r"[\x00-\x20\x7f]")
# CommonMark §6.3 bounds how deep parentheses are nested; the library reads 32 levels.
_MAX_DEPTH = 30

_IN_UNQUOTED = re.compile(r"[\x00-\x20\x7f\"'<>`]")


def enclosed(destination: str, enclosure: Enclosure) -> str:
    """A destination as it is written between its marks; reading that gives the destination.

    Only what no escape can hold (a space in `BARE`, a line break) is percent-encoded.
    """
    match enclosure:
        case Enclosure.BARE:
            return _bare(destination)
        case Enclosure.ANGLE:
            escaped = _ENTITY.sub("&amp;", _ESCAPE.sub(r"\\\\", _without_breaks(destination)))
            return re.sub(r"([<>])", r"\\\1", escaped)
        case Enclosure.DOUBLE:
            return _ENTITY.sub("&amp;", _without_breaks(destination)).replace('"', "&quot;")
        case Enclosure.SINGLE:
            return _ENTITY.sub("&amp;", _without_breaks(destination)).replace("'", "&#39;")
        case Enclosure.UNQUOTED:
            return _ENTITY.sub("&amp;", _IN_UNQUOTED.sub(_percent, destination)).replace("=", "&#61;")
        case Enclosure.WIKI:
            return destination


def _bare(destination: str) -> str:
    escaped = _ENTITY.sub("&amp;", _ESCAPE.sub(r"\\\\", _BLANK.sub(_percent, destination)))
    if not _is_balanced(escaped):
        escaped = re.sub(r"([()])", r"\\\1", escaped)
    return f"\\{escaped}" if escaped.startswith("<") else escaped


def _without_breaks(text: str) -> str:
    return re.sub(r"[\x00\r\n]", _percent, text)


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _is_balanced(text: str) -> bool:
    depth = 0
    for sign in re.findall(r"[()]", text):
        depth += 1 if sign == "(" else -1
        if not 0 <= depth <= _MAX_DEPTH:
            return False
    return depth == 0
