"""The index of an artifact: mapped from its files if the seal is valid, else built from its documents.

A built index is cached in the user's cache folder, so that only the first reader waits. An artifact's index
is identified by the id of its tree, because not every artifact has a commit. Results contain the commit if
there is one.
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

from index.artifacts.artifact import Artifact, map_segments
from index.artifacts.manifest import INDEX_FOLDER, ArtifactDamaged
from index.cursors import StaleCursor
from index.live import LiveIndex
from index.service import SearchIndex, SearchPage
from index.storage.files import remove_entries
from index.storage.metadata import Metadata, make_facet, sanitize_line
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions, FixedVectors
from workspace.archive import Archive
from workspace.revisions import RefNotFound

if TYPE_CHECKING:
    from index.port import Progress, SearchType

_MAX_CACHED_INDEXES = 2


class ArtifactSearchIndex(SearchIndex):
    """The index of one artifact. Safe to use from threads.

    `is_superseded` is True while the folder has a newer artifact that is not served yet. `has_all_files_open`
    is True if every file is open, so that the files can be removed. `on_progress` receives the progress of
    every build of the index, in addition to the `progress` of a waiting call.
    """

    def __init__(
        self,
        artifact: Artifact,
        on_progress: Progress | None = None,
        embedding: EmbeddingOptions = NO_EMBEDDING,
    ) -> None:
        tree, commit = artifact.manifest.tree, artifact.metadata.stats.source_commit
        self._archive = Archive(artifact.folder, tree, commit, artifact.moves)
        super().__init__(self._archive, embedding=embedding)
        self.artifact = artifact
        self._on_progress = on_progress
        self.is_superseded = self.has_all_files_open = False

    @cached_property
    def _live(self) -> LiveIndex:
        live = _ArtifactLiveIndex(self._archive, self.artifact)
        if self.artifact.is_trusted:
            state, readers = map_segments(self.artifact.folder, self.artifact.manifest)
            live.engine.adopt(readers, state)
            if not self.artifact.is_untouched():
                raise ArtifactDamaged.in_file(
                    INDEX_FOLDER, "a file was changed after its checksum was verified"
                )
        return live

    def _find_fixed_vectors(self) -> FixedVectors | None:
        """Return the vectors of the artifact if it is trusted; else its sections are embedded again."""
        embedding, name = self.artifact.metadata.embedding, self.artifact.manifest.vectors_file
        if not self.artifact.is_trusted or embedding is None or name is None:
            return None
        file = self.artifact.folder / name
        return FixedVectors(file, embedding.provider, embedding.model, embedding.dimensions)

    def preload(self) -> None:
        """Open every file, and import the search modules; build nothing. Raises ArtifactDamaged.

        The provider is reached in the background, so that the first question can be embedded.
        """
        self._archive.open_packs()
        super().preload()
        if self._vectors is not None:
            self._vectors.notify()
        self.has_all_files_open = True

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        cursor: str | None = None,
        filters: Mapping[str, str] | None = None,
        path: str | None = None,
        ref: str | None = None,
        since: str | None = None,
        search_type: SearchType | None = None,
        progress: Progress | None = None,
    ) -> SearchPage:
        """Search the artifact; the page has the commit of the documents, if there is one.

        A ref can only name that commit. Raises RefNotFound for another one and for `since`, because there are
        no earlier documents to compare with, and the errors of `SearchIndex.search`.
        """
        self._archive.at(ref)
        if since is not None and since.strip():
            raise RefNotFound(
                "an artifact has one commit, and no changes since another one", fix="Leave out 'since'."
            )
        report = self._combine_progress(progress)
        try:
            page = super().search(
                query,
                limit=limit,
                cursor=cursor,
                filters=filters,
                path=path,
                search_type=search_type,
                progress=report,
            )
        except StaleCursor as stale:
            # The cursor of an artifact has the id of its tree, which is not a commit.
            stale.details |= {"cursor_commit": None, "commit": self._archive.commit}
            raise
        return replace(page, commit=self._archive.commit, is_stale=page.is_stale or self.is_superseded)

    def update_to_tip(self, progress: Progress | None = None) -> str | None:
        """Build the index if needed, and return the commit of the documents."""
        super().update_to_tip(self._combine_progress(progress))
        if not self.artifact.is_trusted:
            _remove_old_caches(_find_cache_folder(self.artifact))
        return self._archive.commit

    def close(self) -> None:
        """Close the index's files, if any are open."""
        if "_live" in vars(self):
            super().close()

    def metadata(self) -> Metadata:
        """Return the artifact's metadata with the keys and values that are safe in a schema for models."""
        return self._safe_metadata

    def _combine_progress(self, progress: Progress | None) -> Progress | None:
        """Return a function that reports to `on_progress` and to `progress`; None without both."""
        on_progress = self._on_progress
        if on_progress is None or progress is None:
            return on_progress or progress

        def report(finished_count: int, total: int, message: str) -> None:
            on_progress(finished_count, total, message)
            progress(finished_count, total, message)

        return report

    @cached_property
    def _safe_metadata(self) -> Metadata:
        metadata, keys = self.artifact.metadata, self.taxonomy_keys()
        taxonomy = {key: facet for key, facet in metadata.taxonomy.items() if key in keys}
        if not self.artifact.is_trusted:
            taxonomy = {
                key: make_facet(facet.values, sanitize_line(facet.description or "") or None)
                for key, facet in taxonomy.items()
            }
        return metadata.model_copy(update={"taxonomy": taxonomy})


class _ArtifactLiveIndex(LiveIndex):
    """An index of the tree of an artifact: in memory if it is trusted, else in the user's cache."""

    def __init__(self, archive: Archive, artifact: Artifact) -> None:
        super().__init__(archive.without_source_commit())
        self._artifact = artifact

    def _list_folders(self, name: str) -> Iterator[Path]:
        if self._artifact.is_trusted:
            return
        yield _find_cache_folder(self._artifact) / name


def _find_cache_folder(artifact: Artifact) -> Path:
    """Return the cache folder of an artifact's index, named by the artifact's folder and tree."""
    from platformdirs import user_cache_path

    folder_digest = hashlib.sha256(os.fsencode(artifact.metadata_stamp.file)).hexdigest()[:16]
    cache = user_cache_path("docyard", appauthor=False) / "index"
    return cache / f"artifact-{folder_digest}" / artifact.manifest.tree


def _remove_old_caches(current: Path) -> None:
    """Remove the cached indexes of earlier artifacts, except the latest one: a process may still serve it."""
    with suppress(OSError):
        os.utime(current)
        folders = sorted(current.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
        remove_entries(folders[_MAX_CACHED_INDEXES:])
