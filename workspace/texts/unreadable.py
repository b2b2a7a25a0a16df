"""Why a path cannot be read as a text, and which paths are near it that can."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from workspace.config.config import CONFIG_PATH
from workspace.document.addresses import nearest
from workspace.errors import Among, Listed
from workspace.git import trees
from workspace.git.objects import LINK_MODE
from workspace.snapshot.snapshot import NOTHING_YET, DocumentNotFound, not_committed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git.objects import Entry
    from workspace.snapshot.snapshot import Snapshot

_SHOWN = 200
_CANDIDATES = 5

# To walk all of a huge tree would take longer than an error is worth.
_MOST_NAMES = 200_000


class NotAFile(DocumentNotFound):
    """A folder, a symbolic link or a submodule stands at this path; `is` says which."""

    code: ClassVar[str] = "NOT_A_FILE"


def readable_paths(snapshot: Snapshot) -> Iterator[str]:
    """The paths of all regular files that may be read, in Git's order; their bytes are not looked at."""
    if snapshot.tree is None:
        return
    is_readable = snapshot.config.is_readable
    for path, entry in trees.walk(snapshot.git, snapshot.tree):
        if entry.is_blob and is_readable(path):
            yield path


def unreadable(snapshot: Snapshot, path: str, entry: Entry | None) -> DocumentNotFound:
    """The error for a path at which `entry` stands, or nothing, and no file that may be read."""
    shown = path if len(path) <= _SHOWN else path[:_SHOWN] + "…"
    if path == "." or (entry is not None and entry.is_tree):
        within = "" if path == "." else path.rstrip("/") + "/"
        inside = (name for name in readable_paths(snapshot) if name.startswith(within))
        candidates = list(islice(inside, _CANDIDATES))
        fix = f"Name a file in it, such as '{candidates[0]}'." if candidates else "Name a file."
        return _not_a_file(shown, "a folder", fix, candidates)
    if entry is None:
        return _nothing(snapshot, path, shown)
    if not entry.is_blob:
        kind = "a symbolic link" if entry.mode == LINK_MODE else "a submodule"
        return _not_a_file(shown, kind, f"It is not followed; {_READ[kind]}.", [])
    return DocumentNotFound(
        f"'{shown}' is not a file that this workspace shows",
        fix=f"Name another: `root` and `exclude` in {CONFIG_PATH} decide, and folders that begin with a dot "
        "are left out.",
        candidates=[],
    )


_READ = {
    "a symbolic link": "name the file that it leads to",
    "a submodule": "serve that repository to read its files",
}


def _not_a_file(shown: str, kind: str, fix: str, candidates: list[str]) -> NotAFile:
    details: dict[str, Any] = {"candidates": candidates, "is": kind}
    return NotAFile(f"'{shown}' is {kind}", fix=fix, **details)


def _nothing(snapshot: Snapshot, path: str, shown: str) -> DocumentNotFound:
    """The error for a path that does not exist in the commit."""
    names = list(islice(readable_paths(snapshot), _MOST_NAMES))
    close = nearest(path, names)
    if snapshot.config.is_readable(path) and snapshot.in_work_tree(path):
        return not_committed(shown, close)
    if close:
        return DocumentNotFound(f"no file '{shown}'", fix=f"Did you mean '{close[0]}'?", candidates=close)
    return DocumentNotFound(
        f"no file '{shown}'",
        fix="Name a file that the commit has." if snapshot.commit else NOTHING_YET,
        among=Among(Listed.DOCUMENTS) if snapshot.commit else None,
        candidates=names[:_CANDIDATES],
    )
