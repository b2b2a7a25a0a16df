"""Fixes of broken links whose target was moved, or has a name that differs only in case.

A link is fixed only if exactly one target is possible, and if the link then resolves to it, with its
fragment. Moved documents and sections are found by the history of the branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from workspace.document.splices import Splice
from workspace.history.moves import map_renamed_documents
from workspace.links.destinations import format_destination
from workspace.links.fragments import find_names
from workspace.links.resolver import LinkStatus, Target, list_candidate_paths, resolve_fragment
from workspace.paths import fold_name
from workspace.validation.fixes.change import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.history.moves import Moves
    from workspace.links.link import Link
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.rule import RuleContext


class MoveLookup(Protocol):
    """A lookup of the current location of an old address."""

    def document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        ...

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the current path and address of a section that had this address earlier."""
        ...


class PathVariants:
    """A lookup of the paths of a file tree, regardless of letter case and Unicode form.

    The file tree must not change: the names of each folder are read once, for all links.
    """

    def __init__(self, world: FileTree) -> None:
        self._world = world
        self._names: dict[str, Mapping[str, Sequence[str]]] = {}

    def of(self, path: str) -> str | None:
        """Return the only path that differs from this one only in case or Unicode form, or None."""
        folder = ""
        for name in path.split("/"):
            if name not in self._world.entries(folder):
                variants = self._read_folder(folder).get(fold_name(name), ())
                if len(variants) != 1:
                    return None
                name = variants[0]
            folder = f"{folder}/{name}" if folder else name
        return folder

    def _read_folder(self, folder: str) -> Mapping[str, Sequence[str]]:
        if folder not in self._names:
            names: dict[str, list[str]] = {}
            for name in self._world.entries(folder):
                names.setdefault(fold_name(name), []).append(name)
            self._names[folder] = names
        return self._names[folder]


def find_link_fixes(context: RuleContext, moves: MoveLookup, variants: PathVariants) -> Iterator[Fix]:
    """Yield a fix for each broken link of a document that has exactly one possible target."""
    document, world = context.document, context.file_tree
    targets: dict[str, Target | None] = {}
    for link, resolved in context.links:
        if not resolved.is_broken or link.destination_start == link.destination_end:
            continue
        if link.destination not in targets:
            targets[link.destination] = _find_intended_target(world, resolved, moves, variants)
        target = targets[link.destination]
        if target is None:
            continue
        destination = format_destination(link, document.path, target, world)
        splice = Splice(link.destination_start, link.destination_end, destination)
        if destination != document.data[splice.start : splice.end]:
            yield Fix(_find_rule(link, resolved), document.lines.line_at(splice.start) + 1, splice)


def _find_rule(link: Link, resolved: ResolvedLink) -> str:
    if resolved.status is LinkStatus.MISSING_FRAGMENT:
        return "broken-fragment"
    return "broken-image" if link.is_image else "broken-link"


def _find_intended_target(
    world: FileTree, resolved: ResolvedLink, moves: MoveLookup, variants: PathVariants
) -> Target | None:
    """Return the one target that a broken link can mean."""
    target = resolved.target
    if target is None:
        return None
    if resolved.path is not None:
        return _resolve_at(world, resolved.path, target.fragment, moves)
    paths: set[str] = set()
    for path in list_candidate_paths(target, world.rules):
        current_path = moves.document(path) or variants.of(path)
        if current_path is not None and world.exists(current_path):
            paths.add(current_path)
    if len(paths) != 1:
        return None
    return _resolve_at(world, paths.pop(), target.fragment, moves)


def _resolve_at(world: FileTree, path: str, fragment: str | None, moves: MoveLookup) -> Target | None:
    """Return a target at a path, with a fragment that exists or differs only in case, or None."""
    target = Target(path, fragment, world.is_folder(path))
    if resolve_fragment(world, target, path).status is LinkStatus.OK:
        return target
    document = world.document(path)
    if document is None or not fragment:
        return None
    names = find_names(document, world.rules.dialect)
    matching = [name for name in names if name.casefold() == fragment.casefold()]
    if len({names[name] for name in matching}) == 1:
        return Target(path, matching[0])
    moved = moves.section(path, fragment)
    if moved is None or matching:
        return None
    current_target = Target(*moved)
    return (
        current_target
        if resolve_fragment(world, current_target, current_target.path).status is LinkStatus.OK
        else None
    )


_MAX_SEARCHED_SECTIONS = 500
"""The most sections that one fix searches in the history: each may read old versions of its document."""


class HistoryNeeded(Exception):
    """The history of a section is needed but not available in this process."""


@dataclass(frozen=True)
class RenamedDocuments:
    """The document moves of a `MoveHistory`, which can be sent to another process."""

    renamed: Mapping[str, str]

    def document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        return self.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Raise HistoryNeeded."""
        raise HistoryNeeded


class MoveHistory:
    """A `MoveLookup` in the last 1,000 commits before a tip."""

    def __init__(self, tip: Snapshot, moves: Moves) -> None:
        self._tip, self._moves = tip, moves
        self._remaining = _MAX_SEARCHED_SECTIONS

    def document(self, path: str) -> str | None:
        """Return the current path of a document that was earlier at this path."""
        return self.documents.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the current path and address of a section that had this address earlier.

        Only the first 500 calls search the history; later calls return None.
        """
        self._remaining -= 1
        move = self._moves.find(self._tip, path, fragment) if self._remaining >= 0 else None
        return None if move is None or move.fragment is None else (move.path, move.fragment)

    @cached_property
    def documents(self) -> RenamedDocuments:
        """The moves of documents."""
        return RenamedDocuments(map_renamed_documents(self._tip))
