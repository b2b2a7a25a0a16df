"""Replacement of files of an index that other processes may have mapped."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(file: Path, data: bytes) -> None:
    """Replace a file by a new file with other bytes.

    If a mapped segment were truncated in place, SIGBUS would kill a process that reads it, for example in the
    timer of an earlier test's index. Docyard itself never changes a file in place, so processes still see the
    old bytes of files that they have mapped.
    """
    draft = file.with_name(f"{file.name}.other")
    draft.write_bytes(data)
    os.replace(draft, file)
