"""How a finished file gets its name, so that nothing that was saved in the same moment is lost.

A plain rename drops what stood there. Where the system can, two files change places instead (renameat2(2),
RENAME_EXCHANGE), and what comes out is looked at.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

# What systems say that have no hard links, or not for this file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(one: Path, two: Path) -> bool:
    """Let two files change places; False where the system or the file system cannot. Errors: OSError."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(two), _EXCHANGE):
        number = ctypes.get_errno()
        if number in _UNABLE:
            return False
        raise OSError(number, os.strerror(number), str(one), None, str(two))
    return True


@cache
def _renameat2() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def link_or_copy(file: Path, name: Path) -> None:
    """Give a file a second name; where the file system has no such thing, make a copy."""
    try:
        os.link(file, name, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(file, name)


def swap(new: Path, kept: Path, target: Path, found: os.stat_result) -> bool:
    """Put a new file in the place of one that is kept; False if that is another than was found, and stays."""
    link_or_copy(new, kept)
    ours = kept.lstat()
    if exchange(kept, target):
        if same(lstat(kept), found):
            return True
        exchange(kept, target)
        if not same(lstat(kept), ours):
            # And one more was saved between the two: the last is the one to stay.
            os.rename(kept, target)
        return False
    kept.unlink()
    link_or_copy(target, kept)
    put = kept.with_suffix(".put")
    link_or_copy(new, put)
    # There the look just before has to do.
    if not same(lstat(target), found) or not same_text(kept.lstat(), found):
        return False
    os.rename(put, target)
    return True


def place(put: Path, target: Path) -> bool:
    """Give a finished file a name that is to be new; False if another stands there."""
    try:
        os.link(put, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # There the look just before has to do.
        if lstat(target) is not None:
            return False
        os.rename(put, target)
        return True
    put.unlink()
    return True


def lstat(path: Path) -> os.stat_result | None:
    """What is at a path, links not followed; None if nothing is."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def names(path: Path, file: os.stat_result) -> bool:
    """Whether a path is a name of this very file, whatever was written into it since."""
    found = lstat(path)
    return found is not None and (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino)


def same(one: os.stat_result | None, two: os.stat_result | None) -> bool:
    """Whether this is one file in which nobody has written in between."""
    if one is None or two is None:
        return one is two
    return one.st_ino == two.st_ino and same_text(one, two)


def same_text(one: os.stat_result, two: os.stat_result) -> bool:
    """Whether two files have the size and the times of one text."""
    return (one.st_mtime_ns, one.st_size) == (two.st_mtime_ns, two.st_size)
