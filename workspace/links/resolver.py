"""Resolution of links: the file and the position in it that a link leads to.

`read_target` reads a destination without any access to files. `resolve` looks up its target in a tree of
files.

Wiki links are `[[Page]]`, `[[folder/Page#Heading]]`, `[[#Heading]]`; they have no escapes.

`suggest_destination` suggests an existing target for a broken link.
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
from workspace.links.fragments import FragmentTarget, find_names, find_target
from workspace.links.link import LinkKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

# RFC 3986 §3.1. A Windows drive (`C:\`) matches too.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

# The URL standard, "basic URL parser": the parser removes these characters anywhere.
_IGNORED_BY_URLS = str.maketrans("", "", "\t\n\r")
ENDINGS = (*DOCUMENT_SUFFIXES, ".mdx")
"""The endings that a destination may omit in at least one dialect."""

INDEX_STEMS = frozenset({"readme", "index"})
"""The names of the index files of folders, without an ending and in lower case."""

_INDEX_NAMES = ("index.md", "README.md", "readme.md", "Readme.md")
_INDEX_NAMES_README_FIRST = ("README.md", "readme.md", "Readme.md", "index.md")


class Target(NamedTuple):
    """The target of a destination: a path relative to the repository's root ("" is the root) and a fragment.

    `fragment` is decoded; None without a `#`. `literal` is the path without percent-decoding, if that
    differs. `is_folder` is True for a slash at the end. `outside` is True for a path outside of the
    repository; `path` is then "".
    """

    path: str
    fragment: str | None
    is_folder: bool = False
    outside: bool = False
    literal: str | None = None


class DestinationParts(NamedTuple):
    """The parts of a destination: path, query with its `?`, fragment with its `#`; none is decoded."""

    path: str
    query: str
    fragment: str


def split_destination(destination: str) -> DestinationParts:
    """Return a destination's path, query and fragment (RFC 3986 §3)."""
    before_fragment, mark, fragment = destination.partition("#")
    path, question, query = before_fragment.partition("?")
    return DestinationParts(path, question + query, mark + fragment)


def is_external(destination: str) -> bool:
    """Return True if a destination has a scheme or a host."""
    return destination.startswith("//") or _SCHEME.match(destination) is not None


def read_target(destination: str, source: str, rules: LinkRules) -> Target | None:
    """Return the target of a destination in the document `source`; None for an external one.

    A path with a leading slash is relative to `rules.root`, any other to the document's folder. An empty
    path is the document itself. Escapes that are not UTF-8 stay as they are.
    """
    destination = destination.strip()
    if not destination.isprintable():
        destination = destination.translate(_IGNORED_BY_URLS).strip()
    if is_external(destination):
        return None
    written, _, fragment_part = split_destination(destination)
    fragment = unquote(fragment_part[1:]) if fragment_part else None
    if not written:
        return Target(source, fragment)
    decoded = _decode(written)
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
    """Return every path that a target may refer to, in the order of a renderer's search."""
    candidates: list[str] = []
    for path in (target.path, target.literal):
        if path is None:
            continue
        candidates.append(path)
        if rules.omits_endings and path:
            candidates.extend(path + suffix for suffix in list_omittable_suffixes(rules))
        candidates.extend(list_index_paths(path, rules))
    return tuple(dict.fromkeys(candidates))


def list_omittable_suffixes(rules: LinkRules) -> tuple[str, ...]:
    """Return the endings that a destination may omit, if the dialect allows it."""
    return ENDINGS if rules.dialect is Dialect.DOCUSAURUS else DOCUMENT_SUFFIXES


def strip_suffix(path: str) -> str:
    """Return the path of a document without its ending; any other path unchanged."""
    return path.removesuffix(next((suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)), ""))


def list_index_paths(folder: str, rules: LinkRules) -> tuple[str, ...]:
    """Return the possible index files of a folder, in the order of a renderer's search."""
    names = _INDEX_NAMES_README_FIRST if rules.dialect is Dialect.GITHUB else _INDEX_NAMES
    docusaurus_names = ("index.mdx", "README.mdx") if rules.dialect is Dialect.DOCUSAURUS else ()
    return tuple(f"{folder}/{name}" if folder else name for name in (*names, *docusaurus_names))


