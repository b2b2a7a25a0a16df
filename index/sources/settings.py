"""The file that names the sources of a server: TOML, written by the operator, checked as a whole.

    [sources.api-reference]                  the key is the namespace
    repo = "/srv/api.git"                    or artifact = "out/", or url = "https://host/api.git"
    ref = "main"                             a branch is followed; a tag or commit never changes
    folder = "docs"
    description = "Complete API documentation and guides"
    permalink = "https://docs.example.com/{path}#{anchor}"
    every = "5m"                             for url: the time between two fetches
    key = "site.key"                         for artifact: the key that it was built with

    [features]
    contextual_search = true
    tool_prefix = "docs_"

    [limits]
    max_tokens = 5000
    searches_per_minute = 120

    [analytics]
    database = "searches.sqlite"             or postgresql://USER@HOST/NAME
    mode = "hash"                            or "off", or "text"
    retention_days = 90

    [embedding]
    provider = "local"                       or "http", with url and model; its key is a variable
    timeout = 0.25                           the seconds that a question waits for its vector

Paths are relative to the folder of the file. A permalink can contain {namespace}, {path} (of the repository),
{page} (the path within `folder`, without its suffix), {anchor}, {commit}, {line} and {end_line}.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from workspace.config.tables import INTERVAL_FORMAT, Folder, parse_interval
from workspace.config.toml import InvalidToml, load_toml
from workspace.errors import WorkspaceError
from workspace.git.remotes.url import Transport, UnsupportedRemote, parse_remote_url
from workspace.nearest import find_nearest

MAX_SOURCES = 1_000
PERMALINK_NAMES = ("namespace", "path", "page", "anchor", "commit", "line", "end_line")
MIN_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 200, 1_000_000
DEFAULT_ANSWER_TOKENS = 5_000
ALL_NAMESPACES = "*"
"""The namespace of a search in all sources."""

_DEFAULT_INTERVAL_S = 300
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX_PATTERN = re.compile(r"(?:[a-z][a-z0-9_]{0,15})?")
_LOCATION_NAMES = ("repo", "artifact", "url")
_KEY_LINE = re.compile(r"""\s*(?P<key>[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')\s*(?:=|\.)""")
_TABLE_LINE = re.compile(r"\s*\[{1,2}(?P<name>[^\]\n]+)\]{1,2}\s*(?:#.*)?")
_MODEL_MESSAGE = re.compile(r"a valid (?:dictionary or instance of \w+|dictionary)")
_MAX_FILE_BYTES = 4_000_000


class Mistake(NamedTuple):
    """A mistake in the file: its line (None if unknown), the setting, what is wrong, and a fix."""

    line: int | None
    setting: str
    message: str
    fix: str


class InvalidSourcesFile(WorkspaceError):
    """The file of the sources cannot be used; `mistakes` has every mistake, in the order of the file."""

    code: ClassVar[str] = "INVALID_SOURCES_FILE"

    def __init__(self, file: Path, mistakes: Sequence[Mistake]) -> None:
        lines = [f"{format_position(file, item)}: {item.message}" for item in mistakes]
        super().__init__("; ".join(lines), fix=mistakes[0].fix, field=mistakes[0].setting)
        self.mistakes = tuple(mistakes)


def format_position(file: Path, mistake: Mistake) -> str:
    """Return the name of the file and the line of a mistake."""
    return file.name if mistake.line is None else f"{file.name}:{mistake.line}"


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _check_url(url: str) -> str:
    try:
        address = parse_remote_url(url)
    except UnsupportedRemote as error:
        raise ValueError(f"is not a URL of a repository: {error.details['reason']}") from None
    if address.password is not None:
        raise ValueError(
            "must not contain a password or a token; set DOCYARD_REMOTE_TOKEN, or use the credential file"
        )
    is_local_http = address.transport is Transport.HTTP and address.is_private
    if address.transport not in (Transport.HTTPS, Transport.SSH) and not is_local_http:
        raise ValueError("must begin with https:// or ssh://, or be host:path; `repo` takes a path")
    if "?" in url or "#" in url:
        raise ValueError("must not contain a query or a fragment, which could be a secret")
    return url


def _check_permalink(template: str) -> str:
    try:
        fields = [
            (name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(template)
        ]
    except ValueError as error:
        raise ValueError(f"is not a template: {error}") from None
    for name, spec, conversion in fields:
        if name is None:
            continue
        if name not in PERMALINK_NAMES:
            nearest = find_nearest(name, PERMALINK_NAMES)
            hint = f"; did you mean {{{nearest[0]}}}?" if nearest else ""
            raise ValueError(f"has the unknown name {{{name[:50]}}}{hint}")
        if spec or conversion:
            raise ValueError(f"must contain {{{name}}} without a format")
    if not template.startswith(("https://", "http://")) or not template.isprintable():
        raise ValueError("must begin with https:// or http://")
    return template


def check_line(text: str) -> str:
    """Return a text as one line. Raises ValueError if it contains invisible characters."""
    line = " ".join(text.split())
    if not line.isprintable():
        raise ValueError("must contain visible characters only")
    return line


def _resolve_head(ref: str | None) -> str | None:
    """Return None for HEAD: the branch that is checked out, or the default branch of a remote."""
    return None if ref == "HEAD" else ref


def _check_prefix(prefix: str) -> str:
    if not _PREFIX_PATTERN.fullmatch(prefix):
        raise ValueError("must be at most 16 lower-case letters, digits and _ that begin with a letter")
    return prefix


_Path = Annotated[str, Field(min_length=1, max_length=4_000)]


class SourceSettings(_Settings):
    """The settings of one source. Exactly one of `repo`, `artifact` and `url` is set."""

    repo: _Path | None = Field(
        default=None,
        description="The path of a local repository, bare or with a work tree.",
        examples=["/srv/git/api.git"],
    )
    artifact: _Path | None = Field(
        default=None,
        description="The folder of an artifact ([artifacts.md](artifacts.md)).",
        examples=["product-docs"],
    )
    url: Annotated[str, Field(max_length=2_000), AfterValidator(_check_url)] | None = Field(
        default=None,
        description="A URL that begins with `https://` or `ssh://`, or `host:path`. The server clones it "
        "into the user's data folder.",
        examples=["https://git.example.com/team/handbook.git"],
    )
    ref: Annotated[str | None, Field(min_length=1, max_length=1_000), AfterValidator(_resolve_head)] = Field(
        default=None,
        description="A branch, which is followed, or a tag or a commit, which never changes. Not set: the "
        "branch that is checked out, or the default branch of the URL.",
        examples=["v4.2"],
    )
    folder: Folder = Field(
        default="", description="Only the documents in this folder are served.", examples=["docs"]
    )
    description: Annotated[str, Field(max_length=500), AfterValidator(check_line)] = Field(
        default="",
        description="What the source is about, for assistants.",
        examples=["How we build and operate"],
    )
    permalink: Annotated[str, Field(max_length=2_000), AfterValidator(_check_permalink)] | None = Field(
        default=None,
        description="The URL of a section. The names are `{page}` (the path in `folder` without its suffix), "
        "`{path}`, `{anchor}`, `{commit}`, `{line}`, `{end_line}` and `{namespace}`. Not set: the page of "
        "the file on GitHub, GitLab or Codeberg at the commit, else `doc:///namespace/path#section`.",
        examples=["https://docs.example.com/{page}#{anchor}"],
    )
    every: Annotated[int, BeforeValidator(parse_interval)] | None = Field(
        default=None,
        description="The time between two fetches of `url`, from 5 seconds to 7 days. Not set: 5 minutes.",
        examples=["5m"],
        json_schema_extra={"format": INTERVAL_FORMAT},
    )
    key: _Path | None = Field(
        default=None, description="The file of the key that `artifact` was built with.", examples=["site.key"]
    )

    @property
    def interval_s(self) -> int:
        """Return the seconds between two fetches of a URL."""
        return self.every or _DEFAULT_INTERVAL_S

    @property
    def location(self) -> str:
        """Return the path or URL of the source, for a list of sources."""
        return self.repo or self.artifact or self.url or ""

    @model_validator(mode="after")
    def _check_combination(self) -> SourceSettings:
        given_names = [name for name in _LOCATION_NAMES if getattr(self, name) is not None]
        if len(given_names) != 1:
            problem = f"has {' and '.join(given_names)}" if given_names else "has none of them"
            raise ValueError(f"must have exactly one of repo, artifact and url ({problem})")
        if self.artifact is not None and (self.ref or self.folder):
            raise ValueError(
                "must not have ref or folder with artifact: an artifact is one version of its documents"
            )
        if self.key is not None and self.artifact is None:
            raise ValueError("must not have key without artifact: a repository needs no key")
        if self.every is not None and self.url is None:
            raise ValueError("must not have every without url: a local source is checked at each search")
        return self


class Features(_Settings):
    """Optional tools, and a prefix of the names of all tools."""

    contextual_search: StrictBool = Field(
        default=False, description="Offer `search_documentation_contextual`.", examples=[True]
    )
    tool_prefix: Annotated[str, AfterValidator(_check_prefix)] = Field(
        default="",
        description="A prefix of the names of all tools: up to 16 lower-case letters, digits and `_`.",
        examples=["docs_"],
    )


class AnswerLimits(_Settings):
    """The limit of an answer of `search_documentation`."""

    max_tokens: int = Field(
        default=DEFAULT_ANSWER_TOKENS,
        ge=MIN_ANSWER_TOKENS,
        le=MAX_ANSWER_TOKENS,
        description="The tokens of an answer of a search. A call may request fewer.",
        examples=[3_000],
    )


class SourcesLimits(AnswerLimits):
    """The limits of a server of sources."""

    searches_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Questions of one caller. Not set: no limit.", examples=[120]
    )


def _check_database(text: str) -> str:
    if not text.isprintable() or ("://" in text and not text.startswith(("sqlite:///", "postgresql://"))):
        raise ValueError("must be the path of a file, or begin with postgresql://")
    return text


class Analytics(_Settings):
    """The records of searches ([records.md](records.md)). Without this table, nothing is recorded."""

    database: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_check_database)] = Field(
        description="The path of a SQLite file, or `postgresql://USER@HOST/NAME`.",
        examples=["searches.sqlite"],
    )
    mode: Literal["off", "hash", "text"] = Field(
        default="hash",
        description="`off` records nothing, `hash` a keyed hash of each question and its counts, `text` also "
        "its words.",
        examples=["text"],
    )
    retention_days: Annotated[int, Field(ge=1, le=3_650)] = Field(
        default=90, description="The days after which records are deleted.", examples=[30]
    )

    @property
    def database_url(self) -> str:
        """The URL of the database; a path is one of SQLite."""
        return self.database if "://" in self.database else f"sqlite:///{self.database}"


