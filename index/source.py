"""The documents of a commit, read from Git one at a time, and the difference between two commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from index.documents import IndexedDocument, UnreadableDocument
from index.port import Progress
from workspace.config.taxonomy import Taxonomy
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.git import trees
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import (
    LfsTextMissing,
    Snapshot,
    check_lfs_pointer,
    is_manifest,
    list_changed_files,
)


class GitSource:
    """The documents of a commit. Another process that unpickles a source opens the repository itself.

    The documents are listed once and pickled with the source, so that no other process walks the trees.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        folders = (path.rpartition("/")[0] for path in snapshot.manifests)
        self._git = snapshot.git
        self._max_bytes = snapshot.config.limits.document_bytes
        self._taxonomy = snapshot.taxonomy.load_folders(folders)
        self._blobs = dict(snapshot.documents)
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Return the path of every document, in order."""
        return tuple(self._blobs)

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        """Read the documents with these paths, in this order. They are not cached: each is read only once."""
        for path in paths:
            yield _read_indexed_document(path, self._blobs[path], self._taxonomy, self._read_document)

    def _read_document(self, path: str, blob: str) -> Document | None:
        data = self._git.blob_within(blob, self._max_bytes)
        if data is None:
            return None
        check_lfs_pointer(path, data)
        return Document.parse(data, path)


def read_documents(
    snapshot: Snapshot, blobs: Mapping[str, str], progress: Progress | None, label: str
) -> Iterator[IndexedDocument | UnreadableDocument]:
    """Read documents of a commit, given as blobs by path, in the order of their paths.

    A document that a write or an earlier read has parsed is not parsed again. `label` names the work for
    `progress`.
    """
    for finished_count, (path, blob) in enumerate(sorted(blobs.items())):
        if progress:
            progress(finished_count, len(blobs), label)
        yield _read_indexed_document(
            path, blob, snapshot.taxonomy, lambda path, blob: snapshot.document(path)
        )
    if progress and blobs:
        progress(len(blobs), len(blobs), label)


def _read_indexed_document(
    path: str, blob: str, taxonomy: Taxonomy, read: Callable[[str, str], Document | None]
) -> IndexedDocument | UnreadableDocument:
    """Return a document for the index; without sections if it is over a limit or not a document."""
    try:
        document = read(path, blob)
        if document is not None:
            return IndexedDocument.of(document, blob, taxonomy.values(path, document.front_matter))
    except DamagedRepository:
        return UnreadableDocument(path, blob)
    except (LimitExceeded, LfsTextMissing):
        pass
    return IndexedDocument(path, blob, "", {}, b"", ())


_MAX_INCREMENTAL_DOCUMENTS = 300
"""Up to this number of changed documents, the index is changed and not rebuilt."""


class Difference(NamedTuple):
    """The blobs of the documents to index, by path, and the paths of those to remove."""

    upserts: Mapping[str, str]
    deletes: tuple[str, ...]


def diff_snapshots(old: Snapshot, new: Snapshot, document_count: int | None = None) -> Difference | None:
    """Return the difference between two snapshots; None if the index should be rebuilt instead.

    The index should be rebuilt if new settings change how documents are read, or if more than 300 documents
    and over a third of all change. `document_count` is the number of documents; if it is None, the documents
    are listed.
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
        path: blob for path, blob in _find_documents_below(new, folders) if _has_new_manifest(path, old, new)
    }
    change_count = len(upserts) + len(deletes)
    if (
        change_count > _MAX_INCREMENTAL_DOCUMENTS
        and change_count > (len(new.documents) if document_count is None else document_count) / 3
    ):
        return None
    return Difference(upserts, tuple(deletes))


def _has_new_manifest(path: str, old: Snapshot, new: Snapshot) -> bool:
    return old.taxonomy.manifest_values(path) != new.taxonomy.manifest_values(path)


def _find_documents_below(snapshot: Snapshot, folders: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents in and below some folders, each with its blob; only these folders are read."""
    last_folder: str | None = None
    for folder in sorted(folders, key=lambda folder: folder.split("/")):
        if last_folder is not None and (not last_folder or f"{folder}/".startswith(f"{last_folder}/")):
            continue  # the folder is inside the previous one
        last_folder = folder
        if not folder:
            yield from snapshot.documents.items()
            continue
        entry = snapshot.entry(folder)
        for relative_path, file in trees.walk_tree(snapshot.git, entry.id) if entry and entry.is_tree else ():
            path = f"{folder}/{relative_path}"
            if file.is_blob and snapshot.config.is_document(path):
                yield path, file.id
