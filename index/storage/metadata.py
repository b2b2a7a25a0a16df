"""`metadata.json`: what a server needs to know of an index before it opens it.

The format is the documentation index contract, version 1: semver, a taxonomy whose values become enums in the
schema of `search_docs`, corpus statistics, and the embedding used (none here).

What `metadata.json` says of an index: its figures, and the values by which it can be filtered.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_core import ErrorDetails

from index.storage.files import write_atomically
from workspace.config.taxonomy import BUILT_IN, RESERVED
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State

VERSION = "1.1.0"
MAX_KEYS, MAX_KEY_LENGTH, MAX_VALUES, MAX_VALUE_LENGTH = 64, 64, 512, 128
MAX_DESCRIPTION = 500
"""Characters of a corpus's description that a host is shown."""

_SUM = ".sum"
_SOURCE_COMMIT = "stats.source_commit"
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHOWN = 64  # characters of a wrong key that the name of its field repeats

# Letters and marks that leave no trace on a screen, though Unicode counts them as printable.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_JOINERS = "\u200c\u200d"  # between letters of some scripts, and within emoji


class InvalidMetadata(WorkspaceError):
    """A `metadata.json` breaks its contract; `details` names the field."""

    code: ClassVar[str] = "INVALID_METADATA"


class Problem(NamedTuple):
    """One breach of the contract: where it is, as `taxonomy.language.values.3`, and what is wrong there."""

    field: str
    reason: str


def _whole(value: object) -> object:
    """Return a JSON number without a fraction is a whole one, however it is written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key(key: str) -> str:
    key = key.strip()
    if not key:
        raise ValueError("a key must not be empty")
    if len(key) > MAX_KEY_LENGTH:
        raise ValueError(f"a key must have at most {MAX_KEY_LENGTH} characters")
    if key in RESERVED:
        raise ValueError("a key must not be called like a parameter of a search")
    return key


def _utc(value: str) -> str:
    try:
        offset = datetime.fromisoformat(value).utcoffset()
    except ValueError:
        offset = None
    if offset != timedelta(0) or "T" not in value:
        raise ValueError("must be a time in UTC as in ISO 8601, like 2026-02-21T14:32:00Z")
    return value


def _commit(value: str) -> str:
    if not _COMMIT.fullmatch(value):
        raise ValueError("must be a commit of 40 lower-case hexadecimal digits")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Value = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_VALUE_LENGTH)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


class Facet(_Model):
    """One key of the taxonomy: the values by which a search can be filtered.

    There are none where the key has too many for an enum, or none yet; it can be filtered by all the same.
    A description that there is not is left out where this is written: the contract knows no null there.
    """

    description: str | None = Field(None, exclude_if=lambda text: text is None)
    values: tuple[Value, ...] = Field(strict=False)

    @field_validator("values")
    @classmethod
    def _normalise(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        distinct = sorted(set(values))
        if len(distinct) > MAX_VALUES:
            raise ValueError(f"at most {MAX_VALUES} values are allowed, and these are {len(distinct)}")
        return tuple(distinct)

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The values that may stand in a schema: a file from elsewhere may hold some that cannot be seen."""
        together = "".join(self.values)
        if together.isascii() and together.isprintable():
            return self.values
        return tuple(value for value in self.values if is_listable(value))


class Stats(_Model):
    """How large the corpus is, when it was indexed, and at which commit (None for one outside Git)."""

    total_chunks: Annotated[Whole, Field(ge=0)]
    total_files: Annotated[Whole, Field(ge=0)]
    indexed_at: Annotated[str, AfterValidator(_utc)]
    source_commit: Annotated[str, AfterValidator(_commit)] | None = None


class Embedding(_Model):
    """The model by which sections were embedded; this server searches by words whatever it is."""

    provider: str
    model: str
    dimensions: Annotated[Whole, Field(gt=0)]


