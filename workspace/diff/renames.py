"""Find the documents that were renamed between two trees.

Documents with equal text match. Otherwise the most similar document matches if it shares at least half of the
longer text, as Git measures similarity (gitdiffcore, "diffcore-rename"). Ambiguous matches are not renames.

libgit2's `Diff.find_similar` is not used, because it chooses one of several equally similar documents, and
does not report that the choice is arbitrary.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.diff.sequences import measure_similarity
from workspace.git import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.git.reader import GitReader

_MIN_SIMILARITY = 0.5
# If more documents were added or removed, only documents with the same file name are compared.
_MAX_CANDIDATES = 200
_MAX_BYTES = 8_000_000  # of all documents whose lines are compared
_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

BlobsByPath = dict[str, str]


class Renames:
    """The documents that differ between two trees, and a search for renames among them.

    `removed_blobs` and `added_blobs` map paths to blobs. `changed_blobs` maps a path to the old and the new
    blob.
    """

    def __init__(
        self, git: GitReader, old_tree: str, new_tree: str, is_document: Callable[[str], bool]
    ) -> None:
        self._git = git
        self.removed_blobs: BlobsByPath = {}
        self.added_blobs: BlobsByPath = {}
        self.changed_blobs: dict[str, tuple[str, str]] = {}
        for change in trees.diff_trees(git, old_tree, new_tree):
            old_blob = change.old.id if change.old and change.old.is_blob else None
            new_blob = change.new.id if change.new and change.new.is_blob else None
            if old_blob == new_blob or not is_document(change.path):
                continue
            if old_blob is None and new_blob is not None:
                self.added_blobs[change.path] = new_blob
            elif old_blob is not None and new_blob is None:
                self.removed_blobs[change.path] = old_blob
            elif old_blob is not None and new_blob is not None:
                self.changed_blobs[change.path] = (old_blob, new_blob)
        self._lines: dict[str, Counter[bytes] | None] = {}
        self._remaining_bytes = _MAX_BYTES
        self._similarities: dict[frozenset[str], float] = {}

    @property
    def bytes_read(self) -> int:
        """The number of document bytes that were read for the comparison."""
        return _MAX_BYTES - self._remaining_bytes

    def find_new_path(self, path: str) -> str | None:
        """Return the new path of a missing document; None if it was removed, or the match is ambiguous."""
        blob = self.removed_blobs.get(path)
        if blob is None or blob == _EMPTY_BLOB:
            return None
        equal_paths = [other_path for other_path, id in self.added_blobs.items() if id == blob]
        return _find_nearest_path(path, equal_paths) if equal_paths else self._find_most_similar(path)

    def _find_most_similar(self, path: str) -> str | None:
        """Return the most similar added document, if each of the two is most similar to the other."""
        unchanged_blobs = {*self.removed_blobs.values()} & {*self.added_blobs.values()}
        removed_blobs = {
            other_path: blob for other_path, blob in self.removed_blobs.items() if blob not in unchanged_blobs
        }
        added_blobs = {
            other_path: blob for other_path, blob in self.added_blobs.items() if blob not in unchanged_blobs
        }
        best_path = self._find_best_path(path, removed_blobs[path], added_blobs)
        if (
            best_path is None
            or self._find_best_path(best_path, added_blobs[best_path], removed_blobs) != path
        ):
            return None
        return best_path

    def _find_best_path(self, path: str, blob: str, blobs_by_path: Mapping[str, str]) -> str | None:
        if len(blobs_by_path) > _MAX_CANDIDATES:
            name = _reverse_parts(path)[0]
            blobs_by_path = {
                other_path: id
                for other_path, id in blobs_by_path.items()
                if _reverse_parts(other_path)[0] == name
            }
            if len(blobs_by_path) > _MAX_CANDIDATES:
                return None
        similarities = {
            other_path: self._get_similarity(blob, id) for other_path, id in blobs_by_path.items()
        }
        max_similarity = max(similarities.values(), default=0.0)
        best_paths = [
            other_path for other_path, similarity in similarities.items() if similarity == max_similarity
        ]
        return best_paths[0] if max_similarity >= _MIN_SIMILARITY and len(best_paths) == 1 else None

    def _get_similarity(self, left: str, right: str) -> float:
        pair = frozenset((left, right))
        if pair not in self._similarities:
            self._similarities[pair] = self._compute_similarity(left, right)
        return self._similarities[pair]

    def _compute_similarity(self, left: str, right: str) -> float:
        sizes = sorted((self._git.blob_size(left), self._git.blob_size(right)))
        if sizes[0] < _MIN_SIMILARITY * sizes[1]:
            return 0.0
        left_lines, right_lines = self._read_lines(left), self._read_lines(right)
        if left_lines is None or right_lines is None:
            return 0.0
        return measure_similarity(left_lines, right_lines)

    def _read_lines(self, blob: str) -> Counter[bytes] | None:
        if blob not in self._lines:
            data = self._git.blob_within(blob, self._remaining_bytes)
            self._remaining_bytes -= len(data or b"")
            self._lines[blob] = None if data is None else Counter(data.splitlines(keepends=True))
        return self._lines[blob]


def _find_nearest_path(path: str, other_paths: Sequence[str]) -> str | None:
    """Return the path with the most trailing parts in common with `path`; None for a tie."""
    parts = _reverse_parts(path)
    counts = {
        other_path: _count_common_parts(parts, _reverse_parts(other_path)) for other_path in other_paths
    }
    max_count = max(counts.values())
    best_paths = [other_path for other_path, count in counts.items() if count == max_count]
    return best_paths[0] if len(best_paths) == 1 else None


def _reverse_parts(path: str) -> list[str]:
    return path.split("/")[::-1]


def _count_common_parts(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next(
        (count for count, (left_part, right_part) in enumerate(pairs) if left_part != right_part),
        min(len(left), len(right)),
    )
