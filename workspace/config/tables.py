"""The tables of `docyard.toml`: links, protection, remotes, forges, traces and validation.

`[[protect]]`: documents that change only by a proposal.
`[remote]`: the synchronization with a remote.
`[forge]`: pull requests for proposals on a forge.
`[tasks]`: how long a claim of a task is valid.
`[trace]`: identifiers of requirements, and where they are designed and tested.
`[validate]`: the levels of validation rules:

[validate.rules]                    for every document
missing-anchor = "warning"

[[validate.override]]               other levels for matching documents; the last match applies
match = "archive"
rules = { broken-link = "off" }
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from workspace.config.names import RULE_NAMES, Dialect
from workspace.globs import Glob, find_problem


def _check_folder(value: str) -> str:
    parts = [part for part in value.replace("\\", "/").split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts:
        raise ValueError("must be a folder inside the repository")
    return "/".join(parts)


def _check_glob(value: str) -> str:
    # A destination may begin with a slash; a path may not.
    reason = find_problem(value.removeprefix("/"))
    if reason:
        raise ValueError(f"'{value[:100] if value.isprintable() else ascii(value[:100])}' {reason}")
    return value


Folder = Annotated[str, AfterValidator(_check_folder)]
"""A folder of the repository: relative to its root, which is "", with no slash at either end."""


class LinkRules(BaseModel):
    """Rules for reading links."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    dialect: Dialect = Field(
        default=Dialect.GITHUB,
        description="The renderer whose rules derive fragments of headings and resolve destinations.",
        examples=["mkdocs"],
    )
    wiki: bool = Field(default=False, description="Read `[[Page#Heading]]` as a link.", examples=[True])
    root: Folder = Field(
        default="",
        description="The folder to which destinations that begin with `/` are relative.",
        examples=["docs"],
    )
    ignore: tuple[Annotated[str, AfterValidator(_check_glob)], ...] = Field(
        default=(),
        description="Globs of destinations that another service serves, as written or as paths of the "
        "repository. They are not checked.",
        examples=[("/api", "*.html")],
    )

    @property
    def may_omit_suffixes(self) -> bool:
        """Return True if a destination may omit the `.md` of its document."""
        return self.dialect is not Dialect.GITHUB

    def ignores(self, destination: str) -> bool:
        """Return True if another service serves a destination, given without its query and fragment."""
        return any(Glob.compile(glob).matches(destination) for glob in self.ignore)


Check = Literal["links", "anchors", "types", "tasks"]
"""Checks of a merge's result: each requires that the merge makes nothing worse."""

ALL_CHECKS: tuple[Check, ...] = get_args(Check)
MAX_PROTECTION_RULES = 500
MAX_LIST_ITEMS = 100
"""The maximum number of globs, types or names in one list of a rule."""

TOKEN_NAME = re.compile("[a-z0-9][a-z0-9.-]{0,38}")
"""The name of a token: lower case only, so that no two names differ only in case."""

_MAX_SHOWN_LENGTH = 100


def _shorten_and_escape(text: str) -> str:
    short_text = text[:_MAX_SHOWN_LENGTH]
    return short_text if short_text.isprintable() else ascii(short_text)[1:-1]


def _check_protection_glob(value: str) -> str:
    reason = find_problem(value) or _find_folder_problem(value)
    if reason:
        raise ValueError(f"'{_shorten_and_escape(value)}' {reason}")
    return value


def _find_folder_problem(value: str) -> str | None:
    # A rule with such a glob would protect nothing, without a warning.
    folders = value.rstrip("/").split("/")
    return "has an empty folder name or `.`, which no path has" if {"", "."} & {*folders} else None


def _check_type(value: str) -> str:
    if not value.strip() or value != " ".join(value.split()):
        raise ValueError(
            f"'{_shorten_and_escape(value)}' must be the name of a type, with single spaces between words"
        )
    return value


