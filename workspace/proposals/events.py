"""What people say of a proposal: a kind of words a class, each with the bounds that it is held to.

Whatever is said is made by these classes' callers through `title`, `text` and `Place`, which refuse what is
too long; what is read from a repository is held to the same bounds by `encoding`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError

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
    """A title on one line, its white space single. Raises InvalidWords if it is empty or too long."""
    found = one_line(_encodable(text, "title"))
    if not found:
        raise InvalidWords(
            "the title is empty", fix="Say in a few words what the proposal changes.", field="title"
        )
    _check_length(found, MAX_TITLE, "title", "Shorten it; the description has room for the rest.")
    return found


def text(words: str, field: str, *, may_be_empty: bool = False) -> str:
    """A text of several lines, ended by LF, without control characters. Raises InvalidWords."""
    _check_length(words, MAX_TEXT, field, "Shorten it, or say it in several comments.")
    found = plain(_encodable(words, field))
    if not found and not may_be_empty:
        raise InvalidWords(f"the {field} is empty", fix="Say something, or leave it out.", field=field)
    return found


def one_line(text: str) -> str:
    """A text without control characters, its white space single."""
    return " ".join(_CONTROL.sub(" ", text).split())


def plain(text: str) -> str:
    """A text without control characters other than tabs and ends of lines, which are LF."""
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
