"""The contents of an artifact: the documents of a commit or of a folder, and their tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from workspace.config.config import ANY_NAME, WorkspaceConfig
from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, TREE_MODE, TreeEntry, encode_tree, hash_blob, hash_object
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.trees import walk_tree
from workspace.globs import Glob
from workspace.history.moved_addresses import map_renamed_documents
from workspace.paths import InvalidPath, check_path, escape_path
from workspace.snapshot.snapshot import Snapshot

MAX_FILE_BYTES = 100_000_000
"""The largest size, in bytes, of a file that is read from a folder. Larger files are left out."""

_MAX_SHOWN_LENGTH = 200


class EmptyCorpus(WorkspaceError):
    """There is no document to build an artifact from."""

    code: ClassVar[str] = "EMPTY_CORPUS"


class UnreadableFolder(WorkspaceError):
    """A folder to build from, or a file in it, is unreadable or changed during the build. `path` names it."""

    code: ClassVar[str] = "UNREADABLE_FOLDER"


class ContentFilter(NamedTuple):
    """A selection of documents in a folder: those that match `include` (if given) but not `exclude`."""

    folder: str = ""
    include: tuple[Glob, ...] = ()
    exclude: tuple[Glob, ...] = ()

    def includes(self, path: str, root: str) -> bool:
        """Return True if a document is included. Globs match its path, or that below `root` or `folder`."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        # A folder with the name of the settings file would conflict with it.
        if path.startswith(f"{CONFIG_PATH}/"):
            return False
        if not self.include and not self.exclude:
            return True
        names = {path, path.removeprefix(f"{root}/"), path.removeprefix(f"{self.folder}/")}
        is_included = not self.include or _matches_any(self.include, names)
        return is_included and not _matches_any(self.exclude, names)


@dataclass(frozen=True, slots=True)
class Contents:
    """The selected files for an artifact: the blob of each, by path, in order.

    `manifests` are the taxonomy manifests that apply to a document. `name` is the default description of the
    corpus, and `commit` is None outside Git. `unsupported_paths` names files that are left out for their
    path or size. `read` returns the bytes of a file, and may raise DamagedRepository or UnreadableFolder.
    `moves` has the new path of each moved document by its old path.
    """

    name: str
    commit: str | None
    config: WorkspaceConfig
    documents: Mapping[str, str]
    manifests: Mapping[str, str]
    unsupported_paths: tuple[str, ...]
    read: Callable[[str], bytes]
    moves: Mapping[str, str] = field(default_factory=dict)


class Tree(NamedTuple):
    """The id of a root tree, and the bytes of this tree and of all trees below it, by id."""

    id: str
    trees: Mapping[str, bytes]


def read_commit_contents(git: GitReader, commit: str, name: str, selection: ContentFilter) -> Contents:
    """Return the selected documents of a commit. Raises EmptyCorpus, InvalidConfig, DamagedRepository."""
    snapshot = Snapshot(git, commit)
    root = snapshot.config.root
    documents = {path: blob for path, blob in snapshot.documents.items() if selection.includes(path, root)}
    blobs = {**snapshot.manifests, **documents}

    def read(path: str) -> bytes:
        try:
            return git.blob(blobs[path])
        except DamagedRepository as error:
            message = f"{escape_path(path)} cannot be read: {error.message}"
            raise DamagedRepository(message, fix=error.fix, path=escape_path(path)) from None

    paths = (path for path, _ in walk_tree(git, git.commit(commit).tree))
    escaped_paths = (
        (path, escape_path(path)) for path in paths if not (path.isascii() and path.isprintable())
    )
    unsupported_paths = tuple(
        escaped_path
        for path, escaped_path in escaped_paths
        if path != escaped_path
        and snapshot.config.is_document(escaped_path)
        and selection.includes(escaped_path, root)
    )
    new_paths = map_renamed_documents(snapshot)
    moves = {old: new for old, new in new_paths.items() if new in documents}
    contents = Contents(
        name, commit, snapshot.config, documents, snapshot.manifests, unsupported_paths, read, moves
    )
    return _drop_unused_manifests(contents)


