"""Protection of new objects, which no ref reaches yet, from a running `git gc`: packs with a `.keep` file.

`git gc --prune=now` reads the refs first and removes objects later. So it would remove the objects of a
commit to which a branch moved in between. But it removes no pack that has a `.keep` file (git-repack,
git-prune). `git fetch` and `git receive-pack` protect received objects in the same way. After
that run of `git gc`, Docyard removes the file. Then the pack is an ordinary pack, which the next run combines
with other packs.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from workspace.git.loose import repeat_while_pruned, unpack_loose
from workspace.git.packs import DRAFT_SUFFIX, KEEP_SUFFIX, PackedObject, read_full_objects, write_pack

_KEEP_MARK = "docyard: while this git gc runs: "
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MULTI_PACK_INDEXES = ("multi-pack-index", "multi-pack-index.d")  # these may refer to any pack
_MAX_SMALL_PACKS = 16
_MAX_SMALL_PACK_BYTES = 1 << 20
_MAX_LOCK_AGE_S = 12 * 60 * 60  # as in builtin/gc.c of Git


def identify_running_gc(common_dir: Path) -> str | None:
    """Return the identity of the running `git gc`, from its lock `gc.pid`; None if no `git gc` runs.

    As in Git, the lock of a dead process is ignored, and so is a lock older than twelve hours.
    """
    try:
        text, modified_ns = _read_file(common_dir / "gc.pid")
    except OSError:
        return None
    text = text.strip()
    pid, _, host = text.partition(" ")
    if modified_ns / 1e9 < time.time() - _MAX_LOCK_AGE_S or not pid.isdecimal() or int(pid) == 0:
        return None
    return f"{text} {modified_ns}" if host != socket.gethostname() or _is_alive(int(pid)) else None


def _read_file(path: Path) -> tuple[str, int]:
    """Return the first 1000 bytes of a file as text, and its time of modification in nanoseconds.

    Raises OSError, also if the path is not a regular file: opening a pipe could block forever.
    """
    handle = os.open(path, _OPEN_FLAGS)
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return stream.read(1000).decode("utf-8", "replace"), status.st_mtime_ns


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # the process belongs to another user
        return True
    return True


def keep_objects(common_dir: Path, files: Iterable[bytes], gc: str, *, durable: bool) -> None:
    """Write objects into a pack that a run of `git gc` does not remove.

    `files` are the loose files of the objects, and `gc` is the identity of the run. Each publication adds a
    pack, and the lock of a run may exist for hours. So the small packs of a run are joined. The caller must
    have Docyard's lock. Raises OSError.
    """
    files = list(files)
    folder = common_dir / "objects" / "pack"
    mark = f"{_KEEP_MARK}{gc}\n".encode()

    def iterate_objects() -> Iterator[PackedObject]:
        for file in files:
            for id, _, kind, data in unpack_loose(file):
                yield PackedObject(kind, id, data)

    repeat_while_pruned(lambda: write_pack(folder, iterate_objects(), len(files), durable, keep_content=mark))
    # The objects are already protected, so a failure to join packs does no harm.
    with suppress(OSError, ValueError):
        _join_packs(folder, f"{_KEEP_MARK}{gc}\n", durable)


def _join_packs(folder: Path, mark: str, durable: bool) -> None:
    """Replace the small packs of a run by one pack if there are many. Raises OSError, ValueError."""
    if any((folder / name).exists() for name in _MULTI_PACK_INDEXES):
        return
    keep_files = [folder / name for name in os.listdir(folder) if name.endswith(KEEP_SUFFIX)]
    if len(keep_files) < _MAX_SMALL_PACKS:
        return
    small_packs = []
    for keep in keep_files:
        with suppress(OSError):
            size = keep.with_suffix(".pack").stat().st_size
            if size <= _MAX_SMALL_PACK_BYTES and _read_file(keep)[0] == mark:
                small_packs.append(keep)
    if len(small_packs) < _MAX_SMALL_PACKS:
        return
    objects: dict[str, PackedObject] = {}
    for keep in small_packs:
        objects |= {packed.id: packed for packed in read_full_objects(keep.with_suffix(".pack"))}
    joined_pack = write_pack(folder, objects.values(), len(objects), durable, keep_content=mark.encode())
    for keep in small_packs:
        if keep.stem != joined_pack:
            # The index is removed first: Git ignores a pack without an index, and removes one without .keep.
            for suffix in (".idx", ".pack", KEEP_SUFFIX):
                keep.with_suffix(suffix).unlink(missing_ok=True)


def release_packs(common_dir: Path) -> None:
    """Remove the `.keep` files of packs for which the run of `git gc` has ended, and drafts of dead writers.

    The caller must have Docyard's lock. Files that cannot be removed now are removed by the next call.
    """
    with suppress(OSError):
        names = os.listdir(common_dir / "objects" / "pack")
        candidates = [name for name in names if name.endswith((KEEP_SUFFIX, DRAFT_SUFFIX))]
        gc = identify_running_gc(common_dir) if candidates else None
        for name in candidates:
            path = common_dir / "objects" / "pack" / name
            with suppress(OSError):  # for example, the path is a named pipe
                if name.endswith(DRAFT_SUFFIX) or _is_obsolete(path, gc):
                    path.unlink(missing_ok=True)


def _is_obsolete(path: Path, gc: str | None) -> bool:
    text, modified_ns = _read_file(path)
    if text.startswith(_KEEP_MARK):
        return text != f"{_KEEP_MARK}{gc}\n"
    # A full disk or a power loss can truncate a mark. `git fetch` also writes its `.keep` file before the
    # pack, so an empty file is treated as obsolete only after twelve hours.
    if path.with_suffix(".idx").exists() or path.with_suffix(".pack").exists():
        return False
    return _KEEP_MARK.startswith(text) if text else modified_ns / 1e9 < time.time() - _MAX_LOCK_AGE_S
