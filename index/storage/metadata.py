"""`metadata.json`: the description of an index that a server reads before it opens the index.

The format is the documentation index contract, version 1: semver, a taxonomy whose values become enums in the
schema of `search_docs`, corpus statistics, and the embedding: the model of its vectors, or null.
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
from workspace.config.taxonomy import BUILT_IN_KEYS, RESERVED_NAMES
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State

METADATA_VERSION = "1.1.0"
MAX_KEYS, MAX_KEY_LENGTH, MAX_VALUES, MAX_VALUE_LENGTH = 64, 64, 512, 128
MAX_DESCRIPTION_LENGTH = 500
"""The largest number of characters of a corpus's description that a host receives."""

_CHECKSUM_SUFFIX = ".sum"
_SOURCE_COMMIT = "stats.source_commit"
_SEMVER_PATTERN = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
_COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}")
_MAX_SHOWN_LENGTH = 64  # characters of an invalid key in an error

# Letters and marks that are invisible on a screen, although Unicode counts them as printable.
_INVISIBLE_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_JOINER_CHARACTERS = "\u200c\u200d"  # between letters of some scripts, and inside emoji


class InvalidMetadata(WorkspaceError):
    """A `metadata.json` violates its contract; `details` names the field."""

    code: ClassVar[str] = "INVALID_METADATA"


class MetadataProblem(NamedTuple):
    """One violation of the contract: its field, such as `taxonomy.language.values.3`, and the reason."""

    field: str
    reason: str


def _parse_whole_number(value: object) -> object:
    """Return a float without a fraction, such as 3.0, as an int; other values are unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_key(key: str) -> str:
    key = key.strip()
    if not key:
        raise ValueError("a key must not be empty")
    if len(key) > MAX_KEY_LENGTH:
        raise ValueError(f"a key must have at most {MAX_KEY_LENGTH} characters")
    if key in RESERVED_NAMES:
        raise ValueError("a key must not have the name of a search parameter")
    return key


def _check_utc(value: str) -> str:
    try:
        offset = datetime.fromisoformat(value).utcoffset()
    except ValueError:
        offset = None
    if offset != timedelta(0) or "T" not in value:
        raise ValueError("must be a time in UTC as in ISO 8601, like 2026-02-21T14:32:00Z")
    return value


def _check_commit(value: str) -> str:
    if not _COMMIT_PATTERN.fullmatch(value):
        raise ValueError("must be a commit of 40 lower-case hexadecimal digits")
    return value


WholeNumber = Annotated[int, BeforeValidator(_parse_whole_number)]
TaxonomyValue = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_VALUE_LENGTH)
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


class Facet(_Model):
    """One key of the taxonomy: the values by which a search can be filtered.

    The values are empty if the key has no values, or too many for an enum. A search can use the key as a
    filter in both cases. A missing description is left out of the file, because the contract does not allow
    null.
    """

    description: str | None = Field(None, exclude_if=lambda text: text is None)
    values: tuple[TaxonomyValue, ...] = Field(strict=False)

    @field_validator("values")
    @classmethod
    def _normalise(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        distinct_values = sorted(set(values))
        if len(distinct_values) > MAX_VALUES:
            raise ValueError(f"must have at most {MAX_VALUES} values, not {len(distinct_values)}")
        return tuple(distinct_values)

    @cached_property
    def listed_values(self) -> tuple[str, ...]:
        """The values that may be in a schema. A file of another program may have other values."""
        joined_values = "".join(self.values)
        if joined_values.isascii() and joined_values.isprintable():
            return self.values
        return tuple(value for value in self.values if is_listable(value))


class Stats(_Model):
    """The size of the corpus, the time of indexing, and its commit (None for a corpus outside Git)."""

    total_chunks: Annotated[WholeNumber, Field(ge=0)]
    total_files: Annotated[WholeNumber, Field(ge=0)]
    indexed_at: Annotated[str, AfterValidator(_check_utc)]
    source_commit: Annotated[str, AfterValidator(_check_commit)] | None = None


class Embedding(_Model):
    """The model that embedded the sections. Questions need the same one."""

    provider: str
    model: str
    dimensions: Annotated[WholeNumber, Field(gt=0)]


class Metadata(_Model):
    """The content of `metadata.json`."""

    metadata_version: str
    corpus_description: str
    taxonomy: dict[Annotated[str, AfterValidator(_check_key)], Facet]
    stats: Stats
    embedding: Embedding | None = None

    def as_bytes(self) -> bytes:
        """Return the file: JSON in UTF-8, in the contract's order, with a final line break."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    def describes(self, state: State) -> bool:
        """Return True if this metadata describes an index in this state."""
        return (self.stats.source_commit, self.stats.total_chunks) == (state.commit, state.chunks)

    def equals_except_figures(self, other: Metadata) -> bool:
        """Return True if this metadata equals another one, apart from the statistics."""
        return self == other.model_copy(update={"stats": self.stats})

    @field_validator("metadata_version")
    @classmethod
    def _check_version(cls, value: str) -> str:
        match = _SEMVER_PATTERN.fullmatch(value)
        if not match:
            raise ValueError("must be MAJOR.MINOR.PATCH")
        if match[1] != METADATA_VERSION.split(".")[0]:
            raise ValueError(
                f"major version {match[1][:20]} is not supported, only {METADATA_VERSION.split('.')[0]}"
            )
        return value

    @field_validator("taxonomy", mode="wrap")
    @classmethod
    def _check_distinct_keys(cls, value: object, validate: ValidatorFunctionWrapHandler) -> dict[str, Facet]:
        taxonomy: dict[str, Facet] = validate(value)
        assert isinstance(value, dict)
        if len(value) != len(taxonomy):
            counts = Counter(key.strip() for key in value)
            repeated_keys = ", ".join(repr(key) for key, count in counts.items() if count > 1)
            raise ValueError(f"keys must differ in more than spaces at their ends: {repeated_keys}")
        if len(taxonomy) > MAX_KEYS:
            raise ValueError(f"must have at most {MAX_KEYS} keys, not {len(taxonomy)}")
        return taxonomy


