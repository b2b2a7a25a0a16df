"""The events of a proposal or of a branch: a class for each kind, with its limits, and their encoding.

`validate_title` and `validate_text` reject texts that are too long. `decode_event` applies the same limits to
events from a repository. It checks each field, because anyone may have written the file.

An event is encoded as JSON with sorted keys, in UTF-8, with a final newline.

    {
      "after": ["9f2c51d0a7b3e846"],
      "author": {"email": "ada@example.org", "known_by": "git", "name": "Ada"},
      "kind": "closed",
      "proposal": "k7m2q9xa",
      "time": "2026-01-31T12:00:00.000Z",
      "version": 1,
      "words": {"text": "Done elsewhere."}
    }

Later versions may change only `words`. The name of the file contains the time and the beginning of the
SHA-256 of the bytes. So a changed file is detected, and no event can contain the id of a later event.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX, is_id, parse_branch_id

MAX_TITLE_CHARACTERS = 256
MAX_TEXT_CHARACTERS = 65_536
"""The maximum number of characters of a description, a comment or a review."""

MAX_QUOTE_CHARACTERS = 500
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class InvalidEventText(WorkspaceError):
    """An error: a text of an event is empty, too long, or invalid. `field` names the text."""

    code = "INVALID_WORDS"


class IdentitySource(StrEnum):
    """The way in which an author is known, as the writer claims: a file in Git proves nothing."""

    GIT = "git"
    TOKEN = "token"
    CLIENT = "client"


class Author(NamedTuple):
    """The author of an event. `label` is the name of the token or client, or "" for Git's identity."""

    name: str
    email: str
    known_by: IdentitySource
    label: str = ""

    @property
    def key(self) -> tuple[IdentitySource, str]:
        """The key of an author among authors known in the same way: a token's name, or else the address."""
        is_known_by_token = self.known_by is IdentitySource.TOKEN
        return self.known_by, self.label if is_known_by_token else self.email.casefold() or self.name

    def is_same(self, other: Author) -> bool:
        """Return True if two authors may be one person, even if one is known by Git and one by a token.

        A client differs from the person in whose name it commits, because it cannot have a token.
        """
        if IdentitySource.CLIENT in (self.known_by, other.known_by) or self.known_by is other.known_by:
            return self.key == other.key
        return bool(self.email) and self.email.casefold() == other.email.casefold()


class ReviewDecision(StrEnum):
    """The decision of a review."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class CommentTarget:
    """The target of a comment: a document or one of its sections, at the comment's commit.

    `slug` is the section's address, or None for the whole document. `digest` is the SHA-256 of its text, in
    hex. `quote` is the part of the text that the comment is about; it is empty for the whole text.
    """

    path: str
    slug: str | None
    digest: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """The opening of a proposal: `branch` was created at the commit `base` of the branch `target`.

    `is_redirected` is True if a direct write to a protected path opened the proposal.
    """

    kind: ClassVar[str] = "opened"
    title: str
    description: str
    target: str
    branch: str
    base: str | None
    is_redirected: bool | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """A new title or description; None means that the text is unchanged."""

    kind: ClassVar[str] = "edited"
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Commented:
    """A comment on the proposal or a text in it, or a reply to the comment with the id `reply_to`.

    `pull_request` is the URL of the pull request, for a comment that reports its opening.
    """

    kind: ClassVar[str] = "commented"
    text: str
    place: CommentTarget | None = None
    commit: str | None = None
    reply_to: str | None = None
    pull_request: str | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A decision on the proposal at a commit.

    `seal` proves the decision to a repository that has the author's token (`create_seal`).
    """

    kind: ClassVar[str] = "reviewed"
    verdict: ReviewDecision
    text: str
    commit: str
    seal: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The author's request for a review of the proposal at a commit.

    `same` are the commits of earlier change requests from which `commit` differs only by refreshes. These
    requests are not addressed.
    """

    kind: ClassVar[str] = "submitted"
    commit: str
    same: tuple[str, ...] | None = None

    @property
    def unaddressed_commits(self) -> tuple[str, ...]:
        """The commits of change requests that are not addressed: the content is unchanged."""
        return (self.commit, *(self.same or ()))


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A merge of the target's commit `target` into the proposal; the merge is the commit `commit`.

    `asked` is the digest of the call's arguments, for a call with resolutions and an idempotency key.
    """

    kind: ClassVar[str] = "refreshed"
    commit: str
    target: str
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The closing of the proposal."""

    kind: ClassVar[str] = "closed"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reopened:
    """The reopening of the proposal."""

    kind: ClassVar[str] = "reopened"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The resolution of the thread that the comment `thread` began, or its reopening."""

    kind: ClassVar[str] = "resolved"
    thread: str
    is_resolved: bool = True


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim of the task with the id `task` in the document `path`, as `name until time`; None releases it.

    `previous` is the claim that it replaces, as its writer had read it.
    """

    kind: ClassVar[str] = "claimed"
    path: str
    task: str
    claim: str | None = None
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a kind or version that this version of Docyard does not support."""

    kind: str
    version: int


