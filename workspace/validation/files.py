"""The files to validate: of a folder, of Git's index, or of a commit, with one interface.

The files of a folder do not include files that Git ignores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from workspace.config.config import WorkspaceConfig
from workspace.config.toml import CONFIG_PATH, MAX_FILE_BYTES
from workspace.errors import WorkspaceError
from workspace.git.store import is_ignored, read_staged_entries
from workspace.git.trees import walk_tree
from workspace.paths import escape_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.git.objects import TreeEntry
    from workspace.git.reader import GitReader


class UnreadableFile(WorkspaceError):
    """An error: a file of the folder cannot be read, or was deleted meanwhile. `path` is its path."""

    code: ClassVar[str] = "UNREADABLE_FILE"


class FileReader(Protocol):
    """A reader of files that can be sent to another process."""

    def get_size(self, path: str) -> int:
        """Return the size of a file in bytes. Raises UnreadableFile, DamagedRepository."""
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises UnreadableFile, DamagedRepository."""
        ...


@dataclass(frozen=True)
class FileSet:
    """The paths of regular files, and the reader of their bytes.

    `opaque_paths` are entries that are not read: symbolic links, submodules, other repositories.
    `settings` replace the settings of the `docyard.toml` among the files.
    """

    paths: frozenset[str]
    opaque_paths: frozenset[str]
    reader: FileReader
    settings: WorkspaceConfig | None = None

    @cached_property
    def config(self) -> WorkspaceConfig:
        """The effective settings. Raises InvalidConfig, UnreadableFile."""
        if self.settings is not None:
            return self.settings
        return WorkspaceConfig.read(self.read_toml(CONFIG_PATH) if CONFIG_PATH in self.paths else None)

    def read_toml(self, path: str) -> bytes:
        """Return the bytes of a settings file; for one that is too large, zeros that the parser refuses."""
        is_small = self.reader.get_size(path) <= MAX_FILE_BYTES
        return self.reader.read(path) if is_small else bytes(MAX_FILE_BYTES + 1)

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """The paths of the documents, in order."""
        return tuple(sorted(filter(self.config.is_document, self.paths)))

    @cached_property
    def manifests(self) -> tuple[str, ...]:
        """The paths of the taxonomy manifests, in order."""
        return tuple(sorted(filter(self.config.is_manifest, self.paths)))


@dataclass(frozen=True)
class FolderReader:
    """The reader of the files of a folder."""

    root: Path

    def get_size(self, path: str) -> int:
        """Return the size of a file in bytes. Raises UnreadableFile."""
        try:
            return os.lstat(f"{self.root}/{path}").st_size
        except OSError as error:
            raise _make_unreadable_error(path, error) from error

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; symbolic links are not followed. Raises UnreadableFile."""
        try:
            # The path is a string, because a Path takes as much time as the read itself.
            descriptor = os.open(f"{self.root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb", buffering=0) as stream:
                return stream.readall()
        except OSError as error:
            raise _make_unreadable_error(path, error) from error


@dataclass(frozen=True)
class BlobReader:
    """The reader of Git blobs; `blobs` are their ids by path."""

    git: GitReader
    blobs: Mapping[str, str]

    def get_size(self, path: str) -> int:
        """Return the size of a file in bytes. Raises DamagedRepository."""
        return self.git.blob_size(self.blobs[path])

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises DamagedRepository."""
        return self.git.blob(self.blobs[path])


def _make_unreadable_error(path: str, error: OSError) -> UnreadableFile:
    reason = error.strerror or type(error).__name__
    return UnreadableFile(
        f"{escape_path(path)} cannot be read: {reason}",
        fix="Fix the permissions of the file, or try again when no program writes to it.",
        path=escape_path(path),
    )


_GIT_FOLDER = ".git"


def list_folder(root: Path, git: GitReader | None) -> FileSet:
    """Return the files below a folder: the work tree of `git`, or a folder without a repository (None).

    Files that Git ignores are omitted, unless they are tracked. Symbolic links and nested repositories are
    opaque. Raises UnreadableFile.
    """
    is_path_ignored, tracked_paths = _find_ignored_and_tracked_paths(git)
    paths: list[str] = []
    opaque_paths: list[str] = []
    pending_folders = [""]
    while pending_folders:
        prefix = pending_folders.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError as error:
            raise UnreadableFile(
                f"the folder '{prefix or '.'}' cannot be read: {error.strerror or type(error).__name__}",
                fix="Fix the permissions of the folder, or add it to .gitignore.",
                path=prefix,
            ) from error
        for entry in entries:
            path = prefix + entry.name
            if entry.name == _GIT_FOLDER:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if path not in tracked_paths and is_path_ignored(path + "/" if is_folder else path):
                continue
            if is_folder:
                if os.path.lexists(f"{entry.path}/{_GIT_FOLDER}"):
                    opaque_paths.append(path)
                else:
                    pending_folders.append(path + "/")
            elif entry.is_symlink():
                opaque_paths.append(path)
            elif entry.is_file(follow_symlinks=False):
                paths.append(path)
    return FileSet(frozenset(paths), frozenset(opaque_paths), FolderReader(root))


def list_index(git: GitReader) -> FileSet:
    """Return the files of Git's index. Raises DamagedRepository."""
    return _build_file_set(git, read_staged_entries(git))


def list_commit(git: GitReader, commit: str) -> FileSet:
    """Return the files of a commit. Raises DamagedRepository."""
    return _build_file_set(git, dict(walk_tree(git, git.commit(commit).tree)))


def _build_file_set(git: GitReader, entries: Mapping[str, TreeEntry]) -> FileSet:
    blobs = {path: entry.id for path, entry in entries.items() if entry.is_blob}
    opaque_paths = frozenset(
        path for path, entry in entries.items() if not entry.is_blob and not entry.is_tree
    )
    return FileSet(frozenset(blobs), opaque_paths, BlobReader(git, blobs))


def _find_ignored_and_tracked_paths(git: GitReader | None) -> tuple[Callable[[str], bool], set[str]]:
    """Return a function that is True for ignored paths, and the paths and folders that Git tracks."""
    if git is None:
        return (lambda path: False), set()
    tracked_paths: set[str] = set()
    for path in read_staged_entries(git):
        while path and path not in tracked_paths:
            tracked_paths.add(path)
            path = path.rpartition("/")[0]
    return partial(is_ignored, git), tracked_paths
