"""The nearness of sections to one question, or to one section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from index.documents import DIGEST_BYTES
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from index.port import Fusion, ListPosition
    from index.vectors.embedder import Vectors
    from index.vectors.loaded_vectors import LoadedVectors


FILE_ERRORS = (IndexDamaged, IndexBusy, IndexUnwritable)
"""The errors of a file of vectors, which never end a search."""


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """A vector that is compared with the vectors of sections: an `index.port.VectorRanking`.

    Vectors that were added after `position` are not compared. `report_error` receives the error of a file
    that cannot be read; the estimates, which are in memory, then replace the exact cosines.
    """

    vector: Vectors
    fusion: Fusion | None
    pinned_count: int
    position: ListPosition
    loaded: LoadedVectors
    report_error: Callable[[Exception], None]

    def estimate(self, segment_id: str, digests: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the estimated cosine of each section of a segment; -inf for a section without a vector."""
        rows = self.loaded.find_rows(segment_id, digests)
        has_vector = (rows >= 0) & (rows < len(self._cosines))
        cosines = np.full(len(rows), -np.inf, np.float32)
        cosines[has_vector] = self._cosines[rows[has_vector]]
        return cosines

    def measure(self, digests: Sequence[bytes]) -> list[float]:
        """Return the exact cosine of some sections; -inf for a section without a vector.

        A section whose vector cannot be read has its estimated cosine.
        """
        table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)
        rows = self.loaded.codes.find_rows(table).tolist()
        row_count = len(self._cosines)
        try:
            vectors = self.loaded.read_vectors(
                [digest for digest, row in zip(digests, rows, strict=True) if 0 <= row < row_count]
            )
        except FILE_ERRORS as error:
            self.report_error(error)
            vectors = {}
        # Another process may have removed a vector whose code is still in memory.
        return [
            float(vectors[digest] @ self.vector) if digest in vectors else self._get_estimate(row)
            for digest, row in zip(digests, rows, strict=True)
        ]

    def _get_estimate(self, row: int) -> float:
        return float(self._cosines[row]) if 0 <= row < len(self._cosines) else -np.inf

    @cached_property
    def _cosines(self) -> NDArray[np.float32]:
        """The estimated cosine of each row."""
        codes = self.loaded.codes
        return codes.scan(self.vector)[: codes.count_rows(self.position.last_id)]