def _check_token_name(value: str) -> str:
    if not TOKEN_NAME.fullmatch(value):
        raise ValueError(
            f"'{_shorten_and_escape(value)}' must be a token's name: lower-case letters, digits, '.' and '-'"
        )
    return value


def _drop_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


TokenNames = Annotated[
    tuple[Annotated[str, AfterValidator(_check_token_name)], ...], AfterValidator(_drop_repeats)
]
"""Names of tokens, each once. A token with such a name need not exist."""


class Protection(BaseModel):
    """A rule: its documents change only by a proposal, which must meet its requirements before a merge.

    A rule applies to the documents that match both `paths` and `types`, before or after the change.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    paths: tuple[Annotated[str, AfterValidator(_check_protection_glob)], ...] = Field(
        default=(),
        max_length=MAX_LIST_ITEMS,
        description="Globs of paths. Empty: every path.",
        examples=[("specs/**",)],
    )
    types: tuple[Annotated[str, AfterValidator(_check_type)], ...] = Field(
        default=(),
        max_length=MAX_LIST_ITEMS,
        description="Types of documents. Empty: every type.",
        examples=[("api_spec",)],
    )
    # This field comes before `approvals`, because the validator of `approvals` reads it.
    approvers: TokenNames = Field(
        default=(),
        max_length=MAX_LIST_ITEMS,
        description="The names of tokens whose owners may approve. Empty: any person. An author of the "
        "proposal never may.",
        examples=[("ana", "ben")],
    )
    approvals: int = Field(
        default=1,
        ge=0,
        le=20,
        strict=True,
        description="The number of people who must approve, at most the number of `approvers`.",
        examples=[2],
    )
    merge: TokenNames = Field(
        default=(),
        max_length=MAX_LIST_ITEMS,
        description="The names of tokens whose owners may merge. Empty: any person.",
        examples=[("ana",)],
    )
    checks: tuple[Check, ...] = Field(
        default=ALL_CHECKS,
        description="The checks that must pass. A merge must make nothing worse. Empty: none.",
        examples=[("links", "types")],
    )

    @field_validator("approvals")
    @classmethod
    def _check_approvals(cls, value: int, info: ValidationInfo) -> int:
        approvers = info.data.get("approvers", ())
        if approvers and value > len(approvers):
            raise ValueError(f"must be at most {len(approvers)}, the number of approvers")
        return value


def check_protection_tables(value: object) -> object:
    """Return the `[[protect]]` tables unchanged. Raises ValueError for another value, or too many tables."""
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be a list of tables: write each rule below [[protect]]")
    if len(value) > MAX_PROTECTION_RULES:
        raise ValueError(f"must have at most {MAX_PROTECTION_RULES} rules, and has {len(value)}")
    return value


_SECRET_NAMES = ("token", "password", "secret", "key", "user", "username", "credentials")
_ADDRESS_NAMES = ("url", "push_url", "pushurl", "host")
_INTERVAL_PATTERN = re.compile("([0-9]{1,6})(s|m|h|d)?")
_SECONDS_BY_UNIT = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MIN_INTERVAL_S = 5
_MAX_INTERVAL_S = 86_400 * 7

INTERVAL_FORMAT = "interval"
"""The format of intervals in the schema of a model, where their type would be a number."""


def parse_interval(value: object) -> int:
    """Return the seconds of an interval, given as a number of seconds or as a text such as "5m".

    Raises ValueError for another value, and for an interval under 5 seconds or over 7 days.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError('must be a number of seconds, or a text such as "5m"')
    match = _INTERVAL_PATTERN.fullmatch(str(value))
    if match is None:
        raise ValueError('must be a number of seconds, or a text such as "30s", "5m", "1h"')
    seconds = int(match[1]) * _SECONDS_BY_UNIT[match[2] or "s"]
    if not _MIN_INTERVAL_S <= seconds <= _MAX_INTERVAL_S:
        raise ValueError(f"must be between {_MIN_INTERVAL_S} seconds and 7 days")
    return seconds


