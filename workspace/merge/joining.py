"""What stands between two blocks that a merge puts beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END_BYTES
from workspace.merge.three_way import CLASH, three_way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.merge.blocks import Id, Piece, Version

HEAD: Id = ("head", 0)
"""Stands before the first block of a row."""


class Separators:
    """The bytes between blocks, as the versions have them: base, ours, theirs."""

    def __init__(self, versions: Sequence[Version], ending: bytes, *, head_is_item: bool) -> None:
        self._versions = versions
        self._ending = ending
        self._head_is_item = head_is_item
        self._previous = [
            dict(zip(version.pieces, [HEAD, *version.pieces], strict=False)) for version in versions
        ]
        self._next = [{above: id for id, above in previous.items()} for previous in self._previous]

    def between(self, above: Id, id: Id) -> bytes:
        """What parts a block from the one above it: as it is where they stand so, else as is usual there."""
        found = self._merged(id, above)
        if found is not None:
            return found
        if self._series(above) is not None and self._series(above) == self._series(id):
            return self._of_list(above, id)
        usual = self._ending * 2
        found = self._merged(id, None) or usual
        return found if len(LINE_END_BYTES.findall(found)) > 1 else usual

    def _merged(self, id: Id, above: Id | None) -> bytes | None:
        """What stands before a block in the versions that have it below that one, or below any."""
        had = [
            version.pieces[id].before
            if id in version.pieces and (previous[id] == above or (above is None and previous[id] != HEAD))
            else None
            for version, previous in zip(self._versions, self._previous, strict=True)
        ]
        base, ours, theirs = had
        if ours is None or theirs is None:
            return ours if ours is not None else theirs if theirs is not None else base
        merged = three_way(base, ours, theirs)
        return ours if merged is CLASH else merged

    def _of_list(self, above: Id, id: Id) -> bytes:
        """What parts the items of the list that one of two comes from, or the definitions."""
        series = self._series(id)
        for version, previous, following in zip(
            reversed(self._versions), reversed(self._previous), reversed(self._next), strict=True
        ):
            if id in version.pieces and previous[id] != HEAD and self._series(previous[id]) == series:
                return version.pieces[id].before
            below = following.get(above)
            if below is not None and self._series(below) == series:
                return version.pieces[below].before
        return self._ending

    def _series(self, id: Id) -> str | None:
        if id == HEAD:
            return "item" if self._head_is_item else None
        piece = self._piece(id)
        return piece.series if piece is not None else None

    def _piece(self, id: Id) -> Piece | None:
        return next((version.pieces[id] for version in self._versions if id in version.pieces), None)
