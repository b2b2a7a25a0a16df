"""The limit of the tokens of an answer: the smallest that the operator, the URL and the call name."""

from __future__ import annotations

from tools.arguments import InvalidArguments
from workspace.config.config import MIN_TEXT_TOKENS

MIN_ANSWER_TOKENS = MIN_TEXT_TOKENS
"""The smallest limit, within which an answer is still useful."""

MAX_TOKENS = "max_tokens"
"""The parameter of a call, and of the URL of the HTTP endpoint."""


def parse_max_tokens(value: object, limit: int, name: str = MAX_TOKENS) -> int:
    """Return the limit of an answer; a number over the operator's `limit` means that limit.

    Raises InvalidArguments for a number under the minimum, and for a value that is not a whole number.
    """
    number = _parse_number(value)
    if number is None or number < MIN_ANSWER_TOKENS:
        raise InvalidArguments(
            f"'{name}' must be a whole number of at least {MIN_ANSWER_TOKENS}",
            fix=f"Give {MIN_ANSWER_TOKENS} to {limit:,}; a larger number means {limit:,}.",
            field=name,
            ge=MIN_ANSWER_TOKENS,
            le=limit,
        )
    return min(number, limit)


def _parse_number(value: object) -> int | None:
    """Return a whole number; None for another value. Hosts send numbers as texts, too."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.strip().isascii() and value.strip().isdecimal():
            # A longer number is over each limit, and Python refuses to parse a very long one.
            return int(value.strip()[:20])
        case _:
            return None
