"""Checks of the search index. They change nothing; what a finding offers to mend is done only when asked.

Checks of the file systems that are written to: whether they may be, and whether there is room.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.doctor.documents import check_values
from docyard.doctor.finding import Finding, Severity, format_count

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.workspace import Workspace

_DISK_AREA = "environment"
FULL, NEARLY_FULL = 1_000_000, 50_000_000
"""Bytes: with less than the first a commit may not fit, with less than the second it soon may not."""


def check_disks(places: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    """Yield one finding for each file system that is mounted read-only or short of room.

    `places` are the folders that are written to, with words for them; the first of a file system names it,
    and others that are not below it.
    """
    disks: dict[tuple[int, bool], list[tuple[Path, str]]] = {}
    for folder, what in places:
        if folder.is_dir():
            found = disks.setdefault((folder.stat().st_dev, is_read_only(folder)), [])
            if not any(folder.is_relative_to(other) for other, _ in found):
                found.append((folder, what))
    for (_, read_only), found in disks.items():
        words = " and ".join(what for _, what in found)
        if read_only:
            yield Finding(
                Severity.WARNING,
                _DISK_AREA,
                f"the file system of {words} is mounted read-only, so nothing can be written there",
                "Mount it for writing (mount -o remount,rw), or use `docyard serve --read-only`.",
            )
        else:
            yield from check_free_space(shutil.disk_usage(found[0][0]).free, words)


def check_free_space(free: int, words: str) -> Iterator[Finding]:
    """Yield what is to be said of so many free bytes."""
    if free >= NEARLY_FULL:
        return
    is_full = free < FULL
    left = f"{free / 1_000_000:.0f} MB are" if free >= FULL else f"{free // 1000} kB are"
    yield Finding(
        Severity.ERROR if is_full else Severity.WARNING,
        _DISK_AREA,
        f"the disk of {words} is {'full' if is_full else 'nearly full'}: {left} free",
        "Make room there; df -h shows how full each disk is. What failed can then be sent again.",
    )


def is_read_only(folder: Path) -> bool:
    """Return True if a folder's file system is mounted for reading only, as far as the system tells."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


AREA = "index"
_REBUILD = "docyard index rebuild"


def check_index(workspace: Workspace) -> Iterator[Finding]:
    """Yield what is wrong with the index of the served branch, and what is left of others."""
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
            "a docyard died while it wrote the index, and left "
            f"{format_count(status.leftovers, 'file', 'files')}; "
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
    """Yield folders of this user's that no index will use again, as far as can be told."""
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
            f"{format_count(left, 'index folder', 'index folders')} of earlier versions or of "
            "deleted branches: "
            "they only take up room",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index" && rm -r {names}',
            mend=lambda: _removed([parent / name for name in left]),
        )


def _removed(folders: list[Path]) -> str | None:
    """Remove folders of indexes that nobody is writing."""
    from index.storage.files import remove_entries
    from index.storage.location import Location
    from index.storage.locking import is_locked

    idle = [folder for folder in folders if not is_locked(Location(folder).lock)]
    remove_entries(idle)
    gone = [folder.name for folder in idle if not folder.exists()]
    return (
        f"removed {format_count(gone, 'index folder', 'index folders')} that nothing uses" if gone else None
    )


def _is_left(name: tuple[str, str, str], schema: int) -> bool:
    """Return True if a folder is of this version or an earlier one.

    A detached work tree's own is not judged.
    """
    version, _, rest = name
    return version.isdecimal() and (
        int(version) < schema or (int(version) == schema and not rest.startswith("detached-"))
    )
