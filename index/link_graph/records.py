"""What is kept of a document's links: those that may lead to another file of the repository."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from index.link_graph.spelled import ANYTHING, keys_of_link
from workspace.links.link import LinkKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

LONGEST = 4_096
"""Characters of a destination that are kept. A document with a longer one may link to anything."""

_KINDS = {kind.value: kind for kind in LinkKind}


class Reference(NamedTuple):
    """A link as the graph remembers it: the key of the section that it stands in (None: of none), its line
    from 1, what it is, and its destination as `Link.destination` says it."""

    section: str | None
    line: int
    kind: LinkKind
    is_image: bool
    destination: str


class Record(NamedTuple):
    """A document's links, in order of place; if `is_open`, not all of them, and it may link anywhere."""

    references: tuple[Reference, ...] = ()
    is_open: bool = False

    def keys(self, source: str, rules: LinkRules) -> frozenset[int]:
        """The keys of all that the links of the document `source` may mean."""
        found = {ANYTHING} if self.is_open else set()
        for destination, kind in {(item.destination, item.kind) for item in self.references}:
            found.update(keys_of_link(kind, destination, source, rules))
        return frozenset(found)

    def written(self) -> bytes:
        """The record as bytes."""
        rows = [
            [item.section, item.line, item.kind.value, item.is_image, item.destination]
            for item in self.references
        ]
        return json.dumps([self.is_open, rows], separators=(",", ":")).encode()

    @classmethod
    def read(cls, data: bytes) -> Record:
        """The record that was written. Raises ValueError."""
        is_open, rows = json.loads(data)
        try:
            return cls(
                tuple(
                    Reference(section, line, _KINDS[kind], is_image, destination)
                    for section, line, kind, is_image, destination in rows
                ),
                is_open,
            )
        except KeyError as error:
            raise ValueError(f"no link is a {error}") from error


OPEN = Record(is_open=True)
"""The record of a document that could not be read."""


def reference(document: Document, link: Link) -> Reference:
    """What is kept of a link in a document."""
    section = document.section_at(link.start)
    key = section.key if section else None
    return Reference(key, link.line, link.kind, link.is_image, link.destination)


def record_of(document: Document, rules: LinkRules) -> Record:
    """What is kept of a document."""
    from workspace.links.reader import links_of

    references: list[Reference] = []
    is_open = False
    for link in links_of(document, wiki=rules.wiki).links:
        if not _may_leave(link.destination, link.kind):
            continue
        if len(link.destination) > LONGEST:
            is_open = True
            continue
        references.append(reference(document, link))
    return Record(_local(references, document.path, rules), is_open)


def _may_leave(destination: str, kind: LinkKind) -> bool:
    """Whether a link may lead to another file; what stays in its document is known from that."""
    return kind is not LinkKind.AUTOLINK and not destination.startswith(("#", "https://", "http://"))


def _local(references: Iterable[Reference], source: str, rules: LinkRules) -> tuple[Reference, ...]:
    known: dict[tuple[LinkKind, str], bool] = {}
    kept: list[Reference] = []
    for item in references:
        what = (item.kind, item.destination)
        if what not in known:
            known[what] = any(True for _ in keys_of_link(item.kind, item.destination, source, rules))
        if known[what]:
            kept.append(item)
    return tuple(kept)
