"""Snapshots: the readable state of one commit.

A snapshot lists the documents and the manifests of a tree.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from workspace.config.taxonomy import MANIFEST, Taxonomy
from workspace.config.toml import CONFIG_PATH, read_bytes
from workspace.errors import SuggestionKind, SuggestionSource, WorkspaceError
from workspace.git import trees
from workspace.git.objects import hash_blob
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workspace.config.config import WorkspaceConfig
    from workspace.config.taxonomy import InvalidManifest
    from workspace.document.document import Document
    from workspace.git.objects import TreeEntry
    from workspace.git.reader import GitReader

T = TypeVar("T")
MAX_DOCUMENTS = 1_000_000
MAX_FILES = 10_000_000
"""The maximum number of listed files. Trees that share folders can have more paths than fit in memory."""

FileChange = tuple[str, str | None, str | None]
"""A path, and its blob before and after; None if it is not a listed file."""


class TooManyFiles(WorkspaceError):
    """An error: a tree has more files or documents than a workspace can list. `limit` is their maximum."""

    code: ClassVar[str] = "TOO_MANY_FILES"


class Listing(NamedTuple):
    """The blobs of documents and of manifests, by path, in order of paths."""

    documents: dict[str, str]
    manifests: dict[str, str]

    @classmethod
    def read(cls, git: GitReader, tree: str | None, config: WorkspaceConfig) -> Listing:
        """Return the listing of a tree; None is an empty tree. Raises TooManyFiles."""
        entries = _limit_count(MAX_FILES, trees.walk_tree(git, tree), "files") if tree else ()
        changes = ((path, None, entry.id) for path, entry in entries if is_listed(config, path, entry))
        return cls({}, {}).apply(_limit_count(MAX_DOCUMENTS, changes, "documents"))

    def apply(self, changes: Iterable[FileChange]) -> Listing:
        """Return the listing after changes."""
        blobs_by_kind = dict(self.documents), dict(self.manifests)
        for path, _, blob in changes:
            blobs = blobs_by_kind[is_manifest(path)]
            if blob is None:
                blobs.pop(path, None)
            else:
                blobs[path] = blob
        return Listing(*(dict(sorted(blobs.items())) for blobs in blobs_by_kind))

    def diff(self, other: Listing) -> Iterator[FileChange]:
        """Yield the changes from this listing to another, in order of paths."""
        before, after = ({**listing.documents, **listing.manifests} for listing in (self, other))
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                yield path, before.get(path), after.get(path)


def list_changes(
    git: GitReader, old: str | None, new: str | None, config: WorkspaceConfig
) -> Iterator[FileChange]:
    """Yield the changes from one tree to another with the same settings.

    Only folders that differ are read.
    """
    for change in trees.diff_trees(git, old, new):
        old_blob, new_blob = (
            entry.id if entry is not None and is_listed(config, change.path, entry) else None
            for entry in (change.old, change.new)
        )
        if old_blob != new_blob:
            yield change.path, old_blob, new_blob


def is_listed(config: WorkspaceConfig, path: str, entry: TreeEntry) -> bool:
    """Return True if a path is a document, or a manifest in use."""
    if not entry.is_blob:
        return False
    return config.is_manifest(path) if is_manifest(path) else config.is_document(path)


def _limit_count(max_count: int, items: Iterable[T], noun: str) -> Iterator[T]:
    """Yield items; raise TooManyFiles for more than `max_count`. `noun` names the items."""
    for number, item in enumerate(items):
        if number == max_count:
            raise TooManyFiles(
                f"there are more than {max_count:,} {noun}",
                fix="Split this repository into several repositories, or serve another one.",
                limit=max_count,
            )
        yield item


def is_manifest(path: str) -> bool:
    """Return True if a path has the file name of a manifest."""
    return path.endswith(MANIFEST) and path.rpartition("/")[2] == MANIFEST


_MAX_DISPLAYED_LENGTH = 200
_MAX_CANDIDATES = 5

_MAX_CACHED_BYTES = 16_000_000  # of texts; a parsed document takes about ten times as much
_LFS_POINTER_PREFIX = b"version https://git-lfs.github.com/spec/"
_MAX_LFS_POINTER_BYTES = 1024


@lru_cache(maxsize=8)
def _read_settings(data: bytes | None) -> WorkspaceConfig:
    """Return the settings in the bytes of a file, cached because most commits do not change them."""
    from workspace.config.config import WorkspaceConfig

    return WorkspaceConfig.read(data)


class DocumentNotFound(WorkspaceError):
    """An error: the commit has no document at this path. `candidates` are the most similar paths."""

    code = "DOCUMENT_NOT_FOUND"


class NotCommitted(DocumentNotFound):
    """An error: the file is in the work tree but not in HEAD, and only commits are read."""

    code = "NOT_COMMITTED"


class LfsTextMissing(DocumentNotFound):
    """An error: the file is a pointer of Git LFS, whose text is not in the repository."""

    code = "NOT_A_DOCUMENT"


def check_lfs_pointer(path: str, data: bytes) -> None:
    """Raise LfsTextMissing for a pointer of Git LFS (git-lfs, `docs/spec.md`, "The Pointer")."""
    if len(data) < _MAX_LFS_POINTER_BYTES and data.startswith(_LFS_POINTER_PREFIX):
        raise LfsTextMissing(
            f"'{path}' is a pointer of Git LFS, and its text is not in the repository",
            fix="Remove the file from LFS (git lfs migrate export) to read and write it here.",
        )


class DocumentCache:
    """A cache of parsed documents by path and blob, of at most `max_bytes`. Thread-safe."""

    def __init__(self, max_bytes: int = _MAX_CACHED_BYTES) -> None:
        self._documents: LRUCache[tuple[str, str], Document] = LRUCache(max_bytes, _measure_cost)

    def get(self, git: GitReader, path: str, blob: str) -> Document:
        """Return the document of a blob, parsed once. Raises LfsTextMissing, LimitExceeded."""
        return self._documents.get((path, blob), _parse, git, path, blob)

    def put(self, document: Document) -> None:
        """Cache a document that is parsed already."""
        self._documents.put((document.path, hash_blob(document.data)), document)


def _parse(git: GitReader, path: str, blob: str) -> Document:
    from workspace.document.document import Document

    data = git.blob(blob)
    check_lfs_pointer(path, data)
    return Document.parse(data, path)


def _measure_cost(document: Document) -> int:
    """Return the cost of a cached document in bytes: its size, and a constant for its objects."""
    return len(document.data) + 1000


class Snapshot:
    """One commit of the workspace. `commit` and `tree` are None before the first commit.

    With a `folder`, only this folder has documents, whatever root the settings name. `previous` is a snapshot
    of another commit: its listing, if it was read, needs only the changes since.
    """

    def __init__(
        self,
        git: GitReader,
        commit: str | None,
        cache: DocumentCache | None = None,
        previous: Snapshot | None = None,
        folder: str | None = None,
    ) -> None:
        self.git = git
        self.folder = folder
        self.commit = commit
        self.tree = git.commit(commit).tree if commit else None
        self._cache = cache or DocumentCache()
        # A previous snapshot without a listing is replaced by its own previous one, so that no chain of
        # snapshots stays in memory.
        has_listing = previous is not None and "_listing" in vars(previous)
        self._previous: Snapshot | None = previous if previous is None or has_listing else previous._previous

    def at(self, commit: str) -> Snapshot:
        """Return the snapshot of another commit of the repository, with the same cache of documents."""
        return Snapshot(self.git, commit, self._cache, folder=self.folder)

    def entry(self, path: str) -> TreeEntry | None:
        """Return the entry at a path in the commit's tree: a file, a folder, a link or a submodule."""
        return trees.find_in_tree(self.git, self.tree, path) if self.tree and path else None

    @property
    def has_config(self) -> bool:
        """Return True if the commit has a `docyard.toml`; without it, the defaults apply."""
        entry = self.entry(CONFIG_PATH)
        return entry is not None and entry.is_blob

    @cached_property
    def config(self) -> WorkspaceConfig:
        """The settings at this commit. Raises InvalidConfig."""
        entry = self.entry(CONFIG_PATH)
        config = _read_settings(read_bytes(self.git, entry.id) if entry and entry.is_blob else None)
        return config if self.folder is None else config.model_copy(update={"root": self.folder})

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """The blob of each document, by path, in order of paths."""
        return MappingProxyType(self._listing.documents)

    @cached_property
    def manifests(self) -> Mapping[str, str]:
        """The blob of each manifest in use, by path, in order of paths."""
        return MappingProxyType(self._listing.manifests)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The keys that filter searches, and the manifests, each read on first use."""
        from workspace.config.taxonomy import Manifests

        keys = self.config.taxonomy_keys
        return Taxonomy(keys, Manifests(self.git, tuple(keys), self._find_manifest).find_in)

    def find_manifest_problems(self) -> list[InvalidManifest]:
        """Return the problem of each invalid manifest, in order of paths."""
        from workspace.config.taxonomy import find_problems

        return find_problems(self.git, tuple(self.config.taxonomy_keys), self.manifests)

    def _find_manifest(self, path: str) -> str | None:
        """Return the blob of the manifest at a path, or None without a manifest in use."""
        if "_listing" in vars(self):
            return self.manifests.get(path)
        entry = self.entry(path)
        return entry.id if entry is not None and is_listed(self.config, path, entry) else None

    @cached_property
    def _listing(self) -> Listing:
        listing = self._derive_listing_from_previous() or Listing.read(self.git, self.tree, self.config)
        self._previous = None
        return listing

    def _derive_listing_from_previous(self) -> Listing | None:
        """Return the previous snapshot's listing with the later changes applied; None if it is not usable."""
        previous = self._previous
        if (
            previous is None
            or "_listing" not in vars(previous)
            or not previous.config.selects_same_files(self.config)
        ):
            return None
        try:
            return previous._listing.apply(list_changed_files(previous, self))
        except DamagedRepository:  # the earlier commit became unreachable, and its trees were pruned
            return None

    def _is_document(self, path: str, entry: TreeEntry | None) -> bool:
        return entry is not None and entry.is_blob and self.config.is_document(path)

    def blob(self, path: str) -> str:
        """Return the blob of a document. Raises DocumentNotFound with the nearest paths, or NotCommitted."""
        entry = self.entry(path)
        if entry is not None and self._is_document(path, entry):
            return entry.id
        raise self.make_not_found_error(path)

    def read(self, path: str) -> bytes:
        """Return the bytes of a document."""
        return self.git.blob(self.blob(path))

    def document(self, path: str) -> Document:
        """Return a parsed document, cached by its blob.

        Raises DocumentNotFound, LfsTextMissing, LimitExceeded.
        """
        blob = self.blob(path)
        self.config.limits.check_document(path, self.git.blob_size(blob))
        return self._cache.get(self.git, path, blob)

    def cache_document(self, document: Document) -> None:
        """Cache a parsed document of a later commit, so that the document is not parsed again."""
        self._cache.put(document)

    def find_text_blob(self, path: str) -> str:
        """Return the blob of a document whose text is in the repository.

        Raises DocumentNotFound, LfsTextMissing.
        """
        blob = self.blob(path)
        if self.git.blob_size(blob) < _MAX_LFS_POINTER_BYTES:
            check_lfs_pointer(path, self.git.blob(blob))
        return blob

    def make_not_found_error(self, path: str) -> DocumentNotFound:
        """Return the error for a path without a document."""
        short_path = shorten_path(path)
        entry = self.entry(path)
        if entry is not None and entry.is_tree:
            paths_in_folder = [name for name in self.documents if name.startswith(path.rstrip("/") + "/")]
            return DocumentNotFound(
                f"'{short_path}' is a folder",
                fix="Name a document in this folder.",
                suggestion_source=SuggestionSource(SuggestionKind.DOCUMENTS),
                candidates=paths_in_folder[:_MAX_CANDIDATES],
            )
        if entry is not None:
            return DocumentNotFound(
                f"'{short_path}' is not a document of this workspace",
                fix="Documents are .md files.",
                suggestion_source=SuggestionSource(SuggestionKind.DOCUMENTS),
            )
        return self.make_missing_path_error(
            "document", path, list(self.documents), is_selected=self.config.is_document(path)
        )

    def make_missing_path_error(
        self, kind: str, path: str, paths: Sequence[str], *, is_selected: bool
    ) -> DocumentNotFound:
        """Return the error for a path that the commit does not have, with the nearest of `paths`.

        `kind` is the noun of the message. `is_selected` is True if the settings select a file of this path.
        """
        short_path = shorten_path(path)
        nearest = find_nearest(path, paths)
        if is_selected and self.is_uncommitted_file(path):
            return NotCommitted(
                f"'{short_path}' is not committed yet: the file is in the work tree but not in HEAD",
                fix="Commit the file first: Docyard reads only commits.",
                candidates=nearest,
            )
        if nearest:
            return DocumentNotFound(
                f"no {kind} '{short_path}'", fix=f"Did you mean '{nearest[0]}'?", candidates=nearest
            )
        return DocumentNotFound(
            f"no {kind} '{short_path}'",
            fix=f"Name a {kind} that the commit has."
            if self.commit
            else "Nothing is committed yet: commit a document first.",
            suggestion_source=SuggestionSource(SuggestionKind.DOCUMENTS) if self.commit else None,
            candidates=list(paths[:_MAX_CANDIDATES]),
        )

    def is_uncommitted_file(self, path: str) -> bool:
        """Return True if a regular file is at this path in the work tree but not in the commit of HEAD."""
        root = self.git.worktree
        if root is None or not path:
            return False
        from workspace.paths import InvalidPath, check_path

        try:
            # Git cannot commit a file at a path that leads through a symbolic link.
            file = root.resolve() / check_path(path)
            if not file.is_file() or file.resolve() != file:
                return False
        except (InvalidPath, OSError):
            return False
        head = self.git.head().commit
        return head is None or trees.find_in_tree(self.git, self.git.commit(head).tree, path) is None


def shorten_path(path: str) -> str:
    """Return a path for an error message: at most its first 200 characters, then an ellipsis."""
    return path if len(path) <= _MAX_DISPLAYED_LENGTH else path[:_MAX_DISPLAYED_LENGTH] + "…"


def list_changed_files(old: Snapshot, new: Snapshot) -> Iterator[FileChange]:
    """Yield each document or manifest that was added, changed or removed between two snapshots.

    Only folders that differ are read, unless the settings select other files.
    """
    if not old.config.selects_same_files(new.config):
        return old._listing.diff(new._listing)
    return list_changes(new.git, old.tree, new.tree, new.config)


def list_changed_documents(old: Snapshot, new: Snapshot) -> Iterator[FileChange]:
    """Yield each document that was added, changed or removed between two snapshots."""
    return (change for change in list_changed_files(old, new) if not is_manifest(change[0]))
