"""What an index has to take in so that it stands for another commit than it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workspace.git import trees
from workspace.snapshot.listing import is_manifest
from workspace.snapshot.snapshot import Snapshot, changed_files

_FEW = 300
"""Documents that one process takes in as fast as several would build the whole index."""


class Difference(NamedTuple):
    """The blobs of the documents to take in, by path, and the paths of those to drop."""

    upserts: Mapping[str, str]
    deletes: tuple[str, ...]


def difference(old: Snapshot, new: Snapshot, documents: int | None = None) -> Difference | None:
    """What lies between two snapshots; None where the index is rather built anew.

    That is where the settings change what is read of each document, and where over a third of them change.
    `documents` says how many there are, so that they are not listed to be counted.
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
    upserts |= {path: blob for path, blob in _below(new, folders) if _is_governed_anew(path, old, new)}
    number = len(upserts) + len(deletes)
    if number > _FEW and number > (len(new.documents) if documents is None else documents) / 3:
        return None
    return Difference(upserts, tuple(deletes))


def _is_governed_anew(path: str, old: Snapshot, new: Snapshot) -> bool:
    return old.taxonomy.governed(path) != new.taxonomy.governed(path)


def _below(snapshot: Snapshot, folders: list[str]) -> Iterator[tuple[str, str]]:
    """The documents in some folders and below them, each with its blob; only these folders are read."""
    last: str | None = None
    for folder in sorted(folders, key=lambda folder: folder.split("/")):
        if last is not None and (not last or f"{folder}/".startswith(f"{last}/")):
            continue  # it lies in the one before
        last = folder
        if not folder:
            yield from snapshot.documents.items()
            continue
        entry = snapshot.entry(folder)
        for inside, found in trees.walk(snapshot.git, entry.id) if entry and entry.is_tree else ():
            path = f"{folder}/{inside}"
            if found.is_blob and snapshot.config.is_document(path):
                yield path, found.id
