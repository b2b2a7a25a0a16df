"""The documents of a commit that have one type, found without parsing the other documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.markdown.lines import BOM
from workspace.snapshot.snapshot import LfsTextMissing

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

# The end of front matter, as the scanner of headings finds it.
_FRONT_MATTER_END = re.compile(rb"[\r\n](?: {0,3}-{3,}|\.\.\.)[ \t]*(?=[\r\n]|\Z)")


class DocumentsByType:
    """The documents of one type. The type is that of the front matter, else of the nearest manifest.

    Only documents that may have the type are parsed: their front matter contains the word, or their manifest
    sets the type. Thread-safe.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # True for each blob that may have the type. Blobs with the same id are equal in every repository.
        self._candidate_cache: LRUCache[str, bool] = LRUCache(200_000)
        # The paths in a tree, by the tree's id. A tree includes settings and manifests.
        self._path_cache: LRUCache[str, tuple[str, ...]] = LRUCache(50_000, lambda paths: len(paths) + 1)

    def list_paths(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return the paths of the documents of a commit that can be read, in order."""
        tree = snapshot.tree
        if tree is None:
            return ()
        cached_paths = self._path_cache.find(tree)
        if cached_paths is not None:
            return cached_paths
        paths: list[str] = []
        is_complete = True
        for path, blob in snapshot.documents.items():
            try:
                if self._may_have_type(snapshot, path, blob) and self.has_type(
                    snapshot, snapshot.document(path)
                ):
                    paths.append(path)
            except (LimitExceeded, LfsTextMissing):
                continue
            except DamagedRepository:  # the object may be restored, so the result is not cached
                is_complete = False
        if is_complete:
            self._path_cache.put(tree, tuple(paths))
        return tuple(paths)

    def has_type(self, snapshot: Snapshot, document: Document) -> bool:
        """Return True if a document of a commit has the type."""
        values = snapshot.taxonomy.values(document.path, document.front_matter)
        return self._name in values.get("type", ())

    def clear_caches(self) -> None:
        """Remove all cached values."""
        self._candidate_cache.retain(lambda blob: False)
        self._path_cache.retain(lambda tree: False)

    def _may_have_type(self, snapshot: Snapshot, path: str, blob: str) -> bool:
        """Return False if a document does not have the type, without parsing the document."""
        if snapshot.manifests and self._name in snapshot.taxonomy.manifest_values(path).get("type", ()):
            return True
        return self._candidate_cache.get(blob, self._may_have_type_in_front_matter, snapshot, path, blob)

    def _may_have_type_in_front_matter(self, snapshot: Snapshot, path: str, blob: str) -> bool:
        """Return False if the front matter of a blob does not have the type as a value.

        YAML can write the letters of a value differently only with backslashes, in double quotes. Raises
        LimitExceeded.
        """
        data = snapshot.git.blob_within(blob, snapshot.config.limits.document_bytes)
        if data is None:
            raise LimitExceeded(f"'{path}' is too large to be read", fix="Split it into several documents.")
        data = data.removeprefix(BOM)
        if not data.startswith(b"---"):
            return False
        closing = _FRONT_MATTER_END.search(data)
        front_matter = data[: closing.start()] if closing else b""
        return self._name.encode() in front_matter or b"\\" in front_matter
