"""Spelling: a destination written anew, in the way its author wrote the old one.

What a destination keeps: relative or from the root, `./`, a left-out ending, the folder that stands for its
page, a slash at its end, its query, percent escapes or none. What is written is read once more.

Enclosing: the escapes that a destination needs where it is written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from workspace.links.link import Enclosure
from workspace.links.resolver import (
    ENDINGS,
    is_external,
    list_index_paths,
    list_omittable_suffixes,
    resolve,
    split_destination,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.links.link import Link
    from workspace.links.resolver import DestinationParts, FileTree, Target

# CommonMark §6.2: an ampersand is itself unless a name or number follows it.
_ENTITY = re.compile(r"&(?=[#A-Za-z])")

# CommonMark §2.4: a backslash before ASCII punctuation escapes it.
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_BLANK = re.compile(r"[\x00-\x20\x7f]")

# CommonMark §6.3 bounds how deep parentheses are nested; the library reads 32 levels.
_MAX_DEPTH = 30
_IN_UNQUOTED = re.compile(r"[\x00-\x20\x7f\"'<>`]")


def enclose_destination(destination: str, enclosure: Enclosure) -> str:
    """Return a destination as it is written between its marks; reading that gives the destination.

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
            return _ENTITY.sub("&amp;", _IN_UNQUOTED.sub(_percent_encoded, destination)).replace("=", "&#61;")
        case Enclosure.WIKI:
            return destination


def _bare(destination: str) -> str:
    escaped = _ENTITY.sub("&amp;", _ESCAPE.sub(r"\\\\", _BLANK.sub(_percent_encoded, destination)))
    if not _is_balanced(escaped):
        escaped = re.sub(r"([()])", r"\\\1", escaped)
    return f"\\{escaped}" if escaped.startswith("<") else escaped


def _without_breaks(text: str) -> str:
    return re.sub(r"[\x00\r\n]", _percent_encoded, text)


def _percent_encoded(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _is_balanced(text: str) -> bool:
    depth = 0
    for sign in re.findall(r"[()]", text):
        depth += 1 if sign == "(" else -1
        if not 0 <= depth <= _MAX_DEPTH:
            return False
    return depth == 0


# What a path or fragment holds only escaped: signs that a URL, HTML, a table or a code span gives a meaning.
_ALWAYS_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"<>\\^`{|}#]|%(?=[0-9A-Fa-f]{2})|^\s+|\s+$")
_SPACE = re.compile(r"\s")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ESCAPED_NOT_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")


class _Style(NamedTuple):
    """The style in which a destination was written."""

    is_absolute: bool
    is_dotted: bool
    is_folder: bool
    omits_ending: bool
    escapes_spaces: bool
    escapes_letters: bool
    escapes_parentheses: bool


def format_destination(
    link: Link, source: str, target: Target, world: FileTree, written: bytes | None = None
) -> bytes:
    """Return the bytes of a destination by which `link`, in the document `source`, leads to `target`.

    `target.path` is the file or folder itself, `target.fragment` comes decoded. `written` are the bytes of
    the old destination: they are given back where they lead there already.
    """
    if written is not None and _leads_to(link, link.destination, source, target, world):
        return written
    if link.enclosure is Enclosure.WIKI:
        from workspace.links.resolver import format_wiki_destination

        return format_wiki_destination(link, source, target, world).encode()
    spellings = list(_spellings(link, source, target, world))
    chosen = next((text for text in spellings if _leads_to(link, text, source, target, world)), spellings[-1])
    return enclose_destination(chosen, link.enclosure).encode()


def _leads_to(link: Link, destination: str, source: str, target: Target, world: FileTree) -> bool:
    found = resolve(world, source, link._replace(destination=destination))
    if found.target is None or found.path != target.path:
        return False
    return (found.target.fragment or None) == (target.fragment or None)


