"""What people say of a proposal: a kind of words a class, each with the bounds that it is held to.

Whatever is said is made by these classes' callers through `title`, `text` and `Place`, which refuse what is
too long; what is read from a repository is held to the same bounds by `encoding`.

The fields of an event's file, each read and checked by itself: anybody may have written them.

An event as the bytes of a file, and back: JSON with sorted keys, UTF-8, a final newline.

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
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.proposal_ids import BRANCHES, DISCUSSION, id_of_branch, is_id

MAX_TITLE = 256


MAX_TEXT = 65_536


"""Characters of a description, a comment or a review."""


MAX_QUOTE = 500


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


_SURROGATE = re.compile("[\ud800-\udfff]")


class InvalidWords(WorkspaceError):
    """What is said cannot be kept: it is empty, too long, or no text. `field` names what of it."""

    code = "INVALID_WORDS"


class KnownBy(StrEnum):
    """How it is known who speaks. It is what the writer says: a file in Git proves nothing."""

    GIT = "git"
    TOKEN = "token"
    CLIENT = "client"


class Author(NamedTuple):
    """Who speaks. `label` is the name of the token, or of the client; empty for Git's own identity."""

    name: str
    email: str
    known_by: KnownBy
    label: str = ""

    @property
    def key(self) -> tuple[KnownBy, str]:
        """What tells one from another who is known in the same way: a token's name, else the address."""
        by_label = self.known_by is KnownBy.TOKEN
        return self.known_by, self.label if by_label else self.email.casefold() or self.name

    def is_same(self, other: Author) -> bool:
        """Whether this may be the same person: also one who is known by Git here, and by a token there.

        A client is another than the person in whose name it commits, since it cannot have a token.
        """
        if KnownBy.CLIENT in (self.known_by, other.known_by) or self.known_by is other.known_by:
            return self.key == other.key
        return bool(self.email) and self.email.casefold() == other.email.casefold()


class Verdict(StrEnum):
    """What a review comes to."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Place:
    """What a comment is about: a document, or a section of it, as of the comment's commit.

    `slug` is the section's address, None for the whole document. `digest` is the SHA-256, in hex, of the text
    that was there; `quote` is the part of it that is meant, empty for all of it.
    """

    path: str
    slug: str | None
    digest: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """The proposal begins: `branch` was made at the commit `base` of the branch `target`."""

    kind: ClassVar[str] = "opened"
    title: str
    description: str
    target: str
    branch: str
    base: str | None


@dataclass(frozen=True, slots=True)
class Edited:
    """Another title or description; None leaves it as it is."""

    kind: ClassVar[str] = "edited"
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Commented:
    """A remark on the proposal, on a place in it, or an answer to another remark (`reply_to`, its id).

    `pull_request` is the link of the pull request that the remark reports as opened.
    """

    kind: ClassVar[str] = "commented"
    text: str
    place: Place | None = None
    commit: str | None = None
    reply_to: str | None = None
    pull_request: str | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A verdict on the proposal as it was at a commit.

    `seal` proves to those who know the author's token that it was given with it (`policy.seals`).
    """

    kind: ClassVar[str] = "reviewed"
    verdict: Verdict
    text: str
    commit: str
    seal: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The author asks for a review of the proposal as it is at a commit.

    `same` are earlier commits at which somebody asks for changes, and from which `commit` differs by nothing
    but what refreshes brought from the target: what was asked for there is not answered.
    """

    kind: ClassVar[str] = "submitted"
    commit: str
    same: tuple[str, ...] | None = None

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The commits at which a request for changes stays unanswered: they hold the same words."""
        return (self.commit, *(self.same or ()))


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The target's commit `target` was merged into the proposal, by its commit `commit`.

    `asked` is a digest of the decisions that it was asked for with.
    """

    kind: ClassVar[str] = "refreshed"
    commit: str
    target: str
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The proposal is given up."""

    kind: ClassVar[str] = "closed"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reopened:
    """The proposal is taken up again."""

    kind: ClassVar[str] = "reopened"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Words of a kind, or of a version, that this Docyard does not know."""

    kind: str
    version: int


Words = Opened | Edited | Commented | Reviewed | Submitted | Refreshed | Closed | Reopened | Unknown


def title(text: str) -> str:
    """Return a title on one line, its white space single. Raises InvalidWords if it is empty or too long."""
    found = one_line(_encodable(text, "title"))
    if not found:
        raise InvalidWords(
            "the title is empty", fix="Say in a few words what the proposal changes.", field="title"
        )
    _check_length(found, MAX_TITLE, "title", "Shorten it; the description has room for the rest.")
    return found


def text(words: str, field: str, *, may_be_empty: bool = False) -> str:
    """Return a text of several lines, ended by LF, without control characters. Raises InvalidWords."""
    _check_length(words, MAX_TEXT, field, "Shorten it, or say it in several comments.")
    found = plain(_encodable(words, field))
    if not found and not may_be_empty:
        raise InvalidWords(f"the {field} is empty", fix="Say something, or leave it out.", field=field)
    return found


def one_line(text: str) -> str:
    """Return a text without control characters, its white space single."""
    return " ".join(_CONTROL.sub(" ", text).split())


def plain(text: str) -> str:
    """Return a text without control characters other than tabs and ends of lines, which are LF."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _encodable(text: str, field: str) -> str:
    if _SURROGATE.search(text):
        raise InvalidWords(f"the {field} is not valid Unicode", fix="Send it as UTF-8.", field=field)
    return text


