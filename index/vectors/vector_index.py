"""The vectors of one workspace: questions, coverage, and the embedding of sections without a vector.

A provider may be slow or fail at any time. A question waits for its vector for a fraction of a second and is
then answered by words alone; sections are embedded by one thread that no caller waits for.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from index.port import ListPosition
from index.storage.database import remove_database
from index.storage.location import find_location
from index.storage.locking import IndexBusy, hold_lock
from index.storage.manifest import IndexDamaged
from index.vectors.embedded_source import EmbeddedSource
from index.vectors.embedder import (
    EmbeddingUnavailable,
    check_vectors,
    compute_embedding_id,
    format_section,
    is_same_probe,
)
from index.vectors.exchange import VectorExchange
from index.vectors.loaded_vectors import Coverage, LoadedVectors, MissingSections
from index.vectors.location import LOCK_FILE, build_file
from index.vectors.query_vectors import FILE_ERRORS, QueryVectors
from index.vectors.store import VectorStore, get_today
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from index.port import DocumentSource, Progress, SearchType
    from index.segments.generation import SegmentReader
    from index.segments.segment import SectionSpan
    from index.vectors.embedder import Vectors
    from index.vectors.exchange import OpenSharedVectors
    from index.vectors.options import FixedVectors
    from index.vectors.provider import Provider

log = logging.getLogger("docyard")

MIN_COVERAGE = 0.9
"""The least share of sections with a vector from which lists are fused.