def read_folder_contents(folder: Path, selection: ContentFilter) -> Contents:
    """Return the selected regular files of a folder.

    Folders whose names begin with a dot are skipped, except those that contain the root of the documents.

    Raises EmptyCorpus, InvalidConfig, UnreadableFolder.
    """

    def read(path: str) -> bytes:
        try:
            # A string, because creating a Path takes as long as reading a small file.
            with open(f"{folder}/{path}", "rb", buffering=0) as stream:
                return stream.readall()
        except OSError as error:
            raise _make_unreadable_error(path, error) from error

    settings = folder / CONFIG_PATH
    has_settings = settings.is_file() and not settings.is_symlink()
    config = WorkspaceConfig.read(read(CONFIG_PATH) if has_settings else None)
    documents: dict[str, str] = {}
    manifests: dict[str, str] = {}
    unsupported_paths: list[str] = []

    def includes(path: str) -> bool:
        return config.is_document(path) and selection.includes(path, config.root)

    for path, size in _list_files(folder, config.root, lambda prefix: includes(prefix + ANY_NAME)):
        is_document = includes(escape_path(path))
        if not is_document and not config.is_manifest(path):
            continue
        if size > MAX_FILE_BYTES or not _is_storable(path):
            unsupported_paths.append(escape_path(path))
        else:
            (documents if is_document else manifests)[path] = hash_blob(read(path))
    documents = dict(sorted(documents.items()))
    name = folder.name or "documents"
    return _drop_unused_manifests(
        Contents(name, None, config, documents, manifests, tuple(sorted(unsupported_paths)), read)
    )


def build_tree(files: Mapping[str, str]) -> Tree:
    """Return the tree of blobs, given by path. No path may be a folder of another path."""
    entries: dict[str, list[TreeEntry]] = {
        folder: [] for path in files for folder in _list_parent_folders(path)
    }
    for path, id in files.items():
        folder, _, name = path.rpartition("/")
        entries[folder].append(TreeEntry(name, id, FILE_MODE))
    trees: dict[str, bytes] = {}
    id = ""
    for folder in sorted(entries, key=_count_levels, reverse=True):
        data = encode_tree(entries[folder])
        id = hash_object("tree", data)
        trees[id] = data
        if folder:
            parent, _, name = folder.rpartition("/")
            entries[parent].append(TreeEntry(name, id, TREE_MODE))
    return Tree(id, trees)


def _list_parent_folders(path: str) -> Iterator[str]:
    """Yield the folders that contain a path, including the root ("")."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _count_levels(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _drop_unused_manifests(contents: Contents) -> Contents:
    """Remove the manifests that apply to no document. Raises EmptyCorpus."""
    if not contents.documents:
        raise EmptyCorpus(
            "there is no Markdown to build from",
            fix="Name a folder with .md or .markdown files; in a repository they must be committed. "
            f"--include, --exclude, and `root` and `exclude` in {CONFIG_PATH} select among them.",
        )
    folders = {folder for path in contents.documents for folder in _list_parent_folders(path)}
    manifests = {
        path: blob for path, blob in sorted(contents.manifests.items()) if path.rpartition("/")[0] in folders
    }
    return replace(contents, manifests=manifests)


def _list_files(
    folder: Path, root: str, may_contain_documents: Callable[[str], bool]
) -> Iterator[tuple[str, int]]:
    """Yield the regular files of a folder, each with its size; skip links and folders with a leading dot.

    Folders that lead to `root` are not skipped.

    `may_contain_documents` returns True if a folder, such as "guides/", may contain a document. Other folders
    are skipped if they are unreadable.
    """
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(folder / prefix) as entries:
                children = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            if prefix and not may_contain_documents(prefix):
                continue
            raise _make_unreadable_error(prefix or ".", error) from error
        for entry, status in children:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name[0] != "." or f"{root}/".startswith(f"{path}/"):
                    pending.append(f"{path}/")
            elif stat.S_ISREG(status.st_mode):
                yield path, status.st_size


def _is_storable(path: str) -> bool:
    try:
        return check_path(path) == path
    except InvalidPath:
        return False


def _make_unreadable_error(path: str, error: OSError) -> UnreadableFolder:
    escaped_path = escape_path(path if len(path) <= _MAX_SHOWN_LENGTH else path[:_MAX_SHOWN_LENGTH] + "…")
    return UnreadableFolder(
        f"{escaped_path} cannot be read: {error.strerror or type(error).__name__}",
        fix="Fix its permissions, or leave it out with --exclude.",
        path=escaped_path,
    )


def _matches_any(globs: Iterable[Glob], names: Iterable[str]) -> bool:
    return any(glob.matches(name) for glob in globs for name in names)