def is_listable(value: str) -> bool:
    """Return True if a value may occur in a schema for models: it is short and fully visible."""
    return (
        0 < len(value) <= MAX_VALUE_LENGTH and value.isprintable() and not _INVISIBLE_CHARACTERS.search(value)
    )


def sanitize_line(text: str) -> str:
    """Return a description as one short line without characters that hide or reorder text."""
    visible_text = "".join(
        character if character.isprintable() or character in _JOINER_CHARACTERS else " "
        for character in text[: 2 * MAX_DESCRIPTION_LENGTH]
    )
    return " ".join(visible_text.split())[:MAX_DESCRIPTION_LENGTH].strip()


def write_metadata(file: Path, metadata: Metadata) -> None:
    """Replace `metadata.json`, then its checksum. Without a matching checksum, the file is ignored."""
    data = metadata.as_bytes()
    write_atomically(file, data)
    write_atomically(file.with_suffix(_CHECKSUM_SUFFIX), _format_checksum(data))


def read_metadata(file: Path) -> Metadata | None:
    """Return a `metadata.json` that Docyard wrote; None if it is missing or does not match its checksum."""
    try:
        data = file.read_bytes()
        return (
            parse_metadata(data)
            if file.with_suffix(_CHECKSUM_SUFFIX).read_bytes() == _format_checksum(data)
            else None
        )
    except (OSError, InvalidMetadata):
        return None


def _format_checksum(data: bytes) -> bytes:
    return b"%08x\n" % zlib.crc32(data)


def parse_metadata(data: bytes) -> Metadata:
    """Parse and validate a `metadata.json`. Raises InvalidMetadata, which names the first invalid field."""
    try:
        return Metadata.model_validate_json(data)
    except ValidationError as error:
        first_problem = _make_problem(error.errors(include_url=False, include_input=False)[0])
        raise InvalidMetadata(
            f"metadata.json is invalid at {first_problem.field}: {first_problem.reason}",
            fix="`docyard metadata` lists all problems; `docyard build` rewrites an artifact's, and "
            "`docyard index rebuild` that of a repository's own index.",
            field=first_problem.field,
        ) from None


def parse_served_metadata(data: bytes) -> tuple[Metadata, MetadataProblem | None]:
    """Parse a `metadata.json` that is served, without its `source_commit` if only that is malformed.

    This field only states the origin, so it must not prevent a server from starting. Raises InvalidMetadata.
    """
    try:
        return parse_metadata(data), None
    except InvalidMetadata:
        problems = find_metadata_problems(data)
        if {problem.field for problem in problems} != {_SOURCE_COMMIT}:
            raise
    values = json.loads(data)
    del values["stats"]["source_commit"]
    return parse_metadata(json.dumps(values).encode()), problems[0]


def find_metadata_problems(data: bytes) -> list[MetadataProblem]:
    """Return all violations of the contract in a `metadata.json`; empty if it is valid."""
    try:
        Metadata.model_validate_json(data)
    except ValidationError as error:
        return [_make_problem(details) for details in error.errors(include_url=False, include_input=False)]
    return []


def _make_problem(error: ErrorDetails) -> MetadataProblem:
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    reason = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    reason = reason.replace("String should", "must").replace("valid dictionary", "object")
    field = ".".join(sanitize_line(part[:_MAX_SHOWN_LENGTH]) for part in parts)
    return MetadataProblem(field or "metadata.json", reason[0].lower() + reason[1:])


def describe_index(
    state: State,
    values: Mapping[str, Collection[str]],
    corpus_description: str,
    descriptions: Mapping[str, str | None],
) -> Metadata:
    """Return the metadata of an index from its state and the existing values of each taxonomy key.

    `descriptions` has the description of each key, in order; only the first 64 keys are used. A built-in key
    without a description and without values is left out.
    """
    keys = [key for key, text in descriptions.items() if key not in BUILT_IN_KEYS or text or values.get(key)]
    taxonomy = {key: make_facet(values.get(key, ()), descriptions[key]) for key in keys[:MAX_KEYS]}
    return Metadata(
        metadata_version=METADATA_VERSION,
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
    """Return the facet of some values; it lists no values if there are too many for an enum.

    Values that are too long or have invisible characters can be searched, but are not listed.
    """
    all_values = frozenset(values)
    return (
        _make_cached_facet(all_values, description)
        if len(all_values) <= MAX_VALUES
        else _make_facet(all_values, description)
    )


def _make_facet(values: Iterable[str], description: str | None) -> Facet:
    listable_values: set[str] = set()
    for value in values:
        if is_listable(trimmed := value.strip()):
            listable_values.add(trimmed)
            if len(listable_values) > MAX_VALUES:
                return Facet(description=description, values=())
    return Facet(description=description, values=tuple(listable_values))


# A commit changes the values of few keys. Without a cache, tens of thousands of values would be checked
# again.
_make_cached_facet = lru_cache(maxsize=2 * MAX_KEYS)(_make_facet)


def format_corpus_description(configured: str | None, name: str) -> str:
    """Return one line about the documents: the configured description, else "documentation of NAME"."""
    return sanitize_line(configured or "") or sanitize_line(f"documentation of {name}")
