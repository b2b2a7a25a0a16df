"""`metadata.json`: what a server needs to know of an index before it opens it.

The format is the documentation index contract, version 1: semver, a taxonomy whose values become enums in the
schema of `search_docs`, corpus statistics, and the embedding used (none here).
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from index.files import write_atomically
from index.port import State
from workspace.errors import WorkspaceError

VERSION = "1.1.0"
MAX_KEYS, MAX_KEY_LENGTH, MAX_VALUES, MAX_VALUE_LENGTH = 64, 64, 512, 128

_SUM = ".sum"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)


class InvalidMetadata(WorkspaceError):
    """A `metadata.json` breaks its contract; `details` names the field."""

    code: ClassVar[str] = "INVALID_METADATA"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Facet(_Model):
    """One key of the taxonomy: the values by which a search can be filtered."""

    description: str | None = None
    values: tuple[str, ...] = Field(strict=False)

    @field_validator("values")
    @classmethod
    def _normalise(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        trimmed = sorted({value.strip() for value in values})
        if "" in trimmed:
            raise ValueError("values must not be empty")
        if len(trimmed) > MAX_VALUES:
            raise ValueError(f"at most {MAX_VALUES} values are allowed")
        if any(len(value) > MAX_VALUE_LENGTH for value in trimmed):
            raise ValueError(f"a value has at most {MAX_VALUE_LENGTH} characters")
        return tuple(trimmed)


class Stats(_Model):
    total_chunks: Annotated[int, Field(ge=0)]
    total_files: Annotated[int, Field(ge=0)]
    indexed_at: str
    source_commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] | None = None


class Embedding(_Model):
    provider: str
    model: str
    dimensions: Annotated[int, Field(gt=0)]


class Metadata(_Model):
    """The whole of `metadata.json`."""

    metadata_version: str
    corpus_description: str
    taxonomy: dict[str, Facet]
    stats: Stats
    embedding: Embedding | None = None

    def is_of(self, state: State) -> bool:
        """Whether this tells of an index in this state."""
        return (self.stats.source_commit, self.stats.total_chunks) == (state.commit, state.chunks)

    def is_alike(self, other: Metadata) -> bool:
        """Whether this differs from another in its figures at most."""
        return self == other.model_copy(update={"stats": self.stats})

    @field_validator("metadata_version")
    @classmethod
    def _supported(cls, value: str) -> str:
        match = _SEMVER.fullmatch(value)
        if not match:
            raise ValueError("must be MAJOR.MINOR.PATCH")
        if match[1] != VERSION.split(".")[0]:
            raise ValueError(f"major version {match[1]} is not supported, only {VERSION.split('.')[0]}")
        return value

    @field_validator("taxonomy")
    @classmethod
    def _trim_keys(cls, taxonomy: dict[str, Facet]) -> dict[str, Facet]:
        trimmed = {key.strip(): facet for key, facet in taxonomy.items()}
        if "" in trimmed:
            raise ValueError("keys must not be empty")
        if len(trimmed) > MAX_KEYS:
            raise ValueError(f"at most {MAX_KEYS} keys are allowed")
        if any(len(key) > MAX_KEY_LENGTH for key in trimmed):
            raise ValueError(f"a key has at most {MAX_KEY_LENGTH} characters")
        return trimmed


def facet(values: Iterable[str], description: str | None = None) -> Facet | None:
    """Make a facet of the values found; None if there are none, or so many that they cannot be an enum.

    Values that are too long, or hold characters that cannot be seen, stay searchable but are not listed.
    """
    listed = {value.strip() for value in values if is_listable(value.strip())}
    return Facet(description=description, values=tuple(listed)) if 0 < len(listed) <= MAX_VALUES else None


def describe(state: State, values: Mapping[str, Iterable[str]], description: str) -> Metadata:
    """Tell of an index by its state and the values of each taxonomy key."""
    facets = {key: facet(found) for key, found in values.items()}
    return Metadata(
        metadata_version=VERSION,
        corpus_description=description,
        taxonomy={key: found for key, found in facets.items() if found},
        stats=Stats(
            total_chunks=state.chunks,
            total_files=state.files,
            indexed_at=state.indexed_at,
            source_commit=state.commit,
        ),
    )


def is_listable(value: str) -> bool:
    """Say whether a value may stand in a schema that models read."""
    if not 0 < len(value) <= MAX_VALUE_LENGTH:
        return False
    return not any(unicodedata.category(c) in _INVISIBLE or c in _BLANK_LETTERS for c in value)


def write_metadata(file: Path, metadata: Metadata) -> None:
    """Replace `metadata.json`, then its checksum; one without the other is ignored and written again."""
    data = (metadata.model_dump_json(indent=2) + "\n").encode()
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
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "metadata.json"
        raise InvalidMetadata(
            f"metadata.json is invalid at {field}: {first['msg']}",
            fix="Rebuild it with `docyard index rebuild`.",
            field=field,
        ) from None
