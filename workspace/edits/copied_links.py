"""The links in definitions that are copied to another document, or left behind by a section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import markdown
from workspace.links.definitions import definitions_of
from workspace.links.link import LinkKind
from workspace.links.reader import links_of
from workspace.links.survival import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.edits.moved_definitions import Copy
    from workspace.links.definitions import Definition
    from workspace.links.link import Link


def copied_links(
    source: Document, now: Iterable[Document], copies: Iterable[Copy], rules: LinkRules
) -> Iterator[Piece]:
    """The destinations in copies of definitions of `source`, and where each stands in the documents `now`."""
    documents = {document.path: document for document in now}
    for copy in copies:
        document = documents[copy.path]
        item = definitions_of(document, rules).get(markdown.normalized_label(copy.label))
        if item is None:
            continue
        for old, new in zip(_links(source, copy.item), _links(document, item), strict=False):
            yield Piece(
                source.path, old.destination_start, old.destination_end, copy.path, new.destination_start
            )


def _links(document: Document, item: Definition) -> list[Link]:
    """The links in a definition that have a destination of their own."""
    return [
        link
        for link in links_of(document).links
        if item.start <= link.destination_start < item.end and link.kind is not LinkKind.REFERENCE
    ]
