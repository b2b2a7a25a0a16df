"""The form of a question that is stored: its words, or a keyed hash of them."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from index.postgres.options import FILE_ENGINE, EngineOptions
from index.storage.keys import KEY_BYTES, load_or_create_key, read_private_key, write_key

if TYPE_CHECKING:
    from index.postgres.database import Database

HASH_PREFIX = "hash:"
"""The beginning of the text of a question whose words are not stored."""

MAX_QUESTION_CHARACTERS = 1_000
"""The number of characters of a question that are stored."""

_MAX_READ_CHARACTERS = 20_000  # of a question that is hashed
_KEY_FILE = "records-key"

log = logging.getLogger("docyard")


def normalize_question(text: str) -> str:
    """Return a question in the form in which equal questions are counted: one case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def clean_question(text: str) -> str:
    """Return a question as it is stored in mode `text`: on one line, without characters that SQL refuses."""
    line = " ".join(text[:MAX_QUESTION_CHARACTERS].replace("\0", " ").split())
    return line.encode("utf-8", "replace").decode()


def hash_question(key: bytes, text: str) -> str:
    """Return a keyed hash of a question. Without the key, no dictionary of questions finds its words."""
    data = normalize_question(text[:_MAX_READ_CHARACTERS]).encode("utf-8", "replace")
    return HASH_PREFIX + hmac.new(key, data, hashlib.sha256).hexdigest()[:32]


def get_question_format(mode: str, keys: HashKeys) -> Callable[[str], str]:
    """Return the function that returns the stored form of a question in a mode, `hash` or `text`."""
    return (lambda text: hash_question(keys.get_key(), text)) if mode == "hash" else clean_question


class HashKeys:
    """The keys of hashes: that of a file of this user, or the one that nodes share in a database of indexes.

    The first node stores the key of its file there, so that earlier hashes stay valid. Each other node takes
    that key into its file, and keeps its former one for erasures in a file that begins with `old-`. So every
    node can store the key again if the tables of indexes are lost.
    """

    def __init__(self, engine: EngineOptions = FILE_ENGINE) -> None:
        self._engine_database = engine.database
        self._key: bytes | None = None

    def get_key(self) -> bytes:
        """Return the key for new hashes. While no node can be asked for it, it is that of the file."""
        if self._key is None:
            file_key = _load_file_key()
            if self._engine_database is None:
                self._key = file_key
            elif (shared_key := _read_shared_key(self._engine_database, file_key)) is None:
                return file_key
            else:
                if shared_key != file_key:
                    _replace_file_key(file_key, shared_key)
                self._key = shared_key
        return self._key

    def list_keys(self) -> Sequence[bytes]:
        """Return the keys with which questions may have been hashed."""
        keys = [self.get_key(), _load_file_key()]
        for file in sorted(_locate_file_key().parent.glob(f"old-{_KEY_FILE}-*")):
            with suppress(OSError):
                if (key := read_private_key(file)) is not None:
                    keys.append(key)
        return list(dict.fromkeys(keys))


def _read_shared_key(database: Database, file_key: bytes) -> bytes | None:
    """Return the key that nodes share, which is `file_key` if there was none; None without the database."""
    from index.port import EngineUnavailable
    from index.postgres.shared_keys import QUESTIONS_PURPOSE, get_or_create_keys

    try:
        return get_or_create_keys(database, QUESTIONS_PURPOSE, file_key).key
    except EngineUnavailable:
        return None


def _locate_file_key() -> Path:
    from platformdirs import user_state_path

    return user_state_path("docyard", appauthor=False) / _KEY_FILE


@cache
def _create_random_key(file: Path) -> bytes:
    log.warning("%s cannot be written: hashes of questions change with each start", file)
    return secrets.token_bytes(KEY_BYTES)


def _load_file_key() -> bytes:
    """Return the key in the file of this user, which is outside every database."""
    file = _locate_file_key()
    return load_or_create_key(file) or _create_random_key(file)


def _replace_file_key(old_key: bytes, new_key: bytes) -> None:
    """Write a key to the file of this user, and preserve the former one."""
    file = _locate_file_key()
    digest = hashlib.sha256(old_key).hexdigest()[:8]
    try:
        write_key(file.with_name(f"old-{_KEY_FILE}-{digest}"), old_key)
        write_key(file, new_key)
    except OSError as error:
        log.warning("%s cannot be written: %s", file, error.strerror)
