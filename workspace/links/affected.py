"""What an operation may have done to links: the paths at which a link may mean something else afterwards.

It is asked after every edit, so it says "nothing" quickly where no name of a place can have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace import markdown
from workspace.config.config import LimitExceeded
from workspace.links.link import LinkKind
from workspace.links.targets import (
    INDEX_STEMS,
    document_suffixes,
    index_paths,
    read_target,
    without_suffix,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document, Section
    from workspace.links.link import Link
    from workspace.links.survival import Survival
    from workspace.links.world import OverlayWorld
    from workspace.snapshot.overlay import Overlay

# A tag with a name, of the two that count.
_TAG_NAME = re.compile(rb"(?:id|name)[ \t\r\n]*=", re.IGNORECASE)


class Affected(NamedTuple):
    """The paths, as they were before, to which links are to be looked at.

    `vanished` are folders that went with their last document: where that is now, None if it was removed.
    `spellings` are the paths that a destination may name to mean one of these.
    """

    paths: frozenset[str]
    vanished: Mapping[str, str | None]
    spellings: frozenset[str | None]
    rules: LinkRules

    @classmethod
    def of(cls, before: Overlay, after: Overlay, survival: Survival) -> Affected:
        """What one operation, which made `after` of `before`, may have done to links."""
        rules = before.snapshot.config.links
        world: OverlayWorld | None = None
        paths: set[str] = set()
        vanished: dict[str, str | None] = {}
        for path in survival.paths:
            now = survival.document(path)
            try:
                old = before.find(path)
            except LimitExceeded:  # such a document is only removed
                old, is_there = None, True
            else:
                is_there = old is not None
            if now is not None and (now != path or not is_there):
                paths.update(_shadowed(before, now, rules))
            if is_there and now != path:
                paths.add(path)
                world = world or _world(after)
                vanished |= dict.fromkeys(_vanished(world, path), now)
            elif old is not None and _may_rename(old, after.document(path), survival, rules):
                paths.add(path)
        return cls(frozenset(paths.union(vanished)), vanished, _spellings(paths.union(vanished)), rules)

    def may_mean(self, link: Link, source: str) -> bool:
        """Whether a link of the document `source` may mean one of the paths, by its spelling."""
        if link.kind is LinkKind.WIKI:
            return True
        target = read_target(link.destination, source, self.rules)
        return target is not None and (target.path in self.spellings or target.literal in self.spellings)


def _may_rename(old: Document, new: Document, survival: Survival, rules: LinkRules) -> bool:
    """Whether a name of a place may be gone, or lead to another place, after an edit of a document."""
    if len(old.sections) == len(new.sections) and all(
        _is_same(one, other, survival.place(old.path, one.heading_start) == (new.path, other.heading_start))
        and (old.source(one) == new.source(other) or not _may_name(old.source(one) + new.source(other)))
        for one, other in zip(old.sections, new.sections, strict=True)
    ):
        return False
    # Imported here because the parser is, and most edits do without.
    from workspace.links.fragments import DOCUMENT, TOP, find_place, names_of

    names = names_of(new, rules.dialect)
    if find_place(names, TOP) != find_place(names_of(old, rules.dialect), TOP) == DOCUMENT:
        return True
    for name, place in names_of(old, rules.dialect).items():
        found = find_place(names, name)
        kept = survival.place(old.path, place.offset)
        if found != place if place == DOCUMENT else found is None or kept != (new.path, found.offset):
            return True
    # A wiki link may name a heading by its words.
    return rules.wiki and [section.title for section in old.sections] != [item.title for item in new.sections]


def _is_same(one: Section, other: Section, is_kept: bool) -> bool:
    """Whether a section has the names that it had."""
    if one.heading is None or other.heading is None:
        return one.heading is other.heading
    return (
        is_kept
        and one.heading.block.source == other.heading.block.source
        and (one.address, one.anchor, one.aliases) == (other.address, other.anchor, other.aliases)
    )


def _may_name(text: bytes) -> bool:
    """Whether something in a section's text may have a name: a tag, a footnote, a heading in a list."""
    if b"[^" in text or (b"<" in text and _TAG_NAME.search(text)):
        return True
    return markdown.may_have_nested_headings(text)


def _spellings(paths: Iterable[str]) -> frozenset[str | None]:
    """The paths as they are, without their endings, and the folders that they may be the pages of."""
    spelled: set[str | None] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        spelled |= {path, path.removesuffix(name) + name.rpartition(".")[0]}
        if stem.lower() in INDEX_STEMS:
            spelled.add(folder)
    return frozenset(spelled)


def _world(after: Overlay) -> OverlayWorld:
    # Imported here because what resolves links is, and most edits do without.
    from workspace.links.world import OverlayWorld

    return OverlayWorld(after)


def _vanished(world: OverlayWorld, path: str) -> Iterator[str]:
    """The folders above a path that are no more."""
    folder = path.rpartition("/")[0]
    while folder and not world.exists(folder):
        yield folder
        folder = folder.rpartition("/")[0]


def _shadowed(before: Overlay, new: str, rules: LinkRules) -> Iterator[str]:
    """The documents that links may no longer mean because one has come to the path `new`."""
    from workspace.links.world import OverlayWorld

    world = OverlayWorld(before)
    folder, _, name = new.rpartition("/")
    spelled: list[str] = []
    if new in index_paths(folder, rules):
        spelled += index_paths(folder, rules)
        if rules.omits_endings and folder:
            spelled += (folder + suffix for suffix in document_suffixes(rules))
    if rules.omits_endings:
        stem = without_suffix(new)
        spelled += (stem, *(stem + suffix for suffix in document_suffixes(rules)), *index_paths(stem, rules))
    for path in dict.fromkeys(spelled):
        if path != new and world.exists(path):
            yield path
    if rules.wiki:
        yield from world.stems.get(without_suffix(name).lower(), ())
