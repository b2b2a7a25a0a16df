"""An index is brought from its commit to another: by what changed between the two, or built anew.

Documents are streamed, one in memory at a time. Nothing here decides *when* to follow; `index.service` does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from index.chunks import chunks
from index.engine import Index
from index.generation import Generation, State
from workspace.document import Document
from workspace.snapshot import Snapshot, changed_documents

if TYPE_CHECKING:
    from workspace.git import GitReader

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
    """Bring an index from one commit to another, reading only the documents that differ."""
    changes = [Change(*change) for change in changed_documents(old, target)]
    return _apply(index, generation, target, changes, progress, "Indexing changed documents")


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
    writing = index.write(generation)
    try:
        for done, (path, old, new) in enumerate(changes):
            if progress and done % _STEP == 0:
                progress(done, len(changes), message)
            files += (new is not None) - (old is not None)
            if old is not None:
                writing.remove(path)
            if new is not None and target.git.blob_size(new) <= target.config.limits.document_bytes:
                for chunk in chunks(_document(target.git, path, new), new):
                    writing.add(chunk)
        if progress:
            progress(len(changes), len(changes), message)
        writing.commit(
            State(
                commit=target.commit,
                files=files,
                chunks=chunks_before + writing.added - writing.removed,
                indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
        )
    except BaseException:
        writing.cancel()
        raise
    return index.read(generation)


def _document(git: GitReader, path: str, blob: str) -> Document:
    return Document.parse(git.blob(blob), path)


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
