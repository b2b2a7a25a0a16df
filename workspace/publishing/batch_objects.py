"""The objects of a publication's commit, in memory until Git's housekeeping can no longer remove them.

Until the branch is at the commit, `git gc --prune=now` treats its objects as unreachable. A run that read the
refs before that may remove them even afterwards. So each object's file is checked right before and right
after the branch moves, and written again if it is missing. While a `git gc` runs, the objects are also in a
pack that it does not remove. A copy in the staging folder is used for the recovery after a crash. The copies
of the last publications are preserved, to restore missing objects; Git ignores these copies.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workspace.git.housekeeping import identify_running_gc, keep_objects
from workspace.git.loose import is_loose, pack_loose, read_loose_file, unpack_loose, write_loose
from workspace.git.merge_bases import ShallowHistory
from workspace.git.objects import SUBMODULE_MODE, parse_commit
from workspace.git.private_folder import make_shared_folder, share_with_group
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.trees import rewrite_tree
from workspace.publishing.batch import Batch
from workspace.publishing.locks import docyard_lock
from workspace.publishing.staging_folder import STAGING_FOLDERS, StagingFolder, is_below_link

COPY_NAME = "objects"
"""The file name of the copy in a staging folder."""

RECENT_COPIES = "docyard/recent"
"""The folder that contains copies of recently published objects, within the common Git directory."""

MAX_COPIES = 32
MAX_COPY_BYTES = 8 << 20
MAX_COPY_AGE_S = 24 * 60 * 60
MAX_NEW_OBJECTS = 20_000
MAX_NEW_BYTES = 64 << 20
_MAX_QUICK_CHECK_BYTES = 1 << 16
_MAX_ATTEMPTS = 5


class BatchObjects:
    """The commit of a batch, and the objects that the commit reaches and the branch does not.

    `loose_files` maps the id of each object to the bytes of its loose file.
    """

    def __init__(
        self, store: GitStore, batch: Batch, commit: str, loose_files: dict[str, bytes], *, durable: bool
    ) -> None:
        self.commit = commit
        self.loose_files = loose_files
        self._store = store
        self._batch = batch
        self._other_commits = (
            (batch.existing_commit,) if batch.existing_commit is not None else batch.other_parents
        )
        self._durable = durable
        self._protected_gc: str | None = None

    @classmethod
    def write(cls, store: GitStore, batch: Batch, base_tree: str | None, *, durable: bool) -> BatchObjects:
        """Write the objects of a batch.

        Raises:
            PathBlocked: a path cannot be written.
            OSError: the system refused a write.
            DamagedRepository: an object of the base is missing or broken.
        """
        if batch.existing_commit is not None:
            return cls(store, batch, batch.existing_commit, {}, durable=durable)
        commit, files = _write_objects(store, batch, base_tree, durable=durable)
        return cls(store, batch, commit, files, durable=durable)

    def write_missing(self) -> int:
        """Write missing objects; return their number. Raises OSError.

        Objects in a pack count as missing, because a running `git repack` may remove the pack.
        """
        missing_ids = [id for id in self.loose_files if not is_loose(self._store.common_dir, id)]
        for id in missing_ids:
            write_loose(self._store.common_dir, id, self.loose_files[id], durable=self._durable)
        return len(missing_ids)

    def protect(self) -> None:
        """Protect the objects from a running `git gc`, then write missing ones.

        Another parent, or an existing commit, is usually the tip of another ref, so that its objects are
        safe. They are treated as objects of the batch if no other ref is at this commit now, or if a `git gc`
        is running, which may have read the refs before.

        Raises OSError, DamagedRepository.
        """
        store = self._store
        gc = identify_running_gc(store.common_dir)
        for other_commit in self._other_commits:
            if other_commit not in self.loose_files and (
                gc is not None or other_commit not in store.other_tips(self._batch.branch)
            ):
                self.loose_files |= _collect_new_objects(store, other_commit, self._batch.base)
        if gc is not None and gc != self._protected_gc and self.loose_files:
            keep_objects(store.common_dir, self.loose_files.values(), gc, durable=self._durable)
            self._protected_gc = gc
        self.write_missing()

    def write_copy(self, staging_folder: StagingFolder) -> None:
        """Write the copy for the recovery. It is not synced: durable objects are synced themselves."""
        copy = staging_folder.folder / COPY_NAME
        copy.write_bytes(b"".join(self.loose_files.values()))
        share_with_group(copy)

    def preserve_copy(self, staging_folder: StagingFolder) -> None:
        """Preserve the copy after the publication, unless it is over 8 MiB, and remove the oldest copies.

        A failure is ignored.
        """
        common_dir = self._store.common_dir
        recent_folder = common_dir / RECENT_COPIES
        if not self.loose_files or sum(map(len, self.loose_files.values())) > MAX_COPY_BYTES:
            return
        with suppress(OSError):
            if is_below_link(recent_folder / self.commit, common_dir):
                return
            make_shared_folder(recent_folder)
            os.link(staging_folder.folder / COPY_NAME, recent_folder / f"{time.time_ns():020}-{self.commit}")
            names = sorted(os.listdir(recent_folder))
            oldest_name = f"{time.time_ns() - MAX_COPY_AGE_S * 10**9:020}"
            for number, name in enumerate(names):
                if number < len(names) - MAX_COPIES or name < oldest_name:
                    (recent_folder / name).unlink(missing_ok=True)


class CopiedObject(NamedTuple):
    """An object in a copy: its loose file, its kind and its data."""

    loose_file: bytes
    kind: str
    data: bytes


def read_copied_objects(common_dir: Path) -> dict[str, CopiedObject]:
    """Return the objects in all copies, by id.

    The copies are those of the last publications, and of publications that a crash interrupted.
    """
    objects: dict[str, CopiedObject] = {}
    for path in (
        *(common_dir / RECENT_COPIES).glob("*"),
        *(common_dir / STAGING_FOLDERS).glob(f"*/{COPY_NAME}"),
    ):
        objects |= _read_copy(path, common_dir)
    return objects


def protect_fetched(store: GitStore, commits: Mapping[str, str]) -> None:
    """Protect the objects of fetched commits from a running `git gc`.

    `commits` maps each fetched commit to a commit whose history was complete before.

    Raises Locked, DamagedRepository, OSError.
    """
    gc = identify_running_gc(store.common_dir)
    if gc is None:
        return
    with docyard_lock(store.common_dir):
        files: dict[str, bytes] = {}
        for commit, base in commits.items():
            files |= _collect_new_objects(store, commit, base)
        if files:
            keep_objects(store.common_dir, files.values(), gc, durable=False)


def restore_pruned(store: GitStore, branches: Iterable[str]) -> int:
    """Write the pruned objects of the last publications of branches again; return their number.

    `git prune` takes no lock. A run that read the refs before a branch moved may remove some objects of
    the commit after the response. So each object in the copy of the tip is checked. Then the objects in the
    copies of its parents are checked, as far back as there are copies. The caller must have Docyard's lock.

    A branch whose ref is torn is skipped. Raises OSError, NotARepository, UnsupportedRepository.
    """
    stack: list[str] = []
    for branch in branches:
        with suppress(DamagedRepository):
            stack.append(store.tip(branch) or "")
    names = _list_recent_copies(store.common_dir)
    restored_count, visited = 0, set[str]()
    while stack:
        commit = stack.pop()
        if commit in visited or commit not in names:
            continue
        visited.add(commit)
        objects = _read_copy(store.common_dir / RECENT_COPIES / names[commit], store.common_dir)
        for id in store.find_missing_on_disk(objects):
            write_loose(store.common_dir, id, objects[id].loose_file, durable=True)
            restored_count += 1
        for id, copied_object in objects.items():
            if copied_object.kind == "commit":
                stack += parse_commit(id, copied_object.data).parents
    return restored_count


def restore_pruned_tip(store: GitStore, branch: str) -> int:
    """Restore a branch as `restore_pruned` does, if its tip is incomplete; return the number of objects.

    Every publication calls this before it writes, so that a loss is repaired while there are copies. Only the
    copy of the tip is read. If that copy is over 64 KiB, only the existence of the commit is checked.

    Raises the errors of `restore_pruned`, and DamagedRepository.
    """
    tip = store.tip(branch)
    if tip is None:
        return 0
    name = _list_recent_copies(store.common_dir).get(tip)
    ids = [tip]
    if name is not None:
        path = store.common_dir / RECENT_COPIES / name
        with suppress(OSError):
            if path.lstat().st_size <= _MAX_QUICK_CHECK_BYTES:
                ids += _read_copy(path, store.common_dir)
    return restore_pruned(store, [branch]) if store.find_missing_on_disk(ids) else 0


def restore_from_copy(store: GitStore, staging_folder: StagingFolder) -> None:
    """Write the objects of an interrupted publication that have no loose file, from its copy.

    Raises OSError.
    """
    for id, copied_object in _read_copy(staging_folder.folder / COPY_NAME, store.common_dir).items():
        if not is_loose(store.common_dir, id):
            write_loose(store.common_dir, id, copied_object.loose_file, durable=True)


def _list_recent_copies(common_dir: Path) -> dict[str, str]:
    """Return the file names of the copies of the last publications, by commit: the newest copy of each."""
    try:
        names = sorted(os.listdir(common_dir / RECENT_COPIES))
    except OSError:
        return {}
    return {name.partition("-")[2]: name for name in names}


def _read_copy(path: Path, common_dir: Path) -> dict[str, CopiedObject]:
    try:
        # The repository may contain a link out of its folder, or a named pipe, which would block.
        if path.is_symlink() or not path.is_file() or is_below_link(path, common_dir):
            return {}
        files = path.read_bytes()
    except OSError:
        return {}
    return {id: CopiedObject(file, kind, data) for id, file, kind, data in unpack_loose(files)}


def _write_objects(
    store: GitStore, batch: Batch, base_tree: str | None, *, durable: bool
) -> tuple[str, dict[str, bytes]]:
    """Write the objects of a batch, and return its commit and their loose files by id.

    The objects are written again if Git removes one of them, because no ref reaches it yet.
    """
    attempt_number = 0
    while True:
        attempt_number += 1
        with store.record_objects(durable=durable) as files:
            try:
                return _write_once(store, batch, base_tree), files
            except (OSError, DamagedRepository) as error:
                is_object_missing = isinstance(error, FileNotFoundError)
                is_object_missing = is_object_missing or not all(
                    is_loose(store.common_dir, id) for id in files
                )
                if attempt_number == _MAX_ATTEMPTS or not is_object_missing:
                    raise


def _write_once(store: GitStore, batch: Batch, base_tree: str | None) -> str:
    # Blobs are written before the trees that name them, so that after a crash `git fsck` reports no error.
    changes = batch.changes.items()
    blobs = {path: store.put_blob(new) if isinstance(new, bytes) else new for path, new in changes}
    tree = rewrite_tree(store, base_tree, blobs)
    parents = (*([batch.base] if batch.base else []), *batch.other_parents)
    return store.put_commit(tree, parents, batch.author, batch.author, batch.message)


def _collect_new_objects(git: GitReader, commit: str, base: str | None) -> dict[str, bytes]:
    """Return the loose files of the objects that a commit reaches and the base does not, within limits.

    The newest commits come first; objects beyond the limits are omitted.
    """
    files: dict[str, bytes] = {}
    size = 0
    for kind, id in _walk_new_objects(git, commit, base):
        if id in files:
            continue
        if len(files) == MAX_NEW_OBJECTS or size > MAX_NEW_BYTES:
            break
        file = read_loose_file(git.common_dir, id) or pack_loose(kind, git.data(id, kind))
        files[id] = file
        size += len(file)
    return files


def _walk_new_objects(git: GitReader, commit: str, base: str | None) -> Iterator[tuple[str, str]]:
    """Yield kind and id of the objects that a commit reaches and the base does not, commit by commit."""
    visited: set[str] = set()
    if base is not None:
        with suppress(ShallowHistory):
            visited |= {base, *git.merge_bases(base, commit)}
    else:
        visited |= set(git.other_tips(""))
    queue = [commit]
    while queue:
        id = queue.pop(0)
        if id in visited or not git.has_object(
            id
        ):  # for example, a parent at the boundary of a shallow clone
            continue
        visited.add(id)
        commit_object = git.commit(id)
        yield "commit", id
        present_parents = [parent for parent in commit_object.parents if git.has_object(parent)]
        yield from _walk_new_in_tree(
            git, git.commit(present_parents[0]).tree if present_parents else None, commit_object.tree
        )
        queue += commit_object.parents


def _walk_new_in_tree(git: GitReader, old_tree: str | None, new_tree: str) -> Iterator[tuple[str, str]]:
    if old_tree == new_tree:
        return
    yield "tree", new_tree
    old_entries, new_entries = git.compare_trees(old_tree, new_tree)
    old_trees = {entry.name: entry.id for entry in old_entries if entry.is_tree}
    for entry in new_entries:
        if entry.is_tree:
            yield from _walk_new_in_tree(git, old_trees.get(entry.name), entry.id)
        elif entry.mode != SUBMODULE_MODE:
            yield "blob", entry.id