def _decode(written: str) -> str:
    if "%" not in written:
        return written
    try:
        return unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        return written


def join_path(base: str, path: str) -> str | None:
    """Return a path relative to a folder, with its dots resolved; None if it leaves the repository."""
    parts = base.split("/") if base else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


# GitHub shows the source of a document for this query; its fragments are lines.
_PLAIN = "plain=1"
_LINES = re.compile(r"L[0-9]{1,9}(?:C[0-9]{1,9})?(?:-L?[0-9]{1,9}(?:C[0-9]{1,9})?)?")


class LinkStatus(StrEnum):
    """The status of a link: resolved, or the part that is missing."""

    OK = "ok"
    MISSING_FILE = "missing_file"
    MISSING_FRAGMENT = "missing_fragment"
    OUTSIDE = "outside"  # of the repository
    EXTERNAL = "external"  # another host, or served by another program: not checked


class ResolvedLink(NamedTuple):
    """The result of resolving a link.

    `path` is the file or folder that the link leads to, or None if it does not exist. `place` is the target
    of the link's fragment; None without a fragment, or if the file is not a document.
    """

    status: LinkStatus
    target: Target | None
    path: str | None = None
    place: FragmentTarget | None = None

    @property
    def is_broken(self) -> bool:
        """Return True if the link refers to a file or fragment of the repository that does not exist."""
        return self.status in (LinkStatus.MISSING_FILE, LinkStatus.MISSING_FRAGMENT)


class FileTree(Protocol):
    """The tree of files in which links are resolved. Letter case counts in paths."""

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        ...

    @property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents, grouped by the stem of their names in lower case."""
        ...

    def exists(self, path: str) -> bool:
        """Return True if a file, folder, symbolic link or submodule is at the path; "" is the root."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return True if the path is a folder or a submodule."""
        ...

    def entries(self, folder: str) -> Collection[str]:
        """Return the names in a folder; empty if the folder does not exist."""
        ...

    def document(self, path: str) -> Document | None:
        """Return the document at a path; None if no readable document is there."""
        ...


def resolve(tree: FileTree, source: str, link: Link) -> ResolvedLink:
    """Return the result of resolving a link of the document `source`."""
    if link.kind is LinkKind.AUTOLINK:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if link.kind is LinkKind.WIKI:
        return resolve_wiki(tree, source, link.destination)
    target = read_target(link.destination, source, tree.rules)
    if target is None:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if target.outside:
        return ResolvedLink(LinkStatus.OUTSIDE, target)
    path = source if target.path == source and not target.is_folder else find_path(tree, target)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, target)
    if _PLAIN in link.destination and _shows_lines(link.destination):
        return ResolvedLink(LinkStatus.OK, target, path)
    return resolve_fragment(tree, target, path)


def _shows_lines(destination: str) -> bool:
    _, query, fragment = split_destination(destination)
    return _PLAIN in query and _LINES.fullmatch(fragment[1:]) is not None


def resolve_fragment(tree: FileTree, target: Target, path: str) -> ResolvedLink:
    """Return the result for a target whose file exists; fragments are checked in documents only."""
    document = tree.document(path) if target.fragment is not None else None
    if document is None or target.fragment is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    place = find_target(find_names(document, tree.rules.dialect), target.fragment)
    status = LinkStatus.OK if place is not None else LinkStatus.MISSING_FRAGMENT
    return ResolvedLink(status, target, path, place)


def find_path(tree: FileTree, target: Target) -> str | None:
    """Return the file or folder of a target: its own path, else the path that a renderer would use.

    A target with a fragment that is a folder resolves to the index file of the folder.
    """
    for path in (target.path, target.literal):
        resolved = None if path is None else _find_at(tree, path, target)
        if resolved is not None:
            return resolved
    return None


