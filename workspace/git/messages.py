"""Commit messages: a subject, a list of changes, and trailers that identify the caller."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SUBJECT_LENGTH = 72
MAX_MESSAGE_LENGTH = 10_000
MAX_CLIENT_NAME_LENGTH = 100

_CO_AUTHOR = re.compile(r"^co-authored-by:.*<([^<>\n]+)>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def format_commit_message(
    summaries: Sequence[str],
    *,
    paths: Sequence[str],
    message: str | None,
    tool: str,
    client: str,
    trailers: Mapping[str, str] | None = None,
) -> str:
    """Return the caller's message, or a summary of the operations, with its trailers.

    The last paragraph contains only the trailers, so a caller cannot forge a trailer. The values of
    `trailers` are lines of visible ASCII.
    """
    subject, body = summarize_operations(summaries, paths=paths, message=message)
    fields = {TOOL_TRAILER: tool, CLIENT_TRAILER: clean_client_name(client), **(trailers or {})}
    trailer_paragraph = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return "\n\n".join(part for part in (_shorten_subject(subject), body, trailer_paragraph) if part) + "\n"


def summarize_operations(
    summaries: Sequence[str], *, paths: Sequence[str], message: str | None
) -> tuple[str, str]:
    """Return the subject of a commit message, of any length, and a list of changes, which may be empty."""
    text = _clean(message or "").strip()[:MAX_MESSAGE_LENGTH]
    is_single = len(summaries) == 1
    prefix = f"Edit {paths[0]}:" if len(paths) == 1 else f"Edit {len(paths)} documents:"
    subject = text or (summaries[0] if is_single else f"{prefix} {len(summaries)} changes")
    lines = [] if is_single and not text else [f"- {summary}" for summary in summaries]
    return subject, "\n".join(_clean(line) for line in lines)


def read_trailers(message: str) -> dict[str, str]:
    """Return a message's trailers: `Name: value` lines of the last paragraph, unless it is the only one.

    Other lines of that paragraph are skipped (git-cherry-pick adds some), and so are repeated names.
    """
    _, separator, last_paragraph = message.rstrip().rpartition("\n\n")
    lines = [line.partition(": ") for line in last_paragraph.split("\n")] if separator else []
    counts = Counter(name for name, _, _ in lines)
    return {name: value for name, colon, value in lines if colon and counts[name] == 1}


def format_co_author(name: str, email: str) -> str:
    """Return a name and an address on one line, as in the author of a commit."""
    clean_name, clean_email = (" ".join(re.sub("[<>]", "", _clean(text)).split()) for text in (name, email))
    return f"{clean_name or clean_email} <{clean_email}>"


def read_co_author_emails(message: str) -> frozenset[str]:
    """Return the addresses of the co-authors in the last paragraph of a message, in lower case."""
    last_paragraph = message.rstrip().rpartition("\n\n")[2]
    return frozenset(email.casefold() for email in _CO_AUTHOR.findall(last_paragraph))


def clean_client_name(client: str) -> str:
    """Return a client's name on one line, at most 100 characters; `unknown` if no character remains."""
    return " ".join(_clean(client).split())[:MAX_CLIENT_NAME_LENGTH] or "unknown"


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def _shorten_subject(subject: str) -> str:
    """Return a one-line subject cut to 72 characters, as Git's tools display it; the rest moves to the body.

    A subject of several lines is unchanged.
    """
    if "\n" in subject or len(subject) <= MAX_SUBJECT_LENGTH:
        return subject
    return subject[: MAX_SUBJECT_LENGTH - 1].rstrip() + "…\n\n…" + subject[MAX_SUBJECT_LENGTH - 1 :].lstrip()


TOOL_TRAILER = "Docyard-Tool"
"""The trailer that each commit of Docyard on a branch has: the tool that made it."""

CLIENT_TRAILER = "Docyard-Client"
"""The trailer with the name of the client that made a commit."""

SYNC_TOOL = "sync"
"""The tool of the merges of a synchronization."""

PERSON_TRAILER = "Docyard-Person"
"""The trailer with the token that identified the author of a commit."""

DECIDED_BY_TRAILER = "Docyard-Hand"
"""The trailer of a commit whose content was decided by a user whom only Git identifies."""

CO_AUTHOR_TRAILER = "Co-authored-by"
"""The trailer, known to Git's tools, with a further author of a commit."""

SUGGESTED_BY_TRAILER = "Docyard-Suggester"
"""The trailer of a commit that applies a suggestion: how its author is known; `client` for a client."""

PROPOSAL_TRAILER = "Docyard-Proposal"
REFRESH_TRAILER = "Docyard-Refresh"
"""The trailer of a merge of the target branch into a proposal."""

RESOLVED_TRAILER = "Docyard-Decided"
"""The trailer of a refresh with resolved conflicts; its value is their number."""