def _spellings(link: Link, source: str, target: Target, world: FileTree) -> Iterator[str]:
    """Return the ways to write a destination, the most similar first; the last is always correct."""
    old = split_destination(link.destination)
    style = _style(old, link.enclosure)
    tail = old.query + _fragment(old, target, style)
    if not old.path and target.path == source:
        yield tail
    rules = world.rules
    folder, _, name = target.path.rpartition("/")
    if style.is_folder:
        if target.path in list_index_paths(folder, rules):
            yield _path(folder, source, world, style, is_folder=True) + tail
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.omits_endings:
                yield _path(target.path.removesuffix(suffix), source, world, style, is_folder=True) + tail
    elif style.omits_ending:
        if target.path in list_index_paths(folder, rules):
            yield _path(folder, source, world, style) + tail
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.omits_endings:
                yield _path(target.path.removesuffix(suffix), source, world, style) + tail
    is_folder = style.is_folder and (world.is_folder(target.path) or not world.exists(target.path))
    yield _path(target.path, source, world, style, is_folder=is_folder) + tail


def _style(old: DestinationParts, enclosure: Enclosure) -> _Style:
    path = old.path
    last = path.rpartition("/")[2]
    is_quoted = enclosure in (Enclosure.DOUBLE, Enclosure.SINGLE)
    return _Style(
        is_absolute=path.startswith("/"),
        is_dotted=path.startswith("./"),
        is_folder=bool(path) and last in ("", ".", ".."),
        omits_ending=bool(path) and not last.endswith(ENDINGS),
        escapes_spaces=not (enclosure is Enclosure.ANGLE and "%20" not in path)
        and not (is_quoted and " " in path),
        escapes_letters=_ESCAPED_NOT_ASCII.search(path + old.fragment) is not None
        and not _NOT_ASCII.search(path),
        escapes_parentheses="%28" in path or "%29" in path,
    )


def _path(path: str, source: str, world: FileTree, style: _Style, *, is_folder: bool = False) -> str:
    """Return a path as the style has it: from the root if it can be, else relative to the source's folder."""
    root = world.rules.root
    inside = path if not root else path.removeprefix(f"{root}/")
    slash = "/" if is_folder else ""
    if style.is_absolute and (not root or inside != path):
        return f"/{_escaped(inside, style)}{slash}" if inside else "/"
    relative = make_relative_path(path, source.rpartition("/")[0])
    if not relative or relative.rpartition("/")[2] == "..":
        return f"{relative}{slash}" if relative else f".{slash or '/'}"
    spelled = _escaped(relative, style) + slash
    begins_anew = style.is_dotted and not relative.startswith("../")
    return f"./{spelled}" if begins_anew or is_external(spelled) else spelled


def make_relative_path(path: str, folder: str) -> str:
    """Return a path as it is written in a document of a folder; both count from the root.

    Empty for the folder.
    """
    to = path.split("/") if path else []
    parts = folder.split("/") if folder else []
    shared = 0
    while shared < min(len(to), len(parts)) and to[shared] == parts[shared]:
        shared += 1
    return "/".join([".."] * (len(parts) - shared) + to[shared:])


def _fragment(old: DestinationParts, target: Target, style: _Style) -> str:
    """Return the fragment with its `#`: as it stood where it says the same."""
    if target.fragment is None:
        return ""
    if old.fragment and unquote(old.fragment[1:]) == target.fragment:
        return old.fragment
    return "#" + _escaped(target.fragment, style)


def _escaped(text: str, style: _Style) -> str:
    """Return a path or fragment with percent escapes where they are needed, and where the style has them."""
    text = _ALWAYS_ESCAPED.sub(_percent, text).replace("?", "%3F")
    if style.escapes_spaces:
        text = _SPACE.sub(_percent, text)
    if style.escapes_parentheses:
        text = text.replace("(", "%28").replace(")", "%29")
    return _NOT_ASCII.sub(_percent, text) if style.escapes_letters else text


def _percent(found: re.Match[str]) -> str:
    return quote(found[0], safe="")
