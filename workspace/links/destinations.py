"""Formatting of destinations, in the style of the old destination.

The style is the base (the document's folder or the root), `./`, an omitted ending, a slash at the end, the
query, and percent escapes. A folder in place of its index file is also a part of the style. Each formatted
destination is resolved once more as a check.

`enclose_destination` adds the escapes that a destination needs between its marks.
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

# CommonMark §6.2: an ampersand is literal unless a name or number follows it.
_ENTITY = re.compile(r"&(?=[#A-Za-z])")

# CommonMark §2.4: a backslash before ASCII punctuation escapes it.
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_BLANK = re.compile(r"[\x00-\x20\x7f]")

# CommonMark §6.3 limits the nesting of parentheses; the library reads 32 levels.
_MAX_DEPTH = 30
_IN_UNQUOTED = re.compile(r"[\x00-\x20\x7f\"'<>`]")


def enclose_destination(destination: str, enclosure: Enclosure) -> str:
    """Return the text to write between a destination's marks, which is read as the destination.

    Only characters that cannot be escaped there (a space in `BARE`, a line break) are percent-encoded.
    """
    match enclosure:
        case Enclosure.BARE:
            return _escape_bare(destination)
        case Enclosure.ANGLE:
            escaped = _ENTITY.sub("&amp;", _ESCAPE.sub(r"\\\\", _encode_line_breaks(destination)))
            return re.sub(r"([<>])", r"\\\1", escaped)
        case Enclosure.DOUBLE:
            return _ENTITY.sub("&amp;", _encode_line_breaks(destination)).replace('"', "&quot;")
        case Enclosure.SINGLE:
            return _ENTITY.sub("&amp;", _encode_line_breaks(destination)).replace("'", "&#39;")
        case Enclosure.UNQUOTED:
            return _ENTITY.sub("&amp;", _IN_UNQUOTED.sub(_encode_match, destination)).replace("=", "&#61;")
        case Enclosure.WIKI:
            return destination


def _escape_bare(destination: str) -> str:
    escaped = _ENTITY.sub("&amp;", _ESCAPE.sub(r"\\\\", _BLANK.sub(_encode_match, destination)))
    if not _is_balanced(escaped):
        escaped = re.sub(r"([()])", r"\\\1", escaped)
    return f"\\{escaped}" if escaped.startswith("<") else escaped


def _encode_line_breaks(text: str) -> str:
    return re.sub(r"[\x00\r\n]", _encode_match, text)


def _encode_match(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _is_balanced(text: str) -> bool:
    depth = 0
    for parenthesis in re.findall(r"[()]", text):
        depth += 1 if parenthesis == "(" else -1
        if not 0 <= depth <= _MAX_DEPTH:
            return False
    return depth == 0


# Characters that are always escaped in a path or fragment, because a URL, HTML, a table or a code span gives
# them a meaning.
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
    link: Link, source: str, target: Target, tree: FileTree, written: bytes | None = None
) -> bytes:
    """Return the bytes of a destination by which `link`, in the document `source`, leads to `target`.

    `target.path` is the file or folder itself, and `target.fragment` is decoded. `written` are the bytes of
    the old destination; they are returned unchanged if they already lead to the target.
    """
    if written is not None and _leads_to(link, link.destination, source, target, tree):
        return written
    if link.enclosure is Enclosure.WIKI:
        from workspace.links.resolver import format_wiki_destination

        return format_wiki_destination(link, source, target, tree).encode()
    candidates = list(_list_candidates(link, source, target, tree))
    chosen = next(
        (text for text in candidates if _leads_to(link, text, source, target, tree)), candidates[-1]
    )
    return enclose_destination(chosen, link.enclosure).encode()


def _leads_to(link: Link, destination: str, source: str, target: Target, tree: FileTree) -> bool:
    resolved = resolve(tree, source, link._replace(destination=destination))
    if resolved.target is None or resolved.path != target.path:
        return False
    return (resolved.target.fragment or None) == (target.fragment or None)


def _list_candidates(link: Link, source: str, target: Target, tree: FileTree) -> Iterator[str]:
    """Yield the ways to write a destination, the most similar to the old one first.

    The last destination is always correct.
    """
    old = split_destination(link.destination)
    style = _read_style(old, link.enclosure)
    tail = old.query + _format_fragment(old, target, style)
    if not old.path and target.path == source:
        yield tail
    rules = tree.rules
    folder, _, name = target.path.rpartition("/")
    if style.is_folder:
        if target.path in list_index_paths(folder, rules):
            yield _format_path(folder, source, tree, style, is_folder=True) + tail
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.omits_endings:
                yield (
                    _format_path(target.path.removesuffix(suffix), source, tree, style, is_folder=True) + tail
                )
    elif style.omits_ending:
        if target.path in list_index_paths(folder, rules):
            yield _format_path(folder, source, tree, style) + tail
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.omits_endings:
                yield _format_path(target.path.removesuffix(suffix), source, tree, style) + tail
    is_folder = style.is_folder and (tree.is_folder(target.path) or not tree.exists(target.path))
    yield _format_path(target.path, source, tree, style, is_folder=is_folder) + tail


def _read_style(old: DestinationParts, enclosure: Enclosure) -> _Style:
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


def _format_path(path: str, source: str, tree: FileTree, style: _Style, *, is_folder: bool = False) -> str:
    """Return a path in a style.

    The path begins at the root if the style is absolute and `path` is below the root. Otherwise the path is
    relative to the source.
    """
    root = tree.rules.root
    inside = path if not root else path.removeprefix(f"{root}/")
    slash = "/" if is_folder else ""
    if style.is_absolute and (not root or inside != path):
        return f"/{_escape(inside, style)}{slash}" if inside else "/"
    relative = make_relative_path(path, source.rpartition("/")[0])
    if not relative or relative.rpartition("/")[2] == "..":
        return f"{relative}{slash}" if relative else f".{slash or '/'}"
    formatted = _escape(relative, style) + slash
    starts_with_dot = style.is_dotted and not relative.startswith("../")
    return f"./{formatted}" if starts_with_dot or is_external(formatted) else formatted


def make_relative_path(path: str, folder: str) -> str:
    """Return a path relative to a folder; "" for the folder itself.

    Both arguments are relative to the root.
    """
    target_parts = path.split("/") if path else []
    folder_parts = folder.split("/") if folder else []
    shared = 0
    while shared < min(len(target_parts), len(folder_parts)) and target_parts[shared] == folder_parts[shared]:
        shared += 1
    return "/".join([".."] * (len(folder_parts) - shared) + target_parts[shared:])


def _format_fragment(old: DestinationParts, target: Target, style: _Style) -> str:
    """Return the fragment with its `#`, unchanged if its decoded text equals the target's fragment."""
    if target.fragment is None:
        return ""
    if old.fragment and unquote(old.fragment[1:]) == target.fragment:
        return old.fragment
    return "#" + _escape(target.fragment, style)


def _escape(text: str, style: _Style) -> str:
    """Return a path or fragment with percent escapes where they are required or part of the style."""
    text = _ALWAYS_ESCAPED.sub(_quote_match, text).replace("?", "%3F")
    if style.escapes_spaces:
        text = _SPACE.sub(_quote_match, text)
    if style.escapes_parentheses:
        text = text.replace("(", "%28").replace(")", "%29")
    return _NOT_ASCII.sub(_quote_match, text) if style.escapes_letters else text


def _quote_match(match: re.Match[str]) -> str:
    return quote(match[0], safe="")
