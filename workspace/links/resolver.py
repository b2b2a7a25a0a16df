"""Resolving: what a link really leads to, in a world of files that can be asked."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.links.fragments import Place, find_place, names_of
from workspace.links.link import LinkKind
from workspace.links.targets import Target, document_suffixes, index_paths, read_target, split_destination

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

# GitHub shows the source of a document, which has lines, behind this query.
_PLAIN = "plain=1"
_LINES = re.compile(r"L[0-9]{1,9}(?:C[0-9]{1,9})?(?:-L?[0-9]{1,9}(?:C[0-9]{1,9})?)?")


class Status(StrEnum):
    """Whether a link leads somewhere."""

    OK = "ok"
    MISSING_FILE = "missing_file"
    MISSING_FRAGMENT = "missing_fragment"
    OUTSIDE = "outside"  # of the repository
    EXTERNAL = "external"  # another host, or served by something else: not looked for


class Resolved(NamedTuple):
    """What a link leads to. `path` is the file or folder that it really means, None where there is none.

    `place` is where its fragment leads in a document; None without a fragment, or where it is not looked for.
    """

    status: Status
    target: Target | None
    path: str | None = None
    place: Place | None = None

    @property
    def is_broken(self) -> bool:
        """Whether it names something of the repository that is not there."""
        return self.status in (Status.MISSING_FILE, Status.MISSING_FRAGMENT)


class World(Protocol):
    """The files that links are resolved among. Letter case counts in paths."""

    @property
    def rules(self) -> LinkRules:
        """How links are read."""
        ...

    @property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file, folder, link or submodule stands at a path; "" is the root."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether a folder or submodule stands there."""
        ...

    def entries(self, folder: str) -> Collection[str]:
        """The names in a folder; none where there is no such folder."""
        ...

    def document(self, path: str) -> Document | None:
        """The document of a path; None for what is no document, or one that cannot be read."""
        ...


def resolve(world: World, source: str, link: Link) -> Resolved:
    """What a link of the document `source` leads to."""
    if link.kind is LinkKind.AUTOLINK:
        return Resolved(Status.EXTERNAL, None)
    if link.kind is LinkKind.WIKI:
        from workspace.links.wiki import resolve_wiki

        return resolve_wiki(world, source, link.destination)
    target = read_target(link.destination, source, world.rules)
    if target is None:
        return Resolved(Status.EXTERNAL, None)
    if target.outside:
        return Resolved(Status.OUTSIDE, target)
    path = source if target.path == source and not target.is_folder else find_path(world, target)
    if path is None:
        return Resolved(Status.MISSING_FILE, target)
    if _PLAIN in link.destination and _shows_lines(link.destination):
        return Resolved(Status.OK, target, path)
    return resolve_fragment(world, target, path)


def _shows_lines(destination: str) -> bool:
    _, query, fragment = split_destination(destination)
    return _PLAIN in query and _LINES.fullmatch(fragment[1:]) is not None


def resolve_fragment(world: World, target: Target, path: str) -> Resolved:
    """Whether a target's fragment is there, where its file is. Only documents are asked."""
    document = world.document(path) if target.fragment is not None else None
    if document is None or target.fragment is None:
        return Resolved(Status.OK, target, path)
    place = find_place(names_of(document, world.rules.dialect), target.fragment)
    status = Status.OK if place is not None else Status.MISSING_FRAGMENT
    return Resolved(status, target, path, place)


def find_path(world: World, target: Target) -> str | None:
    """The file or folder that a target means: what stands at its path, else what a renderer makes of it.

    A fragment of a folder is one of the document that stands for it.
    """
    for path in (target.path, target.literal):
        found = None if path is None else _at(world, path, target)
        if found is not None:
            return found
    return None


def _at(world: World, path: str, target: Target) -> str | None:
    rules = world.rules
    if not path or world.is_folder(path):
        if target.fragment or rules.omits_endings:
            page = next((page for page in index_paths(path, rules) if world.exists(page)), None)
            if page is not None:
                return page
        # A document beside a folder of the same name is its page.
        return _with_ending(world, path) or path
    if not target.is_folder and world.exists(path):
        return path
    return _with_ending(world, path)


def _with_ending(world: World, path: str) -> str | None:
    """The document whose ending a destination left out, where the dialect allows it."""
    if not world.rules.omits_endings or not path:
        return None
    spelled = (path + suffix for suffix in document_suffixes(world.rules))
    return next((document for document in spelled if world.exists(document)), None)