With fewer, the sections that happen to have a vector would precede equally good ones.
"""

_MAX_VARIANTS = 100
_CHECK_INTERVAL_S = 600.0
_LOCK_INTERVAL_S = 5.0
_MIN_DELAY_S = 1.0
_MAX_FILE_DELAY_S = 60.0
_UNUSED_DAYS = 30
_MAX_TASKS = 4
_BATCHES_PER_WINDOW = 16

ReadSection = Callable[[str, "SectionSpan"], bytes]
"""Returns the Markdown of a section without its heading, given by its blob and its span."""


class EmbeddingReport(NamedTuple):
    """The provider, its model, the coverage of the searched commit, and the reason for words alone.

    `note` is None if vectors were used. `dimensions` is None before the provider was reached.
    """

    provider: str
    model: str
    dimensions: int | None
    coverage: Coverage
    note: str | None


class RankedQuestion(NamedTuple):
    """The nearness of sections to a question; None if words alone decide. `report` has the reason."""

    ranking: QueryVectors | None
    report: EmbeddingReport


class _Task(NamedTuple):
    """The sections of a commit that are to have vectors."""

    readers: Sequence[SegmentReader]
    read: ReadSection


class VectorIndex:
    """The vectors of the sections of one workspace. Safe to use from threads.

    `folders` yields the folders in which the vectors may be stored, the best first; without one, they
    stay in memory. With `fixed`, these are the vectors, and no section is embedded. Only with
    `in_background` does `notify` start a thread. `open_shared` opens the vectors that nodes share; without
    them, or while they cannot be reached, each node embeds all sections itself.
    """

    def __init__(
        self,
        provider: Provider,
        folders: Callable[[], Iterable[Path]],
        fixed: FixedVectors | None = None,
        *,
        in_background: bool = True,
        open_shared: OpenSharedVectors | None = None,
    ) -> None:
        self._provider = provider
        self._exchange = VectorExchange(open_shared, provider.embedder)
        self._in_background = in_background
        self._fixed = fixed
        self._connect_failure: EmbeddingUnavailable | None = None
        self._folders = folders
        self._loaded: LoadedVectors | None = None
        self._connect_lock = threading.Lock()
        self._condition = threading.Condition()
        self._tasks: list[_Task] = []
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def embeds_in_background(self) -> bool:
        """True if a thread embeds the sections without a vector."""
        return self._in_background and self._fixed is None

    def rank(
        self,
        text: str,
        search_type: SearchType,
        pinned_count: int,
        readers: Sequence[SegmentReader],
        position: ListPosition | None = None,
    ) -> RankedQuestion:
        """Return the nearness of sections to a question, or the reason why words alone decide.

        `position` is that of the earlier pages of the same results.
        """
        loaded = self._loaded

        def explain(note: str) -> RankedQuestion:
            return RankedQuestion(None, self._report(self.measure_coverage(readers), note))

        if loaded is None:
            self.notify()
            failure = self._connect_failure or self._provider.retries.failure
            return explain(failure.message if failure else "the embedding provider was not reached yet")
        try:
            loaded.load()
        except FILE_ERRORS as error:
            self._discard_if_damaged(loaded, error)
            return explain(error.message)
        coverage = loaded.measure_coverage(readers)
        if position is not None and position.vectors_id != loaded.id:
            return explain("the earlier pages used the vectors of another model")
        if position is None and search_type == "hybrid" and coverage.share < MIN_COVERAGE:
            return explain("not enough sections have a vector yet")
        if coverage.total and not coverage.covered:
            return explain("no section has a vector yet")
        try:
            vector = self._provider.embed_question(text, loaded.dimensions)
        except EmbeddingUnavailable as failure:
            return explain(failure.message)
        ranking = QueryVectors(
            vector,
            self._provider.embedder.fusion if search_type == "hybrid" else None,
            pinned_count,
            position or ListPosition(loaded.id, loaded.codes.last_id),
            loaded,
            partial(self._discard_if_damaged, loaded),
        )
        return RankedQuestion(ranking, self._report(coverage, None))

    def measure_coverage(self, readers: Sequence[SegmentReader]) -> Coverage:
        """Return how many live sections have a vector. An incomplete coverage may be a second old."""
        if self._loaded is not None:
            return self._loaded.measure_coverage(readers)
        return Coverage(0, sum(reader.size for reader in readers))

    def rank_near(self, digests: Sequence[bytes]) -> QueryVectors | None:
        """Return the nearness of sections to the mean of some sections; None if these have no vectors."""
        loaded = self._loaded
        if loaded is None:
            return None
        try:
            loaded.load()
            vectors = list(loaded.read_vectors(digests).values())
        except FILE_ERRORS as error:
            self._discard_if_damaged(loaded, error)
            return None
        if not vectors or not any(vector.any() for vector in vectors):
            return None
        [mean] = check_vectors(np.stack(vectors).mean(axis=0, keepdims=True), 1)
        position = ListPosition(loaded.id, loaded.codes.last_id)
        return QueryVectors(mean, None, 0, position, loaded, partial(self._discard_if_damaged, loaded))

    def notify(self, readers: Sequence[SegmentReader] = (), read: ReadSection | None = None) -> None:
        """Embed the sections of a commit that have no vector, in a thread; return at once.

        Without `read`, the thread only reaches the provider, so that later questions can be embedded.
        """
        with self._condition:
            if self._is_closed or not self._in_background:
                return
            if read is not None:
                self._tasks = [*self._tasks[1 - _MAX_TASKS :], _Task(readers, read)]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="docyard-embedding", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def embed_all(
        self, readers: Sequence[SegmentReader], read: ReadSection, progress: Progress | None = None
    ) -> EmbeddingReport:
        """Embed all sections that have no vector, and report the coverage. Raises EmbeddingUnavailable.

        What was embedded before an interruption is kept.
        """
        loaded = self.connect()
        self._embed(loaded, _Task(readers, read), progress)
        return self._report(loaded.measure_coverage(readers), None)

    def connect(self) -> LoadedVectors:
        """Reach the provider, and open the vectors of its model. Raises EmbeddingUnavailable.

        A model that changed under the same name has vectors of its own: the vector of a probe text shows it.
        """
        with self._connect_lock:
            try:
                probe = self._provider.embed_probe()
                loaded = self._loaded
                if loaded is None or not _is_same_model(loaded.store, probe):
                    self._loaded = None
                    loaded = self._open_fixed(probe) if self._fixed is not None else self._open(probe)
                    try:
                        loaded.load()
                    except IndexDamaged:
                        if self._fixed is not None:
                            raise
                        loaded.store.discard()
                        loaded = self._open(probe)
                    self._loaded = loaded
            except EmbeddingUnavailable as failure:
                self._connect_failure = failure
                raise
            self._connect_failure = None
            return loaded

    def embed_with_index(self, source: DocumentSource) -> DocumentSource:
        """Return a source whose sections are embedded when they are read to be indexed.

        So no section is read twice, and all processes that build the index share the work. The source itself
        is returned if the provider embeds in processes of its own, or if there is no file for vectors. Raises
        EmbeddingUnavailable.
        """
        loaded = self.connect()
        if loaded.store.file is None or not self._provider.embedder.is_single_threaded:
            return source
        return EmbeddedSource(source, self._provider.embedder, loaded.store.file, loaded.dimensions)

    def close(self) -> None:
        """Stop the thread, and close the files. What was embedded is kept, and the embedder stays open."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(1.0)
        if self._loaded is not None:
            self._loaded.store.close()

    def _report(self, coverage: Coverage, note: str | None) -> EmbeddingReport:
        embedder, loaded = self._provider.embedder, self._loaded
        dimensions = loaded.dimensions if loaded is not None else None
        return EmbeddingReport(embedder.provider, embedder.model, dimensions, coverage, note)

    def _open(self, probe: Vectors) -> LoadedVectors:
        """Open the vectors of a model, which is identified by the vector of the probe text."""
        embedding_id = compute_embedding_id(self._provider.embedder, len(probe))
        folder = self._find_folder()
        for number in range(_MAX_VARIANTS):
            file = build_file(folder, embedding_id, number) if folder is not None else None
            store = _open_or_replace(file, len(probe))
            store.write_probe(probe)
            if _is_same_model(store, probe):
                return LoadedVectors(f"{embedding_id}-{number}", store, len(probe))
            store.close()
        raise EmbeddingUnavailable(
            "returns another vector for the same text each time", fix="Check the provider's model."
        )

    def _open_fixed(self, probe: Vectors) -> LoadedVectors:
        """Open the vectors of an artifact. Raises EmbeddingUnavailable if another model made them."""
        assert self._fixed is not None
        file, *identity = self._fixed
        embedder = self._provider.embedder
        if identity == [embedder.provider, embedder.model, len(probe)]:
            store = VectorStore(file, len(probe), read_only=True)
            if _is_same_model(store, probe):
                return LoadedVectors(compute_embedding_id(embedder, len(probe)), store, len(probe))
            store.close()
        raise EmbeddingUnavailable(
            f"is not the one of the artifact's vectors ({' '.join(map(str, identity))} dimensions)",
            fix="Serve the artifact with the provider and the model that built it.",
            is_permanent=True,
        )

    def _find_folder(self) -> Path | None:
        location = find_location(self._folders())
        return location.folder if location is not None else None

    def _run(self) -> None:
        """Embed what callers ask for, until the index is closed."""
        file_delay_s = _MIN_DELAY_S
        while not self._is_closed:
            with self._condition:
                task = self._tasks.pop() if self._tasks else None
            try:
                loaded = self.connect()
                if task is not None:
                    self._embed(loaded, task, None)
            except EmbeddingUnavailable as failure:
                log.warning("sections are not embedded: %s", failure.message)
                self._postpone(task, _CHECK_INTERVAL_S if failure.is_permanent else _MIN_DELAY_S)
                continue
            except FILE_ERRORS as error:
                log.warning("sections are not embedded: %s", error.message)
                if self._loaded is not None:
                    self._discard_if_damaged(self._loaded, error)
                # Each attempt may be a call of the provider whose vectors cannot be stored.
                self._postpone(task, file_delay_s)
                file_delay_s = min(2 * file_delay_s, _MAX_FILE_DELAY_S)
                continue
            except Exception:  # an error of this program must not end the thread for good
                if not self._is_closed:
                    log.exception("sections are not embedded")
                self._postpone(None, _CHECK_INTERVAL_S)
                continue
            file_delay_s = _MIN_DELAY_S
            with self._condition:
                if not self._tasks and not self._is_closed:
                    self._condition.wait(_CHECK_INTERVAL_S)

    def _postpone(self, task: _Task | None, least_s: float) -> None:
        """Wait until the provider may be called again. Newer work replaces a task that could not be done."""
        with self._condition:
            if task is not None and not self._tasks:
                self._tasks.append(task)
            deadline = time.monotonic() + max(self._provider.retries.remaining_s(), least_s)
            while not self._is_closed and (remaining := deadline - time.monotonic()) > 0:
                self._condition.wait(remaining)

    def _embed(self, loaded: LoadedVectors, task: _Task, progress: Progress | None) -> None:
        """Embed the live sections that have no vector. One process at a time does so."""

        def report_waiting() -> None:
            if progress:
                progress(0, 0, "Waiting for another process that embeds sections")

        if self._fixed is not None:
            return
        folder = self._find_folder()
        while not self._is_closed:
            loaded.load()
            if next(loaded.find_missing(task.readers), None) is None:
                break
            if folder is None:
                self._embed_missing(loaded, task, progress)
                break
            with suppress(IndexBusy), hold_lock(folder / LOCK_FILE, _LOCK_INTERVAL_S, report_waiting):
                loaded.load()
                self._embed_missing(loaded, task, progress)
                _remove_unused(loaded, task.readers)
                break
        self._exchange.mark_used(loaded, task.readers)

    def _embed_missing(self, loaded: LoadedVectors, task: _Task, progress: Progress | None) -> None:
        missing = list(loaded.find_missing(task.readers))
        if self._exchange.copy(loaded, missing):
            missing = list(loaded.find_missing(task.readers))
        count = sum(len(sections.digests) for sections in missing)
        done = refused_count = 0
        for batch in _make_batches(missing, task.read, self._provider.embedder.batch_size):
            if self._is_closed:
                return
            if progress:
                progress(done, count, "Embedding sections")
            vectors, refused = self._provider.embed_sections([text for _, text in batch], loaded.dimensions)
            digests = [digest for digest, _ in batch]
            loaded.add(digests, vectors, get_today())
            self._exchange.add(loaded, digests, vectors)
            done += len(batch)
            refused_count += refused
        if progress and count:
            progress(count, count, "Embedding sections")
        if refused_count:
            log.warning(
                "sections that the embedding provider refused, and only words find: %d", refused_count
            )

    def _discard_if_damaged(self, loaded: LoadedVectors, error: Exception) -> None:
        """Forget damaged vectors and remove their file, so that they are made again.

        The file of an artifact stays, because it is not this process's own: its codes are in memory.
        """
        if not isinstance(error, IndexDamaged) or self._fixed is not None:
            return
        # Not `_connect_lock`, which is held during calls of the provider: a search does not wait for them.
        with self._condition:
            if self._loaded is loaded:
                log.warning("the vectors were damaged and are made again: %s", loaded.id)
                loaded.store.discard()
                self._loaded = None
        self.notify()


