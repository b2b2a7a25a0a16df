"""Loose objects that are empty or cut short, as a loss of power leaves them (gitformat-loose)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from workspace.git import loose
from workspace.git.loose import BrokenObject, loose_path, read_loose
from workspace.publishing.locks import docyard_lock

_FOLDER, _NAME = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{38}")


def loose_objects(common_dir: Path) -> Iterator[str]:
    """The ids of the loose objects, in no order."""
    with os.scandir(common_dir / "objects") as folders:
        names = [folder.name for folder in folders if _FOLDER.fullmatch(folder.name) and folder.is_dir()]
    for name in names:
        with os.scandir(common_dir / "objects" / name) as files:
            yield from [name + file.name for file in files if _NAME.fullmatch(file.name)]


def broken_objects(common_dir: Path) -> tuple[str, ...]:
    """The ids of the loose objects whose files do not hold what their names say, sorted.

    A file that this user may not read is not judged. Errors: OSError if the folder of objects cannot be read.
    """
    return tuple(sorted(id for id in loose_objects(common_dir) if _is_broken(common_dir, id)))


def set_aside(common_dir: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """Move these out of Git's sight, if they are still broken; those that were moved.

    What is in a pack too can then be read again, and what is not can be fetched or added anew, which Git does
    not do while the broken file stands there.

    Raises:
        Locked: another Docyard is writing.
        OSError: the system refused it.
    """
    with docyard_lock(common_dir):
        return tuple(id for id in ids if loose.set_aside(common_dir, id))


def _is_broken(common_dir: Path, id: str) -> bool:
    try:
        with loose_path(common_dir, id).open("rb") as stream:
            stream.read()
        read_loose(common_dir, id)
    except BrokenObject:
        return True
    except OSError:  # gone meanwhile, or not ours to read: that tells nothing of what it holds
        return False
    return False
