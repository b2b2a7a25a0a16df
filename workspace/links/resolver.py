"""Resolve links: find the file, and the position in the file, that a link leads to.

`read_target` reads a destination without any access to files. `resolve` looks up the target in a tree of
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
from workspace.config.names import Dialect
from workspace.links.fragments import FragmentTarget, find_names, find_target
from workspace.links.link import LinkKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

# RFC 3986 §3.1. A Windows drive (`C:\`) matches too.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

# The URL standard, "basic URL parser": these characters are removed anywhere in a URL.
_IGNORED_BY_URLS = str.maketrans("", "", "\t\n\r")
DESTINATION_SUFFIXES = (*DOCUMENT_SUFFIXES, ".mdx")
"""The suffixes that a destination may omit in at least one dialect."""

INDEX_STEMS = frozenset({"readme", "index"})
"""The names of the index files of folders, without a suffix and in lower case."""

_INDEX_NAMES = ("index.md", "README.md", "readme.md", "Readme.md")
_INDEX_NAMES_README_FIRST = ("README.md", "readme.md", "Readme.md", "index.md")


class Target(NamedTuple):
    """The target of a destination: a path relative to the repository's root ("" is the root) and a fragment.

    `fragment` is decoded; None without a `#`. `undecoded_path` is the path without percent-decoding, if that
    differs. `is_folder` is True if the path ends in a slash or in dots. `is_outside` is True for a path
    outside of the repository; `path` is then "".
    """

    path: str
    fragment: str | None
    is_folder: bool = False
    is_outside: bool = False
    undecoded_path: str | None = None


class DestinationParts(NamedTuple):
    """The undecoded parts of a destination: the path, the query with its `?`, the fragment with its `#`."""

    path: str
    query: str
    fragment: str


def split_destination(destination: str) -> DestinationParts:
    """Return a destination's path, query and fragment (RFC 3986 §3)."""
    path_and_query, hash_mark, fragment = destination.partition("#")
    path, question_mark, query = path_and_query.partition("?")
    return DestinationParts(path, question_mark + query, hash_mark + fragment)


def is_external(destination: str) -> bool:
    """Return True if a destination has a scheme or a host."""
    return destination.startswith("//") or _SCHEME.match(destination) is not None


def read_target(destination: str, source_path: str, rules: LinkRules) -> Target | None:
    """Return the target of a destination in the document `source_path`; None if external or ignored.

    A path with a leading slash is relative to `rules.root`, another path to the document's folder. An empty
    path means the document itself. A path whose escapes are not UTF-8 is not decoded.
    """
    destination = destination.strip()
    if not destination.isprintable():
        destination = destination.translate(_IGNORED_BY_URLS).strip()
    if is_external(destination):
        return None
    raw_path, _, fragment_part = split_destination(destination)
    fragment = unquote(fragment_part[1:]) if fragment_part else None
    if not raw_path:
        return Target(source_path, fragment)
    decoded_path = _decode_path(raw_path)
    base = rules.root if raw_path.startswith("/") else source_path.rpartition("/")[0]
    path = join_path(base, decoded_path)
    if rules.ignore and (rules.ignores(raw_path.removeprefix("./")) or (path and rules.ignores(path))):
        return None
    if path is None:
        return Target("", fragment, is_outside=True)
    is_folder = decoded_path.rpartition("/")[2] in ("", ".", "..")
    undecoded_path = join_path(base, raw_path) if raw_path != decoded_path else None
    return Target(
        path, fragment, is_folder, undecoded_path=None if undecoded_path == path else undecoded_path
    )


def list_candidate_paths(target: Target, rules: LinkRules) -> tuple[str, ...]:
    """Return every path that a target may refer to: its own path, with a suffix, and its index files."""
    candidates: list[str] = []
    for path in (target.path, target.undecoded_path):
        if path is None:
            continue
        candidates.append(path)
        if rules.may_omit_suffixes and path:
            candidates.extend(path + suffix for suffix in list_omittable_suffixes(rules))
        candidates.extend(list_index_paths(path, rules))
    return tuple(dict.fromkeys(candidates))


