"""Detection of renamed documents between two trees.

The same text is the same document; else the one that shares at least half of its lines, as Git reckons it
(gitdiffcore, "diffcore-rename"). What cannot be told apart was not renamed.
libgit2's `Diff.find_similar` is not used because it chooses one of several that are equally similar, and does
not say so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.diff.sequences import measure_similarity
from workspace.git import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.git.reader import GitReader

_LEAST = 0.5
_COMPARED = 200  # documents that came or went; where there are more, only those of the same name
_READ = 8_000_000  # bytes of documents whose lines are compared
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

Blobs = dict[str, str]


class Renames:
    """The documents that came and went between two trees, by path and blob."""

    def __init__(self, git: GitReader, old: str, new: str, is_document: Callable[[str], bool]) -> None:
        self._git = git
        self.gone: Blobs = {}
        self.come: Blobs = {}
        self.changed: dict[str, tuple[str, str]] = {}
        for change in trees.diff_trees(git, old, new):
            before = change.old.id if change.old and change.old.is_blob else None
            after = change.new.id if change.new and change.new.is_blob else None
            if before == after or not is_document(change.path):
                continue
            if before is None and after is not None:
                self.come[change.path] = after
            elif before is not None and after is None:
                self.gone[change.path] = before
            elif before is not None and after is not None:
                self.changed[change.path] = (before, after)
        self._lines: dict[str, Counter[bytes] | None] = {}
        self._left = _READ
        self._alike: dict[frozenset[str], float] = {}

    @property
    def read(self) -> int:
        """The number of document bytes that were read for the comparison."""
        return _READ - self._left

    def of(self, path: str) -> str | None:
        """Return the new path of a missing document; None if it was removed, or the match is ambiguous."""
        blob = self.gone.get(path)
        if blob is None or blob == _EMPTY:
            return None
        same = [other for other, id in self.come.items() if id == blob]
        return _of_the_nearest_name(path, same) if same else self._most_like(path)

    def _most_like(self, path: str) -> str | None:
        """Return the one that is most like a document, if there is none that it is more like."""
        moved = {*self.gone.values()} & {*self.come.values()}
        gone = {other: blob for other, blob in self.gone.items() if blob not in moved}
        come = {other: blob for other, blob in self.come.items() if blob not in moved}
        best = self._best(path, gone[path], come)
        if best is None or self._best(best, come[best], gone) != path:
            return None
        return best

    def _best(self, path: str, blob: str, others: Mapping[str, str]) -> str | None:
        if len(others) > _COMPARED:
            name = _parts(path)[0]
            others = {other: id for other, id in others.items() if _parts(other)[0] == name}
            if len(others) > _COMPARED:
                return None
        alike = {other: self._likeness(blob, id) for other, id in others.items()}
        most = max(alike.values(), default=0.0)
        best = [other for other, likeness in alike.items() if likeness == most]
        return best[0] if most >= _LEAST and len(best) == 1 else None

    def _likeness(self, one: str, other: str) -> float:
        pair = frozenset((one, other))
        if pair not in self._alike:
            self._alike[pair] = self._compared(one, other)
        return self._alike[pair]

    def _compared(self, one: str, other: str) -> float:
        sizes = sorted((self._git.blob_size(one), self._git.blob_size(other)))
        if sizes[0] < _LEAST * sizes[1]:
            return 0.0
        lines, others = self._lines_of(one), self._lines_of(other)
        if lines is None or others is None:
            return 0.0
        return measure_similarity(lines, others)

    def _lines_of(self, blob: str) -> Counter[bytes] | None:
        if blob not in self._lines:
            data = self._git.blob_within(blob, self._left)
            self._left -= len(data or b"")
            self._lines[blob] = None if data is None else Counter(data.splitlines(keepends=True))
        return self._lines[blob]


def _of_the_nearest_name(path: str, others: Sequence[str]) -> str | None:
    """Return the path with the most trailing parts in common with another; None for a tie."""
    parts = _parts(path)
    shared = {other: _shared(parts, _parts(other)) for other in others}
    most = max(shared.values())
    best = [other for other, count in shared.items() if count == most]
    return best[0] if len(best) == 1 else None


def _parts(path: str) -> list[str]:
    return path.split("/")[::-1]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
