"""Targets: which file, and which place in it, a destination names; what is there is not asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, unquote_to_bytes

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.config.tables import Dialect

if TYPE_CHECKING:
    from workspace.config.tables import LinkRules

# RFC 3986 §3.1. A drive of Windows (`C:\`) reads as one too.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# The URL standard, "basic URL parser": these are taken out wherever they stand.
_IGNORED_BY_URLS = str.maketrans("", "", "\t\n\r")

ENDINGS = (*DOCUMENT_SUFFIXES, ".mdx")
"""The endings that a destination may leave out in one dialect or another."""
INDEX_STEMS = frozenset({"readme", "index"})
"""The names of files that stand for their folder, without an ending and in lower case."""

_INDEX_NAMES = ("index.md", "README.md", "readme.md", "Readme.md")
_README_FIRST = ("README.md", "readme.md", "Readme.md", "index.md")


class Target(NamedTuple):
    """What a destination names: a path relative to the repository's root ("" is the root) and a fragment.

    `fragment` is decoded, and None without a `#`. `literal` is the path with its percent escapes left as they
    are, where that differs. `is_folder` tells of a slash at the end, `outside` of a path that leaves the
    repository, whose `path` means nothing.
    """

    path: str
    fragment: str | None
    is_folder: bool = False
    outside: bool = False
    literal: str | None = None


class Parts(NamedTuple):
    """A destination taken apart: path, query with its `?`, fragment with its `#`; nothing is decoded."""

    path: str
    query: str
    fragment: str


def split_destination(destination: str) -> Parts:
    """A destination's path, query and fragment (RFC 3986 §3)."""
    rest, mark, fragment = destination.partition("#")
    path, question, query = rest.partition("?")
    return Parts(path, question + query, mark + fragment)


def is_external(destination: str) -> bool:
    """Whether a destination has a scheme or a host."""
    return destination.startswith("//") or _SCHEME.match(destination) is not None


def read_target(destination: str, source: str, rules: LinkRules) -> Target | None:
    """What a destination in the document `source` names; None for what is served elsewhere.

    A relative path counts from the document's folder, one that begins with a slash from `rules.root`; an
    empty one is the document itself. Escapes that are no UTF-8 stay as they are.
    """
    destination = destination.strip()
    if not destination.isprintable():
        destination = destination.translate(_IGNORED_BY_URLS).strip()
    if is_external(destination):
        return None
    written, _, mark = split_destination(destination)
    fragment = unquote(mark[1:]) if mark else None
    if not written:
        return Target(source, fragment)
    decoded = _decoded(written)
    base = rules.root if written.startswith("/") else source.rpartition("/")[0]
    path = joined(base, decoded)
    if rules.ignore and (rules.ignores(written.removeprefix("./")) or (path and rules.ignores(path))):
        return None
    if path is None:
        return Target("", fragment, outside=True)
    is_folder = decoded.rpartition("/")[2] in ("", ".", "..")
    literal = joined(base, written) if written != decoded else None
    return Target(path, fragment, is_folder, literal=None if literal == path else literal)


def meant_paths(target: Target, rules: LinkRules) -> tuple[str, ...]:
    """Every path that a target may mean, the likeliest first: those a renderer tries, and a folder's page."""
    found: list[str] = []
    for path in (target.path, target.literal):
        if path is None:
            continue
        found.append(path)
        if rules.omits_endings and path:
            found.extend(path + suffix for suffix in document_suffixes(rules))
        found.extend(index_paths(path, rules))
    return tuple(dict.fromkeys(found))


def document_suffixes(rules: LinkRules) -> tuple[str, ...]:
    """The endings that a destination may leave out, where it may."""
    return ENDINGS if rules.dialect is Dialect.DOCUSAURUS else DOCUMENT_SUFFIXES


def without_suffix(path: str) -> str:
    """The path of a document without its ending; any other path as it is."""
    return path.removesuffix(next((suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)), ""))


def index_paths(folder: str, rules: LinkRules) -> tuple[str, ...]:
    """The files that stand for a folder, the first to be asked for first."""
    names = _README_FIRST if rules.dialect is Dialect.GITHUB else _INDEX_NAMES
    more = ("index.mdx", "README.mdx") if rules.dialect is Dialect.DOCUSAURUS else ()
    return tuple(f"{folder}/{name}" if folder else name for name in (*names, *more))


def _decoded(written: str) -> str:
    if "%" not in written:
        return written
    try:
        return unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        return written


def joined(base: str, path: str) -> str | None:
    """A path from a folder, its dots followed; None if it leaves the repository."""
    parts = base.split("/") if base else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
