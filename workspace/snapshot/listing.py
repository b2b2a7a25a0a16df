"""What of a tree counts: its documents, and the manifests that say what holds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from workspace.config.taxonomy import MANIFEST
from workspace.errors import WorkspaceError
from workspace.git import trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.config.config import WorkspaceConfig
    from workspace.git import Entry, GitReader

T = TypeVar("T")

MOST_DOCUMENTS = 1_000_000
MOST_FILES = 10_000_000
"""What is listed at most: trees that share folders can hold more paths than any memory, in a few objects."""

FileChange = tuple[str, str | None, str | None]
"""A path, and the blob there before and after; None where there was or is none that counts."""


class TooManyFiles(WorkspaceError):
    """A tree holds more files, or more documents, than a workspace can list. `limit` is the number."""

    code: ClassVar[str] = "TOO_MANY_FILES"


class Listing(NamedTuple):
    """The blobs of documents and of manifests, by path, in order of paths."""

    documents: dict[str, str]
    manifests: dict[str, str]

    @classmethod
    def of(cls, git: GitReader, tree: str | None, config: WorkspaceConfig) -> Listing:
        """What a whole tree holds; None is an empty one. Raises TooManyFiles."""
        found = _at_most(MOST_FILES, trees.walk(git, tree), "files") if tree else ()
        counting = ((path, None, entry.id) for path, entry in found if counts(config, path, entry))
        return cls({}, {}).changed(_at_most(MOST_DOCUMENTS, counting, "documents"))

    def changed(self, changes: Iterable[FileChange]) -> Listing:
        """The listing after some changes."""
        kinds = dict(self.documents), dict(self.manifests)
        for path, _, blob in changes:
            kind = kinds[is_manifest(path)]
            if blob is None:
                kind.pop(path, None)
            else:
                kind[path] = blob
        return Listing(*(dict(sorted(kind.items())) for kind in kinds))

    def differing(self, other: Listing) -> Iterator[FileChange]:
        """What changes from this listing to another, in order of paths."""
        before, after = ({**one.documents, **one.manifests} for one in (self, other))
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                yield path, before.get(path), after.get(path)


def changes(
    git: GitReader, old: str | None, new: str | None, config: WorkspaceConfig
) -> Iterator[FileChange]:
    """What changes from one tree to another under the same settings; reads only folders that differ."""
    for change in trees.changes(git, old, new):
        one, other = (
            entry.id if entry is not None and counts(config, change.path, entry) else None
            for entry in (change.old, change.new)
        )
        if one != other:
            yield change.path, one, other


def counts(config: WorkspaceConfig, path: str, entry: Entry) -> bool:
    """Whether what stands at a path is a document, or a manifest that has a say."""
    if not entry.is_blob:
        return False
    return config.is_manifest(path) if is_manifest(path) else config.is_document(path)


def _at_most(most: int, items: Iterable[T], name: str) -> Iterator[T]:
    for number, item in enumerate(items):
        if number == most:
            raise TooManyFiles(
                f"there are more than {most:,} {name}",
                fix="Serve a repository that has fewer, or several of them.",
                limit=most,
            )
        yield item


def is_manifest(path: str) -> bool:
    """Whether a file of this path is called like a manifest."""
    return path.endswith(MANIFEST) and path.rpartition("/")[2] == MANIFEST
