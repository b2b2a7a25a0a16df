"""Where documents and sections of a branch are now, for links that still name them by what they were."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workspace.history.moves import renamed_documents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.history.moves import Moves
    from workspace.snapshot.snapshot import Snapshot

_MOST_SECTIONS = 500
"""Sections that are looked for in the history by one fix: each may read some old versions of its document."""


class HistoryNeeded(Exception):
    """The history of a section is asked for where it is not at hand."""


@dataclass(frozen=True)
class RenamedDocuments:
    """What `History` tells of documents alone; it can be sent to another process."""

    renamed: Mapping[str, str]

    def document(self, path: str) -> str | None:
        """The path of a document that once stood at this one."""
        return self.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """Raises HistoryNeeded."""
        raise HistoryNeeded


class History:
    """What the last 1,000 commits before a tip tell (`workspace.fixing.broken_link.Elsewhere`)."""

    def __init__(self, tip: Snapshot, moves: Moves) -> None:
        self._tip, self._moves = tip, moves
        self._left = _MOST_SECTIONS

    def document(self, path: str) -> str | None:
        """The path of a document that once stood at this one."""
        return self.documents.renamed.get(path)

    def section(self, path: str, fragment: str) -> tuple[str, str] | None:
        """The path and address of a section that once had this one; at most 500 are looked for."""
        self._left -= 1
        move = self._moves.find(self._tip, path, fragment) if self._left >= 0 else None
        return None if move is None or move.fragment is None else (move.path, move.fragment)

    @cached_property
    def documents(self) -> RenamedDocuments:
        """What it tells of documents."""
        return RenamedDocuments(renamed_documents(self._tip))
