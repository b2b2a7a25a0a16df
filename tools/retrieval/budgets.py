"""Budgets of tokens for the answers of the tools of many sources."""

from __future__ import annotations

import json
from collections.abc import Callable

from index.sources.settings import MIN_ANSWER_TOKENS
from tools.arguments import InvalidArguments
from tools.tool import NextStep
from workspace.texts.tokens import count_tokens

_PRECISION = 50  # a size is at most 1/50 below the largest possible one


def read_max_tokens(requested: int | None, limit: int) -> int:
    """Return the limit of an answer: what the call asks for, at most the operator's `limit`.

    Raises InvalidArguments for less than 200 tokens.
    """
    if requested is None:
        return limit
    if requested < MIN_ANSWER_TOKENS:
        raise InvalidArguments(
            f"'max_tokens' must be at least {MIN_ANSWER_TOKENS} ({requested} was given)",
            fix=f"Give 'max_tokens' from {MIN_ANSWER_TOKENS} to {limit:,}, or leave it out.",
            field="max_tokens",
            ge=MIN_ANSWER_TOKENS,
            le=limit,
        )
    return min(requested, limit)


def count_answer_tokens(data: object) -> int:
    """Return the number of tokens of data as compact JSON, with a next step as its text."""
    return count_tokens(json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_format_step))


def _format_step(step: NextStep) -> str:
    return step.text()


def find_largest(maximum: int, fits: Callable[[int], bool]) -> int:
    """Return about the largest size, at most `maximum`, that fits; 0 if none does."""
    if fits(maximum):
        return maximum
    fitting, exceeding = 0, maximum
    while exceeding - fitting > max(1, fitting // _PRECISION):
        middle = (fitting + exceeding) // 2
        if fits(middle):
            fitting = middle
        else:
            exceeding = middle
    return fitting
