"""Format link destinations in the style of the old destination.

The style consists of the base (the document's folder or the root), `./`, an omitted suffix, a slash at the
end, the query, percent escapes, and a folder in place of its index file. Each candidate is
resolved, and the first that leads to the target is used; if none does, the last one.

`enclose_destination` adds the escapes that a destination needs between its marks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from workspace.links.link import Enclosure
from workspace.links.resolver import (
    DESTINATION_SUFFIXES,
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

# CommonMark §2.5: an ampersand is literal unless a name or number follows it.
_ENTITY_START = re.compile(r"&(?=[#A-Za-z])")

# CommonMark §2.4: a backslash before ASCII punctuation escapes it.
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f]")

# CommonMark §6.3 limits the nesting of parentheses; the library reads 32 levels.
_MAX_PARENTHESES_DEPTH = 30
_UNSAFE_IN_UNQUOTED = re.compile(r"[\x00-\x20\x7f\"'<>`]")


def enclose_destination(destination: str, enclosure: Enclosure) -> str:
    """Return a destination with the escapes that it needs between the marks of an enclosure.

    Line breaks are percent-encoded, and so are white space in `BARE`, and white space, quotes and angle
    brackets in `UNQUOTED`. A `WIKI` destination is returned unchanged.
    """
    match enclosure:
        case Enclosure.BARE:
            return _escape_bare(destination)
        case Enclosure.ANGLE:
            escaped_destination = _ENTITY_START.sub(
                "&amp;", _ESCAPE.sub(r"\\\\", _encode_line_breaks(destination))
            )
            return re.sub(r"([<>])", r"\\\1", escaped_destination)
        case Enclosure.DOUBLE:
            return _ENTITY_START.sub("&amp;", _encode_line_breaks(destination)).replace('"', "&quot;")
        case Enclosure.SINGLE:
            return _ENTITY_START.sub("&amp;", _encode_line_breaks(destination)).replace("'", "&#39;")
        case Enclosure.UNQUOTED:
            return _ENTITY_START.sub("&amp;", _UNSAFE_IN_UNQUOTED.sub(_encode_match, destination)).replace(
                "=", "&#61;"
            )
        case Enclosure.WIKI:
            return destination


def _escape_bare(destination: str) -> str:
    escaped_destination = _ENTITY_START.sub(
        "&amp;", _ESCAPE.sub(r"\\\\", _SPACE_OR_CONTROL.sub(_encode_match, destination))
    )
    if not _has_balanced_parentheses(escaped_destination):
        escaped_destination = re.sub(r"([()])", r"\\\1", escaped_destination)
    return f"\\{escaped_destination}" if escaped_destination.startswith("<") else escaped_destination


def _encode_line_breaks(text: str) -> str:
    return re.sub(r"[\x00\r\n]", _encode_match, text)


def _encode_match(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _has_balanced_parentheses(text: str) -> bool:
    depth = 0
    for parenthesis in re.findall(r"[()]", text):
        depth += 1 if parenthesis == "(" else -1
        if not 0 <= depth <= _MAX_PARENTHESES_DEPTH:
            return False
    return depth == 0


# Characters that are always escaped in a path or fragment, because a URL, HTML, a table or a code span gives
# them a meaning.
_ALWAYS_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"<>\\^`{|}#]|%(?=[0-9A-Fa-f]{2})|^\s+|\s+$")
_SPACE = re.compile(r"\s")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ESCAPED_NOT_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")


class _Style(NamedTuple):
    """The style of a destination; `is_folder` is True if its path ends in a slash or in dots."""

    is_absolute: bool
    has_dot_prefix: bool
    is_folder: bool
    omits_suffix: bool
    escapes_spaces: bool
    escapes_non_ascii: bool
    escapes_parentheses: bool


def format_destination(
    link: Link, source_path: str, target: Target, tree: FileTree, old_bytes: bytes | None = None
) -> bytes:
    """Return the bytes of a destination for `target`, in the style of `link` in the document `source_path`.

    `target.path` is the file or folder itself, and `target.fragment` is decoded. `old_bytes` are the bytes of
    the old destination; they are returned unchanged if they already lead to the target.
    """
    if old_bytes is not None and _leads_to(link, link.destination, source_path, target, tree):
        return old_bytes
    if link.enclosure is Enclosure.WIKI:
        from workspace.links.resolver import format_wiki_destination

        return format_wiki_destination(link, source_path, target, tree).encode()
    candidates = list(_list_candidates(link, source_path, target, tree))
    destination = next(
        (text for text in candidates if _leads_to(link, text, source_path, target, tree)), candidates[-1]
    )
    return enclose_destination(destination, link.enclosure).encode()


def _leads_to(link: Link, destination: str, source_path: str, target: Target, tree: FileTree) -> bool:
    resolved_link = resolve(tree, source_path, link._replace(destination=destination))
    if resolved_link.target is None or resolved_link.path != target.path:
        return False
    return (resolved_link.target.fragment or None) == (target.fragment or None)


def _list_candidates(link: Link, source_path: str, target: Target, tree: FileTree) -> Iterator[str]:
    """Yield possible destinations, the most similar to the old one first.

    The last one contains the full path of the target.
    """
    old_parts = split_destination(link.destination)
    style = _read_style(old_parts, link.enclosure)
    query_and_fragment = old_parts.query + _format_fragment(old_parts, target, style)
    if not old_parts.path and target.path == source_path:
        yield query_and_fragment
    rules = tree.rules
    folder, _, name = target.path.rpartition("/")
    if style.is_folder:
        if target.path in list_index_paths(folder, rules):
            yield _format_path(folder, source_path, tree, style, is_folder=True) + query_and_fragment
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.may_omit_suffixes:
                yield (
                    _format_path(target.path.removesuffix(suffix), source_path, tree, style, is_folder=True)
                    + query_and_fragment
                )
    elif style.omits_suffix:
        if target.path in list_index_paths(folder, rules):
            yield _format_path(folder, source_path, tree, style) + query_and_fragment
        for suffix in list_omittable_suffixes(rules):
            if name.endswith(suffix) and rules.may_omit_suffixes:
                yield (
                    _format_path(target.path.removesuffix(suffix), source_path, tree, style)
                    + query_and_fragment
                )
    is_folder = style.is_folder and (tree.is_folder(target.path) or not tree.exists(target.path))
    yield _format_path(target.path, source_path, tree, style, is_folder=is_folder) + query_and_fragment


def _read_style(parts: DestinationParts, enclosure: Enclosure) -> _Style:
    path = parts.path
    last_part = path.rpartition("/")[2]
    is_quoted = enclosure in (Enclosure.DOUBLE, Enclosure.SINGLE)
    return _Style(
        is_absolute=path.startswith("/"),
        has_dot_prefix=path.startswith("./"),
        is_folder=bool(path) and last_part in ("", ".", ".."),
        omits_suffix=bool(path) and not last_part.endswith(DESTINATION_SUFFIXES),
        escapes_spaces=not (enclosure is Enclosure.ANGLE and "%20" not in path)
        and not (is_quoted and " " in path),
        escapes_non_ascii=_ESCAPED_NOT_ASCII.search(path + parts.fragment) is not None
        and not _NOT_ASCII.search(path),
        escapes_parentheses="%28" in path or "%29" in path,
    )


def _format_path(
    path: str, source_path: str, tree: FileTree, style: _Style, *, is_folder: bool = False
) -> str:
    """Return a path in a style.

    The path is relative to the root if the style is absolute and `path` is below the root. Otherwise it is
    relative to `source_path`.
    """
    root = tree.rules.root
    path_in_root = path if not root else path.removeprefix(f"{root}/")
    slash = "/" if is_folder else ""
    if style.is_absolute and (not root or path_in_root != path):
        return f"/{_escape(path_in_root, style)}{slash}" if path_in_root else "/"
    relative_path = make_relative_path(path, source_path.rpartition("/")[0])
    if not relative_path or relative_path.rpartition("/")[2] == "..":
        return f"{relative_path}{slash}" if relative_path else f".{slash or '/'}"
    formatted_path = _escape(relative_path, style) + slash
    starts_with_dot = style.has_dot_prefix and not relative_path.startswith("../")
    return f"./{formatted_path}" if starts_with_dot or is_external(formatted_path) else formatted_path


def make_relative_path(path: str, folder: str) -> str:
    """Return a path relative to a folder; "" for the folder itself.

    Both arguments are relative to the repository's root.
    """
    target_parts = path.split("/") if path else []
    folder_parts = folder.split("/") if folder else []
    shared_count = 0
    while (
        shared_count < min(len(target_parts), len(folder_parts))
        and target_parts[shared_count] == folder_parts[shared_count]
    ):
        shared_count += 1
    return "/".join([".."] * (len(folder_parts) - shared_count) + target_parts[shared_count:])


def _format_fragment(old_parts: DestinationParts, target: Target, style: _Style) -> str:
    """Return the fragment with its `#`, unchanged if its decoded text equals the target's fragment."""
    if target.fragment is None:
        return ""
    if old_parts.fragment and unquote(old_parts.fragment[1:]) == target.fragment:
        return old_parts.fragment
    return "#" + _escape(target.fragment, style)


def _escape(text: str, style: _Style) -> str:
    """Return a path or fragment with percent escapes where they are required or part of the style."""
    text = _ALWAYS_ESCAPED.sub(_quote_match, text).replace("?", "%3F")
    if style.escapes_spaces:
        text = _SPACE.sub(_quote_match, text)
    if style.escapes_parentheses:
        text = text.replace("(", "%28").replace(")", "%29")
    return _NOT_ASCII.sub(_quote_match, text) if style.escapes_non_ascii else text


def _quote_match(match: re.Match[str]) -> str:
    return quote(match[0], safe="")
