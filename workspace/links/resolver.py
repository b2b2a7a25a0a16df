"""Resolving: what a link really leads to, in a world of files that can be asked.

Targets: which file, and which place in it, a destination names; what is there is not asked.

Wiki links: `[[Page]]`, `[[folder/Page#Heading]]`, `[[#Heading]]`; nothing in them is escaped.

Suggestions: what a link that leads nowhere may have meant.
"""

from __future__ import annotations

import difflib
import re
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote, unquote_to_bytes

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.config.tables import Dialect
from workspace.links.fragments import FragmentTarget, find_names, find_place
from workspace.links.link import LinkKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

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
    """The target of a destination: a path relative to the repository's root ("" is the root) and a fragment.

    `fragment` is decoded, and None without a `#`. `literal` is the path with its percent escapes left as they
    are, where that differs. `is_folder` tells of a slash at the end, `outside` of a path that leaves the
    repository, whose `path` means nothing.
    """

    path: str
    fragment: str | None
    is_folder: bool = False
    outside: bool = False
    literal: str | None = None


class DestinationParts(NamedTuple):
    """A destination taken apart: path, query with its `?`, fragment with its `#`; nothing is decoded."""

    path: str
    query: str
    fragment: str


def split_destination(destination: str) -> DestinationParts:
    """Return a destination's path, query and fragment (RFC 3986 §3)."""
    rest, mark, fragment = destination.partition("#")
    path, question, query = rest.partition("?")
    return DestinationParts(path, question + query, mark + fragment)


def is_external(destination: str) -> bool:
    """Return True if a destination has a scheme or a host."""
    return destination.startswith("//") or _SCHEME.match(destination) is not None


def read_target(destination: str, source: str, rules: LinkRules) -> Target | None:
    """Return what a destination in the document `source` names; None for what is served elsewhere.

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
    path = join_path(base, decoded)
    if rules.ignore and (rules.ignores(written.removeprefix("./")) or (path and rules.ignores(path))):
        return None
    if path is None:
        return Target("", fragment, outside=True)
    is_folder = decoded.rpartition("/")[2] in ("", ".", "..")
    literal = join_path(base, written) if written != decoded else None
    return Target(path, fragment, is_folder, literal=None if literal == path else literal)


def list_candidate_paths(target: Target, rules: LinkRules) -> tuple[str, ...]:
    """Every path that a target may mean, the likeliest first: those a renderer tries, and a folder's page."""
    found: list[str] = []
    for path in (target.path, target.literal):
        if path is None:
            continue
        found.append(path)
        if rules.omits_endings and path:
            found.extend(path + suffix for suffix in list_omittable_suffixes(rules))
        found.extend(list_index_paths(path, rules))
    return tuple(dict.fromkeys(found))


def list_omittable_suffixes(rules: LinkRules) -> tuple[str, ...]:
    """Return the endings that a destination may leave out, where it may."""
    return ENDINGS if rules.dialect is Dialect.DOCUSAURUS else DOCUMENT_SUFFIXES


def strip_suffix(path: str) -> str:
    """Return the path of a document without its ending; any other path as it is."""
    return path.removesuffix(next((suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)), ""))


def list_index_paths(folder: str, rules: LinkRules) -> tuple[str, ...]:
    """Return the files that stand for a folder, the first to be asked for first."""
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


def join_path(base: str, path: str) -> str | None:
    """Return a path from a folder, its dots followed; None if it leaves the repository."""
    parts = base.split("/") if base else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


# GitHub shows the source of a document, which has lines, behind this query.
_PLAIN = "plain=1"
_LINES = re.compile(r"L[0-9]{1,9}(?:C[0-9]{1,9})?(?:-L?[0-9]{1,9}(?:C[0-9]{1,9})?)?")


class LinkStatus(StrEnum):
    """The status of a link: found, or what is missing."""

    OK = "ok"
    MISSING_FILE = "missing_file"
    MISSING_FRAGMENT = "missing_fragment"
    OUTSIDE = "outside"  # of the repository
    EXTERNAL = "external"  # another host, or served by something else: not looked for


class ResolvedLink(NamedTuple):
    """The result of resolving a link. `path` is the file or folder found, None if there is none.

    `place` is where its fragment leads in a document; None without a fragment, or where it is not looked for.
    """

    status: LinkStatus
    target: Target | None
    path: str | None = None
    place: FragmentTarget | None = None

    @property
    def is_broken(self) -> bool:
        """Return True if it names something of the repository that is not there."""
        return self.status in (LinkStatus.MISSING_FILE, LinkStatus.MISSING_FRAGMENT)


