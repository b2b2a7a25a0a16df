"""The ids of proposals, and the names of their branches.

An id is eight characters of Crockford's base 32 in lower case. The first is not a hexadecimal digit, so that
no proposal id is the beginning of a commit id.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

BRANCHES = "proposals/"
"""The prefix of the names of proposal branches, below `refs/heads/`."""

DISCUSSION = "docyard/discussion"
"""The branch that contains the discussion of all proposals."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_IS_ID = re.compile("[g-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{7}")
_OF_BRANCH = re.compile(BRANCHES + "([0-9a-z]{8})(?:-|$)")
_MISREAD = str.maketrans("oil", "011")
_RANDOM = 5


def is_id(text: str) -> bool:
    """Return True if a text is exactly an id."""
    return _IS_ID.fullmatch(text) is not None


def new_id(used: Container[str], entropy: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return an unused id; independent writers get different ones.

    There are 2**39 ids. Among ten thousand, two are equal with a probability of 1 in 11,000.
    """
    while (found := _encode_id(entropy(_RANDOM))) in used:
        pass
    return found


def derive_id(key: str) -> str:
    """Return the proposal id for an idempotency key: the same each time."""
    return _encode_id(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:_RANDOM])


def read_id(text: str) -> str | None:
    """Return the id in a text, also in capitals, with `o`, `i` or `l` for a digit, or as a branch."""
    text = text.strip().removeprefix("refs/heads/")
    if text.startswith(BRANCHES):
        return parse_branch_id(text)
    found = text.lower().translate(_MISREAD)
    return found if is_id(found) else None


def parse_branch_id(branch: str) -> str | None:
    """Return the id in the name of a proposal's branch; None for another branch."""
    found = _OF_BRANCH.match(branch)
    return found[1] if found and is_id(found[1]) else None


def _encode_id(random: bytes) -> str:
    number = int.from_bytes(random, "big")
    digits = [_DIGITS[number >> (5 * place) & 31] for place in range(7, 0, -1)]
    # Four bits choose the first, the others are left for the rest.
    first = _DIGITS[16 + (number & 15)]
    return first + "".join(digits)


BRANCH = DISCUSSION
