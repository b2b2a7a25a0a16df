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
from workspace.snapshot.snapshot import NotADocument, Snapshot, check_pointer, is_manifest, list_changed_files


class GitSource:
    """The documents of a commit. Another process that unpickles a source opens the repository itself.

    The documents are listed once and pickled with the source, so that no other process walks the trees.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        folders = (path.rpartition("/")[0] for path in snapshot.manifests)
        self._page_reader = _PageReader(
            snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy.load_folders(folders)
        )
        self._blobs = dict(snapshot.documents)
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Return every document, in order."""
        return tuple(self._blobs)

    def pages(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Read some of the documents, in the order requested."""
        for path in paths:
            yield self._page_reader.page(path, self._blobs[path])


def read_pages(
    snapshot: Snapshot, blobs: Mapping[str, str], progress: Progress | None, label: str
) -> Iterator[IndexedDocument | UnreadableDocument]:
    """Read some documents of a commit, given as blobs by path, in order of paths.

    `label` is the name of the work for `progress`. A document that is too large, or a Git LFS pointer, is a
    page without sections.
    """
    page_reader = _PageReader(snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy)
    for done, (path, blob) in enumerate(sorted(blobs.items())):
        if progress:
            progress(done, len(blobs), label)
        yield page_reader.page(path, blob)
    if progress and blobs:
        progress(len(blobs), len(blobs), label)


class _PageReader(NamedTuple):
    """A reader of documents of at most `max_bytes`, with the taxonomy that gives their values."""

    git: GitReader
    max_bytes: int
    taxonomy: Taxonomy

    def page(self, path: str, blob: str) -> IndexedDocument | UnreadableDocument:
        try:
            data = self.git.blob_within(blob, self.max_bytes)
            if data is not None:
                check_pointer(path, data)
                document = Document.parse(data, path)
                return IndexedDocument.of(document, blob, self.taxonomy.values(path, document.front_matter))
        except DamagedRepository:
            return UnreadableDocument(path, blob)
        except (LimitExceeded, NotADocument):
            pass
        return IndexedDocument(path, blob, "", {}, b"", ())


_MAX_INCREMENTAL = 300
"""Up to this number of changed documents, an incremental change is always faster than a rebuild."""


class Difference(NamedTuple):
    """The blobs of the documents to index, by path, and the paths of those to remove."""

    upserts: Mapping[str, str]
    deletes: tuple[str, ...]


def diff_snapshots(old: Snapshot, new: Snapshot, documents: int | None = None) -> Difference | None:
    """Return the difference between two snapshots; None if the index should be rebuilt instead.

    The index should be rebuilt if new settings change how documents are read, or if over a third of the
    documents change. `documents` is their number; with it they are not listed to be counted.
    """
    old_config, new_config = old.config, new.config
    if (
        old_config.limits != new_config.limits
        or old_config.taxonomy_keys.keys() != new_config.taxonomy_keys.keys()
    ):
        return None
    upserts: dict[str, str] = {}
    deletes, folders = [], []
    for path, _, blob in list_changed_files(old, new):
        if is_manifest(path):
            folders.append(path.rpartition("/")[0])
        elif blob is None:
            deletes.append(path)
        else:
            upserts[path] = blob
    upserts |= {
        path: blob for path, blob in _documents_below(new, folders) if _has_new_manifest(path, old, new)
    }
    count = len(upserts) + len(deletes)
    if count > _MAX_INCREMENTAL and count > (len(new.documents) if documents is None else documents) / 3:
        return None
    return Difference(upserts, tuple(deletes))


def _has_new_manifest(path: str, old: Snapshot, new: Snapshot) -> bool:
    return old.taxonomy.manifest_values(path) != new.taxonomy.manifest_values(path)


def _documents_below(snapshot: Snapshot, folders: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents in and below some folders, each with its blob; only these folders are read."""
    last: str | None = None
    for folder in sorted(folders, key=lambda folder: folder.split("/")):
        if last is not None and (not last or f"{folder}/".startswith(f"{last}/")):
            continue  # it is inside the previous folder
        last = folder
        if not folder:
            yield from snapshot.documents.items()
            continue
        entry = snapshot.entry(folder)
        for inside, file in trees.walk_tree(snapshot.git, entry.id) if entry and entry.is_tree else ():
            path = f"{folder}/{inside}"
            if file.is_blob and snapshot.config.is_document(path):
                yield path, file.id