def _find_at(tree: FileTree, path: str, target: Target) -> str | None:
    rules = tree.rules
    if not path or tree.is_folder(path):
        if target.fragment or rules.omits_endings:
            page = next((page for page in list_index_paths(path, rules) if tree.exists(page)), None)
            if page is not None:
                return page
        # A document next to a folder of the same name is the page of the folder.
        return _find_with_ending(tree, path) or path
    if not target.is_folder and tree.exists(path):
        return path
    return _find_with_ending(tree, path)


def _find_with_ending(tree: FileTree, path: str) -> str | None:
    """Return the document whose ending a destination omits, if the dialect allows it."""
    if not tree.rules.omits_endings or not path:
        return None
    candidates = (path + suffix for suffix in list_omittable_suffixes(tree.rules))
    return next((document for document in candidates if tree.exists(document)), None)


def resolve_wiki(tree: FileTree, source: str, destination: str) -> ResolvedLink:
    """Return the result of resolving a wiki link of the document `source`.

    A page is a path from the document's folder or from the root, with or without its ending. If no such file
    exists, it is the only document of this name, in any letter case. The last of several headings counts, as
    in `Page#A#B`.
    """
    page, separator, headings = destination.partition("#")
    page = page.strip()
    heading = headings.rpartition("#")[2].strip() if separator else None
    path = source if not page else find_page(tree, source, page)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, Target(page.strip("/"), heading))
    target = Target(path, heading)
    document = tree.document(path) if heading is not None else None
    if document is None or heading is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    place = find_target(find_names(document, tree.rules.dialect), heading) or _find_title(document, heading)
    return ResolvedLink(LinkStatus.OK if place else LinkStatus.MISSING_FRAGMENT, target, path, place)


def find_page(tree: FileTree, source: str, page: str) -> str | None:
    """Return the file of a page's name; None unless exactly one document matches."""
    for path in iterate_page_paths(source, page, tree.rules.root):
        if tree.exists(path) and not tree.is_folder(path):
            return path
    matches = tree.stems.get(_extract_stem(page).lower(), ())
    folder = page.rpartition("/")[0].strip("/").lower()
    if folder:
        matches = [path for path in matches if f"/{path.lower()}".rpartition("/")[0].endswith(f"/{folder}")]
    return next(iter(matches)) if len(matches) == 1 else None


def iterate_page_paths(source: str, page: str, root: str) -> Iterator[str]:
    """Yield the paths that a page's name may refer to, in the order of the search."""
    for base in (source.rpartition("/")[0], root):
        path = join_path(base, page)
        if path:
            yield from (path, *(path + suffix for suffix in DOCUMENT_SUFFIXES))


