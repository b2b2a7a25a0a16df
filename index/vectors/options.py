"""The choice of a provider of vectors for an index, and vectors that an index is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from index.vectors.provider import Provider


class FixedVectors(NamedTuple):
    """The file of the vectors that an artifact was built with, and the provider that made them."""

    file: Path
    provider: str
    model: str
    dimensions: int


class EmbeddingOptions(NamedTuple):
    """The provider of vectors, which several indexes may share; None for a search by words alone.

    With `in_background`, sections without a vector are embedded while searches go on.
    """

    provider: Provider | None = None
    in_background: bool = True


NO_EMBEDDING = EmbeddingOptions()
