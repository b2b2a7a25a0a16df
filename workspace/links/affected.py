"""What an operation may have done to links: the paths at which a link may mean something else afterwards.

It is asked after every edit, so it says "nothing" quickly where no name of a place can have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.config import DOCUMENT_SUFFIXES, LimitExceeded
from workspace.links.link import LinkKind
from workspace.links.targets import document_suffixes, index_paths, read_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.document import Document, Section
    from workspace.links.link import Link
    from workspace.links.rules import LinkRules
    from workspace.links.survival import Survival
    from workspace.overlay import Overlay

# What may give names to places in a section's text: a heading in a list or a quotation, with marks or
# underlined, a tag with an id, a footnote.
_NAMED = re.compile(
    rb"^[ \t>*+0-9.)-]*[ \t>*+.)-]#{1,6}(?:[ \t][^\r\n]*|\r?$)|^[^\r\n]*\r?\n[ \t>]+(?:=+|-+)[ \t]*\r?$"
    rb"|<[a-z][^<>]{0,10000}?\b(?:id|name)\s*=[^<>]{0,10000}|^[ \t>*+0-9.)-]*\[\^[^\]\r\n]{0,1000}",
    re.IGNORECASE | re.MULTILINE,
)
# What hides names, where there are any.
_HIDING = re.compile(
    rb"^[ \t>*+0-9.)-]*(?:`{3,}|~{3,})|<!--|-->|<(?:script|style|pre|textarea)", re.IGNORECASE | re.MULTILINE
)


_INDEXES = ("readme", "index")
_TOP = "top"  # the document itself, unless something is named so


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
                vanished |= dict.fromkeys(_vanished(after, path), now)
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
        and _names_alike(old.source(one), new.source(other))
        for one, other in zip(old.sections, new.sections, strict=True)
    ):
        return False
    # Imported here because the parser is, and most edits do without.
    from workspace.links.names import DOCUMENT, find_place, names_of

    names = names_of(new, rules.dialect)
    if find_place(names, _TOP) != find_place(names_of(old, rules.dialect), _TOP) == DOCUMENT:
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


def _names_alike(old: bytes, new: bytes) -> bool:
    """Whether two texts of a section surely give the same names to places in them, in the same order."""
    if old == new:
        return True
    named = _NAMED.findall(old)
    return named == _NAMED.findall(new) and (not named or _HIDING.findall(old) == _HIDING.findall(new))


def _spellings(paths: Iterable[str]) -> frozenset[str | None]:
    """The paths as they are, without their endings, and the folders that they may be the pages of."""
    spelled: set[str | None] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        spelled |= {path, path.removesuffix(name) + name.rpartition(".")[0]}
        if stem.lower() in _INDEXES:
            spelled.add(folder)
    return frozenset(spelled)


def _vanished(after: Overlay, path: str) -> Iterator[str]:
    """The folders above a path that are no more."""
    from workspace.links.worlds import OverlayWorld

    world = OverlayWorld(after)
    folder = path.rpartition("/")[0]
    while folder and not world.exists(folder):
        yield folder
        folder = folder.rpartition("/")[0]


def _shadowed(before: Overlay, new: str, rules: LinkRules) -> Iterator[str]:
    """The documents that links may no longer mean because one has come to the path `new`."""
    from workspace.links.worlds import OverlayWorld

    world = OverlayWorld(before)
    folder, _, name = new.rpartition("/")
    spelled: list[str] = []
    if new in index_paths(folder, rules):
        spelled += index_paths(folder, rules)
        if rules.omits_endings and folder:
            spelled += (folder + suffix for suffix in document_suffixes(rules))
    if rules.omits_endings:
        stem = _without_suffix(new)
        spelled += (stem, *(stem + suffix for suffix in document_suffixes(rules)), *index_paths(stem, rules))
    for path in dict.fromkeys(spelled):
        if path != new and world.exists(path):
            yield path
    if rules.wiki:
        yield from world.stems.get(_without_suffix(name).lower(), ())


def _without_suffix(path: str) -> str:
    suffix = next((suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)), "")
    return path.removesuffix(suffix)