def _extract_stem(page: str) -> str:
    name = page.rpartition("/")[2]
    suffix = next((suffix for suffix in DOCUMENT_SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]


def _find_title(document: Document, heading: str) -> FragmentTarget | None:
    """Return the first section with a title, in any letter case."""
    return document.derive(_collect_titles).get(_fold_title(heading))


def _collect_titles(document: Document) -> dict[str, FragmentTarget]:
    titles: dict[str, FragmentTarget] = {}
    for section in document.sections:
        if section.has_heading:
            titles.setdefault(
                _fold_title(section.title), FragmentTarget(section.heading_start, section.position)
            )
    return titles


def _fold_title(title: str) -> str:
    return " ".join(title.casefold().split())


def format_wiki_destination(link: Link, source: str, target: Target, tree: FileTree) -> str:
    """Return a wiki link's destination for a target: a unique name if the link had a name, else a path.

    Wiki links have no escapes, so a name with brackets or bars cannot be written. For such a name, the old
    destination is returned.
    """
    page, separator, headings = link.destination.partition("#")
    tail = "" if target.fragment is None else f"#{target.fragment}"
    if separator and headings.rpartition("#")[2].strip() == target.fragment:
        tail = separator + headings
    path = target.path
    if not page.strip().endswith(DOCUMENT_SUFFIXES):
        path = strip_suffix(path)
    name = path.rpartition("/")[2]
    inner_path = path.removeprefix(f"{tree.rules.root}/") if tree.rules.root else path
    candidates = [inner_path, name, target.path] if "/" in page else [name, inner_path, target.path]
    for candidate in candidates if page.strip() else ["", *candidates]:
        resolved = resolve_wiki(tree, source, candidate + tail)
        if resolved.path == target.path and not set(candidate + tail) & set("[]|\n"):
            return candidate + tail
    return link.destination


# Limits of the comparison: a folder may contain thousands of files, and a page thousands of headings.
_MAX_COMPARED_NAMES = 200
_MAX_COMPARED_LENGTH = 200
_PREFIX_LENGTH = 3

# Names below this similarity (difflib's ratio) share letters, but rarely a meaning.
_MIN_SIMILARITY = 0.75


def suggest_destination(tree: FileTree, resolved: ResolvedLink) -> str | None:
    """Return the existing path or fragment most similar to a broken link's; None without a similar one.

    A path is relative to the repository's root, like `Target.path`. Names in the same folder that differ only
    in letter case come first. Documents of the same name in other folders follow, then similar names in the
    same folder.
    """
    target = resolved.target
    if target is None or not resolved.is_broken:
        return None
    if resolved.status is LinkStatus.MISSING_FILE:
        return _suggest_path(tree, target.path)
    document = tree.document(resolved.path) if resolved.path is not None else None
    if document is None or not target.fragment:
        return None
    return _find_similar(target.fragment, find_names(document, tree.rules.dialect))


def _suggest_path(tree: FileTree, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    folder = _correct_case(tree, folder)
    entries: Collection[str] = ()
    if tree.is_folder(folder):
        entries = tree.entries(folder)
        wanted_names = (
            name.lower(),
            *(name.lower() + suffix for suffix in list_omittable_suffixes(tree.rules)),
        )
        same_names = [candidate for candidate in entries if candidate.lower() in wanted_names]
        if same_names:
            return f"{folder}/{same_names[0]}" if folder else same_names[0]
    same_name_paths = [
        candidate
        for candidate in tree.stems.get(name.rpartition(".")[0].lower() or name.lower(), ())
        if candidate.rpartition("/")[2].lower() == name.lower()
    ]
    if same_name_paths:
        return min(
            same_name_paths, key=lambda candidate: (-_count_shared_folders(candidate, path), candidate)
        )
    similar = _find_similar(name, entries)
    return None if similar is None else f"{folder}/{similar}" if folder else similar


def _correct_case(tree: FileTree, folder: str) -> str:
    """Return a folder in its existing letter case; unchanged if no such folder exists."""
    if tree.is_folder(folder):
        return folder
    corrected = ""
    for part in folder.split("/"):
        entries = tree.entries(corrected)
        if part not in entries:
            part = next((entry for entry in entries if entry.lower() == part.lower()), "")
            if not part:
                return folder
        corrected = f"{corrected}/{part}" if corrected else part
    return corrected


def _count_shared_folders(path: str, other: str) -> int:
    """Return how many leading folders two paths have in common."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return next((index for index, (left, right) in enumerate(pairs) if left != right), 0)


def _find_similar(word: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to a word; among many names, only those with the same beginning count."""
    candidates = [name for name in names if name]
    equal_name = next((name for name in candidates if name.lower() == word.lower()), None)
    if equal_name is not None:
        return equal_name
    if len(candidates) > _MAX_COMPARED_NAMES:
        prefix = word.lower()[:_PREFIX_LENGTH]
        candidates = list(
            islice((name for name in candidates if name.lower().startswith(prefix)), _MAX_COMPARED_NAMES)
        )
    names_by_lower_case = {name.lower(): name for name in candidates}
    similar = difflib.get_close_matches(
        word.lower()[:_MAX_COMPARED_LENGTH], names_by_lower_case, n=1, cutoff=_MIN_SIMILARITY
    )
    return names_by_lower_case[similar[0]] if similar else None