def _check_length(text: str, most: int, field: str, fix: str) -> None:
    if len(text) > most:
        raise InvalidWords(
            f"the {field} has {len(text):,} characters; at most {most:,} are kept",
            fix=fix,
            field=field,
            limit=most,
            actual=len(text),
        )


MAX_AFTER = 50


"""Events that one event may name as those that it comes after."""


MAX_COMMITS = 50


"""Commits that one event may name in a list."""


_IS_EVENT = re.compile("[0-9a-f]{16}")


_IS_COMMIT = re.compile("[0-9a-f]{40}")


_IS_DIGEST = re.compile("[0-9a-f]{64}")


_IS_SEAL = re.compile("[0-9a-f]{96}")


_IS_LINK = re.compile(r"(?i:https?)://\S{1,2000}")


_IS_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)


_MAX_NAME = 1_000  # characters of a name, an address or a branch


_MAX_PATH = 4_000


Check = Callable[[object], Any]


"""Gives the value of a field as it is used. Raises Unreadable."""


class Unreadable(ValueError):
    """These bytes are no event."""


def checked(found: object, checks: Mapping[str, Check]) -> dict[str, Any]:
    """Return the fields of an object, each by its check; what has none is left out. Raises Unreadable."""
    if not isinstance(found, dict):
        raise Unreadable("it has no words")
    return {name: check(found.get(name)) for name, check in checks.items()}


def text_field(most: int) -> Callable[[object], str]:
    """Return a text of so many characters at most, with no lone surrogates."""

    def check(found: object) -> str:
        if not isinstance(found, str) or len(found) > most or _SURROGATE.search(found):
            raise Unreadable("a text is none, or too long")
        return found

    return check


def title_field(found: object) -> str:
    """Return a title, on one line."""
    shown = one_line(text_field(MAX_TITLE)(found))
    if not shown:
        raise Unreadable("its title is empty")
    return shown


def said(found: object) -> str:
    """Return what was said: nothing is an empty text."""
    return plain(text_field(MAX_TEXT)(found)) if found is not None else ""


def branch(found: object) -> str:
    """Return the name of a branch."""
    name = text_field(_MAX_NAME)(found)
    if not name or one_line(name) != name:
        raise Unreadable("a branch is none")
    return name


def target(found: object) -> str:
    """Return the branch into which a proposal asks to be merged."""
    name = branch(found)
    # What a proposal is merged into holds documents: not what is said, and not another proposal.
    if name == DISCUSSION or name.startswith(BRANCHES):
        raise Unreadable("its target is no branch of documents")
    return name


def matching(pattern: re.Pattern[str]) -> Callable[[object], str]:
    """Return an id of a form."""

    def check(found: object) -> str:
        if not isinstance(found, str) or not pattern.fullmatch(found):
            raise Unreadable("an id is none")
        return found

    return check


def one_of(choices: Callable[[str], Any]) -> Check:
    """Return a value of an enumeration."""

    def check(found: object) -> object:
        try:
            return choices(found) if isinstance(found, str) else choices("")
        except ValueError:
            raise Unreadable("a choice is none") from None

    return check