class EmbeddingSettings(_Settings):
    """The provider of vectors for all sources ([meaning.md](meaning.md)). Its key is a variable."""

    provider: Literal["none", "hash", "local", "http"] = Field(
        description="`local`: a model on this machine. `http`: a server with the embeddings interface of "
        "OpenAI. `hash`: for tests.",
        examples=["local"],
    )
    model: Annotated[str, Field(min_length=1, max_length=4_000)] | None = Field(
        default=None,
        description="For `http` the name of the model, for `local` a folder. Not set for `local`: the model "
        "of `docyard[local]`.",
        examples=["text-embedding-3-small"],
    )
    url: Annotated[str, Field(min_length=1, max_length=2_000)] | None = Field(
        default=None, description="For `http` the base URL.", examples=["https://api.example.com/v1"]
    )
    dimensions: Annotated[int, Field(ge=1, le=16_384)] | None = Field(
        default=None,
        description="For `http`: the size of vectors, if the model offers several.",
        examples=[256],
    )
    timeout: Annotated[float, Field(ge=0.01, le=60)] | None = Field(
        default=None,
        description="The seconds that a question waits for its vector. Not set: 0.25.",
        examples=[0.5],
    )


def _check_name(name: str) -> str:
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError("must be 1 to 64 letters, digits and . _ - that begin with a letter or digit")
    return name