EventBody = (
    Opened
    | Edited
    | Commented
    | Reviewed
    | Submitted
    | Refreshed
    | Closed
    | Reopened
    | Resolved
    | Claimed
    | UnknownEvent
)


def validate_title(text: str) -> str:
    """Return a title on one line, with single spaces. Raises InvalidEventText."""
    title = join_lines(_check_encodable(text, "title"))
    if not title:
        raise InvalidEventText(
            "the title is empty", fix="Describe in a few words what the proposal changes.", field="title"
        )
    _check_length(title, MAX_TITLE_CHARACTERS, "title", "Shorten it, and move the rest to the description.")
    return title


def validate_text(text: str, field: str, *, may_be_empty: bool = False) -> str:
    """Return a text with LF line ends and without control characters. Raises InvalidEventText."""
    _check_length(text, MAX_TEXT_CHARACTERS, field, "Shorten it, or split it into several comments.")
    clean_text = remove_controls(_check_encodable(text, field))
    if not clean_text and not may_be_empty:
        raise InvalidEventText(f"the {field} is empty", fix=f"Write the {field}, or cancel.", field=field)
    return clean_text


def join_lines(text: str) -> str:
    """Return a text on one line, with single spaces and without control characters."""
    return " ".join(_CONTROL_CHARACTER.sub(" ", text).split())


def remove_controls(text: str) -> str:
    """Return a text without control characters except tabs and LF line ends."""
    return _CONTROL_CHARACTER.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _check_encodable(text: str, field: str) -> str:
    if _SURROGATE.search(text):
        raise InvalidEventText(f"the {field} is not valid Unicode", fix="Send it as UTF-8.", field=field)
    return text


def _check_length(text: str, max_characters: int, field: str, fix: str) -> None:
    if len(text) > max_characters:
        raise InvalidEventText(
            f"the {field} has {len(text):,} characters; the limit is {max_characters:,}",
            fix=fix,
            field=field,
            limit=max_characters,
            actual=len(text),
        )


MAX_EARLIER_EVENTS = 50
"""The maximum number of earlier events that one event may name."""

MAX_COMMITS = 50
"""The maximum number of commits that one event may name in a list."""

_EVENT_ID = re.compile("[0-9a-f]{16}")
_COMMIT_ID = re.compile("[0-9a-f]{40}")
_DIGEST = re.compile("[0-9a-f]{64}")
_SEAL = re.compile("[0-9a-f]{96}")
_LINK = re.compile(r"(?i:https?)://\S{1,2000}")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_MAX_NAME_CHARACTERS = 1_000  # the limit for a person's name, an e-mail address, and a branch's name
_MAX_PATH_CHARACTERS = 4_000
Check = Callable[[object], Any]
"""A function that returns the value of a field in its internal form. Raises UnreadableEvent."""


