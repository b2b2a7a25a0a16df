"""The choice of a provider of vectors for an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from index.vectors.provider import Provider


class EmbeddingOptions(NamedTuple):
    """The provider of vectors, which several indexes may share; None for a search by words alone.

    With `in_background`, sections without a vector are embedded while searches go on.
    """

    provider: Provider | None = None
    in_background: bool = True


NO_EMBEDDING = EmbeddingOptions()
