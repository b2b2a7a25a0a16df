"""Checks of the search index, and of the file systems that are written to.

The checks change nothing; a fix runs only on request.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard import environment
from docyard.doctor.documents import check_taxonomy
from docyard.doctor.finding import Finding, Severity, format_count

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.workspace import Workspace

_DISK_AREA = "environment"
FULL_DISK_BYTES, NEARLY_FULL_DISK_BYTES = 1_000_000, 50_000_000
"""Free bytes of a disk. Below the first limit a commit may fail; below the second it may fail soon."""


def check_disks(folders: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    """Yield one finding for each file system that is mounted read-only or nearly full.

    `folders` are the folders that are written to, with their labels. A message names the first folder of a
    file system, and the folders there that are not below a named folder.
    """
    disks: dict[tuple[int, bool], list[tuple[Path, str]]] = {}
    for folder, name in folders:
        if folder.is_dir():
            entries = disks.setdefault((folder.stat().st_dev, is_read_only(folder)), [])
            if not any(folder.is_relative_to(first_folder) for first_folder, _ in entries):
                entries.append((folder, name))
    for (_, read_only), entries in disks.items():
        label = " and ".join(name for _, name in entries)
        if read_only:
            yield Finding(
                Severity.WARNING,
                _DISK_AREA,
                f"the file system of {label} is mounted read-only, so nothing can be written there",
                "Mount it for writing (mount -o remount,rw), or use `docyard serve --read-only`.",
            )
        else:
            yield from check_free_space(shutil.disk_usage(entries[0][0]).free, label)


def check_free_space(free_bytes: int, label: str) -> Iterator[Finding]:
    """Yield a finding if a disk has too few free bytes."""
    if free_bytes >= NEARLY_FULL_DISK_BYTES:
        return
    is_full = free_bytes < FULL_DISK_BYTES
    free_text = (
        f"{free_bytes / 1_000_000:.0f} MB are"
        if free_bytes >= FULL_DISK_BYTES
        else f"{free_bytes // 1000} kB are"
    )
    yield Finding(
        Severity.ERROR if is_full else Severity.WARNING,
        _DISK_AREA,
        f"the disk of {label} is {'full' if is_full else 'nearly full'}: {free_text} free",
        "Free some space there; df -h shows the use of each disk. Then repeat the failed call.",
    )


def is_read_only(folder: Path) -> bool:
    """Return True if a folder's file system is known to be mounted read-only."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


AREA = "index"
_REBUILD_COMMAND = "docyard index rebuild"


def check_index(workspace: Workspace) -> Iterator[Finding]:
    """Yield the problems of the served branch's index, and the unused folders of other indexes."""
    from index.port import EngineUnavailable
    from index.service import SearchIndex

    index = SearchIndex(workspace, engine=environment.read_engine_options())
    try:
        status = index.status()
    except EngineUnavailable as error:
        yield Finding(Severity.ERROR, AREA, error.message, error.fix)
        return
    if status.folder is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "the index has no folder that only this user can write, so each process indexes in memory",
            "Make the repository's Git folder, or this user's cache folder, writable for this user.",
        )
        return
    if status.folder.stat().st_dev != workspace.git.common_dir.stat().st_dev:
        yield from check_disks([(status.folder, "the search index")])
    if status.blocked:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"docyard cannot write {' and '.join(status.blocked)} in the index's own folder (a folder or a "
            "symbolic link has that name, or permissions are missing), so searches use another index",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index/{status.folder.name}" && '
            f"rm -r {' '.join(status.blocked)}",
        )
    elif status.is_damaged:
        yield Finding(
            Severity.ERROR,
            AREA,
            "the index is damaged; the next search rebuilds it",
            _REBUILD_COMMAND,
            apply_fix=lambda: _rebuild_index(index),
        )
    elif status.state is None:
        yield Finding(
            Severity.NOTE, AREA, "there is no index yet; the first search builds it", _REBUILD_COMMAND
        )
    elif not status.is_current:
        yield Finding(Severity.NOTE, AREA, "the index is behind the branch; the next search updates it")
    if status.is_busy:
        yield Finding(Severity.NOTE, AREA, "a process is writing the index")
    if status.leftovers:
        yield Finding(
            Severity.NOTE,
            AREA,
            "a docyard process died while it wrote the index, and left "
            f"{format_count(status.leftovers, 'file', 'files')}; "
            "the next change of the index removes them",
            apply_fix=lambda: _sweep_index(index),
        )
    yield from _check_unused_folders(workspace, status.folder.parent, status.folder.name, status.schema)
    if status.is_current:
        yield from check_taxonomy(index)


def _rebuild_index(index: SearchIndex) -> str:
    try:
        index.rebuild()
    finally:
        index.close()
    return "rebuilt the index"


def _sweep_index(index: SearchIndex) -> str | None:
    return "removed leftover files from the index's folder" if index.sweep() else None


def _check_unused_folders(
    workspace: Workspace, parent: Path, own_name: str, schema: int
) -> Iterator[Finding]:
    """Yield a finding for the index folders of this user that no branch uses."""
    from index.storage.location import make_index_name

    example_branch = "x"
    suffix = make_index_name(schema, example_branch).removeprefix(f"{schema}-{example_branch}")
    used_names = {own_name, *(make_index_name(schema, name) for name in workspace.git.branches())}
    unused_names = [
        entry.name
        for entry in sorted(parent.iterdir())
        if entry.is_dir()
        and entry.name not in used_names
        and entry.name.endswith(suffix)
        and _is_removable(entry.name.partition("-"), schema)
    ]
    if unused_names:
        names = " ".join(unused_names[:10])
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(unused_names, 'index folder is', 'index folders are')} not used any more, "
            "because the format is old or the branch was deleted",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index" && rm -r {names}',
            apply_fix=lambda: _remove_folders([parent / name for name in unused_names]),
        )


def _remove_folders(folders: list[Path]) -> str | None:
    """Remove index folders that no process is writing."""
    from index.storage.files import remove_entries
    from index.storage.location import IndexFolder
    from index.storage.locking import is_locked

    unlocked_folders = [folder for folder in folders if not is_locked(IndexFolder(folder).lock)]
    remove_entries(unlocked_folders)
    removed_names = [folder.name for folder in unlocked_folders if not folder.exists()]
    return (
        f"removed {format_count(removed_names, 'unused index folder', 'unused index folders')}"
        if removed_names
        else None
    )


def _is_removable(name_parts: tuple[str, str, str], schema: int) -> bool:
    """Return True if the folder's index has the format `schema` or an earlier one.

    An index of a detached work tree is not removable, because it may be in use.
    """
    version, _, rest = name_parts
    return version.isdecimal() and (
        int(version) < schema or (int(version) == schema and not rest.startswith("detached-"))
    )
