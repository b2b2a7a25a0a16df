"""Checks of what stands at the served commit: document types, and each document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from docyard.checkup.finding import Finding, Severity, count, some
from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from workspace.snapshot import Snapshot

AREA = "repository"

Progress = Callable[[float, float | None, str | None], None]


def check_documents(snapshot: Snapshot, progress: Progress | None = None) -> Iterator[Finding]:
    """What is wrong with the types and documents of a commit, whose settings are known to be right."""
    yield from _types(snapshot)
    yield from _root(snapshot)
    yield from _contents(snapshot, progress)


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


def _types(snapshot: Snapshot) -> Iterator[Finding]:
    from workspace.types import BrokenType, document_types

    for found in document_types(snapshot).values():
        if isinstance(found, BrokenType):
            yield Finding(Severity.ERROR, AREA, found.message, found.fix)


def _contents(snapshot: Snapshot, progress: Progress | None) -> Iterator[Finding]:
    foreign: list[str] = []
    large: list[str] = []
    lost: list[str] = []
    limit = snapshot.config.limits.document_bytes
    for done, (path, blob) in enumerate(snapshot.documents.items()):
        if progress is not None and done % 50 == 0:
            progress(done, len(snapshot.documents), "Reading documents")
        try:
            if snapshot.git.blob_size(blob) > limit:
                large.append(path)
            else:
                snapshot.git.blob(blob).decode()
        except UnicodeDecodeError:
            foreign.append(path)
        except DamagedRepository:
            lost.append(path)
    if lost:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the contents of {count(lost, 'document are', 'documents are')} missing or broken in the "
            f"repository, so nothing can be searched: {some(lost)}",
            "git fsck, then fetch or copy the objects from another clone",
        )
    if foreign:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(foreign, 'document is', 'documents are')} not UTF-8: {some(foreign)}",
            "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW && mv NEW FILE, and commit it",
        )
    if large:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(large, 'document is', 'documents are')} over {limit:,} bytes: {some(large)}",
            "Split them, or raise [limits] document_bytes in docyard.toml.",
        )
