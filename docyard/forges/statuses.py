"""The meaning of response statuses, and their retry delays (RFC 9110 §10.2.3, §15)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from docyard.forges.errors import (
    ForgeAccessDenied,
    ForgeConflict,
    ForgeError,
    ForgeFailed,
    ForgeLimited,
    ForgeNotFound,
    ForgeRequestRejected,
    ForgeUnreachable,
)
from workspace.git.remotes.exchange import clean_message

_RESET_HEADERS = ("x-ratelimit-reset", "ratelimit-reset")
_REMAINING_HEADERS = ("x-ratelimit-remaining", "ratelimit-remaining")
_REASON_FIELDS = ("message", "error", "error_description", "errors")
_MAX_DEPTH = 4
_MAX_REASONS = 20


class ForgeResponse(NamedTuple):
    """A response: `data` is its parsed JSON, or None if the body is empty or not JSON.

    `next_url` is the URL of the next page of a list.
    """

    status: int
    headers: Mapping[str, str]
    next_url: str | None
    data: Any


def build_error(forge: str, response: ForgeResponse, secret: str) -> ForgeError | None:
    """Return the error of a response's status; None for a success."""
    status, headers = response.status, response.headers
    if 200 <= status < 300:
        return None
    if status == 429 or (status == 403 and _is_limited(headers)):
        return ForgeLimited(forge, status, _read_retry_after(headers))
    reason = clean_message("; ".join(dict.fromkeys(_list_reasons(response.data))), (secret,))
    match status:
        case 401 | 403:
            return ForgeAccessDenied(forge, status, reason)
        case 404 | 410:
            return ForgeNotFound(forge, reason)
        case 405 | 406 | 409 | 423:
            return ForgeConflict(forge, status, reason)
        case _ if 400 <= status < 500:
            return ForgeRequestRejected(forge, status, reason)
        case _ if status >= 500:
            error = ForgeFailed(forge, status, reason)
            error.details["retry_after"] = _read_retry_after(headers)
            return error
        case _:
            return ForgeUnreachable(forge, f"its response has the invalid status {status}")


def get_retry_delay(error: ForgeError) -> float | None:
    """Return the seconds until the forge accepts a retry, if it reported them."""
    delay: float | None = error.details.get("retry_after")
    return delay


def _is_limited(headers: Mapping[str, str]) -> bool:
    """Return True if the headers report that GitHub's primary or secondary rate limit is reached."""
    return "retry-after" in headers or any(headers.get(name) == "0" for name in _REMAINING_HEADERS)


def _read_retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if value.isdecimal() and len(value) < 10:
        return float(value)
    if value:
        with suppress(ValueError, OverflowError):
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    for name in _RESET_HEADERS:
        if headers.get(name, "").isdecimal() and len(headers[name]) < 12:
            return max(0.0, float(headers[name]) - time.time())
    return None


def _list_reasons(data: object, depth: int = _MAX_DEPTH) -> Iterator[str]:
    """Yield the reasons in the JSON of an error, in any of the formats of forges."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list) and depth:
        for item in data[:_MAX_REASONS]:
            yield from _list_reasons(item, depth - 1)
    elif isinstance(data, dict) and depth:
        values = [data[name] for name in _REASON_FIELDS if name in data]
        if values:
            for item in values:
                yield from _list_reasons(item, depth - 1)
        elif {"field", "code"} <= data.keys():
            yield f"{data['field']}: {data['code']}"
        else:
            # GitLab maps the name of a field to its problems.
            for field, item in list(data.items())[:_MAX_REASONS]:
                for reason in _list_reasons(item, depth - 1):
                    yield reason if field == "base" else f"{field}: {reason}"
