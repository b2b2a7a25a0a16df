"""Detection of renamed documents between two trees.

Documents with equal text match. Otherwise the most similar document matches if it shares at least half of the
longer text, as Git measures similarity (gitdiffcore, "diffcore-rename"). Ambiguous matches are not renames.

libgit2's `Diff.find_similar` is not used, because it chooses one of several equally similar documents without
any notice.
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
_MAX_CANDIDATES = 200  # of added or removed documents; above it only those of the same name are compared
_MAX_BYTES = 8_000_000  # of documents whose lines are compared
_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

BlobsByPath = dict[str, str]


class Renames:
    """The documents that were added and removed between two trees, by path and blob."""

    def __init__(self, git: GitReader, old: str, new: str, is_document: Callable[[str], bool]) -> None:
        self._git = git
        self.removed: BlobsByPath = {}
        self.added: BlobsByPath = {}
        self.changed: dict[str, tuple[str, str]] = {}
        for change in trees.diff_trees(git, old, new):
            before = change.old.id if change.old and change.old.is_blob else None
            after = change.new.id if change.new and change.new.is_blob else None
            if before == after or not is_document(change.path):
                continue
            if before is None and after is not None:
                self.added[change.path] = after
            elif before is not None and after is None:
                self.removed[change.path] = before
            elif before is not None and after is not None:
                self.changed[change.path] = (before, after)
        self._lines: dict[str, Counter[bytes] | None] = {}
        self._remaining_bytes = _MAX_BYTES
        self._similarities: dict[frozenset[str], float] = {}

    @property
    def bytes_read(self) -> int:
        """The number of document bytes that were read for the comparison."""
        return _MAX_BYTES - self._remaining_bytes

    def find_new_path(self, path: str) -> str | None:
        """Return the new path of a missing document; None if it was removed, or the match is ambiguous."""
        blob = self.removed.get(path)
        if blob is None or blob == _EMPTY_BLOB:
            return None
        equal_paths = [other for other, id in self.added.items() if id == blob]
        return _find_nearest_name(path, equal_paths) if equal_paths else self._find_most_similar(path)

    def _find_most_similar(self, path: str) -> str | None:
        """Return the most similar added document, if the given document is in turn the most similar to it."""
        unchanged_blobs = {*self.removed.values()} & {*self.added.values()}
        removed = {other: blob for other, blob in self.removed.items() if blob not in unchanged_blobs}
        added = {other: blob for other, blob in self.added.items() if blob not in unchanged_blobs}
        best = self._find_best(path, removed[path], added)
        if best is None or self._find_best(best, added[best], removed) != path:
            return None
        return best

    def _find_best(self, path: str, blob: str, others: Mapping[str, str]) -> str | None:
        if len(others) > _MAX_CANDIDATES:
            name = _reverse_parts(path)[0]
            others = {other: id for other, id in others.items() if _reverse_parts(other)[0] == name}
            if len(others) > _MAX_CANDIDATES:
                return None
        similarities = {other: self._get_similarity(blob, id) for other, id in others.items()}
        highest = max(similarities.values(), default=0.0)
        best = [other for other, similarity in similarities.items() if similarity == highest]
        return best[0] if highest >= _MIN_SIMILARITY and len(best) == 1 else None

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


def _find_nearest_name(path: str, others: Sequence[str]) -> str | None:
    """Return the path with the most trailing parts in common with `path`; None for a tie."""
    parts = _reverse_parts(path)
    counts = {other: _count_shared(parts, _reverse_parts(other)) for other in others}
    highest = max(counts.values())
    best = [other for other, count in counts.items() if count == highest]
    return best[0] if len(best) == 1 else None


def _reverse_parts(path: str) -> list[str]:
    return path.split("/")[::-1]


def _count_shared(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next(
        (count for count, (left_part, right_part) in enumerate(pairs) if left_part != right_part),
        min(len(left), len(right)),
    )
