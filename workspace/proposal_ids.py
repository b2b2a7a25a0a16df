"""Ids of proposals, and the branches that are named after them.

An id is eight characters of Crockford's base 32 in lower case. The first is none of the sixteen hexadecimal
digits, so that no id is the beginning of a commit's.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

BRANCHES = "proposals/"
"""What the name of each proposal's branch begins with, below `refs/heads/`."""

DISCUSSION = "docyard/discussion"
"""The branch that holds what is said of all proposals."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_IS_ID = re.compile("[g-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{7}")
_OF_BRANCH = re.compile(BRANCHES + "([0-9a-z]{8})(?:-|$)")
_MISREAD = str.maketrans("oil", "011")
_RANDOM = 5


def is_id(text: str) -> bool:
    """Return True if a text is an id, exactly."""
    return _IS_ID.fullmatch(text) is not None


def new_id(taken: Container[str], entropy: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return an id that nothing has yet; two writers that do not know of each other get different ones too.

    Each is one of 2**39, so that among ten thousand two are the same once in eleven thousand times.
    """
    while (found := _spelled(entropy(_RANDOM))) in taken:
        pass
    return found


def id_for(key: str) -> str:
    """The id of the proposal that a call with an idempotency key opens: the same each time it is sent."""
    return _spelled(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:_RANDOM])


def read_id(text: str) -> str | None:
    """The id that someone means, also in capitals, with `o`, `i` or `l` for a digit, or as a branch."""
    text = text.strip().removeprefix("refs/heads/")
    if text.startswith(BRANCHES):
        return id_of_branch(text)
    found = text.lower().translate(_MISREAD)
    return found if is_id(found) else None


def id_of_branch(branch: str) -> str | None:
    """Return the id in the name of a proposal's branch; None for another branch."""
    found = _OF_BRANCH.match(branch)
    return found[1] if found and is_id(found[1]) else None


def _spelled(random: bytes) -> str:
    number = int.from_bytes(random, "big")
    digits = [_DIGITS[number >> (5 * place) & 31] for place in range(7, 0, -1)]
    # Four bits choose the first, the others are left for the rest.
    first = _DIGITS[16 + (number & 15)]
    return first + "".join(digits)


BRANCH = DISCUSSION
