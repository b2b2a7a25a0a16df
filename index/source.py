"""The documents of a commit, read from Git one at a time, and the difference between two commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from index.page import IndexedDocument, UnreadableDocument
from index.port import Progress
from workspace.config.taxonomy import Taxonomy
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.git import trees
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import NotADocument, Snapshot, changed_files, check_pointer, is_manifest


class GitSource:
    """A commit of a repository. Another process that is given one opens the repository for itself.

    What the commit holds is listed here once and goes with it, so that no other process walks its trees.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        folders = (path.rpartition("/")[0] for path in snapshot.manifests)
        self._reading = _PageReader(
            snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy.gathered(folders)
        )
        self._blobs = dict(snapshot.documents)
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Return every document, in order."""
        return tuple(self._blobs)

    def pages(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Read some of the documents, in the order asked for."""
        for path in paths:
            yield self._reading.page(path, self._blobs[path])


def read_pages(
    snapshot: Snapshot, blobs: Mapping[str, str], progress: Progress | None, work: str
) -> Iterator[IndexedDocument | UnreadableDocument]:
    """Read some documents of a commit, given as blobs by path, in order of paths; `work` is what is told.

    One that is too large, or a mere pointer, is a page without sections.
    """
    reading = _PageReader(snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy)
    for done, (path, blob) in enumerate(sorted(blobs.items())):
        if progress:
            progress(done, len(blobs), work)
        yield reading.page(path, blob)
    if progress and blobs:
        progress(len(blobs), len(blobs), work)


class _PageReader(NamedTuple):
    """Where documents are read, up to how many bytes, and what their values are taken from."""

    git: GitReader
    most: int
    taxonomy: Taxonomy

    def page(self, path: str, blob: str) -> IndexedDocument | UnreadableDocument:
        try:
            data = self.git.blob_within(blob, self.most)
            if data is not None:
                check_pointer(path, data)
                document = Document.parse(data, path)
                return IndexedDocument.of(document, blob, self.taxonomy.values(path, document.front_matter))
        except DamagedRepository:
            return UnreadableDocument(path, blob)
        except (LimitExceeded, NotADocument):
            pass
        return IndexedDocument(path, blob, "", {}, b"", ())


_FEW = 300
"""Documents that one process takes in as fast as several would build the whole index."""


class Difference(NamedTuple):
    """The blobs of the documents to take in, by path, and the paths of those to drop."""

    upserts: Mapping[str, str]
    deletes: tuple[str, ...]


def diff_snapshots(old: Snapshot, new: Snapshot, documents: int | None = None) -> Difference | None:
    """Return the difference between two snapshots; None if the index should be rebuilt instead.

    That is the case if the settings change how documents are read, or if over a third of them change.
    `documents` is their number, so that they are not listed to be counted.
    """
    before, after = old.config, new.config
    if before.limits != after.limits or before.taxonomy_keys.keys() != after.taxonomy_keys.keys():
        return None
    upserts: dict[str, str] = {}
    deletes, folders = [], []
    for path, _, blob in changed_files(old, new):
        if is_manifest(path):
            folders.append(path.rpartition("/")[0])
        elif blob is None:
            deletes.append(path)
        else:
            upserts[path] = blob
    upserts |= {path: blob for path, blob in _below(new, folders) if _has_new_manifest(path, old, new)}
    number = len(upserts) + len(deletes)
    if number > _FEW and number > (len(new.documents) if documents is None else documents) / 3:
        return None
    return Difference(upserts, tuple(deletes))


def _has_new_manifest(path: str, old: Snapshot, new: Snapshot) -> bool:
    return old.taxonomy.governed(path) != new.taxonomy.governed(path)


def _below(snapshot: Snapshot, folders: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents in some folders and below them, each with its blob; only these folders are read."""
    last: str | None = None
    for folder in sorted(folders, key=lambda folder: folder.split("/")):
        if last is not None and (not last or f"{folder}/".startswith(f"{last}/")):
            continue  # it lies in the one before
        last = folder
        if not folder:
            yield from snapshot.documents.items()
            continue
        entry = snapshot.entry(folder)
        for inside, found in trees.walk_tree(snapshot.git, entry.id) if entry and entry.is_tree else ():
            path = f"{folder}/{inside}"
            if found.is_blob and snapshot.config.is_document(path):
                yield path, found.id
