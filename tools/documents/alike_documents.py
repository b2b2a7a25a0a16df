"""Groups of alike documents in a folder, which a list shows as one row.

Documents are alike if they are directly in one folder and have the same type and the same top-level sections,
such as 200 decision records.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import LimitExceeded
from workspace.snapshot.snapshot import LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from workspace.snapshot.snapshot import Snapshot

MIN_ALIKE_DOCUMENTS = 8
"""Fewer alike documents are listed one by one."""


class AlikeGroup(NamedTuple):
    """Alike documents: the folder ("" for the root), their type and top-level sections, and their paths."""

    folder: str
    document_type: str | None
    section_keys: tuple[str, ...]
    paths: tuple[str, ...]


class AlikeGroups:
    """The groups of alike documents among `paths`; the folders in `expanded_folders` have none."""

    def __init__(self, snapshot: Snapshot, paths: Sequence[str], expanded_folders: Container[str]) -> None:
        self._snapshot = snapshot
        self._expanded_folders = expanded_folders
        self._paths_by_folder: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._paths_by_folder[path.rpartition("/")[0]].append(path)
        self._groups_by_folder: dict[str, Mapping[str, AlikeGroup]] = {}

    def find(self, path: str) -> AlikeGroup | None:
        """Return the group of a document; None if it is listed alone."""
        folder = path.rpartition("/")[0]
        if folder in self._expanded_folders or len(self._paths_by_folder[folder]) < MIN_ALIKE_DOCUMENTS:
            return None
        if folder not in self._groups_by_folder:
            self._groups_by_folder[folder] = self._group_documents(folder)
        return self._groups_by_folder[folder].get(path)

    def _group_documents(self, folder: str) -> Mapping[str, AlikeGroup]:
        """Return the group of each grouped document of a folder, by path."""
        paths_by_form: defaultdict[tuple[str | None, tuple[str, ...]], list[str]] = defaultdict(list)
        for path in self._paths_by_folder[folder]:
            if (form := self._read_form(path)) is not None:
                paths_by_form[form].append(path)
        groups = (
            AlikeGroup(folder, *form, tuple(paths))
            for form, paths in paths_by_form.items()
            if len(paths) >= MIN_ALIKE_DOCUMENTS
        )
        return {path: group for group in groups for path in group.paths}

    def _read_form(self, path: str) -> tuple[str | None, tuple[str, ...]] | None:
        """Return the type and top-level sections of a document.

        None means that the document is listed alone: it has neither, or is unreadable.
        """
        try:
            document = self._snapshot.document(path)
        except (LimitExceeded, LfsTextMissing):
            return None
        values = self._snapshot.taxonomy.values(path, document.front_matter)
        document_type = ", ".join(values["type"]) if "type" in values else None
        keys = tuple(section.key for section in document.sections if section.level and section.parent is None)
        return (document_type, keys) if document_type is not None or keys else None
