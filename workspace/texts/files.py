"""The files of a commit, as something that a path is in: what tells a `#` in a name from one behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot


class Files:
    """The paths of a snapshot's regular files, each looked for when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __contains__(self, path: object) -> bool:
        entry = self._snapshot.entry(path) if isinstance(path, str) else None
        return entry is not None and entry.is_blob
