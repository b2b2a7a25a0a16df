"""Harm to files of an index, done so that whoever has them open is not killed by it."""

from __future__ import annotations

import os
from pathlib import Path


def put(file: Path, data: bytes) -> None:
    """Put a file of other bytes in the place of one.

    Segments are mapped: to cut one in place would end the process of whoever reads it by a signal (SIGBUS),
    be it the timer of an index that a test is done with. Docyard itself only makes new files and removes old
    ones, and these stay as they are for whoever has mapped them.
    """
    other = file.with_name(f"{file.name}.other")
    other.write_bytes(data)
    os.replace(other, file)
