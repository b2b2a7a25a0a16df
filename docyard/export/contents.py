"""The documents of an export by folder, and the names of its files."""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from workspace.paths import InvalidPath, check_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_NAME_BYTES = 200  # file systems limit a name to 255 bytes, and suffixes are added


class ExportedDocument(NamedTuple):
    """A document of an export: its page, and what lists show. `reason` explains why it has no text."""

    path: str
    folder: str
    page_url: str
    title: str
    summary: str
    reason: str | None = None

    @property
    def root(self) -> str:
        """Return the relative address of the top folder of the export."""
        return "../" * self.page_url.count("/")


class ExportedFolder(NamedTuple):
    """The documents of one folder, and the id of their list on the page of contents."""

    id: str
    folder: str
    documents: Sequence[ExportedDocument]


class FileNames:
    """Names for files of an export, which are unique on systems that ignore case, and valid on all."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def choose(self, top: str, path: str, suffix: str, *, replaces_suffix: bool = False) -> str:
        """Return a new name below the folder `top`: the path if possible, else a digest of the path.

        `suffix` is added, or replaces the suffix of the path.
        """
        name = f"{top}/{path.rpartition('.')[0] if replaces_suffix else path}{suffix}"
        if not _is_portable(path) or self._is_occupied(name):
            extension = re.sub(r"[^a-z0-9.]", "", PurePosixPath(path).suffix.lower())[:10]
            digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
            name = f"{top}/{digest}{extension}{suffix}"
        self._files.add(name.casefold())
        self._folders.update(_list_parents(name))
        return name

    def _is_occupied(self, name: str) -> bool:
        folded_name = name.casefold()
        return (
            folded_name in self._files
            or folded_name in self._folders
            or not self._files.isdisjoint(_list_parents(name))
        )


def _list_parents(name: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(name.casefold()).parents]


def _is_portable(path: str) -> bool:
    try:
        check_path(path)
    except InvalidPath:
        return False
    return all(len(part.encode()) <= _MAX_NAME_BYTES for part in path.split("/"))