def list_omittable_suffixes(rules: LinkRules) -> tuple[str, ...]:
    """Return the suffixes that a destination may omit, if the dialect allows it."""
    return DESTINATION_SUFFIXES if rules.dialect is Dialect.DOCUSAURUS else DOCUMENT_SUFFIXES


def strip_suffix(path: str) -> str:
    """Return the path of a document without its suffix; any other path unchanged."""
    return path.removesuffix(next((suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)), ""))


def list_index_paths(folder: str, rules: LinkRules) -> tuple[str, ...]:
    """Return the possible index files of a folder, in the order in which a renderer searches."""
    names = _INDEX_NAMES_README_FIRST if rules.dialect is Dialect.GITHUB else _INDEX_NAMES
    docusaurus_names = ("index.mdx", "README.mdx") if rules.dialect is Dialect.DOCUSAURUS else ()
    return tuple(f"{folder}/{name}" if folder else name for name in (*names, *docusaurus_names))


def _decode_path(raw_path: str) -> str:
    if "%" not in raw_path:
        return raw_path
    try:
        return unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return raw_path


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


# GitHub displays the source of a document for this query; the fragments are then line numbers.
_SOURCE_VIEW_QUERY = "plain=1"
_LINE_FRAGMENT = re.compile(r"L[0-9]{1,9}(?:C[0-9]{1,9})?(?:-L?[0-9]{1,9}(?:C[0-9]{1,9})?)?")


class LinkStatus(StrEnum):
    """The status of a link after its resolution."""

    OK = "ok"
    MISSING_FILE = "missing_file"
    MISSING_FRAGMENT = "missing_fragment"
    OUTSIDE = "outside"  # of the repository
    EXTERNAL = "external"  # with a scheme or a host, an autolink, or ignored by the settings; not checked


class ResolvedLink(NamedTuple):
    """The result of resolving a link.

    `path` is the file or folder that the link leads to; None if it does not exist in the repository.
    `fragment_target` is the target of the link's fragment; None without a fragment, if the fragment does not
    exist, or if the file is not a document.
    """

    status: LinkStatus
    target: Target | None
    path: str | None = None
    fragment_target: FragmentTarget | None = None

    @property
    def is_broken(self) -> bool:
        """Return True if the link refers to a file or fragment of the repository that does not exist."""
        return self.status in (LinkStatus.MISSING_FILE, LinkStatus.MISSING_FRAGMENT)


class FileTree(Protocol):
    """The tree of files in which links are resolved. Paths are case-sensitive."""

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        ...

    @property
    def paths_by_stem(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents, grouped by the stem of their names in lower case."""
        ...

    def exists(self, path: str) -> bool:
        """Return True if a file, folder, symbolic link or submodule is at the path; "" is the root."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return True if the path is a folder or a submodule."""
        ...

    def list_names(self, folder: str) -> Collection[str]:
        """Return the names in a folder; empty if the folder does not exist."""
        ...

    def document(self, path: str) -> Document | None:
        """Return the document at a path; None if no readable document is there."""
        ...


def resolve(tree: FileTree, source_path: str, link: Link) -> ResolvedLink:
    """Return the result of resolving a link of the document `source_path`."""
    if link.kind is LinkKind.AUTOLINK:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if link.kind is LinkKind.WIKI:
        return resolve_wiki(tree, source_path, link.destination)
    target = read_target(link.destination, source_path, tree.rules)
    if target is None:
        return ResolvedLink(LinkStatus.EXTERNAL, None)
    if target.is_outside:
        return ResolvedLink(LinkStatus.OUTSIDE, target)
    path = source_path if target.path == source_path and not target.is_folder else find_path(tree, target)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, target)
    if _SOURCE_VIEW_QUERY in link.destination and _shows_lines(link.destination):
        return ResolvedLink(LinkStatus.OK, target, path)
    return resolve_fragment(tree, target, path)


def _shows_lines(destination: str) -> bool:
    _, query, fragment = split_destination(destination)
    return _SOURCE_VIEW_QUERY in query and _LINE_FRAGMENT.fullmatch(fragment[1:]) is not None


def resolve_fragment(tree: FileTree, target: Target, path: str) -> ResolvedLink:
    """Return the result for a target whose file exists; fragments are checked in documents only."""
    document = tree.document(path) if target.fragment is not None else None
    if document is None or target.fragment is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    fragment_target = find_target(find_names(document, tree.rules.dialect), target.fragment)
    status = LinkStatus.OK if fragment_target is not None else LinkStatus.MISSING_FRAGMENT
    return ResolvedLink(status, target, path, fragment_target)