def _check_names(sources: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(sources, dict):
        raise ValueError("must be a table of sources, such as [sources.api-reference]")
    if len(sources) > MAX_SOURCES:
        raise ValueError(f"must have at most {MAX_SOURCES:,} sources, and has {len(sources):,}")
    names_by_lower_case: dict[str, str] = {}
    for name in sources:
        first_name = names_by_lower_case.setdefault(name.lower(), name)
        if first_name != name:
            raise ValueError(f"'{first_name}' and '{name}' must not differ in case alone")
    return sources


SourceTables = Annotated[
    dict[Annotated[str, AfterValidator(_check_name)], SourceSettings], BeforeValidator(_check_names)
]
"""The settings of sources by their names, which do not differ in case alone."""


class SourcesFile(_Settings):
    """The content of the file. An empty file has no sources."""

    sources: SourceTables = {}
    features: Features = Features()
    limits: SourcesLimits = SourcesLimits()
    analytics: Analytics | None = None
    embedding: EmbeddingSettings | None = None


def read_sources_file(file: Path) -> SourcesFile:
    """Return the checked content of a file. Raises InvalidSourcesFile with all mistakes."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror})"
        raise InvalidSourcesFile(file, [Mistake(None, "", reason, "Name a readable file.")]) from None
    if len(data) > _MAX_FILE_BYTES:
        mistake = Mistake(
            None, "", f"the file has more than {_MAX_FILE_BYTES:,} bytes", "Name a file of sources."
        )
        raise InvalidSourcesFile(file, [mistake])
    try:
        table = load_toml(data)
    except InvalidToml as error:
        mistake = Mistake(error.line, "", error.reason, error.fix.replace(" and commit it", ""))
        raise InvalidSourcesFile(file, [mistake]) from error
    try:
        return SourcesFile.model_validate(table)
    except ValidationError as error:
        text = data.decode("utf-8-sig")
        mistakes = sorted(
            describe_mistakes(error, text, _list_setting_names), key=lambda item: item.line or 0
        )
        raise InvalidSourcesFile(file, mistakes) from error


def describe_mistakes(
    error: ValidationError, text: str, list_names: Callable[[tuple[str, ...]], list[str]]
) -> Iterator[Mistake]:
    """Yield the mistakes of a file. `list_names` returns the settings of the table at a location."""
    for details in error.errors(include_url=False, include_input=False):
        # An error of a key has its name before this mark.
        location = tuple(str(part) for part in details["loc"] if part != "[key]")
        setting = ".".join(location)
        line = find_setting_line(text, location)
        if details["type"] == "extra_forbidden":
            names = list_names(location[:-1])
            nearest = find_nearest(location[-1], names)
            fix = (
                f"Did you mean '{nearest[0]}'?"
                if nearest
                else f"Remove it. The settings are {', '.join(names)}."
            )
            yield Mistake(line, setting, f"there is no setting '{setting[:200]}'", fix)
            continue
        reason = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        reason = _MODEL_MESSAGE.sub("a table", reason)
        yield Mistake(line, setting, f"{setting[:200]}: {reason}", f"Correct {setting[:200] or 'the file'}.")


def _list_setting_names(location: Sequence[str]) -> list[str]:
    models: Mapping[str, type[BaseModel]] = {
        "sources": SourceSettings,
        "features": Features,
        "limits": SourcesLimits,
        "analytics": Analytics,
        "embedding": EmbeddingSettings,
    }
    return list((models[location[0]] if location else SourcesFile).model_fields)


def find_setting_line(text: str, location: Sequence[str]) -> int | None:
    """Return the line of a setting, counted from 1; that of its table if the setting is not in a line.

    The standard library's parser reports no positions. A line is a candidate if it names the last part of the
    location. It is right if the text up to it contains the setting for the first time.
    """
    if not location:
        return None
    lines = text.split("\n")
    for index, line in enumerate(lines):
        match = _TABLE_LINE.fullmatch(line) or _KEY_LINE.match(line)
        if match is None or location[-1] not in line:
            continue
        if _contains(lines[: index + 1], location) and not _contains(lines[:index], location):
            return index + 1
    return find_setting_line(text, location[:-1])


def _contains(lines: Sequence[str], location: Sequence[str]) -> bool:
    """Return True if the beginning of a file is TOML that has a setting."""
    try:
        table: Any = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    for part in location:
        if isinstance(table, list) and part.isdigit() and int(part) < len(table):
            table = table[int(part)]
        elif isinstance(table, dict) and part in table:
            table = table[part]
        else:
            return False
    return True
