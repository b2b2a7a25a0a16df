"""Why a path cannot be read as a text, and which paths are near it that can."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from workspace import trees
from workspace.addresses import nearest
from workspace.config import CONFIG_PATH
from workspace.objects import LINK_MODE
from workspace.snapshot import DocumentNotFound, NotCommitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.objects import Entry
    from workspace.snapshot import Snapshot

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
    if entry is None:
        return _nothing(snapshot, path, shown)
    if entry.is_tree:
        inside = (name for name in readable_paths(snapshot) if name.startswith(path.rstrip("/") + "/"))
        candidates = list(islice(inside, _CANDIDATES))
        fix = f"Name a file in it, such as '{candidates[0]}'." if candidates else "Name a file."
        return _not_a_file(shown, "a folder", fix, candidates)
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
    return NotAFile(f"'{shown}' is {kind}", fix=fix, candidates=candidates, **{"is": kind})


def _nothing(snapshot: Snapshot, path: str, shown: str) -> DocumentNotFound:
    """The error for a path that does not exist in the commit."""
    names = list(islice(readable_paths(snapshot), _MOST_NAMES))
    close = nearest(path, names)
    if snapshot.config.is_readable(path) and snapshot.in_work_tree(path) and not _at_head(snapshot, path):
        return NotCommitted(
            f"'{shown}' is not committed yet: the file is in the work tree but in no commit",
            fix="Commit it first; only commits are read.",
            candidates=close,
        )
    fix = f"Did you mean '{close[0]}'?" if close else "list_documents shows every document."
    return DocumentNotFound(f"no file '{shown}'", fix=fix, candidates=close or names[:_CANDIDATES])


def _at_head(snapshot: Snapshot, path: str) -> bool:
    """Whether the commit that is checked out has the path, so that it is only the one read that lacks it."""
    head = snapshot.git.head().commit
    return head is not None and trees.find(snapshot.git, snapshot.git.commit(head).tree, path) is not None