def find_path(tree: FileTree, target: Target) -> str | None:
    """Return the file or folder of a target: its own path, else the path that a renderer would use.

    A folder resolves to its index file if the target has a fragment, or if suffixes may be omitted.
    """
    for path in (target.path, target.undecoded_path):
        existing_path = None if path is None else _find_existing_path(tree, path, target)
        if existing_path is not None:
            return existing_path
    return None


def _find_existing_path(tree: FileTree, path: str, target: Target) -> str | None:
    rules = tree.rules
    if not path or tree.is_folder(path):
        if target.fragment or rules.may_omit_suffixes:
            index_paths = list_index_paths(path, rules)
            index_path = next((candidate for candidate in index_paths if tree.exists(candidate)), None)
            if index_path is not None:
                return index_path
        # A document next to a folder of the same name is the page of the folder.
        return _find_with_suffix(tree, path) or path
    if not target.is_folder and tree.exists(path):
        return path
    return _find_with_suffix(tree, path)


def _find_with_suffix(tree: FileTree, path: str) -> str | None:
    """Return the document whose suffix a destination omits, if the dialect allows it."""
    if not tree.rules.may_omit_suffixes or not path:
        return None
    candidates = (path + suffix for suffix in list_omittable_suffixes(tree.rules))
    return next((document for document in candidates if tree.exists(document)), None)


def resolve_wiki(tree: FileTree, source_path: str, destination: str) -> ResolvedLink:
    """Return the result of resolving a wiki link of the document `source_path`.

    The page in a link is a path relative to the document's folder or to the root, with or without its suffix.
    If no such file exists, the page is the only document of this name, in any letter case. Of several
    headings, as in `Page#A#B`, the last one counts.
    """
    page, separator, headings = destination.partition("#")
    page = page.strip()
    heading = headings.rpartition("#")[2].strip() if separator else None
    path = source_path if not page else find_page(tree, source_path, page)
    if path is None:
        return ResolvedLink(LinkStatus.MISSING_FILE, Target(page.strip("/"), heading))
    target = Target(path, heading)
    document = tree.document(path) if heading is not None else None
    if document is None or heading is None:
        return ResolvedLink(LinkStatus.OK, target, path)
    fragment_target = find_target(find_names(document, tree.rules.dialect), heading) or _find_title_target(
        document, heading
    )
    return ResolvedLink(
        LinkStatus.OK if fragment_target else LinkStatus.MISSING_FRAGMENT, target, path, fragment_target
    )


def find_page(tree: FileTree, source_path: str, page: str) -> str | None:
    """Return the file of a page; None if no such file and no single document of this name exists."""
    for path in iterate_page_paths(source_path, page, tree.rules.root):
        if tree.exists(path) and not tree.is_folder(path):
            return path
    matches = tree.paths_by_stem.get(_extract_stem(page).lower(), ())
    folder = page.rpartition("/")[0].strip("/").lower()
    if folder:
        matches = [path for path in matches if f"/{path.lower()}".rpartition("/")[0].endswith(f"/{folder}")]
    return next(iter(matches)) if len(matches) == 1 else None


def iterate_page_paths(source_path: str, page: str, root: str) -> Iterator[str]:
    """Yield the paths that a page may refer to, in the order of the search."""
    for base in (source_path.rpartition("/")[0], root):
        path = join_path(base, page)
        if path:
            yield from (path, *(path + suffix for suffix in DOCUMENT_SUFFIXES))


