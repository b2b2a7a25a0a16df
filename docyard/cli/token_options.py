"""The options of commands that create tokens: scopes and expiry."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_SCOPES = ("docs:read", "docs:write", "docs:review", "docs:admin")
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNIT_SECONDS = {"h": 3_600, "d": 86_400, "w": 604_800}


def scopes(command: F) -> F:
    """Add `--scope SCOPE`: the parameter `scopes`, empty if it is not given."""
    return click.option(
        "--scope",
        "scopes",
        type=click.Choice(_SCOPES),
        multiple=True,
        help="What the token may do; each scope includes those before it. Can be repeated.",
    )(command)


def expires(command: F) -> F:
    """Add `--expires TIME`: the parameter `expires_at` in seconds since 1970, None for a token without."""
    return click.option(
        "--expires",
        "expires_at",
        metavar="TIME",
        callback=lambda context, parameter, value: None if value is None else parse_expiry(value),
        help="When the token expires: after a time such as 12h, 90d or 4w, or at a date such as 2027-01-31 "
        "(UTC). [default: never]",
    )(command)


def parse_expiry(text: str) -> int:
    """Return a time in seconds since 1970: now and a duration, or the begin of a date.

    Raises click.BadParameter.
    """
    now = time.time()
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        return int(now) + int(duration[1]) * _UNIT_SECONDS[duration[2]]
    try:
        expires_at = int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise click.BadParameter(
            f"'{text[:50]}' must be a time such as 12h, 90d or 4w, or a date such as 2027-01-31"
        ) from None
    if expires_at <= now:
        raise click.BadParameter(f"{text} is not in the future")
    return expires_at


def include_lower_scopes(names: Iterable[str]) -> frozenset[str]:
    """Return scopes with those that they include: a token that may write must also read."""
    chosen = [number for number, scope in enumerate(_SCOPES) if scope in set(names)]
    return frozenset(_SCOPES[: max(chosen) + 1]) if chosen else frozenset()


def format_time(seconds: float | None) -> str:
    """Return a time in UTC for people; empty for None."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
