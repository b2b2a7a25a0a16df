"""The corpus that is validated: a world of its files for links to lead to, and its document types."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from templates import builtin_types
from workspace.document.document import Document
from workspace.errors import WorkspaceError
from workspace.links.world import group_by_stem
from workspace.lru_cache import LRUCache
from workspace.snapshot.document_types import FOLDER, MAX_TYPES, PARTS, read_type
from workspace.snapshot.snapshot import check_pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templates import DocumentType
    from workspace.config.tables import LinkRules
    from workspace.snapshot.document_types import BrokenType
    from workspace.validation.files import FileSet

_KEPT_BYTES = 32_000_000
_WEIGHT = 1_000  # bytes that a document counts for by being there


class Corpus:
    """Files as the world in which links are resolved (`workspace.links.resolver.FileTree`).

    What is not looked into counts as a folder that holds whatever a link names in it.
    """

    def __init__(self, files: FileSet) -> None:
        self._files = files
        self._cache: LRUCache[str, Document] = LRUCache(_KEPT_BYTES, lambda one: len(one.data) + _WEIGHT)

    @cached_property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        return self._files.config.links

    @cached_property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        return group_by_stem(self._files.documents)

    def exists(self, path: str) -> bool:
        """Return True if anything stands at a path; "" is the root."""
        return path in self._files.paths or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Return True if a folder stands there, or what is not looked into."""
        return not path or path in self._folders or self._is_opaque(path)

    def entries(self, folder: str) -> Collection[str]:
        """Return the names in a folder; none where there is no such folder."""
        return self._names.get(folder, ())

    def document(self, path: str) -> Document | None:
        """Return the document of a path; None for what is no document, or one that cannot be read."""
        try:
            return self.read(path) if path in self._documents else None
        except WorkspaceError:
            return None

    def read(self, path: str) -> Document:
        """Return the document of a path; the last ones that were read are kept.

        Raises NotADocument, LimitExceeded, UnreadableFile, DamagedRepository.
        """
        return self._cache.get(path, self._read, path)

    def _read(self, path: str) -> Document:
        reader = self._files.reader
        self._files.config.limits.check_document(path, reader.size(path))
        data = reader.read(path)
        check_pointer(path, data)
        return Document.parse(data, path)

    @cached_property
    def types(self) -> Mapping[str, DocumentType | BrokenType]:
        """The document types by name, those of `.docyard/templates/` before the built-in ones."""
        types: dict[str, DocumentType | BrokenType] = dict(builtin_types())
        inside = [path[len(FOLDER) + 1 :] for path in self._files.paths if path.startswith(f"{FOLDER}/")]
        names = sorted({name for name, mark, _ in (path.partition("/") for path in inside) if mark})
        for name in names[:MAX_TYPES]:
            there = {part: path for part in PARTS if (path := f"{FOLDER}/{name}/{part}") in self._files.paths}
            sizes = {part: self._files.reader.size(path) for part, path in there.items()}
            types[name] = read_type(name, sizes, partial(self._part, name))
        return types

    def _part(self, name: str, part: str) -> bytes:
        return self._files.reader.read(f"{FOLDER}/{name}/{part}")

    @cached_property
    def _documents(self) -> frozenset[str]:
        return frozenset(self._files.documents)

    @cached_property
    def _folders(self) -> frozenset[str]:
        found: set[str] = set()
        for path in (*self._files.paths, *self._files.opaque):
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _names(self) -> Mapping[str, Collection[str]]:
        names: dict[str, set[str]] = {}
        for path in (*self._files.paths, *self._files.opaque, *self._folders):
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
        return names

    def _is_opaque(self, path: str) -> bool:
        opaque = self._files.opaque
        while opaque and path:
            if path in opaque:
                return True
            path = path.rpartition("/")[0]
        return False
