"""Checks of the served commit: document types, manifests, each document, and the values of search filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from docyard.doctor.finding import (
    COPY_OBJECTS_COMMAND,
    FIX_COMMAND,
    Finding,
    Severity,
    format_count,
    format_list,
)
from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, sync_written_objects
from workspace.git.trees import walk_tree
from workspace.paths import escape_path, is_nameable
from workspace.snapshot.snapshot import LfsTextMissing, check_lfs_pointer

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_MAX_TAXONOMY_BYTES = 20_000
"""The limit for keys and values in the definition of search_docs, which agents read in each conversation."""


def check_manifests(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield a finding for each invalid manifest of a commit."""
    for error in snapshot.find_manifest_problems():
        yield Finding(
            Severity.WARNING, "repository", f"{error.message}, so the manifest is ignored", error.fix
        )


def check_taxonomy(index: SearchIndex) -> Iterator[Finding]:
    """Yield findings about the keys and values of the index that search_docs cannot list."""
    from index.storage.metadata import MAX_KEYS, MAX_VALUE_LENGTH, MAX_VALUES, is_listable

    listed_values: dict[str, list[str]] = {}
    for key, values in index.count_taxonomy_values().items():
        listable_values = [value for value in values if is_listable(value)]
        if len(listable_values) < len(values):
            unlisted_values = [value for value in values if not is_listable(value)]
            yield Finding(
                Severity.NOTE,
                "index",
                f"{format_count(unlisted_values, 'value of', 'values of')} {key} can be "
                f"searched for but not listed: longer than {MAX_VALUE_LENGTH} characters, or with "
                "invisible characters",
                f"Shorten or correct them in the documents, so that agents can filter by {key}.",
            )
        if len(listable_values) > MAX_VALUES:
            yield Finding(
                Severity.NOTE,
                "index",
                f"{key} has {len(listable_values):,} values; search_docs lists at most {MAX_VALUES}, so it "
                "lists none of them, and suggests the nearest values for an unknown value",
            )
        listed_values[key] = listable_values if len(listable_values) <= MAX_VALUES else []
    if len(listed_values) > MAX_KEYS:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the taxonomy has more than {MAX_KEYS} keys, including the built-in ones; search_docs lists no "
            f"values of {format_list([*listed_values][MAX_KEYS:])}",
        )
    size = len(json.dumps(listed_values).encode())
    if size > _MAX_TAXONOMY_BYTES:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the keys and values of the taxonomy take {size:,} bytes in the definition of search_docs, and "
            "agents read them in every conversation",
            "Declare fewer keys in docyard.toml, or use fewer values.",
        )


AREA = "repository"
_MAX_PATH_CHARS = 200
_PROGRESS_INTERVAL = 50  # documents between two progress reports
Progress = Callable[[float, float | None, str | None], None]