class RemoteSettings(BaseModel):
    """Settings of the synchronized remote. Without `every` and `push`, no synchronization is automatic."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    # A name and not a URL, so that no document contains an address or a secret.
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The remote, by its name in Git. Not set: that of the branch, then `origin`.",
        examples=["upstream"],
    )
    every: int | None = Field(
        default=None,
        description="The time between two synchronizations of a server, from 5 seconds to 7 days.",
        examples=["5m"],
        json_schema_extra={"format": INTERVAL_FORMAT},
    )
    push: Literal["commit"] | None = Field(
        default=None,
        description="`commit`: a server pushes each commit after the response to its call.",
        examples=["commit"],
    )
    answer_seconds: int = Field(
        default=30, ge=1, le=600, description="The longest time without data from the remote."
    )
    seconds: int = Field(default=600, ge=1, le=86_400, description="The longest time of one synchronization.")
    fetch_bytes: int = Field(
        default=2_000_000_000, ge=1_000, le=100_000_000_000, description="The largest size of one fetch."
    )

    @property
    def is_automatic(self) -> bool:
        """Return True if a server synchronizes with the remote without a request."""
        return self.every is not None or self.push is not None

    @model_validator(mode="before")
    @classmethod
    def _check_no_secret_or_address(cls, value: Any) -> Any:
        table = value if isinstance(value, dict) else {}
        names = {name.lower() for name in table if isinstance(name, str)}
        if not names.isdisjoint(_SECRET_NAMES):
            raise ValueError(
                "must not contain a secret, because everyone who reads the repository reads it; "
                "put tokens into DOCYARD_REMOTE_TOKEN or the credential file (docs/remotes.md)"
            )
        if not names.isdisjoint(_ADDRESS_NAMES):
            raise ValueError(
                "must not contain an address; add it with git remote add, and set `name` to that remote"
            )
        return value

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("must contain visible characters only")
        if value is not None and ("://" in value or "@" in value):
            raise ValueError("must be the name of a remote, not its URL")
        return value

    @field_validator("every", mode="before")
    @classmethod
    def _parse_interval(cls, value: Any) -> Any:
        return parse_interval(value)


_FORGE_SECRET_NAMES = (
    "token",
    "password",
    "secret",
    "key",
    "user",
    "username",
    "credentials",
    "webhook_secret",
)
_FORGE_ADDRESS_NAMES = ("url", "api", "api_url", "host", "base", "repository", "owner")


class ForgeSettings(BaseModel):
    """Settings of a forge. If the table is present, even empty, a submitted proposal opens a pull request.

    The forge is the host of the remote. No document contains a secret, or the address to which a token is
    sent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    kind: Literal["github", "gitlab", "gitea"] | None = Field(
        default=None,
        description="The kind of the forge, which is required for an unknown host.",
        examples=["gitea"],
    )

    @model_validator(mode="before")
    @classmethod
    def _check_no_secret_or_address(cls, value: Any) -> Any:
        table = value if isinstance(value, dict) else {}
        names = {name.lower() for name in table if isinstance(name, str)}
        if not names.isdisjoint(_FORGE_SECRET_NAMES):
            raise ValueError(
                "must not contain a secret, because everyone who reads the repository reads it; "
                "put the token into DOCYARD_FORGE_TOKEN (docs/forges.md)"
            )
        if not names.isdisjoint(_FORGE_ADDRESS_NAMES):
            raise ValueError(
                "must not contain an address; the forge is the one of Git's remote, or that of "
                "DOCYARD_FORGE_URL"
            )
        return value


MAX_CLAIM_HOURS = 7 * 24
"""The maximum number of hours after which a claim of a task expires."""


