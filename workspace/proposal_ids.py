"""The ids of proposals, and the names of their branches.

An id is eight characters of Crockford's base 32 in lower case. The first is not a hexadecimal digit, so that
no proposal id is a prefix of a commit id. At least four characters name a proposal, if no other proposal's id
begins with them.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

PROPOSAL_BRANCH_PREFIX = "proposals/"
"""The prefix of the names of proposal branches, below `refs/heads/`."""

DISCUSSION_BRANCH = "docyard/discussion"
"""The branch that contains the discussion of all proposals."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_PATTERN = re.compile("[g-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{7}")
_PREFIX_PATTERN = re.compile("[g-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{3,7}")
_BRANCH_PATTERN = re.compile(PROPOSAL_BRANCH_PREFIX + "([0-9a-z]{8})(?:-|$)")
_MISREAD_CHARACTERS = str.maketrans("oil", "011")
_ID_BYTES = 5
_PREFIX_LENGTHS = range(4, 8)


def is_id(text: str) -> bool:
    """Return True if a text is exactly an id."""
    return _ID_PATTERN.fullmatch(text) is not None


def generate_id(used_ids: Container[str], entropy: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return an id that is not in `used_ids`; independent writers almost surely get different ids.

    There are 2**39 ids. Among ten thousand, two are equal with a probability of 1 in 11,000.
    """
    while (id := _encode_id(entropy(_ID_BYTES))) in used_ids:
        pass
    return id


def derive_id(key: str) -> str:
    """Return the proposal id for an idempotency key; equal keys have equal ids."""
    return _encode_id(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:_ID_BYTES])


def read_id(text: str) -> str | None:
    """Return the id in a text, or None.

    The id may be in capitals, may have `o`, `i` or `l` in place of a digit, or may be part of a branch name.
    """
    prefix = read_id_prefix(text)
    return prefix if prefix is not None and is_id(prefix) else None


def read_id_prefix(text: str) -> str | None:
    """Return the first characters of an id in a text, or a whole id as `read_id` does; else None."""
    text = text.strip().removeprefix("refs/heads/")
    if text.startswith(PROPOSAL_BRANCH_PREFIX):
        return parse_branch_id(text)
    prefix = text.lower().translate(_MISREAD_CHARACTERS)
    return prefix if _PREFIX_PATTERN.fullmatch(prefix) else None


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the shortest prefix of each id with which no other of these ids begins."""
    ids = tuple(ids)
    counts = Counter(id[:length] for id in ids for length in _PREFIX_LENGTHS)
    return {
        id: next((id[:length] for length in _PREFIX_LENGTHS if counts[id[:length]] == 1), id) for id in ids
    }


def parse_branch_id(branch: str) -> str | None:
    """Return the id in the name of a proposal's branch; None for another branch."""
    match = _BRANCH_PATTERN.match(branch)
    return match[1] if match and is_id(match[1]) else None


def _encode_id(data: bytes) -> str:
    number = int.from_bytes(data, "big")
    digits = [_ALPHABET[number >> (5 * position) & 31] for position in range(7, 0, -1)]
    # The low four bits determine the first character, the high 35 bits the others; one bit is not used.
    first = _ALPHABET[16 + (number & 15)]
    return first + "".join(digits)
