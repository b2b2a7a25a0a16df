"""Checks of the search index. They change nothing; what a finding offers to mend is done only when asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.doctor.disks import check_disks
from docyard.doctor.finding import Finding, Severity, count
from docyard.doctor.taxonomy import check_values

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.workspace import Workspace

AREA = "index"
_REBUILD = "docyard index rebuild"


def check_index(workspace: Workspace) -> Iterator[Finding]:
    """What is wrong with the index of the served branch, and what is left of others."""
    from index.service import SearchIndex

    index = SearchIndex(workspace)
    status = index.status()
    if status.folder is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "the index has no folder that only this user can write, so each process builds its own in memory",
            "Let this user write the repository's Git folder, or its own cache folder.",
        )
        return
    if status.folder.stat().st_dev != workspace.git.common_dir.stat().st_dev:
        yield from check_disks([(status.folder, "the search index")])
    if status.blocked:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the index's own folder cannot be used: {' and '.join(status.blocked)} in it cannot be written "
            "(a folder or a link in its place, or its permissions), so searches are answered from elsewhere",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index/{status.folder.name}" && '
            f"rm -r {' '.join(status.blocked)}",
        )
    elif status.damaged:
        yield Finding(
            Severity.ERROR,
            AREA,
            "the index is damaged; the next search rebuilds it",
            _REBUILD,
            mend=lambda: _rebuilt(index),
        )
    elif status.state is None:
        yield Finding(Severity.NOTE, AREA, "there is no index yet; the first search builds it", _REBUILD)
    elif not status.is_current:
        yield Finding(
            Severity.NOTE, AREA, "the index is behind the branch; the next search brings it up to date"
        )
    if status.busy:
        yield Finding(Severity.NOTE, AREA, "some process is writing the index now")
    if status.leftovers:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"a docyard died while it wrote the index, and left {count(status.leftovers, 'file', 'files')}; "
            "the next change of the index sweeps them away",
            mend=lambda: _swept(index),
        )
    yield from _orphans(workspace, status.folder.parent, status.folder.name, status.schema)
    if status.is_current:
        yield from check_values(index)


def _rebuilt(index: SearchIndex) -> str:
    try:
        index.rebuild()
    finally:
        index.close()
    return "built the index anew"


def _swept(index: SearchIndex) -> str | None:
    return "removed what unfinished work left in the index's folder" if index.sweep() else None


def _orphans(workspace: Workspace, parent: Path, own: str, schema: int) -> Iterator[Finding]:
    """Folders of this user's that no index will use again, as far as can be told."""
    from index.storage.location import index_name

    branch = "x"
    suffix = index_name(schema, branch).removeprefix(f"{schema}-{branch}")
    used = {own, *(index_name(schema, name) for name in workspace.git.branches())}
    left = [
        entry.name
        for entry in sorted(parent.iterdir())
        if entry.is_dir()
        and entry.name not in used
        and entry.name.endswith(suffix)
        and _is_left(entry.name.partition("-"), schema)
    ]
    if left:
        names = " ".join(left[:10])
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(left, 'index folder', 'index folders')} of earlier versions or of deleted branches: "
            "they only take up room",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index" && rm -r {names}',
            mend=lambda: _removed([parent / name for name in left]),
        )


def _removed(folders: list[Path]) -> str | None:
    """Remove folders of indexes that nobody is writing."""
    from index.storage.files import remove
    from index.storage.location import Location
    from index.storage.locking import is_locked

    idle = [folder for folder in folders if not is_locked(Location(folder).lock)]
    remove(idle)
    gone = [folder.name for folder in idle if not folder.exists()]
    return f"removed {count(gone, 'index folder', 'index folders')} that nothing uses" if gone else None


def _is_left(name: tuple[str, str, str], schema: int) -> bool:
    """Whether a folder is of this version or an earlier one. A detached work tree's own is not judged."""
    version, _, rest = name
    return version.isdecimal() and (
        int(version) < schema or (int(version) == schema and not rest.startswith("detached-"))
    )