class TaskSettings(BaseModel):
    """Settings of tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    claim_hours: int = Field(
        default=24,
        ge=1,
        le=MAX_CLAIM_HOURS,
        strict=True,
        description="The hours after which a claim of a task expires, unless the claim sets another number.",
    )


IDENTIFIER_PREFIX = re.compile("[A-Z][A-Z0-9]{0,15}(?:-[A-Z][A-Z0-9]{0,15}){0,3}")
DEFAULT_TEST_GLOBS = ("tests", "test", "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*")


def _check_identifier_prefix(value: str) -> str:
    if not IDENTIFIER_PREFIX.fullmatch(value):
        raise ValueError(
            f"'{_shorten_and_escape(value)}' must be the part of identifiers before the last hyphen, in "
            "capital letters and digits, such as REQ"
        )
    return value


TraceGlobs = Annotated[
    tuple[Annotated[str, AfterValidator(_check_protection_glob)], ...], Field(max_length=MAX_LIST_ITEMS)
]


class TraceSettings(BaseModel):
    """Settings of traces: the prefixes of identifiers, and globs of the paths of each stage."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    prefixes: Annotated[
        tuple[Annotated[str, AfterValidator(_check_identifier_prefix)], ...],
        AfterValidator(_drop_repeats),
        Field(min_length=1, max_length=20),
    ] = Field(
        default=("REQ",),
        description="The prefixes of identifiers: the part before the last hyphen.",
        examples=[("REQ", "API-SEC")],
    )
    required: TraceGlobs = Field(
        default=(),
        description="Globs of the documents that require identifiers. Empty: all outside of `designed` and "
        "`tested`.",
        examples=[("requirements/**",)],
    )
    designed: TraceGlobs = Field(
        default=(),
        description="Globs of the documents with designs. Empty: all that do not require the identifier.",
        examples=[("designs/**",)],
    )
    tested: TraceGlobs = Field(
        default=DEFAULT_TEST_GLOBS, description="Globs of the files with tests.", examples=[("tests",)]
    )

    def may_require(self, path: str) -> bool:
        """Return True if a document may require identifiers."""
        if self.required:
            return _matches_any(self.required, path)
        return not _matches_any((*self.designed, *self.tested), path)

    def may_design(self, path: str, requiring_paths: Set[str]) -> bool:
        """Return True if a document may contain the design of an identifier that other documents require."""
        return _matches_any(self.designed, path) if self.designed else path not in requiring_paths

    def is_test(self, path: str) -> bool:
        """Return True if a file contains tests."""
        return _matches_any(self.tested, path)


def _matches_any(globs: tuple[str, ...], path: str) -> bool:
    return any(Glob.compile(glob).matches(path) for glob in globs)


MAX_OVERRIDES = 64
Level = Literal["error", "warning", "note", "off"]


def _check_rule_name(name: str) -> str:
    if name not in RULE_NAMES:
        raise ValueError(f"there is no such rule; the rules are {', '.join(RULE_NAMES)}")
    return name


def _check_validation_glob(text: str) -> str:
    if reason := find_problem(text):
        raise ValueError(f"the glob {reason}")
    return text


Levels = dict[Annotated[str, AfterValidator(_check_rule_name)], Level]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class LevelOverride(_Settings):
    """Levels for the documents that a glob matches. The last table that matches applies."""

    match: Annotated[str, AfterValidator(_check_validation_glob)] = Field(
        description="A glob of paths.", examples=["drafts/**"]
    )
    rules: Levels = Field(
        description="The levels for these documents, by rule.", examples=[{"broken-link": "off"}]
    )


class Validation(_Settings):
    """The levels of rules that override their defaults ([validate.md](validate.md))."""

    rules: Levels = Field(
        default={},
        description="The levels for every document, by rule: `error`, `warning`, `note` or `off`.",
        examples=[{"several-h1": "off", "broken-link": "warning"}],
    )
    override: Annotated[tuple[LevelOverride, ...], Field(max_length=MAX_OVERRIDES)] = ()

    def levels(self, path: str) -> dict[str, Level]:
        """Return the levels that are set for a document."""
        matching_levels = (
            override.rules
            for override in reversed(self.override)
            if Glob.compile(override.match).matches(path)
        )
        return {**self.rules, **next(matching_levels, {})}