class Metadata(_Model):
    """The whole of `metadata.json`."""

    metadata_version: str
    corpus_description: str
    taxonomy: dict[Annotated[str, AfterValidator(_key)], Facet]
    stats: Stats
    embedding: Embedding | None = None

    def as_bytes(self) -> bytes:
        """Return the file: JSON in UTF-8, in the contract's order, with a final line break."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    def is_of(self, state: State) -> bool:
        """Return True if this tells of an index in this state."""
        return (self.stats.source_commit, self.stats.total_chunks) == (state.commit, state.chunks)

    def is_alike(self, other: Metadata) -> bool:
        """Return True if this differs from another in its figures at most."""
        return self == other.model_copy(update={"stats": self.stats})

    @field_validator("metadata_version")
    @classmethod
    def _supported(cls, value: str) -> str:
        match = _SEMVER.fullmatch(value)
        if not match:
            raise ValueError("must be MAJOR.MINOR.PATCH")
        if match[1] != VERSION.split(".")[0]:
            raise ValueError(f"major version {match[1][:20]} is not supported, only {VERSION.split('.')[0]}")
        return value

    @field_validator("taxonomy", mode="wrap")
    @classmethod
    def _distinct(cls, given: object, validate: ValidatorFunctionWrapHandler) -> dict[str, Facet]:
        taxonomy: dict[str, Facet] = validate(given)
        assert isinstance(given, dict)
        if len(given) != len(taxonomy):
            counts = Counter(key.strip() for key in given)
            twice = ", ".join(repr(key) for key, count in counts.items() if count > 1)
            raise ValueError(f"keys must differ in more than spaces at their ends: {twice}")
        if len(taxonomy) > MAX_KEYS:
            raise ValueError(f"at most {MAX_KEYS} keys are allowed, and these are {len(taxonomy)}")
        return taxonomy


def is_listable(value: str) -> bool:
    """Say whether a value may stand in a schema that models read: short, and seen as it is."""
    return 0 < len(value) <= MAX_VALUE_LENGTH and value.isprintable() and not _UNSEEN.search(value)


def sanitize_line(text: str) -> str:
    """Return a description as one short line without characters that hide or reorder text."""
    plain = "".join(c if c.isprintable() or c in _JOINERS else " " for c in text[: 2 * MAX_DESCRIPTION])
    return " ".join(plain.split())[:MAX_DESCRIPTION].strip()


def write_metadata(file: Path, metadata: Metadata) -> None:
    """Replace `metadata.json`, then its checksum; one without the other is ignored and written again."""
    data = metadata.as_bytes()
    write_atomically(file, data)
    write_atomically(file.with_suffix(_SUM), _sum(data))


def read_metadata(file: Path) -> Metadata | None:
    """Read our own `metadata.json`; None if it is missing, torn or not what was written."""
    try:
        data = file.read_bytes()
        return parse_metadata(data) if file.with_suffix(_SUM).read_bytes() == _sum(data) else None
    except (OSError, InvalidMetadata):
        return None


def _sum(data: bytes) -> bytes:
    return b"%08x\n" % zlib.crc32(data)


def parse_metadata(data: bytes) -> Metadata:
    """Read and check a `metadata.json`. Raises InvalidMetadata, which names the first field that is wrong."""
    try:
        return Metadata.model_validate_json(data)
    except ValidationError as error:
        first = _problem(error.errors(include_url=False, include_input=False)[0])
        raise InvalidMetadata(
            f"metadata.json is invalid at {first.field}: {first.reason}",
            fix="`docyard metadata` lists all problems; `docyard build` rewrites an artifact's, and "
            "`docyard index rebuild` that of a repository's own index.",
            field=first.field,
        ) from None


def parse_provided(data: bytes) -> tuple[Metadata, Problem | None]:
    """Read a `metadata.json` that is served: without its `source_commit` if that alone is malformed.

    The contract has it for provenance only, so that it keeps no server from starting. Raises InvalidMetadata.
    """
    try:
        return parse_metadata(data), None
    except InvalidMetadata:
        found = find_problems(data)
        if {problem.field for problem in found} != {_SOURCE_COMMIT}:
            raise
    values = json.loads(data)
    del values["stats"]["source_commit"]
    return parse_metadata(json.dumps(values).encode()), found[0]


def find_problems(data: bytes) -> list[Problem]:
    """List every breach of the contract in a `metadata.json`; none if it is sound."""
    try:
        Metadata.model_validate_json(data)
    except ValidationError as error:
        return [_problem(one) for one in error.errors(include_url=False, include_input=False)]
    return []


def _problem(error: ErrorDetails) -> Problem:
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    reason = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    reason = reason.replace("String should", "must").replace("valid dictionary", "object")
    field = ".".join(sanitize_line(part[:_SHOWN]) for part in parts)
    return Problem(field or "metadata.json", reason[0].lower() + reason[1:])


def describe_index(
    state: State,
    values: Mapping[str, Collection[str]],
    corpus_description: str,
    descriptions: Mapping[str, str | None],
) -> Metadata:
    """Tell of an index by its state and the values found of each taxonomy key.

    `descriptions` names the keys, in their order, with what is said of each; of more than 64 the first count.
    A built-in key of which nothing is said or found is left out.
    """
    told = [key for key, text in descriptions.items() if key not in BUILT_IN or text or values.get(key)]
    taxonomy = {key: make_facet(values.get(key, ()), descriptions[key]) for key in told[:MAX_KEYS]}
    return Metadata(
        metadata_version=VERSION,
        corpus_description=corpus_description,
        taxonomy=taxonomy,
        stats=Stats(
            total_chunks=state.chunks,
            total_files=state.files,
            indexed_at=state.indexed_at,
            source_commit=state.commit,
        ),
    )


def make_facet(values: Iterable[str], description: str | None = None) -> Facet:
    """Make a facet of the values found; it lists none where there are so many that they cannot be an enum.

    Values that are too long, or hold characters that cannot be seen, stay searchable but are not listed.
    """
    found = frozenset(values)
    return _facet(found, description) if len(found) <= MAX_VALUES else _facet_of_many(found, description)


def _facet_of_many(values: Iterable[str], description: str | None) -> Facet:
    listed: set[str] = set()
    for value in values:
        if is_listable(trimmed := value.strip()):
            listed.add(trimmed)
            if len(listed) > MAX_VALUES:
                return Facet(description=description, values=())
    return Facet(description=description, values=tuple(listed))


# A commit changes the values of few keys, and tens of thousands of others need not be looked at again.
_facet = lru_cache(maxsize=2 * MAX_KEYS)(_facet_of_many)


def corpus_description(configured: str | None, name: str) -> str:
    """Return one line about the documents: the settings' own, else "documentation of NAME"."""
    return sanitize_line(configured or "") or sanitize_line(f"documentation of {name}")