def optional(check: Callable[[object], Any]) -> Callable[[object], Any]:
    """Return what a check takes, or nothing."""
    return lambda found: None if found is None else check(found)


def time_field(found: object) -> datetime:
    """Return a time in UTC, to the millisecond. Raises Unreadable."""
    match = _IS_TIME.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        raise Unreadable("it has no time")
    *parts, milliseconds = (int(part) for part in match.groups())
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, UTC)
    except ValueError:
        raise Unreadable("its time is none") from None


def author_field(found: object) -> Author:
    """Return who spoke. Raises Unreadable."""
    fields = checked(
        found,
        {
            "name": text_field(_MAX_NAME),
            "email": text_field(_MAX_NAME),
            "known_by": one_of(KnownBy),
            "label": optional(text_field(_MAX_NAME)),
        },
    )
    name, email, label = (one_line(fields[key] or "") for key in ("name", "email", "label"))
    return Author(name, email, fields["known_by"], label)


def after(found: object) -> tuple[str, ...]:
    """Return the ids of events that were there before, 50 at most. Raises Unreadable."""
    if not isinstance(found, list) or len(found) > MAX_AFTER:
        raise Unreadable("what it comes after is no short list")
    return tuple(matching(_IS_EVENT)(id) for id in found)


def commits(found: object) -> tuple[str, ...]:
    """Return a list of commits, 50 at most. Raises Unreadable."""
    if not isinstance(found, list) or len(found) > MAX_COMMITS:
        raise Unreadable("its commits are no short list")
    return tuple(commit(id) for id in found)


def place(found: object) -> Place:
    """Return the document, section and words that a comment is about. Raises Unreadable."""
    checks = {
        "path": text_field(_MAX_PATH),
        "slug": optional(text_field(_MAX_PATH)),
        "digest": matching(_IS_DIGEST),
        "quote": optional(text_field(MAX_QUOTE)),
    }
    fields = checked(found, checks)
    return Place(**{**fields, "quote": fields["quote"] or ""})


commit = matching(_IS_COMMIT)


digest = matching(_IS_DIGEST)


event = matching(_IS_EVENT)


link = matching(_IS_LINK)


seal = matching(_IS_SEAL)


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
    """Return the name of an event's file, and its bytes.

    Raises Unreadable for what could not be read again.
    """
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
    """Return the event that a file of this name holds, in the folder of a proposal. Raises Unreadable."""
    if len(data) > MAX_BYTES:
        raise Unreadable("it is too large")
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are no text are a ValueError too
        raise Unreadable("it is not JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("it is no object")
    time = time_field(found.get("time"))
    if name != _name(time, data):
        raise Unreadable("its name is another's")
    if found.get("proposal") != proposal or not is_id(proposal):
        raise Unreadable("it is of another proposal")
    return Event(
        name[-_ID - 5 : -5],
        proposal,
        time,
        author_field(found.get("author")),
        _words(found),
        after(found.get("after")),
        optional(digest)(found.get("request")),
    )


def _name(time: datetime, data: bytes) -> str:
    """Return a name that sorts by time, and that every system can store."""
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
    words = make(**checked(found.get("words"), checks))
    # Who writes to a proposal's branch must not be led to another.
    if isinstance(words, Opened) and id_of_branch(words.branch) != found.get("proposal"):
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
        Opened,
        {
            "title": title_field,
            "description": said,
            "target": target,
            "branch": branch,
            "base": optional(commit),
        },
    ),
    "edited": (
        Edited,
        {"title": optional(title_field), "description": optional(said)},
    ),
    "commented": (
        Commented,
        {
            "text": said,
            "place": optional(place),
            "commit": optional(commit),
            "reply_to": optional(event),
            "pull_request": optional(link),
        },
    ),
    "reviewed": (
        Reviewed,
        {
            "verdict": one_of(Verdict),
            "text": said,
            "commit": commit,
            "seal": optional(seal),
        },
    ),
    "submitted": (Submitted, {"commit": commit, "same": optional(commits)}),
    "refreshed": (
        Refreshed,
        {"commit": commit, "target": commit, "asked": optional(digest)},
    ),
    "closed": (Closed, {"text": said}),
    "reopened": (Reopened, {"text": said}),
}
