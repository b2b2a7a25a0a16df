"""Checks of what stands at the served commit: document types, manifests, and each document.

Checks of what searches can be filtered by: manifests, and the values that the index has of each key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from docyard.doctor.finding import FIX_COMMAND, FROM_A_CLONE, Finding, Severity, format_count, format_some
from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, sync_written_objects
from workspace.git.trees import walk_tree
from workspace.paths import escape_path, is_nameable
from workspace.snapshot.snapshot import NotADocument, check_pointer

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_LARGE = 20_000
"""Bytes of keys and values in the definition of search_docs that an agent ought not to read each time."""


def check_manifests(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield the manifests of a commit that cannot be used."""
    for error in snapshot.manifest_problems():
        yield Finding(
            Severity.WARNING, "repository", f"{error.message}, so all that it says is left out", error.fix
        )


def check_values(index: SearchIndex) -> Iterator[Finding]:
    """Yield the keys and values of the index that search_docs cannot list."""
    from index.storage.metadata import MAX_KEYS, MAX_VALUE_LENGTH, MAX_VALUES, is_listable

    listed: dict[str, list[str]] = {}
    for key, values in index.values().items():
        seen = [value for value in values if is_listable(value)]
        if len(seen) < len(values):
            hidden = [value for value in values if not is_listable(value)]
            yield Finding(
                Severity.NOTE,
                "index",
                f"{format_count(hidden, 'value of', 'values of')} {key} can be searched for and "
                "not listed: over "
                f"{MAX_VALUE_LENGTH} characters, or with some that cannot be seen",
                f"Shorten or mend them in the documents, if agents are to filter by {key}.",
            )
        if len(seen) > MAX_VALUES:
            yield Finding(
                Severity.NOTE,
                "index",
                f"{key} has {len(seen):,} values; search_docs lists up to {MAX_VALUES}, so it lists none of "
                "these, and answers a wrong one with the nearest",
            )
        listed[key] = seen if len(seen) <= MAX_VALUES else []
    if len(listed) > MAX_KEYS:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the taxonomy has over {MAX_KEYS} keys, those of every workspace included; search_docs lists no "
            f"values of {format_some([*listed][MAX_KEYS:])}",
        )
    size = len(json.dumps(listed).encode())
    if size > _LARGE:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the keys and values of the taxonomy take {size:,} bytes in the definition of search_docs, and "
            "agents read them in every conversation",
            "Declare fewer keys in docyard.toml, or give them fewer values.",
        )


AREA = "repository"
_SHOWN = 200
Progress = Callable[[float, float | None, str | None], None]


def check_documents(
    snapshot: Snapshot, writable: Callable[[], Workspace], progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield what is wrong with the types and documents of a commit, whose settings are known to be right."""
    yield from _types(snapshot)
    yield from check_manifests(snapshot)
    yield from _root(snapshot)
    yield from _others(snapshot)
    yield from _contents(snapshot, writable, progress)


def _root(snapshot: Snapshot) -> Iterator[Finding]:
    root = snapshot.config.root
    entry = snapshot.entry(root)
    if root and (entry is None or not entry.is_tree):
        yield Finding(
            Severity.WARNING,
            AREA,
            f"docyard.toml says that documents are below {root!r}, and no commit has such a folder yet",
            "Mend root in docyard.toml and commit it, or create a document: that makes the folder.",
        )
    elif not snapshot.documents:
        yield Finding(Severity.NOTE, AREA, "the commit that is served holds no documents (*.md, *.markdown)")


def _others(snapshot: Snapshot) -> Iterator[Finding]:
    found = list(walk_tree(snapshot.git, snapshot.tree)) if snapshot.tree else []
    others = [path for path, entry in found if not entry.is_blob and snapshot.config.is_document(path)]
    unnameable = [path for path, _ in found if path.endswith(DOCUMENT_SUFFIXES) and not is_nameable(path)]
    if others:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{format_count(others, 'path is', 'paths are')} named like documents, but links or "
            "submodules, so not "
            f"read: {format_some(others)}",
        )
    if unnameable:
        shown = [escape_path(path[:_SHOWN]) for path in unnameable]
        yield Finding(
            Severity.WARNING,
            AREA,
            f"no answer can name {format_count(unnameable, 'file', 'files')}, so not read: "
            f"{format_some(shown)}",
            "Rename them, without control characters, in UTF-8, and commit that.",
        )


def _types(snapshot: Snapshot) -> Iterator[Finding]:
    from workspace.snapshot.document_types import BrokenType, read_types

    for found in read_types(snapshot).values():
        if isinstance(found, BrokenType):
            yield Finding(Severity.ERROR, AREA, found.message, found.fix)


def _contents(
    snapshot: Snapshot, writable: Callable[[], Workspace], progress: Progress | None
) -> Iterator[Finding]:
    from workspace.publishing.pruned import read_whole_file

    foreign: list[str] = []
    large: list[str] = []
    lost: dict[str, str] = {}
    in_files: dict[str, str] = {}
    pointers: list[str] = []
    limit = snapshot.config.limits.document_bytes
    for done, (path, blob) in enumerate(snapshot.documents.items()):
        if progress is not None and done % 50 == 0:
            progress(done, len(snapshot.documents), "Reading documents")
        try:
            if snapshot.git.blob_size(blob) > limit:
                large.append(path)
            else:
                data = snapshot.git.blob(blob)
                check_pointer(path, data)
                data.decode()
        except NotADocument:
            pointers.append(path)
        except UnicodeDecodeError:
            foreign.append(path)
        except DamagedRepository:
            kept = read_whole_file(snapshot.git, path, blob) is not None
            (in_files if kept else lost)[path] = blob
    if in_files:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the contents of {format_count([*in_files], 'document are', 'documents are')} "
            "missing or broken in the "
            f"repository, and whole in the work tree: {format_some([*in_files])}",
            FIX_COMMAND,
            partial(_write_again, writable, in_files),
        )
    if lost:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the contents of {format_count([*lost], 'document are', 'documents are')} missing "
            "or broken in the "
            f"repository, so they can be neither read nor found: {format_some([*lost])}",
            FROM_A_CLONE,
        )
    if pointers:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{format_count(pointers, 'path is a pointer', 'paths are pointers')} of Git LFS, so "
            "there is nothing "
            f"to read: {format_some(pointers)}",
            "git lfs migrate export --include='*.md' brings the texts into the repository",
        )
    if foreign:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(foreign, 'document is', 'documents are')} not UTF-8: {format_some(foreign)}",
            "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW && mv NEW FILE, and commit it",
        )
    if large:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(large, 'document is', 'documents are')} over {limit:,} bytes: "
            f"{format_some(large)}",
            "Split them, or raise [limits] document_bytes in docyard.toml.",
        )


def _write_again(writable: Callable[[], Workspace], blobs: Mapping[str, str]) -> str | None:
    from workspace.publishing.pruned import read_whole_file

    store = writable().git
    assert isinstance(store, GitStore)
    written = []
    with sync_written_objects():
        for path, blob in blobs.items():
            data = read_whole_file(store, path, blob)
            if data is not None and store.put_blob(data) == blob:
                written.append(path)
    if not written:
        return None
    return f"wrote the contents of {format_count(written, 'document', 'documents')} again, from the work tree"
