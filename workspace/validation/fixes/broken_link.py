"""Broken links led back to what they meant: what moved, or has a name that differs in case alone.

A link is mended only if one place and no other can be meant, and if it then leads there, fragment and all.

Where documents and sections of a branch are now, for links that still name them by what they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from workspace.document.splices import Splice
from workspace.history.moves import renamed_documents
from workspace.links.destinations import spell
from workspace.links.fragments import names_of
from workspace.links.resolver import Status, Target, meant_paths, resolve_fragment
from workspace.paths import twin_key
from workspace.validation.fixes.change import Mend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.history.moves import Moves
    from workspace.links.link import Link
    from workspace.links.resolver import Resolved, World
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.rule import Subject


class Elsewhere(Protocol):
    """Where something is now that stood at an address before."""

    def document(self, path: str) -> str | None:
        """Return the path of a document that once stood at this one."""
        ...

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Return the path and address of a section that once had this one."""
        ...


class Twins:
    """Paths of a world that differ from others in letter case or Unicode form alone.

    The world stays as it is: the names of each folder are looked at once, for all links.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._names: dict[str, Mapping[str, Sequence[str]]] = {}

    def of(self, path: str) -> str | None:
        """The one path that is there and differs from this one so; None if there are several, or none."""
        folder = ""
        for name in path.split("/"):
            if name not in self._world.entries(folder):
                twins = self._in(folder).get(twin_key(name), ())
                if len(twins) != 1:
                    return None
                name = twins[0]
            folder = f"{folder}/{name}" if folder else name
        return folder

    def _in(self, folder: str) -> Mapping[str, Sequence[str]]:
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            for name in self._world.entries(folder):
                found.setdefault(twin_key(name), []).append(name)
            self._names[folder] = found
        return self._names[folder]


def led_back(subject: Subject, elsewhere: Elsewhere, twins: Twins) -> Iterator[Mend]:
    """A mend for each broken link of a document that can mean but one place; `twins` are of its world."""
    document, world = subject.document, subject.world
    found: dict[str, Target | None] = {}
    for link, resolved in subject.links:
        if not resolved.is_broken or link.destination_start == link.destination_end:
            continue
        if link.destination not in found:
            found[link.destination] = _meant(world, resolved, elsewhere, twins)
        target = found[link.destination]
        if target is None:
            continue
        written = spell(link, document.path, target, world)
        splice = Splice(link.destination_start, link.destination_end, written)
        if written != document.data[splice.start : splice.end]:
            yield Mend(_rule(link, resolved), document.lines.line_at(splice.start) + 1, splice)


def _rule(link: Link, resolved: Resolved) -> str:
    if resolved.status is Status.MISSING_FRAGMENT:
        return "broken-fragment"
    return "broken-image" if link.is_image else "broken-link"


def _meant(world: World, resolved: Resolved, elsewhere: Elsewhere, twins: Twins) -> Target | None:
    """Return the one target that a broken link can mean."""
    target = resolved.target
    if target is None:
        return None
    if resolved.path is not None:
        return _place(world, resolved.path, target.fragment, elsewhere)
    paths: set[str] = set()
    for path in meant_paths(target, world.rules):
        now = elsewhere.document(path) or twins.of(path)
        if now is not None and world.exists(now):
            paths.add(now)
    if len(paths) != 1:
        return None
    return _place(world, paths.pop(), target.fragment, elsewhere)


def _place(world: World, path: str, fragment: str | None, elsewhere: Elsewhere) -> Target | None:
    """Return a target at a path, if its fragment is there, or one of a name that differs in case alone."""
    target = Target(path, fragment, world.is_folder(path))
    if resolve_fragment(world, target, path).status is Status.OK:
        return target
    document = world.document(path)
    if document is None or not fragment:
        return None
    names = names_of(document, world.rules.dialect)
    alike = [name for name in names if name.casefold() == fragment.casefold()]
    if len({names[name] for name in alike}) == 1:
        return Target(path, alike[0])
    moved = elsewhere.section(path, fragment)
    if moved is None or alike:
        return None
    now = Target(*moved)
    return now if resolve_fragment(world, now, now.path).status is Status.OK else None


_MOST_SECTIONS = 500


"""Sections that are looked for in the history by one fix: each may read some old versions of its document."""


class HistoryNeeded(Exception):
    """The history of a section is asked for where it is not at hand."""


@dataclass(frozen=True)
class RenamedDocuments:
    """What `History` tells of documents alone; it can be sent to another process."""

    renamed: Mapping[str, str]

    def document(self, path: str) -> str | None:
        """Return the path of a document that once stood at this one."""
        return self.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Raise HistoryNeeded."""
        raise HistoryNeeded


class History:
    """What the last 1,000 commits before a tip tell (`workspace.fixing.broken_link.Elsewhere`)."""

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
        return RenamedDocuments(renamed_documents(self._tip))
