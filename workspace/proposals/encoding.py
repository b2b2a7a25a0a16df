"""An event as the bytes of a file, and back: JSON with sorted keys, UTF-8, a final newline.

    {
      "after": ["9f2c51d0a7b3e846"],
      "author": {"email": "ada@example.org", "known_by": "git", "name": "Ada"},
      "kind": "closed",
      "proposal": "k7m2q9xa",
      "time": "2026-01-31T12:00:00.000Z",
      "version": 1,
      "words": {"text": "Done elsewhere."}
    }

All but `words` stays in this form in later versions. The name of the file holds the time and the beginning of
the SHA-256 of the bytes, so a file that was changed by hand is known as such, and no event can name one that
comes after it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from workspace.proposal_ids import id_of_branch, is_id
from workspace.proposals import events as kinds
from workspace.proposals import fields
from workspace.proposals.events import Author, Unknown, Verdict, Words
from workspace.proposals.fields import Check, Unreadable

VERSION = 1
MAX_BYTES = 400_000

_ID = 16
_IS_KIND = re.compile("[a-z][a-z_]{0,49}")


class Event(NamedTuple):
    """Words of a proposal: who said them, when (UTC, to the millisecond), and what had been said before.

    `id` is the beginning of the digest of its bytes, in hex. `after` are the ids of the events that its
    writer had seen last, `request` a digest of the idempotency key that it was written with.
    """

    id: str
    proposal: str
    time: datetime
    author: Author
    words: Words
    after: tuple[str, ...] = ()
    request: str | None = None


def encode(
    proposal: str,
    words: Words,
    author: Author,
    time: datetime,
    after: tuple[str, ...] = (),
    request: str | None = None,
) -> tuple[str, bytes]:
    """The name of an event's file, and its bytes. Raises Unreadable for what could not be read again."""
    if isinstance(words, Unknown):
        raise Unreadable("words of an unknown kind are only read")
    data: dict[str, object] = {
        "after": list(after),
        "author": {
            name: value for name, value in author._asdict().items() if value or name in ("name", "email")
        },
        "kind": words.kind,
        "proposal": proposal,
        "time": time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "version": VERSION,
        "words": _without_nothing(dataclasses.asdict(words)),
    }
    if request is not None:
        data["request"] = request
    try:
        raw = (json.dumps(data, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()
    except UnicodeEncodeError:
        raise Unreadable("a text is not valid Unicode") from None
    name = _name(time.astimezone(UTC), raw)
    decode(proposal, name, raw)
    return name, raw


def decode(proposal: str, name: str, data: bytes) -> Event:
    """The event that a file of this name holds, in the folder of a proposal. Raises Unreadable."""
    if len(data) > MAX_BYTES:
        raise Unreadable("it is too large")
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are no text are a ValueError too
        raise Unreadable("it is not JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("it is no object")
    time = fields.time(found.get("time"))
    if name != _name(time, data):
        raise Unreadable("its name is another's")
    if found.get("proposal") != proposal or not is_id(proposal):
        raise Unreadable("it is of another proposal")
    return Event(
        name[-_ID - 5 : -5],
        proposal,
        time,
        fields.author(found.get("author")),
        _words(found),
        fields.after(found.get("after")),
        fields.optional(fields.digest)(found.get("request")),
    )


def _name(time: datetime, data: bytes) -> str:
    """A name that sorts by time, and that every system can store."""
    compact = f"{time:%Y%m%dT%H%M%S}{time.microsecond // 1000:03}Z"
    return f"{compact.zfill(19)}-{hashlib.sha256(data).hexdigest()[:_ID]}.json"


def _words(found: Mapping[str, Any]) -> Words:
    kind, version = found.get("kind"), found.get("version")
    if not isinstance(kind, str) or not _IS_KIND.fullmatch(kind):
        raise Unreadable("it has no kind")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < 1_000_000:
        raise Unreadable("it has no version")
    if kind not in _KINDS or version > VERSION:
        return Unknown(kind, version)
    make, checks = _KINDS[kind]
    words = make(**fields.checked(found.get("words"), checks))
    # Who writes to a proposal's branch must not be led to another.
    if isinstance(words, kinds.Opened) and id_of_branch(words.branch) != found.get("proposal"):
        raise Unreadable("its branch is not the proposal's own")
    return words


def _without_nothing(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nothing(value) if isinstance(value, dict) else value
        for name, value in found.items()
        if value is not None
    }


_KINDS: Mapping[str, tuple[Callable[..., Words], Mapping[str, Check]]] = {
    "opened": (
        kinds.Opened,
        {
            "title": fields.title,
            "description": fields.said,
            "target": fields.target,
            "branch": fields.branch,
            "base": fields.optional(fields.commit),
        },
    ),
    "edited": (
        kinds.Edited,
        {"title": fields.optional(fields.title), "description": fields.optional(fields.said)},
    ),
    "commented": (
        kinds.Commented,
        {
            "text": fields.said,
            "place": fields.optional(fields.place),
            "commit": fields.optional(fields.commit),
            "reply_to": fields.optional(fields.event),
            "pull_request": fields.optional(fields.link),
        },
    ),
    "reviewed": (
        kinds.Reviewed,
        {
            "verdict": fields.one_of(Verdict),
            "text": fields.said,
            "commit": fields.commit,
            "seal": fields.optional(fields.seal),
        },
    ),
    "submitted": (kinds.Submitted, {"commit": fields.commit, "same": fields.optional(fields.commits)}),
    "refreshed": (
        kinds.Refreshed,
        {"commit": fields.commit, "target": fields.commit, "asked": fields.optional(fields.digest)},
    ),
    "closed": (kinds.Closed, {"text": fields.said}),
    "reopened": (kinds.Reopened, {"text": fields.said}),
}
