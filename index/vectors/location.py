"""The files of vectors: one for each embedding id in a folder, with a seal in its name.

    vectors-<schema>-<embedding id>-<number>-<seal>.sqlite    and SQLite's own -wal and -shm files
    vectors.lock                                              held by the process that embeds sections

Vectors do not depend on a branch, so all branches of a repository share a folder. The seal is made with the
user's key. It covers the folder's name and inode, so that a file that was copied with the repository is never
opened. The number grows when the provider's model changes under the same name. Any of these files may be
deleted.
"""

from __future__ import annotations

import hmac
import os
from pathlib import Path

from index.storage.keys import load_user_key

SCHEMA_VERSION = 1
"""The version of the tables; vectors of another version are not opened."""

LOCK_FILE = "vectors.lock"


def build_file(folder: Path, embedding_id: str, number: int) -> Path:
    """Return the file of the vectors of an embedding id. Raises OSError if the folder is missing."""
    name = f"vectors-{SCHEMA_VERSION}-{embedding_id}-{number}"
    text = b"docyard vectors\0%s\0%d\0%s" % (os.fsencode(folder.name), folder.lstat().st_ino, name.encode())
    return folder / f"{name}-{hmac.digest(load_user_key(), text, 'sha256').hex()[:32]}.sqlite"
