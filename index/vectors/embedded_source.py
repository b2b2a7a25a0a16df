"""A source of documents whose sections are embedded when they are read to be indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.documents import IndexedDocument, UnreadableDocument
from index.vectors.embedder import format_section
from index.vectors.provider import Provider
from index.vectors.store import VectorStore, get_today

if TYPE_CHECKING:
    from index.port import DocumentSource
    from index.vectors.embedder import Embedder


class EmbeddedSource:
    """The documents of a source. What has no vector yet is embedded before the last document is returned.

    The embedder must be single-threaded. Vectors are added to a file. A source that another process unpickles
    opens the file there. Raises IndexBusy, IndexUnwritable and IndexDamaged in addition to the errors of the
    source.
    """

    def __init__(self, source: DocumentSource, embedder: Embedder, file: Path, dimensions: int) -> None:
        self._source = source
        self._embedder = embedder
        self._file = file
        self._dimensions = dimensions
        self.commit = source.commit

    def __reduce__(self) -> tuple[type[EmbeddedSource], tuple[DocumentSource, Embedder, Path, int]]:
        """Return what a copy in another process is made of."""
        return EmbeddedSource, (self._source, self._embedder, self._file, self._dimensions)

    def paths(self) -> tuple[str, ...]:
        """Return the path of every document, in order."""
        return self._source.paths()

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Read the documents with these paths, in the order of the paths, and embed their sections."""
        texts: dict[bytes, str] = {}
        for document in self._source.read_documents(paths):
            if isinstance(document, IndexedDocument):
                texts |= self._read_new_texts(document)
                if len(texts) >= self._embedder.batch_size:
                    self._embed(texts)
                    texts = {}
            yield document
        if texts:
            self._embed(texts)

    def _read_new_texts(self, document: IndexedDocument) -> dict[bytes, str]:
        """Return the texts of the sections that have no vector, by digest."""
        return {
            digest: format_section(document.breadcrumb(section), document.text(section))
            for section, digest in zip(document.sections_by_key, document.digests, strict=True)
            if digest not in self._known_digests
        }

    def _embed(self, texts: dict[bytes, str]) -> None:
        size = self._embedder.batch_size
        digests = list(texts)
        provider = Provider(self._embedder)
        with closing(VectorStore(self._file, self._dimensions)) as store:
            for start in range(0, len(digests), size):
                batch = digests[start : start + size]
                vectors, _ = provider.embed_sections([texts[digest] for digest in batch], self._dimensions)
                store.add(batch, vectors, get_today())
        self._known_digests.update(digests)

    @cached_property
    def _known_digests(self) -> set[bytes]:
        """The digests that had a vector before, or that this process has embedded."""
        with closing(VectorStore(self._file, self._dimensions)) as store:
            return {digest for rows in store.read_codes() for digest in rows.digests}
