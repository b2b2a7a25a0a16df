"""Fixes of broken links whose target was moved, or has a name that differs only in case.

A link is fixed only if exactly one target is possible, and if the new link resolves to this target with its
fragment. The history of the branch is searched for moved documents and sections.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from workspace.document.splices import Splice
from workspace.history.moved_addresses import map_renamed_documents
from workspace.links.destinations import format_destination
from workspace.links.fragments import find_names
from workspace.links.resolver import LinkStatus, Target, list_candidate_paths, resolve_fragment
from workspace.paths import fold_name
from workspace.validation.fixes.change import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.history.moved_addresses import Moves
    from workspace.links.link import Link
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.rule import RuleContext


class MoveLookup(Protocol):
    """A lookup of the current location of an old address."""

    def find_document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        ...

    def find_section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the current path and address of a section that had this address earlier."""
        ...


class PathVariants:
    """A lookup of the paths of a file tree, regardless of letter case and Unicode form.

    The file tree must not change: the names of each folder are read once, for all links.
    """

    def __init__(self, file_tree: FileTree) -> None:
        self._file_tree = file_tree
        self._names_by_folder: dict[str, Mapping[str, Sequence[str]]] = {}

    def find_variant(self, path: str) -> str | None:
        """Return the only path that equals this one apart from case and Unicode form, or None."""
        folder = ""
        for name in path.split("/"):
            if name not in self._file_tree.list_names(folder):
                variants = self._group_names(folder).get(fold_name(name), ())
                if len(variants) != 1:
                    return None
                name = variants[0]
            folder = f"{folder}/{name}" if folder else name
        return folder

    def _group_names(self, folder: str) -> Mapping[str, Sequence[str]]:
        if folder not in self._names_by_folder:
            names: dict[str, list[str]] = {}
            for name in self._file_tree.list_names(folder):
                names.setdefault(fold_name(name), []).append(name)
            self._names_by_folder[folder] = names
        return self._names_by_folder[folder]


def find_link_fixes(context: RuleContext, moves: MoveLookup, variants: PathVariants) -> Iterator[Fix]:
    """Yield a fix for each broken link of a document that has exactly one possible target."""
    document, file_tree = context.document, context.file_tree
    targets: dict[str, Target | None] = {}
    for link, resolved_link in context.links:
        if not resolved_link.is_broken or link.destination_start == link.destination_end:
            continue
        if link.destination not in targets:
            targets[link.destination] = _find_intended_target(file_tree, resolved_link, moves, variants)
        target = targets[link.destination]
        if target is None:
            continue
        destination = format_destination(link, document.path, target, file_tree)
        splice = Splice(link.destination_start, link.destination_end, destination)
        if destination != document.data[splice.start : splice.end]:
            yield Fix(_find_rule(link, resolved_link), document.lines.line_at(splice.start) + 1, splice)


def _find_rule(link: Link, resolved_link: ResolvedLink) -> str:
    if resolved_link.status is LinkStatus.MISSING_FRAGMENT:
        return "broken-fragment"
    return "broken-image" if link.is_image else "broken-link"


def _find_intended_target(
    file_tree: FileTree, resolved_link: ResolvedLink, moves: MoveLookup, variants: PathVariants
) -> Target | None:
    """Return the only target that a broken link can mean, or None."""
    target = resolved_link.target
    if target is None:
        return None
    if resolved_link.path is not None:
        return _resolve_at(file_tree, resolved_link.path, target.fragment, moves)
    paths: set[str] = set()
    for path in list_candidate_paths(target, file_tree.rules):
        current_path = moves.find_document(path) or variants.find_variant(path)
        if current_path is not None and file_tree.exists(current_path):
            paths.add(current_path)
    if len(paths) != 1:
        return None
    return _resolve_at(file_tree, paths.pop(), target.fragment, moves)


def _resolve_at(file_tree: FileTree, path: str, fragment: str | None, moves: MoveLookup) -> Target | None:
    """Return a target at a path with an existing fragment, or None.

    The fragment is the given one, else the one that differs only in case, else that of the moved section.
    """
    target = Target(path, fragment, file_tree.is_folder(path))
    if resolve_fragment(file_tree, target, path).status is LinkStatus.OK:
        return target
    document = file_tree.document(path)
    if document is None or not fragment:
        return None
    names = find_names(document, file_tree.rules.dialect)
    matching_names = [name for name in names if name.casefold() == fragment.casefold()]
    if len({names[name] for name in matching_names}) == 1:
        return Target(path, matching_names[0])
    location = moves.find_section(path, fragment)
    if location is None or matching_names:
        return None
    current_target = Target(*location)
    return (
        current_target
        if resolve_fragment(file_tree, current_target, current_target.path).status is LinkStatus.OK
        else None
    )


_MAX_SEARCHED_SECTIONS = 500
"""The maximum number of history searches of one `MoveHistory`; each may read old versions of a document."""


class HistoryNeeded(Exception):
    """An error: a fix needs the history of a section, which is not available in this process."""


@dataclass(frozen=True)
class RenamedDocuments:
    """The document moves of a `MoveHistory`, which can be sent to another process."""

    new_paths: Mapping[str, str]

    def find_document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        return self.new_paths.get(path)

    def find_section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Raise HistoryNeeded."""
        raise HistoryNeeded


class MoveHistory:
    """A `MoveLookup` in the last 1,000 commits before a tip."""

    def __init__(self, tip: Snapshot, moves: Moves) -> None:
        self._tip, self._moves = tip, moves
        self._remaining_searches = _MAX_SEARCHED_SECTIONS

    def find_document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        return self.documents.new_paths.get(path)

    def find_section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the current path and address of a section that had this address earlier.

        Only the first 500 calls search the history; later calls return None.
        """
        self._remaining_searches -= 1
        move = self._moves.find(self._tip, path, fragment) if self._remaining_searches >= 0 else None
        return None if move is None or move.fragment is None else (move.path, move.fragment)

    @cached_property
    def documents(self) -> RenamedDocuments:
        """The moves of documents."""
        return RenamedDocuments(map_renamed_documents(self._tip))