class UnreadableEvent(ValueError):
    """An error: a file is not a valid event."""


def read_fields(value: object, checks: Mapping[str, Check]) -> dict[str, Any]:
    """Return the fields of an object that have a check, each converted by its check.

    Raises UnreadableEvent.
    """
    if not isinstance(value, dict):
        raise UnreadableEvent("'words', 'author' and 'place' must be objects")
    return {name: check(value.get(name)) for name, check in checks.items()}


def make_text_check(max_characters: int) -> Callable[[object], str]:
    """Return a check for a text of at most `max_characters` characters, without lone surrogates."""

    def check(value: object) -> str:
        if not isinstance(value, str) or len(value) > max_characters or _SURROGATE.search(value):
            raise UnreadableEvent(f"a text must be a string of at most {max_characters:,} characters")
        return value

    return check


def read_title(value: object) -> str:
    """Return a title, on one line."""
    title = join_lines(make_text_check(MAX_TITLE_CHARACTERS)(value))
    if not title:
        raise UnreadableEvent("'title' is empty")
    return title


def read_text(value: object) -> str:
    """Return a text; return an empty text if it is missing."""
    return remove_controls(make_text_check(MAX_TEXT_CHARACTERS)(value)) if value is not None else ""


def read_branch(value: object) -> str:
    """Return the name of a branch."""
    name = make_text_check(_MAX_NAME_CHARACTERS)(value)
    if not name or join_lines(name) != name:
        raise UnreadableEvent("the name of a branch is invalid")
    return name


def read_target(value: object) -> str:
    """Return the target branch of a proposal."""
    name = read_branch(value)
    # The target contains documents: it is neither the discussion nor another proposal.
    if name == DISCUSSION_BRANCH or name.startswith(PROPOSAL_BRANCH_PREFIX):
        raise UnreadableEvent(f"'target' must be a branch of documents, not '{name}'")
    return name