def check_documents(
    snapshot: Snapshot, open_writable: Callable[[], Workspace], progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the problems of the document types and documents of a commit with valid settings."""
    yield from _check_types(snapshot)
    yield from check_manifests(snapshot)
    yield from _check_root(snapshot)
    yield from _check_paths(snapshot)
    yield from _check_contents(snapshot, open_writable, progress)


def _check_root(snapshot: Snapshot) -> Iterator[Finding]:
    root = snapshot.config.root
    entry = snapshot.entry(root)
    if root and (entry is None or not entry.is_tree):
        yield Finding(
            Severity.WARNING,
            AREA,
            f"root in docyard.toml is {root!r}, but the served commit has no such folder",
            "Correct root in docyard.toml and commit it, or create a document, which creates the folder.",
        )
    elif not snapshot.documents:
        yield Finding(Severity.NOTE, AREA, "the served commit has no documents (*.md, *.markdown)")


def _check_paths(snapshot: Snapshot) -> Iterator[Finding]:
    entries = list(walk_tree(snapshot.git, snapshot.tree)) if snapshot.tree else []
    unsupported_paths = [
        path for path, entry in entries if not entry.is_blob and snapshot.config.is_document(path)
    ]
    invalid_paths = [
        path for path, _ in entries if path.endswith(DOCUMENT_SUFFIXES) and not is_nameable(path)
    ]
    if unsupported_paths:
        yield Finding(
            Severity.NOTE,
            AREA,
            "docyard does not read symbolic links and submodules, but "
            f"{format_count(unsupported_paths, 'of them has', 'of them have')} the suffix of a document: "
            f"{format_list(unsupported_paths)}",
        )
    if invalid_paths:
        escaped_paths = [escape_path(path[:_MAX_PATH_CHARS]) for path in invalid_paths]
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(invalid_paths, 'file has', 'files have')} a name with invalid characters, and "
            f"cannot be read: {format_list(escaped_paths)}",
            "Rename them to valid UTF-8 without control characters, and commit.",
        )


def _check_types(snapshot: Snapshot) -> Iterator[Finding]:
    from workspace.snapshot.document_types import BrokenType, read_document_types

    for document_type in read_document_types(snapshot).values():
        if isinstance(document_type, BrokenType):
            yield Finding(Severity.ERROR, AREA, document_type.message, document_type.fix)


def _check_contents(
    snapshot: Snapshot, open_writable: Callable[[], Workspace], progress: Progress | None
) -> Iterator[Finding]:
    from workspace.publishing.pruned import read_matching_file

    non_utf8_paths: list[str] = []
    large_paths: list[str] = []
    missing_blobs: dict[str, str] = {}
    recoverable_blobs: dict[str, str] = {}
    pointer_paths: list[str] = []
    max_bytes = snapshot.config.limits.document_bytes
    for checked_count, (path, blob) in enumerate(snapshot.documents.items()):
        if progress is not None and checked_count % _PROGRESS_INTERVAL == 0:
            progress(checked_count, len(snapshot.documents), "Reading documents")
        try:
            if snapshot.git.blob_size(blob) > max_bytes:
                large_paths.append(path)
            else:
                content = snapshot.git.blob(blob)
                check_lfs_pointer(path, content)
                content.decode()
        except LfsTextMissing:
            pointer_paths.append(path)
        except UnicodeDecodeError:
            non_utf8_paths.append(path)
        except DamagedRepository:
            has_file = read_matching_file(snapshot.git, path, blob) is not None
            (recoverable_blobs if has_file else missing_blobs)[path] = blob
    if recoverable_blobs:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the contents of {format_count([*recoverable_blobs], 'document are', 'documents are')} "
            "missing or broken in the "
            f"repository, but intact in the work tree: {format_list([*recoverable_blobs])}",
            FIX_COMMAND,
            partial(_rewrite_blobs, open_writable, recoverable_blobs),
        )
    if missing_blobs:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the contents of {format_count([*missing_blobs], 'document are', 'documents are')} missing "
            "or broken in the "
            f"repository, so they cannot be read or searched: {format_list([*missing_blobs])}",
            COPY_OBJECTS_COMMAND,
        )
    if pointer_paths:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{format_count(pointer_paths, 'path is a pointer', 'paths are pointers')} of Git LFS, without "
            f"the text of the document: {format_list(pointer_paths)}",
            "git lfs migrate export --include='*.md' stores the texts in the repository",
        )
    if non_utf8_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(non_utf8_paths, 'document is', 'documents are')} not UTF-8: "
            f"{format_list(non_utf8_paths)}",
            "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW && mv NEW FILE, and commit it",
        )
    if large_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(large_paths, 'document is', 'documents are')} larger than {max_bytes:,} bytes: "
            f"{format_list(large_paths)}",
            "Split them, or increase [limits] document_bytes in docyard.toml.",
        )


def _rewrite_blobs(open_writable: Callable[[], Workspace], blobs: Mapping[str, str]) -> str | None:
    from workspace.publishing.pruned import read_matching_file

    store = open_writable().git
    assert isinstance(store, GitStore)
    written_paths = []
    with sync_written_objects():
        for path, blob in blobs.items():
            content = read_matching_file(store, path, blob)
            if content is not None and store.put_blob(content) == blob:
                written_paths.append(path)
    if not written_paths:
        return None
    documents_text = format_count(written_paths, "document", "documents")
    return f"wrote the contents of {documents_text} again from the work tree"
