"""The index of an artifact: mapped if its seal is ours, else built from its documents.

A built index is cached in the user's cache folder, so that only the first reader waits. An artifact's own
index is identified by the id of its tree, because not every artifact comes from a commit. Answers name the
commit if there is one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.artifacts.artifact import Artifact, map_parts
from index.artifacts.manifest import INDEX, ArtifactDamaged
from index.cursors import StaleCursor
from index.live import LiveIndex
from index.service import SearchIndex, SearchPage
from index.storage.files import remove_entries
from index.storage.metadata import Metadata, make_facet, sanitize_line
from workspace.archive import Archive

if TYPE_CHECKING:
    from index.port import Progress

_MAX_CACHED = 2


class FrozenIndex(SearchIndex):
    """The index of one artifact. Safe to use from threads.

    `superseded` is set when another artifact has taken the folder and is not served yet. `held` says that
    every file is open, so that this one serves on when they are removed. `watch` is told how far the index is
    whenever it has to be built, as is whoever waits for it.
    """

    def __init__(self, artifact: Artifact, watch: Progress | None = None) -> None:
        tree, commit = artifact.manifest.tree, artifact.metadata.stats.source_commit
        self._archive = Archive(artifact.folder, tree, commit, artifact.moves)
        super().__init__(self._archive)
        self.artifact = artifact
        self._watch = watch
        self.superseded = self.held = False

    @cached_property
    def _live(self) -> LiveIndex:
        live = _ArtifactIndex(self._archive, self.artifact)
        if self.artifact.trusted:
            state, parts = map_parts(self.artifact.folder, self.artifact.manifest)
            live.engine.adopt(parts, state)
            if not self.artifact.is_untouched():
                raise ArtifactDamaged.at(INDEX, "a file was changed after its checksum was verified")
        return live

    def warm(self) -> None:
        """Open every file, and import what searches; builds nothing. Raises ArtifactDamaged."""
        self._archive.hold()
        super().warm()
        self.held = True

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        cursor: str | None = None,
        filters: Mapping[str, str] | None = None,
        path: str | None = None,
        ref: str | None = None,
        progress: Progress | None = None,
    ) -> SearchPage:
        """As every index does; the page names the commit that the documents came from, if there is one.

        A ref can only name that commit. Raises RefNotFound for another.
        """
        self._archive.at(ref)
        told = self._report_to(progress)
        try:
            page = super().search(
                query, limit=limit, cursor=cursor, filters=filters, path=path, progress=told
            )
        except StaleCursor as stale:
            # A cursor knows the tree that it belongs to, which is no commit.
            stale.details |= {"cursor_commit": None, "commit": self._archive.commit}
            raise
        return replace(page, commit=self._archive.commit, stale=page.stale or self.superseded)

    def follow(self, progress: Progress | None = None) -> str | None:
        """Build the index if it has to be built; give the commit that the documents came from."""
        super().follow(self._report_to(progress))
        if not self.artifact.trusted:
            _sweep(_cache_location(self.artifact))
        return self._archive.commit

    def close(self) -> None:
        """Let go of the index's files, if any are open."""
        if "_live" in vars(self):
            super().close()

    def metadata(self) -> Metadata:
        """Return the artifact's `metadata.json`, as far as a schema may tell it to a model."""
        return self._unindexed_metadata

    def _report_to(self, progress: Progress | None) -> Progress | None:
        watch = self._watch
        if watch is None or progress is None:
            return watch or progress

        def report(done: int, total: int, message: str) -> None:
            watch(done, total, message)
            progress(done, total, message)

        return report

    @cached_property
    def _unindexed_metadata(self) -> Metadata:
        told, keys = self.artifact.metadata, self.keys()
        taxonomy = {key: found for key, found in told.taxonomy.items() if key in keys}
        if not self.artifact.trusted:
            taxonomy = {
                key: make_facet(found.values, sanitize_line(found.description or "") or None)
                for key, found in taxonomy.items()
            }
        return told.model_copy(update={"taxonomy": taxonomy})


class _ArtifactIndex(LiveIndex):
    """An index of the tree of an artifact, in the user's cache or, if it was adopted, in memory."""

    def __init__(self, archive: Archive, artifact: Artifact) -> None:
        super().__init__(archive.content())
        self._artifact = artifact

    def _folders(self, name: str) -> Iterator[Path]:
        if self._artifact.trusted:
            return
        yield _cache_location(self._artifact) / name


def _cache_location(artifact: Artifact) -> Path:
    """Return where the index of an artifact is kept: by the folder that it stands in, and its tree."""
    from platformdirs import user_cache_path

    place = hashlib.sha256(os.fsencode(artifact.named.file)).hexdigest()[:16]
    cache = user_cache_path("docyard", appauthor=False) / "index"
    return cache / f"artifact-{place}" / artifact.manifest.tree


def _sweep(kept: Path) -> None:
    """Remove the indexes of a folder's earlier artifacts, but for the last, which others may still serve."""
    with suppress(OSError):
        os.utime(kept)
        others = sorted(kept.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
        remove_entries(others[_MAX_CACHED:])
