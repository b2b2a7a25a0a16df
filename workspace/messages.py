"""Commit messages: a subject, what was done, and trailers that say who asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SUBJECT = 72
MAX_MESSAGE = 10_000
MAX_CLIENT = 100

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def commit_message(
    summaries: Sequence[str], *, paths: Sequence[str], message: str | None, tool: str, client: str
) -> str:
    """The caller's own words if there are any, else the one thing that was done, or how many and where."""
    words = _clean(message or "").strip()[:MAX_MESSAGE]
    single = len(summaries) == 1
    place = f"Edit {paths[0]}:" if len(paths) == 1 else f"Edit {len(paths)} documents:"
    subject = words or (summaries[0] if single else f"{place} {len(summaries)} changes")
    listed = [] if single and not words else [f"- {summary}" for summary in summaries]
    body = "\n".join(_clean(line) for line in listed)
    trailers = f"Docyard-Tool: {tool}\nDocyard-Client: {client_name(client)}"
    return "\n\n".join(part for part in (_short(subject), body, trailers) if part) + "\n"


def client_name(client: str) -> str:
    """A client's name on one line, at most 100 characters; `unknown` if nothing is left of it."""
    return " ".join(_clean(client).split())[:MAX_CLIENT] or "unknown"


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def _short(subject: str) -> str:
    """A subject that fits the line that Git's tools show; what a caller wrote over several lines stays."""
    if "\n" in subject or len(subject) <= MAX_SUBJECT:
        return subject
    return subject[: MAX_SUBJECT - 1].rstrip() + "…\n\n…" + subject[MAX_SUBJECT - 1 :].lstrip()
