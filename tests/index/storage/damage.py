"""Damage to files of an index, without killing processes that have mapped them."""

from __future__ import annotations

import os
from pathlib import Path


def put(file: Path, data: bytes) -> None:
    """Replace a file with one of other bytes.

    Segments are mapped: truncating one in place would end a reading process by a signal (SIGBUS), for
    example in the timer of an index of an earlier test. Docyard itself only creates new files and removes
    old ones, which stay unchanged for processes that have mapped them.
    """
    draft = file.with_name(f"{file.name}.other")
    draft.write_bytes(data)
    os.replace(draft, file)
