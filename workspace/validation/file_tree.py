"""The files to validate, as a file tree in which links are resolved, and their document types."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from templates import builtin_types
from workspace.document.document import Document
from workspace.errors import WorkspaceError
from workspace.links.file_tree import group_by_stem
from workspace.lru_cache import LRUCache
from workspace.snapshot.document_types import TYPE_FILES, read_type
from workspace.snapshot.snapshot import check_lfs_pointer
from workspace.snapshot.type_names import MAX_TYPES, TYPES_FOLDER, list_builtin_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templates import DocumentType
    from workspace.config.tables import LinkRules
    from workspace.snapshot.document_types import BrokenType
    from workspace.validation.files import FileSet

_CACHE_BYTES = 32_000_000
_ENTRY_BYTES = 1_000  # the estimated overhead of a cached document


class FileSetTree:
    """The files to validate, in which links are resolved (`workspace.links.resolver.FileTree`).

    An opaque path counts as a folder that contains every path below it.
    """

    def __init__(self, files: FileSet) -> None:
        self._files = files
        self._cache: LRUCache[str, Document] = LRUCache(
            _CACHE_BYTES, lambda document: len(document.data) + _ENTRY_BYTES
        )

    @cached_property
    def rules(self) -> LinkRules:
        """The settings by which links are parsed."""
        return self._files.config.links

    @cached_property
    def paths_by_stem(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents, grouped by the lower-case stem of the file name."""
        return group_by_stem(self._files.documents)

    def exists(self, path: str) -> bool:
        """Return True if an entry exists at a path; "" is the root."""
        return path in self._files.paths or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Return True if a folder exists at a path, or if the path is opaque."""
        return not path or path in self._folders or self._is_opaque(path)

    def list_names(self, folder: str) -> Collection[str]:
        """Return the names in a folder; return no names if the folder does not exist."""
        return self._names_by_folder.get(folder, ())

    def document(self, path: str) -> Document | None:
        """Return the document at a path; return None if it is not a document, or cannot be read."""
        try:
            return self.read_document(path) if path in self._document_paths else None
        except WorkspaceError:
            return None

    def read_document(self, path: str) -> Document:
        """Return the document at a path; recent documents are cached.

        Raises LfsTextMissing, LimitExceeded, UnreadableFile, DamagedRepository.
        """
        return self._cache.get(path, self._read_uncached_document, path)

    def _read_uncached_document(self, path: str) -> Document:
        reader = self._files.reader
        self._files.config.limits.check_document(path, reader.get_size(path))
        data = reader.read(path)
        check_lfs_pointer(path, data)
        return Document.parse(data, path)

    @cached_property
    def types(self) -> Mapping[str, DocumentType | BrokenType]:
        """The document types by name; a type of `.docyard/templates/` replaces a built-in type."""
        types: dict[str, DocumentType | BrokenType] = {
            name: builtin_types()[name] for name in list_builtin_names(self._files.config)
        }
        type_paths = [
            path[len(TYPES_FOLDER) + 1 :] for path in self._files.paths if path.startswith(f"{TYPES_FOLDER}/")
        ]
        names = sorted(
            {name for name, separator, _ in (path.partition("/") for path in type_paths) if separator}
        )
        for name in names[:MAX_TYPES]:
            paths = {
                file_name: path
                for file_name in TYPE_FILES
                if (path := f"{TYPES_FOLDER}/{name}/{file_name}") in self._files.paths
            }
            sizes = {file_name: self._files.reader.get_size(path) for file_name, path in paths.items()}
            types[name] = read_type(name, sizes, partial(self._read_type_file, name))
        return types

    def _read_type_file(self, type_name: str, file_name: str) -> bytes:
        return self._files.reader.read(f"{TYPES_FOLDER}/{type_name}/{file_name}")

    @cached_property
    def _document_paths(self) -> frozenset[str]:
        return frozenset(self._files.documents)

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in (*self._files.paths, *self._files.opaque_paths):
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)

    @cached_property
    def _names_by_folder(self) -> Mapping[str, Collection[str]]:
        names: dict[str, set[str]] = {}
        for path in (*self._files.paths, *self._files.opaque_paths, *self._folders):
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
        return names

    def _is_opaque(self, path: str) -> bool:
        opaque_paths = self._files.opaque_paths
        while opaque_paths and path:
            if path in opaque_paths:
                return True
            path = path.rpartition("/")[0]
        return False
