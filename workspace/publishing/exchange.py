"""Two files change places in one step (renameat2(2), RENAME_EXCHANGE), where the system can do that.

A plain rename drops what stood there. If that was saved by a person in the moment before, it would be lost.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

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
