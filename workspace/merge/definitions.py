"""Names of links and footnotes that two sides of a merge gave to different things.

A document has one space for these names, and of two definitions the first counts (CommonMark 0.31 §4.7): the
links of the other side would lead elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.merge.blocks import DEFINITION, label_of, pieces_of
from workspace.merge.text import is_costly

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.merge.sections import Id, Side


def disputed_definitions(base: Side | None, ours: Side, theirs: Side) -> set[Id]:
    """The sections of theirs that define a name anew which ours defines anew elsewhere, as something else.

    What both define in one section is a conflict of its text. Raises LimitExceeded.
    """
    labels = _labels(ours.document) & _labels(theirs.document)
    if base is not None:
        labels -= _labels(base.document)
    if not labels:
        return set()
    mine, yours = _definitions(ours, labels), _definitions(theirs, labels)
    return {
        id
        for label, found in yours.items()
        for id, said in found.items()
        if label in mine and id not in mine[label] and said not in mine[label].values()
    }


def _labels(document: Document) -> set[bytes]:
    """What may be a name: it is not told yet whether it stands in a fence."""
    return {label_of(found) for found in DEFINITION.finditer(document.data)}


def _definitions(side: Side, labels: set[bytes]) -> dict[bytes, dict[Id, list[bytes]]]:
    """What the sections of a side say that some names mean: by name, and then by section."""
    found: dict[bytes, dict[Id, list[bytes]]] = {}
    for id in side.sections:
        text = side.text(id)
        if is_costly(text) or not any(label_of(item) in labels for item in DEFINITION.finditer(text)):
            continue
        for piece in pieces_of(text):
            if piece.label in labels:
                # Of two in one section the first counts.
                found.setdefault(piece.label, {}).setdefault(id, piece.text.split())
    return found
