"""The folder that an artifact is built in: it is the builder's alone, and holds nothing of anybody else's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from index.artifacts.manifest import INDEX, ArtifactManifest, manifest_name, read_file
from index.artifacts.objects import PACKS
from index.storage.files import IndexUnwritable, remove
from index.storage.location import METADATA
from index.storage.locking import IndexBusy, locked
from workspace.errors import WorkspaceError

LOCK = "lock"

_FOLDERS = ("", INDEX, "objects", PACKS)
_FILES = re.compile(
    r"(?:metadata\.json|[0-9a-f]{16}\.manifest|moves-[0-9a-f]{16}\.json)(?:-[0-9a-f]{8}\.draft)?"
    r"|index/MAIN_[0-9a-f]{16}\.flat"
    r"|objects/pack/(?:pack-[0-9a-f]{40}\.(?:pack|idx)|[0-9a-f]{16}(?:\.idx)?\.draft)"
)


class BuildBusy(WorkspaceError):
    """Another process is building into this folder."""

    code: ClassVar[str] = "BUILD_BUSY"


class OutOccupied(WorkspaceError):
    """The folder to build into holds something else, and nothing of that is touched."""

    code: ClassVar[str] = "OUT_OCCUPIED"


class ArtifactUnwritable(WorkspaceError):
    """The folder to build into cannot be written: the disk is full, or permissions forbid it."""

    code: ClassVar[str] = "ARTIFACT_UNWRITABLE"


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Be the only builder of a folder, which is made. Raises BuildBusy, OutOccupied, ArtifactUnwritable."""
    with ExitStack() as stack:
        with unwritable():
            check_free(out)
            out.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locked(out / LOCK, patience=0))
            except IndexBusy:
                raise BuildBusy(
                    "another process is building into this folder",
                    fix="Wait until it is done, or build into another folder.",
                ) from None
        # While it is still held: who opens it meanwhile finds that it is gone, and makes another.
        stack.callback(_unlock, out / LOCK)
        yield


@contextmanager
def undone(out: Path) -> Iterator[None]:
    """Remove what was written since, if the build is given up before the new artifact has taken its place.

    One that runs out of room must not be what fills the disk.
    """
    before, standing = {*_names(out)}, _standing(out)
    try:
        yield
    except BaseException:
        if _standing(out) == standing:
            remove(out / name for name in _names(out) if _FILES.fullmatch(name) and name not in before)
        raise


@contextmanager
def unwritable() -> Iterator[None]:
    """Turn the system's refusals to write into ArtifactUnwritable."""
    try:
        yield
    except (OSError, IndexUnwritable) as error:
        cause = error.__cause__ if isinstance(error, IndexUnwritable) else error
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
        raise ArtifactUnwritable(
            f"the artifact cannot be written: {reason}",
            fix="Make room or mend the folder's permissions; the artifact that stood there is whole.",
        ) from error


def check_free(out: Path) -> None:
    """Raises OutOccupied unless the folder is empty, missing, or holds an artifact or what a build left."""
    fix = "Name an empty folder, a new one, or that of an earlier build with --out."
    if os.path.lexists(out) and not out.is_dir():
        raise OutOccupied("an artifact is a folder, and something else stands there", fix=fix)
    for folder in (out, *Path(os.path.realpath(out)).parents):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise OutOccupied("this folder is a part of Git's own, where nothing else is put", fix=fix)
    if not out.is_dir() or _standing(out) is not None:
        return
    others = [name for name in _names(out) if name not in (*_FOLDERS, LOCK) and not _FILES.fullmatch(name)]
    if others:
        raise OutOccupied("the folder holds something that is no artifact", fix=fix, entries=others[:5])


def sweep(out: Path, kept: Sequence[tuple[str, ArtifactManifest]]) -> None:
    """Remove the files of builds that are of none of these manifests, each with its file's name."""
    files = {
        METADATA,
        *(name for name, _ in kept),
        *(name for _, manifest in kept for name in manifest.files),
    }
    remove(out / name for name in _names(out) if _FILES.fullmatch(name) and name not in files)


def _names(out: Path) -> list[str]:
    """What stands in the folder, and in those that builds make in it; sorted."""
    places = [(folder, out / folder) for folder in _FOLDERS if (out / folder).is_dir()]
    return sorted(
        f"{folder}/{entry.name}".lstrip("/") for folder, place in places for entry in place.iterdir()
    )


def _standing(out: Path) -> tuple[bytes, bytes] | None:
    """The metadata and the manifest of the artifact that the folder holds now; None if it holds none."""
    with suppress(OSError):
        told = read_file(out / METADATA)
        return told, read_file(out / manifest_name(told))
    return None


def _unlock(lock: Path) -> None:
    with suppress(OSError):
        lock.unlink()
