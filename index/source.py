"""The documents of a commit as pages, read from Git one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from index.page import Page, Unreadable
from index.port import Progress
from workspace.config.config import LimitExceeded
from workspace.config.taxonomy import Taxonomy
from workspace.document.document import Document
from workspace.git import DamagedRepository, GitReader
from workspace.snapshot.snapshot import NotADocument, Snapshot, check_pointer


class GitSource:
    """A commit of a repository. Another process that is given one opens the repository for itself.

    What the commit holds is listed here once and goes with it, so that no other process walks its trees.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        folders = (path.rpartition("/")[0] for path in snapshot.manifests)
        self._reading = _Reading(
            snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy.gathered(folders)
        )
        self._blobs = dict(snapshot.documents)
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Every document, in order."""
        return tuple(self._blobs)

    def pages(self, paths: Iterable[str]) -> Iterator[Page | Unreadable]:
        """Read some of the documents, in the order asked for."""
        for path in paths:
            yield self._reading.page(path, self._blobs[path])


def pages(
    snapshot: Snapshot, blobs: Mapping[str, str], progress: Progress | None, work: str
) -> Iterator[Page | Unreadable]:
    """Read some documents of a commit, given as blobs by path, in order of paths; `work` is what is told.

    One that is too large, or a mere pointer, is a page without sections.
    """
    reading = _Reading(snapshot.git, snapshot.config.limits.document_bytes, snapshot.taxonomy)
    for done, (path, blob) in enumerate(sorted(blobs.items())):
        if progress:
            progress(done, len(blobs), work)
        yield reading.page(path, blob)
    if progress and blobs:
        progress(len(blobs), len(blobs), work)


class _Reading(NamedTuple):
    """Where documents are read, up to how many bytes, and what their values are taken from."""

    git: GitReader
    most: int
    taxonomy: Taxonomy

    def page(self, path: str, blob: str) -> Page | Unreadable:
        try:
            data = self.git.blob_within(blob, self.most)
            if data is not None:
                check_pointer(path, data)
                document = Document.parse(data, path)
                return Page.of(document, blob, self.taxonomy.values(path, document.front_matter))
        except DamagedRepository:
            return Unreadable(path, blob)
        except (LimitExceeded, NotADocument):
            pass
        return Page(path, blob, "", {}, b"", ())