class FileTree(Protocol):
    """The files that links are resolved among. Letter case counts in paths."""

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        ...

    @property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        ...

    def exists(self, path: str) -> bool:
        """Return True if a file, folder, link or submodule stands at a path; "" is the root."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return True if a folder or submodule stands there."""
        ...

    def entries(self, folder: str) -> Collection[str]:
        """Return the names in a folder; none where there is no such folder."""
        ...

    def document(self, path: str) -> Document | None:
        """Return the document of a path; None for what is no document, or one that cannot be read."""
        ...


def resolve(world: FileTree, source: str, link: Link) -> ResolvedLink:
    """Return what a link of the document `source` leads to."""
    if link.kind is LinkKind.AUTOLINK:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if link.kind is LinkKind.WIKI:
        return resolve_wiki(world, source, link.destination)
    target = read_target(link.destination, source, world.rules)
    if target is None:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if target.outside:
        return ResolvedLink(LinkStatus.OUTSIDE, target)
    path = source if target.path == source and not target.is_folder else find_path(world, target)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, target)
    if _PLAIN in link.destination and _shows_lines(link.destination):
        return ResolvedLink(LinkStatus.OK, target, path)
    return resolve_fragment(world, target, path)


def _shows_lines(destination: str) -> bool:
    _, query, fragment = split_destination(destination)
    return _PLAIN in query and _LINES.fullmatch(fragment[1:]) is not None


def resolve_fragment(world: FileTree, target: Target, path: str) -> ResolvedLink:
    """Return whether a target's fragment is there, where its file is. Only documents are asked."""
    document = world.document(path) if target.fragment is not None else None
    if document is None or target.fragment is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    place = find_place(find_names(document, world.rules.dialect), target.fragment)
    status = LinkStatus.OK if place is not None else LinkStatus.MISSING_FRAGMENT
    return ResolvedLink(status, target, path, place)


def find_path(world: FileTree, target: Target) -> str | None:
    """Return the file or folder of a target: at its own path, else where a renderer would look.

    A fragment of a folder is one of the document that stands for it.
    """
    for path in (target.path, target.literal):
        found = None if path is None else _at(world, path, target)
        if found is not None:
            return found
    return None


def _at(world: FileTree, path: str, target: Target) -> str | None:
    rules = world.rules
    if not path or world.is_folder(path):
        if target.fragment or rules.omits_endings:
            page = next((page for page in list_index_paths(path, rules) if world.exists(page)), None)
            if page is not None:
                return page
        # A document beside a folder of the same name is its page.
        return _with_ending(world, path) or path
    if not target.is_folder and world.exists(path):
        return path
    return _with_ending(world, path)


def _with_ending(world: FileTree, path: str) -> str | None:
    """Return the document whose ending a destination left out, where the dialect allows it."""
    if not world.rules.omits_endings or not path:
        return None
    spelled = (path + suffix for suffix in list_omittable_suffixes(world.rules))
    return next((document for document in spelled if world.exists(document)), None)


def resolve_wiki(world: FileTree, source: str, destination: str) -> ResolvedLink:
    """Return what a wiki link in the document `source` leads to.

    A page is a path from its own folder or from the root, with or without its ending; else the one document
    whose name it is, in any letter case. Of several headings, as in `Page#A#B`, the last counts.
    """
    page, mark, headings = destination.partition("#")
    page = page.strip()
    heading = headings.rpartition("#")[2].strip() if mark else None
    path = source if not page else find_page(world, source, page)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, Target(page.strip("/"), heading))
    target = Target(path, heading)
    document = world.document(path) if heading is not None else None
    if document is None or heading is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    place = find_place(find_names(document, world.rules.dialect), heading) or _titled(document, heading)
    return ResolvedLink(LinkStatus.OK if place else LinkStatus.MISSING_FRAGMENT, target, path, place)


def find_page(world: FileTree, source: str, page: str) -> str | None:
    """Return the file that a page's name means; None if there is none, or if several documents have it."""
    for path in iterate_page_paths(source, page, world.rules.root):
        if world.exists(path) and not world.is_folder(path):
            return path
    named = world.stems.get(_stem(page).lower(), ())
    folder = page.rpartition("/")[0].strip("/").lower()
    if folder:
        named = [path for path in named if f"/{path.lower()}".rpartition("/")[0].endswith(f"/{folder}")]
    return next(iter(named)) if len(named) == 1 else None


def iterate_page_paths(source: str, page: str, root: str) -> Iterator[str]:
    """Yield the paths that a page's name may mean as a path, the likeliest first."""
    for base in (source.rpartition("/")[0], root):
        path = join_path(base, page)
        if path:
            yield from (path, *(path + suffix for suffix in DOCUMENT_SUFFIXES))


