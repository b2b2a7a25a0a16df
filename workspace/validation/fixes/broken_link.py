"""Broken links led back to what they meant: what moved, or has a name that differs in case alone.

A link is mended only if one place and no other can be meant, and if it then leads there, fragment and all.

Where documents and sections of a branch are now, for links that still name them by what they were.
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
    from workspace.validation.rule import Subject


class MoveLookup(Protocol):
    """A lookup of the current location of an old address."""

    def document(self, path: str) -> str | None:
        """Return the path of a document that once stood at this one."""
        ...

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the path and address of a section that once had this one."""
        ...


class PathVariants:
    """Paths of a world that differ from others in letter case or Unicode form alone.

    The world stays as it is: the names of each folder are looked at once, for all links.
    """

    def __init__(self, world: FileTree) -> None:
        self._world = world
        self._names: dict[str, Mapping[str, Sequence[str]]] = {}

    def of(self, path: str) -> str | None:
        """Return the only path that differs from this one in case or Unicode form alone, or None."""
        folder = ""
        for name in path.split("/"):
            if name not in self._world.entries(folder):
                twins = self._in(folder).get(fold_name(name), ())
                if len(twins) != 1:
                    return None
                name = twins[0]
            folder = f"{folder}/{name}" if folder else name
        return folder

    def _in(self, folder: str) -> Mapping[str, Sequence[str]]:
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            for name in self._world.entries(folder):
                found.setdefault(fold_name(name), []).append(name)
            self._names[folder] = found
        return self._names[folder]


def find_link_fixes(subject: Subject, elsewhere: MoveLookup, twins: PathVariants) -> Iterator[Fix]:
    """Return a fix for each broken link of a document with one possible target; `twins` are of its files."""
    document, world = subject.document, subject.world
    found: dict[str, Target | None] = {}
    for link, resolved in subject.links:
        if not resolved.is_broken or link.destination_start == link.destination_end:
            continue
        if link.destination not in found:
            found[link.destination] = _find_intended_target(world, resolved, elsewhere, twins)
        target = found[link.destination]
        if target is None:
            continue
        written = format_destination(link, document.path, target, world)
        splice = Splice(link.destination_start, link.destination_end, written)
        if written != document.data[splice.start : splice.end]:
            yield Fix(_rule(link, resolved), document.lines.line_at(splice.start) + 1, splice)


def _rule(link: Link, resolved: ResolvedLink) -> str:
    if resolved.status is LinkStatus.MISSING_FRAGMENT:
        return "broken-fragment"
    return "broken-image" if link.is_image else "broken-link"


def _find_intended_target(
    world: FileTree, resolved: ResolvedLink, elsewhere: MoveLookup, twins: PathVariants
) -> Target | None:
    """Return the one target that a broken link can mean."""
    target = resolved.target
    if target is None:
        return None
    if resolved.path is not None:
        return _place(world, resolved.path, target.fragment, elsewhere)
    paths: set[str] = set()
    for path in list_candidate_paths(target, world.rules):
        now = elsewhere.document(path) or twins.of(path)
        if now is not None and world.exists(now):
            paths.add(now)
    if len(paths) != 1:
        return None
    return _place(world, paths.pop(), target.fragment, elsewhere)


def _place(world: FileTree, path: str, fragment: str | None, elsewhere: MoveLookup) -> Target | None:
    """Return a target at a path, if its fragment is there, or one of a name that differs in case alone."""
    target = Target(path, fragment, world.is_folder(path))
    if resolve_fragment(world, target, path).status is LinkStatus.OK:
        return target
    document = world.document(path)
    if document is None or not fragment:
        return None
    names = find_names(document, world.rules.dialect)
    alike = [name for name in names if name.casefold() == fragment.casefold()]
    if len({names[name] for name in alike}) == 1:
        return Target(path, alike[0])
    moved = elsewhere.section(path, fragment)
    if moved is None or alike:
        return None
    now = Target(*moved)
    return now if resolve_fragment(world, now, now.path).status is LinkStatus.OK else None


_MOST_SECTIONS = 500
"""Sections that are looked for in the history by one fix: each may read some old versions of its document."""


class HistoryNeeded(Exception):
    """The history of a section is asked for where it is not at hand."""


@dataclass(frozen=True)
class RenamedDocuments:
    """The document moves of a `MoveHistory`, which can be sent to another process."""

    renamed: Mapping[str, str]

    def document(self, path: str) -> str | None:
        """Return the path of a document that once stood at this one."""
        return self.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Raise HistoryNeeded."""
        raise HistoryNeeded


class MoveHistory:
    """A `MoveLookup` in the last 1,000 commits before a tip."""

    def __init__(self, tip: Snapshot, moves: Moves) -> None:
        self._tip, self._moves = tip, moves
        self._left = _MOST_SECTIONS

    def document(self, path: str) -> str | None:
        """Return the path of a document that once stood at this one."""
        return self.documents.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the path and address of a section that once had this one; at most 500 are looked for."""
        self._left -= 1
        move = self._moves.find(self._tip, path, fragment) if self._left >= 0 else None
        return None if move is None or move.fragment is None else (move.path, move.fragment)

    @cached_property
    def documents(self) -> RenamedDocuments:
        """What it tells of documents."""
        return RenamedDocuments(map_renamed_documents(self._tip))
