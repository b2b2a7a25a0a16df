"""The form of a question that is stored: its words, or a keyed hash of them."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import unicodedata
from collections.abc import Callable
from functools import cache, partial

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


def get_question_format(mode: str) -> Callable[[str], str]:
    """Return the function that returns the stored form of a question in a mode, `hash` or `text`."""
    return partial(hash_question, load_hash_key()) if mode == "hash" else clean_question


@cache
def load_hash_key() -> bytes:
    """Return the key of hashes, which is in a file of this user outside every database."""
    from platformdirs import user_state_path

    from index.storage.keys import KEY_BYTES, load_or_create_key

    file = user_state_path("docyard", appauthor=False) / _KEY_FILE
    key = load_or_create_key(file)
    if key is None:
        log.warning("%s cannot be written: hashes of questions change with each start", file)
        return secrets.token_bytes(KEY_BYTES)
    return key