def _extract_stem(page: str) -> str:
    name = page.rpartition("/")[2]
    suffix = next((suffix for suffix in DOCUMENT_SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]


def _find_title_target(document: Document, heading: str) -> FragmentTarget | None:
    """Return the target of the first section with this title, in any letter case, or None."""
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


def format_wiki_destination(link: Link, source_path: str, target: Target, tree: FileTree) -> str:
    """Return a wiki link's destination for a target: a unique name if the old link had a name, else a path.

    Wiki links have no escapes, so a name with brackets or bars cannot be written. If no destination that can
    be written leads to the target, the old destination is returned.
    """
    page, separator, headings = link.destination.partition("#")
    fragment_part = "" if target.fragment is None else f"#{target.fragment}"
    if separator and headings.rpartition("#")[2].strip() == target.fragment:
        fragment_part = separator + headings
    path = target.path
    if not page.strip().endswith(DOCUMENT_SUFFIXES):
        path = strip_suffix(path)
    name = path.rpartition("/")[2]
    inner_path = path.removeprefix(f"{tree.rules.root}/") if tree.rules.root else path
    candidates = [inner_path, name, target.path] if "/" in page else [name, inner_path, target.path]
    for candidate in candidates if page.strip() else ["", *candidates]:
        resolved_link = resolve_wiki(tree, source_path, candidate + fragment_part)
        if resolved_link.path == target.path and not set(candidate + fragment_part) & set("[]|\n"):
            return candidate + fragment_part
    return link.destination


# A folder may contain thousands of files, and a document thousands of headings.
_MAX_COMPARED_NAMES = 200
_MAX_COMPARED_LENGTH = 200  # characters
_PREFIX_LENGTH = 3  # characters

# Names below this similarity (difflib's ratio) share letters, but rarely a meaning.
_MIN_SIMILARITY = 0.75


def suggest_destination(tree: FileTree, resolved_link: ResolvedLink) -> str | None:
    """Return the existing path or fragment that is most similar to that of a broken link, or None.

    A path is relative to the repository's root, like `Target.path`. Names in the same folder that differ only
    in letter case or in an omitted suffix come first. Documents of the same name in other folders follow,
    then similar names in the same folder.
    """
    target = resolved_link.target
    if target is None or not resolved_link.is_broken:
        return None
    if resolved_link.status is LinkStatus.MISSING_FILE:
        return _suggest_path(tree, target.path)
    document = tree.document(resolved_link.path) if resolved_link.path is not None else None
    if document is None or not target.fragment:
        return None
    return _find_similar_name(target.fragment, find_names(document, tree.rules.dialect))


def _suggest_path(tree: FileTree, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    folder = _correct_case(tree, folder)
    entries: Collection[str] = ()
    if tree.is_folder(folder):
        entries = tree.list_names(folder)
        possible_names = (
            name.lower(),
            *(name.lower() + suffix for suffix in list_omittable_suffixes(tree.rules)),
        )
        equal_names = [candidate for candidate in entries if candidate.lower() in possible_names]
        if equal_names:
            return f"{folder}/{equal_names[0]}" if folder else equal_names[0]
    same_name_paths = [
        candidate
        for candidate in tree.paths_by_stem.get(name.rpartition(".")[0].lower() or name.lower(), ())
        if candidate.rpartition("/")[2].lower() == name.lower()
    ]
    if same_name_paths:
        return min(
            same_name_paths, key=lambda candidate: (-_count_shared_folders(candidate, path), candidate)
        )
    similar_name = _find_similar_name(name, entries)
    return None if similar_name is None else f"{folder}/{similar_name}" if folder else similar_name


def _correct_case(tree: FileTree, folder: str) -> str:
    """Return a folder in its existing letter case; return it unchanged if it does not exist."""
    if tree.is_folder(folder):
        return folder
    corrected_folder = ""
    for part in folder.split("/"):
        entries = tree.list_names(corrected_folder)
        if part not in entries:
            part = next((entry for entry in entries if entry.lower() == part.lower()), "")
            if not part:
                return folder
        corrected_folder = f"{corrected_folder}/{part}" if corrected_folder else part
    return corrected_folder


def _count_shared_folders(path: str, other_path: str) -> int:
    """Return how many leading folders two paths have in common."""
    pairs = zip(path.split("/"), other_path.split("/"), strict=False)
    return next((index for index, (left, right) in enumerate(pairs) if left != right), 0)


def _find_similar_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to a word, or None.

    If there are many names, only those that begin with the word's first letters are compared.
    """
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
    matches = difflib.get_close_matches(
        word.lower()[:_MAX_COMPARED_LENGTH], names_by_lower_case, n=1, cutoff=_MIN_SIMILARITY
    )
    return names_by_lower_case[matches[0]] if matches else None
