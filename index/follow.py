"""An index is brought from its commit to another: by what changed between the two, or built anew.

Documents are streamed, one in memory at a time. One that Git cannot read is left out, and the state names it.
Nothing here decides *when* to follow; `index.live` does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

from index.chunks import Chunk, chunks
from index.engine import Index
from index.files import IndexUnwritable
from index.generation import Generation, State
from index.integrity import IndexDamaged
from workspace.config import LimitExceeded
from workspace.document import Document
from workspace.git import DamagedRepository
from workspace.snapshot import NotADocument, Snapshot, changed_documents, check_pointer

Progress = Callable[[int, int, str], None]
"""Told the number of documents done, the number of all, and what is being done."""

_STEP = 50


class Change(NamedTuple):
    """A document that was added, changed or removed, by its old and new blob."""

    path: str
    old: str | None
    new: str | None


def build(index: Index, target: Snapshot, progress: Progress | None = None) -> Generation:
    """Fill an empty index with every document of a commit."""
    changes = [Change(path, None, blob) for path, blob in target.documents.items()]
    with _no_collection():
        return _apply(index, None, target, changes, progress, "Indexing documents")


def advance(
    index: Index, generation: Generation, old: Snapshot, target: Snapshot, progress: Progress | None = None
) -> Generation:
    """Bring an index from one commit to another, reading only the documents that differ.

    Documents that could not be read before are tried again.
    """
    changes = {change[0]: Change(*change) for change in changed_documents(old, target)}
    again = {path: Change(path, blob, blob) for path, blob in generation.state.unreadable.items()}
    merged = list({**again, **changes}.values())
    return _apply(index, generation, target, merged, progress, "Indexing changed documents")


def _apply(
    index: Index,
    generation: Generation | None,
    target: Snapshot,
    changes: list[Change],
    progress: Progress | None,
    message: str,
) -> Generation:
    files = generation.state.files if generation else 0
    chunks_before = generation.state.chunks if generation else 0
    unreadable: dict[str, str] = {}
    writing = index.write(generation)
    try:
        for done, (path, old, new) in enumerate(changes):
            if progress and done % _STEP == 0:
                progress(done, len(changes), message)
            files += (new is not None) - (old is not None)
            if old is not None:
                writing.remove(path)
            if new is not None:
                try:
                    found = _chunks(target, path, new)
                except DamagedRepository:
                    unreadable[path] = new
                else:
                    for chunk in found:
                        writing.add(chunk)
        if progress:
            progress(len(changes), len(changes), message)
        writing.commit(
            State(
                commit=target.commit,
                files=files,
                chunks=chunks_before + writing.added - writing.removed,
                indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                unreadable=unreadable,
            )
        )
    except BaseException:
        # On a full disk, closing the unfinished files fails too; the next writer sweeps them away.
        with suppress(IndexDamaged, IndexUnwritable):
            writing.cancel()
        raise
    return index.read(generation)


def _chunks(target: Snapshot, path: str, blob: str) -> list[Chunk]:
    """Cut a document into chunks; one that is too large, or a mere pointer, has none.

    Raises DamagedRepository.
    """
    try:
        target.config.limits.check_document(path, target.git.blob_size(blob))
        data = target.git.blob(blob)
        check_pointer(path, data)
        return list(chunks(Document.parse(data, path), blob))
    except (LimitExceeded, NotADocument):
        return []


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking the growing posting lists, which hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