def _stem(page: str) -> str:
    name = page.rpartition("/")[2]
    suffix = next((suffix for suffix in DOCUMENT_SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]


def _titled(document: Document, heading: str) -> FragmentTarget | None:
    """Return the first section of a title, in any letter case."""
    return document.derive(_titles).get(_folded(heading))


def _titles(document: Document) -> dict[str, FragmentTarget]:
    titles: dict[str, FragmentTarget] = {}
    for section in document.sections:
        if section.has_heading:
            titles.setdefault(_folded(section.title), FragmentTarget(section.heading_start, section.position))
    return titles


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def format_wiki_destination(link: Link, source: str, target: Target, world: FileTree) -> str:
    """Return a wiki link's destination for a target: a name alone if it was one and suffices, else a path.

    Nothing in it can be escaped, so that a name with brackets or bars cannot be written: the old one stays.
    """
    page, mark, headings = link.destination.partition("#")
    tail = "" if target.fragment is None else f"#{target.fragment}"
    if mark and headings.rpartition("#")[2].strip() == target.fragment:
        tail = mark + headings
    path = target.path
    if not page.strip().endswith(DOCUMENT_SUFFIXES):
        path = strip_suffix(path)
    name = path.rpartition("/")[2]
    inside = path.removeprefix(f"{world.rules.root}/") if world.rules.root else path
    ways = [inside, name, target.path] if "/" in page else [name, inside, target.path]
    for spelled in ways if page.strip() else ["", *ways]:
        found = resolve_wiki(world, source, spelled + tail)
        if found.path == target.path and not set(spelled + tail) & set("[]|\n"):
            return spelled + tail
    return link.destination


# Comparing spellings takes time, a folder may hold thousands of files, and a page thousands of headings.
_COMPARED = 200
_LONGEST = 200
_BEGIN = 3

# Below this likeness (difflib's ratio) two names share letters, not a meaning.
_LIKENESS = 0.75


def suggest_destination(world: FileTree, resolved: ResolvedLink) -> str | None:
    """Return the existing path or fragment most similar to that of a broken link; None if none is near.

    A path is relative to the repository's root, as `Target.path` is. In the same folder names that differ in
    letter case come first, then a document of the same name elsewhere, then names spelled alike.
    """
    target = resolved.target
    if target is None or not resolved.is_broken:
        return None
    if resolved.status is LinkStatus.MISSING_FILE:
        return _path(world, target.path)
    document = world.document(resolved.path) if resolved.path is not None else None
    if document is None or not target.fragment:
        return None
    return _alike(target.fragment, find_names(document, world.rules.dialect))


def _path(world: FileTree, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    folder = _in_right_case(world, folder)
    inside: Collection[str] = ()
    if world.is_folder(folder):
        inside = world.entries(folder)
        wanted = (name.lower(), *(name.lower() + suffix for suffix in list_omittable_suffixes(world.rules)))
        same = [other for other in inside if other.lower() in wanted]
        if same:
            return f"{folder}/{same[0]}" if folder else same[0]
    elsewhere = [
        other
        for other in world.stems.get(name.rpartition(".")[0].lower() or name.lower(), ())
        if other.rpartition("/")[2].lower() == name.lower()
    ]
    if elsewhere:
        return min(elsewhere, key=lambda other: (-_shared(other, path), other))
    near = _alike(name, inside)
    return None if near is None else f"{folder}/{near}" if folder else near


def _in_right_case(world: FileTree, folder: str) -> str:
    """Return a folder as it is spelled, where only letter case differs; else the folder as it is."""
    if world.is_folder(folder):
        return folder
    found = ""
    for part in folder.split("/"):
        inside = world.entries(found)
        if part not in inside:
            part = next((other for other in inside if other.lower() == part.lower()), "")
            if not part:
                return folder
        found = f"{found}/{part}" if found else part
    return found


def _shared(path: str, other: str) -> int:
    """Return how many folders two paths have in common, from the root on."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return next((number for number, (one, two) in enumerate(pairs) if one != two), 0)


def _alike(word: str, names: Iterable[str]) -> str | None:
    """Return the name spelled most like a word; among very many, one with the same beginning."""
    known = [name for name in names if name]
    same = next((name for name in known if name.lower() == word.lower()), None)
    if same is not None:
        return same
    if len(known) > _COMPARED:
        begin = word.lower()[:_BEGIN]
        known = list(islice((name for name in known if name.lower().startswith(begin)), _COMPARED))
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower()[:_LONGEST], lowered, n=1, cutoff=_LIKENESS)
    return lowered[near[0]] if near else None
