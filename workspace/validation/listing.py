"""Which files count: those of a folder that Git does not ignore, those of Git's index, those of a commit."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workspace.git.files import is_ignored, staged
from workspace.git.trees import walk
from workspace.validation.files import BlobReader, Files, FolderReader, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.git import GitReader
    from workspace.git.objects import Entry

_GIT = ".git"


def of_folder(root: Path, git: GitReader | None) -> Files:
    """The files below a folder, which is the work tree of `git` or in no repository.

    Those that Git ignores are left out unless they are tracked. Symbolic links are not followed, and folders
    that are repositories of their own are not entered. Raises UnreadableFile.
    """
    ignores, folders = _ignoring(git)
    paths: list[str] = []
    opaque: list[str] = []
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError as error:
            raise UnreadableFile(
                f"the folder '{prefix or '.'}' cannot be read: {error.strerror or type(error).__name__}",
                fix="Mend its permissions, or have Git ignore it.",
                path=prefix,
            ) from error
        for entry in entries:
            path = prefix + entry.name
            if entry.name == _GIT:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if path not in folders and ignores(path + "/" if is_folder else path):
                continue
            if is_folder:
                if os.path.lexists(f"{entry.path}/{_GIT}"):
                    opaque.append(path)
                else:
                    waiting.append(path + "/")
            elif entry.is_symlink():
                opaque.append(path)
            elif entry.is_file(follow_symlinks=False):
                paths.append(path)
    return Files(frozenset(paths), frozenset(opaque), FolderReader(root))


def of_index(git: GitReader) -> Files:
    """The files of Git's index: what the next commit will have. Raises DamagedRepository."""
    return _of_entries(git, staged(git))


def of_commit(git: GitReader, commit: str) -> Files:
    """The files of a commit. Raises DamagedRepository."""
    return _of_entries(git, dict(walk(git, git.commit(commit).tree)))


def _of_entries(git: GitReader, entries: Mapping[str, Entry]) -> Files:
    blobs = {path: entry.id for path, entry in entries.items() if entry.is_blob}
    opaque = frozenset(path for path, entry in entries.items() if not entry.is_blob and not entry.is_tree)
    return Files(frozenset(blobs), opaque, BlobReader(git, blobs))


def _ignoring(git: GitReader | None) -> tuple[Callable[[str], bool], set[str]]:
    """Whether Git ignores a path, and the paths and folders that it tracks."""
    if git is None:
        return (lambda path: False), set()
    tracked: set[str] = set()
    for path in staged(git):
        while path and path not in tracked:
            tracked.add(path)
            path = path.rpartition("/")[0]
    return partial(is_ignored, git), tracked
