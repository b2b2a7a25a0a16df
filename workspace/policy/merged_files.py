"""The rules and types that hold after a merge, read from its result, which need not be committed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.config.config import CONFIG_PATH, WorkspaceConfig
from workspace.config.manifests import InvalidManifest, Manifest, read_manifest
from workspace.config.taxonomy import MANIFEST, Taxonomy
from workspace.config.toml import bytes_of
from workspace.git import Entry
from workspace.policy.protection import types_of
from workspace.snapshot import listing

if TYPE_CHECKING:
    from workspace.merge.trees_package import Merge


class MergedFiles:
    """What the settings of a merge say of its files. Raises InvalidConfig where these cannot be used."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._manifests: dict[str, Manifest | None] = {}
        self._types: dict[str, frozenset[str]] = {}

    @cached_property
    def config(self) -> WorkspaceConfig:
        """The settings in force after the merge."""
        if CONFIG_PATH not in self._merge.changes:
            return self._merge.ours.config
        return WorkspaceConfig.read(self._merge.read(CONFIG_PATH))

    def types(self, path: str) -> frozenset[str]:
        """Return the types of the document at a path; none where there is no document."""
        if path not in self._types:
            data = self._merge.read(path) if self.config.is_document(path) else None
            self._types[path] = frozenset() if data is None else types_of(self._taxonomy, path, data)
        return self._types[path]

    @cached_property
    def _taxonomy(self) -> Taxonomy:
        return Taxonomy(self.config.taxonomy_keys, self._manifest_in)

    def _manifest_in(self, folder: str) -> Manifest | None:
        if folder not in self._manifests:
            self._manifests[folder] = self._read(f"{folder}/{MANIFEST}" if folder else MANIFEST)
        return self._manifests[folder]

    def _read(self, path: str) -> Manifest | None:
        found = self._merge.entry(path)
        if isinstance(found, Entry):
            if not listing.counts(self.config, path, found):
                return None
            found = bytes_of(self._merge.ours.git, found.id)
        if found is None:
            return None
        try:
            return read_manifest(found, path, tuple(self.config.taxonomy_keys))
        except InvalidManifest:
            return Manifest()  # as at a commit: it says nothing, and hides those above it
