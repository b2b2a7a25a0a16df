"""The vectors of an artifact: a file with the vectors of its sections, which readers do not change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from index.vectors.codes import split_digests
from index.vectors.store import VectorStore

if TYPE_CHECKING:
    from index.port import Progress
    from index.segments.generation import SegmentReader
    from index.vectors.vector_index import EmbeddingReport, ReadSection, VectorIndex

_NO_DAY = 0
"""The day of the last use of an artifact's vectors, which are never removed one by one."""


def export_vectors(
    file: Path,
    vectors: VectorIndex,
    readers: Sequence[SegmentReader],
    read: ReadSection,
    progress: Progress | None = None,
) -> EmbeddingReport:
    """Embed all sections, and write their vectors to a new file. Raises EmbeddingUnavailable.

    What is embedded is stored with `vectors` first, so that an interrupted build continues.
    """
    report = vectors.embed_all(readers, read, progress)
    loaded = vectors.connect()
    needed = {digest for reader in readers for digest in split_digests(reader.segment.digests)}
    store = VectorStore(file, loaded.dimensions)
    try:
        probe = loaded.store.read_probe()
        if probe is not None:
            store.write_probe(probe)
        loaded.store.copy_to(store, needed, _NO_DAY)
        store.finish()
    finally:
        store.close()
    return report