def _make_batches(
    missing: Iterable[MissingSections], read: ReadSection, size: int
) -> Iterator[list[tuple[bytes, str]]]:
    """Yield batches of digests and texts. The texts of some batches are sorted by their lengths.

    Models pad the texts of a batch to the longest one, so texts of equal lengths are embedded faster. A
    document that the repository lacks is skipped: another node has indexed it, and this clone is behind.
    """
    texts: list[tuple[bytes, str]] = []
    for segment, document, positions, digests in missing:
        blob, spans = segment.blob(document), segment.read_spans(document)
        with suppress(DamagedRepository):
            for position, digest in zip(positions, digests, strict=True):
                span = spans[position]
                texts.append((digest, format_section(span.breadcrumb, read(blob, span))))
        if len(texts) >= size * _BATCHES_PER_WINDOW:
            yield from _split_batches(texts, size)
            texts = []
    yield from _split_batches(texts, size)


def _split_batches(texts: list[tuple[bytes, str]], size: int) -> Iterator[list[tuple[bytes, str]]]:
    texts.sort(key=lambda item: len(item[1]))
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _open_or_replace(file: Path | None, dimensions: int) -> VectorStore:
    """Open a store; a damaged file is replaced."""
    try:
        store = VectorStore(file, dimensions)
        store.read_probe()
    except IndexDamaged:
        if file is None:
            raise
        remove_database(file)
        return VectorStore(file, dimensions)
    return store


def _is_same_model(store: VectorStore, probe: Vectors) -> bool:
    """Return True if the store was begun with the same vector of the probe text."""
    first_probe = store.read_probe()
    return first_probe is not None and is_same_probe(first_probe, probe)


def _remove_unused(loaded: LoadedVectors, readers: Sequence[SegmentReader]) -> None:
    """Remove vectors that no commit has used for a month, if they are more than the used ones."""
    if len(loaded.codes) <= 2 * sum(reader.size for reader in readers) + 1_000:
        return
    loaded.mark_used(readers, get_today())
    loaded.store.remove_unused(get_today() - _UNUSED_DAYS)
