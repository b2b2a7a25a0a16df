"""The exchange of vectors between nodes, so that each text is embedded by one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from index.port import EngineUnavailable
from index.vectors.codes import split_digests
from index.vectors.embedder import compute_embedding_id
from index.vectors.store import get_today

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from index.segments.generation import SegmentReader
    from index.vectors.embedder import Embedder, Vectors
    from index.vectors.loaded_vectors import LoadedVectors, MissingSections

log = logging.getLogger("docyard")

T = TypeVar("T")


class SharedVectors(Protocol):
    """The shared vectors of one model, in sixteen bits a number, as each node stores them.

    Every method raises EngineUnavailable.
    """

    def read(self, digests: Sequence[bytes]) -> Iterator[tuple[list[bytes], NDArray[np.float16]]]:
        """Yield the stored ones of some digests with their vectors, in parts."""

    def add(self, digests: Sequence[bytes], vectors: NDArray[np.float16]) -> None:
        """Store vectors; a digest that has one keeps it."""

    def mark_used(self, digests: Sequence[bytes]) -> list[bytes]:
        """Store that digests are used today, and return those that have no vector.

        Vectors that no node has used for a month are deleted.
        """


OpenSharedVectors = Callable[[str, "Vectors"], SharedVectors]
"""Opens the shared vectors of an embedding id, whose model returns a vector for the probe text."""


class VectorExchange:
    """The exchange of one node. It does nothing without `open_shared`, or while the database is unreachable.

    What could not be shared then is shared by a later `mark_used`.
    """

    def __init__(self, open_shared: OpenSharedVectors | None, embedder: Embedder) -> None:
        self._open_shared = open_shared
        self._embedder = embedder
        self._shared: SharedVectors | None = None
        self._marked_on = 0

    def copy(self, loaded: LoadedVectors, missing: Sequence[MissingSections]) -> int:
        """Copy the vectors that another node has made for some sections; return their number."""
        digests = [digest for sections in missing for digest in sections.digests]

        def copy(shared: SharedVectors) -> int:
            count = 0
            for found, vectors in shared.read(digests):
                loaded.add(found, vectors.astype(np.float32), get_today())
                count += len(found)
            return count

        return (self._use(loaded, copy) or 0) if digests else 0

    def add(self, loaded: LoadedVectors, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Share the vectors that this node has made."""
        self._use(loaded, lambda shared: shared.add(digests, vectors.astype(np.float16)))

    def mark_used(self, loaded: LoadedVectors, readers: Sequence[SegmentReader]) -> None:
        """Once a day, keep the shared vectors of some segments, and share those that only this node has."""
        today = get_today()
        if self._open_shared is None or self._marked_on == today:
            return
        digests = list(
            dict.fromkeys(digest for reader in readers for digest in split_digests(reader.segment.digests))
        )

        def mark(shared: SharedVectors) -> None:
            unshared = loaded.read_vectors(shared.mark_used(digests))
            if unshared:
                shared.add(list(unshared), np.stack(list(unshared.values())).astype(np.float16))

        self._marked_on = today
        self._use(loaded, mark)

    def _use(self, loaded: LoadedVectors, use: Callable[[SharedVectors], T]) -> T | None:
        if self._open_shared is None:
            return None
        try:
            if self._shared is None:
                probe = loaded.store.read_probe()
                assert probe is not None, "a store is opened with a probe"
                self._shared = self._open_shared(
                    compute_embedding_id(self._embedder, loaded.dimensions), probe
                )
            return use(self._shared)
        except EngineUnavailable as error:
            log.warning("vectors are not exchanged with other nodes: %s", error)
            self._marked_on = 0
            return None