def make_pattern_check(pattern: re.Pattern[str]) -> Callable[[object], str]:
    """Return a check for an id that matches a pattern."""

    def check(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise UnreadableEvent(f"an id must match {pattern.pattern}")
        return value

    return check


def make_enum_check(enum_class: Callable[[str], Any]) -> Check:
    """Return a check for a value of an enum class."""

    def check(value: object) -> object:
        try:
            return enum_class(value) if isinstance(value, str) else enum_class("")
        except ValueError:
            raise UnreadableEvent("a field is not one of its allowed values") from None

    return check


def make_optional_check(check: Callable[[object], Any]) -> Callable[[object], Any]:
    """Return a check that also accepts a missing value."""
    return lambda value: None if value is None else check(value)


def read_boolean(value: object) -> bool:
    """Return a boolean. Raises UnreadableEvent."""
    if not isinstance(value, bool):
        raise UnreadableEvent("a field must be true or false")
    return value


def read_time(value: object) -> datetime:
    """Return a time in UTC, to the millisecond. Raises UnreadableEvent."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UnreadableEvent("'time' must be a UTC time with milliseconds")
    *time_parts, milliseconds = (int(part) for part in match.groups())
    year, month, day, hour, minute, second = time_parts
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, UTC)
    except ValueError:
        raise UnreadableEvent("'time' is not a valid date") from None


def read_author(value: object) -> Author:
    """Return the author. Raises UnreadableEvent."""
    fields = read_fields(
        value,
        {
            "name": make_text_check(_MAX_NAME_CHARACTERS),
            "email": make_text_check(_MAX_NAME_CHARACTERS),
            "known_by": make_enum_check(IdentitySource),
            "label": make_optional_check(make_text_check(_MAX_NAME_CHARACTERS)),
        },
    )
    name, email, label = (join_lines(fields[key] or "") for key in ("name", "email", "label"))
    return Author(name, email, fields["known_by"], label)


def read_after(value: object) -> tuple[str, ...]:
    """Return the ids of earlier events, 50 at most. Raises UnreadableEvent."""
    if not isinstance(value, list) or len(value) > MAX_EARLIER_EVENTS:
        raise UnreadableEvent(f"'after' must be a list of at most {MAX_EARLIER_EVENTS} ids")
    return tuple(make_pattern_check(_EVENT_ID)(id) for id in value)


def read_commits(value: object) -> tuple[str, ...]:
    """Return a list of commits, 50 at most. Raises UnreadableEvent."""
    if not isinstance(value, list) or len(value) > MAX_COMMITS:
        raise UnreadableEvent(f"'same' must be a list of at most {MAX_COMMITS} commits")
    return tuple(check_commit(id) for id in value)


def read_place(value: object) -> CommentTarget:
    """Return the target of a comment. Raises UnreadableEvent."""
    checks = {
        "path": make_text_check(_MAX_PATH_CHARACTERS),
        "slug": make_optional_check(make_text_check(_MAX_PATH_CHARACTERS)),
        "digest": make_pattern_check(_DIGEST),
        "quote": make_optional_check(make_text_check(MAX_QUOTE_CHARACTERS)),
    }
    fields = read_fields(value, checks)
    return CommentTarget(**{**fields, "quote": fields["quote"] or ""})


check_commit = make_pattern_check(_COMMIT_ID)
check_digest = make_pattern_check(_DIGEST)
check_event_id = make_pattern_check(_EVENT_ID)
check_link = make_pattern_check(_LINK)
check_seal = make_pattern_check(_SEAL)
EVENT_VERSION = 1
MAX_EVENT_BYTES = 400_000
_ID_CHARACTERS = 16
_KIND_NAME = re.compile("[a-z][a-z_]{0,49}")


class Event(NamedTuple):
    """An event of a proposal: its author, time (UTC, to the millisecond), and the events before it.

    For the comments on a branch's documents, `proposal` is the id of that discussion.

    `id` is the beginning of the digest of its bytes, in hex. `after` are the ids of the events that its
    writer had seen last. `request` is the digest of the idempotency key of its call.
    """

    id: str
    proposal: str
    time: datetime
    author: Author
    body: EventBody
    after: tuple[str, ...] = ()
    request: str | None = None


def encode_event(
    proposal: str,
    body: EventBody,
    author: Author,
    time: datetime,
    after: tuple[str, ...] = (),
    request: str | None = None,
) -> tuple[str, bytes]:
    """Return the name of an event's file, and its bytes.

    Raises UnreadableEvent for an event that `decode_event` would reject.
    """
    if isinstance(body, UnknownEvent):
        raise UnreadableEvent(f"an event of the unknown kind '{body.kind}' cannot be written")
    fields: dict[str, object] = {
        "after": list(after),
        "author": {
            name: value for name, value in author._asdict().items() if value or name in ("name", "email")
        },
        "kind": body.kind,
        "proposal": proposal,
        "time": time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "version": EVENT_VERSION,
        "words": _drop_none(dataclasses.asdict(body)),
    }
    if request is not None:
        fields["request"] = request
    try:
        event_bytes = (json.dumps(fields, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()
    except UnicodeEncodeError:
        raise UnreadableEvent("a text is not valid Unicode") from None
    name = _build_name(time.astimezone(UTC), event_bytes)
    decode_event(proposal, name, event_bytes)
    return name, event_bytes


def decode_event(proposal: str, name: str, data: bytes) -> Event:
    """Return the event of a file with this name in the folder of a proposal. Raises UnreadableEvent."""
    if len(data) > MAX_EVENT_BYTES:
        raise UnreadableEvent(f"the event has more than {MAX_EVENT_BYTES:,} bytes")
    try:
        fields = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are not UTF-8 raise ValueError too
        raise UnreadableEvent("the event is not JSON") from None
    if not isinstance(fields, dict):
        raise UnreadableEvent("the event must be a JSON object")
    time = read_time(fields.get("time"))
    if name != _build_name(time, data):
        raise UnreadableEvent(f"the name of the file does not match its content ({name})")
    if fields.get("proposal") != proposal or not is_id(proposal):
        raise UnreadableEvent(f"'proposal' must be '{proposal}'")
    return Event(
        name.removesuffix(".json")[-_ID_CHARACTERS:],
        proposal,
        time,
        read_author(fields.get("author")),
        _read_body(fields),
        read_after(fields.get("after")),
        make_optional_check(check_digest)(fields.get("request")),
    )


def _build_name(time: datetime, data: bytes) -> str:
    """Return a name that sorts by time, and is valid on every system."""
    # `%Y` may have fewer than four digits for years before 1000, so zeros are added on the left.
    compact_time = f"{time:%Y%m%dT%H%M%S}{time.microsecond // 1000:03}Z"
    compact_time = compact_time.zfill(len("YYYYMMDDTHHMMSSmmmZ"))
    return f"{compact_time}-{hashlib.sha256(data).hexdigest()[:_ID_CHARACTERS]}.json"


def _read_body(fields: Mapping[str, Any]) -> EventBody:
    kind, version = fields.get("kind"), fields.get("version")
    if not isinstance(kind, str) or not _KIND_NAME.fullmatch(kind):
        raise UnreadableEvent("'kind' must be a name")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < 1_000_000:
        raise UnreadableEvent("'version' must be a positive integer")
    if kind not in _CLASS_AND_CHECKS_BY_KIND or version > EVENT_VERSION:
        return UnknownEvent(kind, version)
    event_class, checks = _CLASS_AND_CHECKS_BY_KIND[kind]
    body = event_class(**read_fields(fields.get("words"), checks))
    # A proposal must not direct writes to the branch of another one.
    if isinstance(body, Opened) and parse_branch_id(body.branch) != fields.get("proposal"):
        raise UnreadableEvent("'branch' must be a branch of the proposal")
    return body


def _drop_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_none(value) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }


_CLASS_AND_CHECKS_BY_KIND: Mapping[str, tuple[Callable[..., EventBody], Mapping[str, Check]]] = {
    "opened": (
        Opened,
        {
            "title": read_title,
            "description": read_text,
            "target": read_target,
            "branch": read_branch,
            "base": make_optional_check(check_commit),
            "is_redirected": make_optional_check(read_boolean),
        },
    ),
    "edited": (
        Edited,
        {"title": make_optional_check(read_title), "description": make_optional_check(read_text)},
    ),
    "commented": (
        Commented,
        {
            "text": read_text,
            "place": make_optional_check(read_place),
            "commit": make_optional_check(check_commit),
            "reply_to": make_optional_check(check_event_id),
            "pull_request": make_optional_check(check_link),
        },
    ),
    "reviewed": (
        Reviewed,
        {
            "verdict": make_enum_check(ReviewDecision),
            "text": read_text,
            "commit": check_commit,
            "seal": make_optional_check(check_seal),
        },
    ),
    "submitted": (Submitted, {"commit": check_commit, "same": make_optional_check(read_commits)}),
    "refreshed": (
        Refreshed,
        {"commit": check_commit, "target": check_commit, "asked": make_optional_check(check_digest)},
    ),
    "closed": (Closed, {"text": read_text}),
    "reopened": (Reopened, {"text": read_text}),
    "resolved": (Resolved, {"thread": check_event_id, "is_resolved": read_boolean}),
    "claimed": (
        Claimed,
        {
            "path": make_text_check(_MAX_PATH_CHARACTERS),
            "task": make_text_check(_MAX_NAME_CHARACTERS),
            "claim": make_optional_check(make_text_check(_MAX_NAME_CHARACTERS)),
            "previous": make_optional_check(make_text_check(_MAX_NAME_CHARACTERS)),
        },
    ),
}
