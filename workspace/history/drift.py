"""Drift: documents and sections whose covered files changed after the text itself last did.

A document or section names its files by `covers` (`workspace/document/coverage.py`). The first-parent
history is searched from the newest commit until the text differs from that of the start. A commit that
changes both the text and the files is no drift. A move of the text is no change of it, and neither are other
mechanical edits (`workspace/history/covered_text.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.coverage import Coverage, find_literal_folder, may_have_coverage, read_coverages
from workspace.git.ancestry import Graph
from workspace.git.trees import diff_trees
from workspace.history.covered_text import normalize_text, read_covered_text
from workspace.history.section_tracker import SectionPosition, SectionTracker
from workspace.lru_cache import LRUCache
from workspace.snapshot.derived_values import DerivedValues

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.reader import GitReader
    from workspace.snapshot.derived_values import Progress
    from workspace.snapshot.snapshot import Snapshot

MAX_COMMITS = 100_000
"""The maximum number of commits that are searched; the text of a document may be older than these."""

_MAX_READ_BYTES = 100_000_000  # the maximum number of bytes of earlier versions that are parsed
_MAX_CACHED_REPORTS = 8
_PROGRESS_INTERVAL = 500  # commits
_ALL_FILES = re.compile(r"(?:\*\*/)*\*+")  # the end of a glob that matches all files below a folder


class CodeChange(NamedTuple):
    """A commit that changed covered files, and its tree and that of its first parent."""

    commit: str
    tree: str
    parent_tree: str


class Drift(NamedTuple):
    """A document or section (None for the document), and the later commits that changed its files.

    `changes` are in order, the newest first. `text_commit` is the commit that last changed the text; None if
    it is older than the searched commits.
    """

    path: str
    coverage: Coverage
    title: str
    text: bytes
    text_commit: str | None
    changes: tuple[CodeChange, ...]

    @property
    def section(self) -> Section | None:
        """The section; None for the document."""
        return self.coverage.section

    @property
    def address(self) -> str:
        """`path`, or `path#section`."""
        return self.path if self.section is None else f"{self.path}#{self.section.key}"


class DriftReport(NamedTuple):
    """The drifts of a commit, in order of their documents.

    `covered_count` counts the documents and sections that name files. `is_complete` is False if the history
    ends early: a shallow clone, too many commits, or versions that are too large.
    """

    drifts: tuple[Drift, ...]
    covered_count: int
    unreadable_paths: tuple[str, ...] = ()
    is_complete: bool = True


class DriftFinder:
    """A search for drifts in the commits of a repository. Thread-safe."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._coverages = DerivedValues[tuple[Coverage, ...]](
            read_coverages, may_have_coverage, (), "Reading documents"
        )
        self._reports: LRUCache[str, DriftReport] = LRUCache(_MAX_CACHED_REPORTS)

    def find(self, snapshot: Snapshot, progress: Progress | None = None) -> DriftReport:
        """Return the drifts at a snapshot's commit. Raises InvalidConfig, DamagedRepository."""
        if snapshot.commit is None:
            return DriftReport((), 0)
        return self._reports.get(snapshot.commit, self._find_in_history, snapshot, snapshot.commit, progress)

    def find_between(self, base: Snapshot, snapshot: Snapshot) -> DriftReport:
        """Return the texts of a snapshot that are equal in `base`, although their files differ.

        The only change of each drift is the whole difference.
        """
        if snapshot.commit is None or snapshot.tree is None or base.tree is None:
            return DriftReport((), 0)
        search, unreadable_paths = self._start_search(snapshot, None)
        covered_count = len(search.texts)
        search.visit(CodeChange(snapshot.commit, snapshot.tree, base.tree))
        drifts = [text.make_drift(None) for text in search.texts.values()]
        return _make_report(drifts, covered_count, unreadable_paths, is_complete=True)

    def list_changed_files(self, drift: Drift, change: CodeChange) -> Iterator[str]:
        """Yield the covered files that a commit changed, in order. Raises DamagedRepository."""
        folders = _CoveredFolders([drift.coverage])
        for difference in diff_trees(self._graph, change.parent_tree, change.tree, folders.may_contain):
            path = difference.path
            if not path.endswith("/") and path != drift.path and drift.coverage.matches(path):
                yield path

    def _find_in_history(self, snapshot: Snapshot, tip: str, progress: Progress | None) -> DriftReport:
        search, unreadable_paths = self._start_search(snapshot, progress)
        covered_count = len(search.texts)
        if not covered_count:
            return DriftReport((), 0, unreadable_paths)
        self._graph.refresh()
        nodes = self._graph.first_parents(tip, max_commits=MAX_COMMITS)
        drifts: list[Drift] = []
        for number, (node, parent) in enumerate(pairwise(nodes)):
            if progress and number % _PROGRESS_INTERVAL == 0:
                progress(number, len(nodes), "Searching the history")
            if node.tree == parent.tree:
                continue
            closed_texts = search.visit(CodeChange(node.id, node.tree, parent.tree))
            drifts += [text.make_drift(node.id) for text in closed_texts]
            if not search.texts:
                break
        has_root = bool(nodes) and not nodes[-1].parents
        drifts += [text.make_drift(nodes[-1].id if has_root else None) for text in search.texts.values()]
        is_complete = (has_root or not search.texts) and not search.has_unread_version
        drifts = list(filter(self._is_code_changed, drifts))
        return _make_report(drifts, covered_count, unreadable_paths, is_complete=is_complete)

    def _is_code_changed(self, drift: Drift) -> bool:
        """Return False if the last of several changes restored the files that the text describes."""
        if len(drift.changes) < 2:
            return True
        newest, oldest = drift.changes[0], drift.changes[-1]
        return any(self.list_changed_files(drift, newest._replace(parent_tree=oldest.parent_tree)))

    def _start_search(self, snapshot: Snapshot, progress: Progress | None) -> tuple[_Search, tuple[str, ...]]:
        documents = self._coverages.read(snapshot, progress)
        texts = [
            _CoveredText(snapshot.document(path), coverage)
            for path, coverages in documents.values.items()
            for coverage in coverages
            if coverage.valid_globs
        ]
        return _Search(self._git, self._graph, snapshot.config.is_document, texts), documents.unreadable_paths


def _make_report(
    drifts: Sequence[Drift], covered_count: int, unreadable_paths: tuple[str, ...], *, is_complete: bool
) -> DriftReport:
    found = [drift for drift in drifts if drift.changes]
    found.sort(key=lambda drift: (drift.path, drift.section.position if drift.section else -1))
    return DriftReport(tuple(found), covered_count, unreadable_paths, is_complete)


class _CoveredText:
    """A text whose last change is searched, and the changes of its files.

    `position` is that in the last visited commit.
    """

    def __init__(self, document: Document, coverage: Coverage) -> None:
        self._document, self.coverage = document, coverage
        section = coverage.section
        self.position = SectionPosition(document.path, document if section else None, section)
        self.text = normalize_text(read_covered_text(document, section))
        self.changes: list[CodeChange] = []
        start, end = (section.start, section.tree_end) if section else (0, len(document.data))
        self._is_last = end == len(document.data)
        line_end = document.data.find(b"\n", end) + 1
        self._context = b"\n" + document.data[start : line_end or None]

    def may_cover(self, path: str) -> bool:
        """Return True unless a path is that of the document itself, which is no covered file."""
        return path not in (self.position.path, self._document.path)

    def is_in(self, data: bytes) -> bool:
        """Return True if a version of the document contains the section with the same line after it.

        Most changes are in other sections, and this takes a hundredth of the time of parsing the version. The
        position stays that of a newer version with the same text.
        """
        if self.coverage.section is None:
            return False
        return data.endswith(self._context) if self._is_last else self._context in data

    def make_drift(self, text_commit: str | None) -> Drift:
        title = self.coverage.section.title if self.coverage.section else self._document.title
        return Drift(self._document.path, self.coverage, title, self.text, text_commit, tuple(self.changes))


class _Search:
    """The texts that have not changed in the visited commits."""

    def __init__(
        self,
        git: GitReader,
        graph: Graph,
        is_document: Callable[[str], bool],
        texts: Sequence[_CoveredText],
    ) -> None:
        self._git, self._graph = git, graph
        self._tracker = SectionTracker(git, is_document, _MAX_READ_BYTES)
        self._texts_by_file: dict[str, Mapping[int, _CoveredText]] = {}
        self._set_texts(texts)

    @property
    def has_unread_version(self) -> bool:
        """Return True if the limit of bytes was reached, so that texts seem to be changed later."""
        return self._tracker.is_exhausted

    def _set_texts(self, texts: Sequence[_CoveredText]) -> None:
        self.texts = {id(text): text for text in texts}
        self._folders = _CoveredFolders(
            [text.coverage for text in texts], [text.position.path for text in texts]
        )

    def visit(self, change: CodeChange) -> list[_CoveredText]:
        """Add a commit to the texts whose files it changed; remove and return the texts that it changed."""
        differences = diff_trees(self._graph, change.parent_tree, change.tree, self._folders.expands)
        paths = [difference.path for difference in differences]
        closed_texts = self._close_changed_texts(change, paths)
        covering_texts = {
            id: text for path in paths for id, text in self._list_texts(path).items() if text.may_cover(path)
        }
        for id, text in covering_texts.items():
            if id in self.texts:
                text.changes.append(change)
        return closed_texts

    def _close_changed_texts(self, change: CodeChange, paths: Sequence[str]) -> list[_CoveredText]:
        old_paths = {text.position.path for text in self.texts.values()}.intersection(paths)
        changed_texts = [text for text in self.texts.values() if text.position.path in old_paths]
        closed_texts = [text for text in changed_texts if not self._move_to_parent(text, change)]
        new_paths = {text.position.path for text in changed_texts}
        if closed_texts or new_paths != old_paths:
            closed_ids = {id(text) for text in closed_texts}
            self._set_texts([text for id, text in self.texts.items() if id not in closed_ids])
        return closed_texts

    def _list_texts(self, file: str) -> Mapping[int, _CoveredText]:
        """Return the texts whose globs match a file. Most files change often, so this is cached."""
        texts = self._texts_by_file.get(file)
        if texts is None:
            matching = (text for text in self.texts.values() if text.coverage.matches(file))
            texts = self._texts_by_file[file] = {id(text): text for text in matching}
        return texts

    def _move_to_parent(self, text: _CoveredText, change: CodeChange) -> bool:
        """Set the position of a text to that in the parent; return False if the text differs there."""
        blob = self._tracker.blob(change.parent_tree, text.position.path)
        if blob is not None and text.is_in(self._git.blob(blob)):
            return True
        position = self._tracker.step(text.position, change.tree, change.parent_tree)
        if position is None:
            return False
        document = position.document
        if document is None:
            blob = self._tracker.blob(change.parent_tree, position.path)
            data = self._git.blob(blob) if blob else b""
        else:
            data = read_covered_text(document, position.section)
        if normalize_text(data) != text.text:
            return False
        text.position = position
        return True


class _CoveredFolders:
    """The folders that may contain some paths, or files that some globs match."""

    def __init__(self, coverages: Iterable[Coverage], paths: Iterable[str] = ()) -> None:
        globs = {glob for coverage in coverages for glob in coverage.valid_globs}
        folders = {glob: find_literal_folder(glob) for glob in globs}
        self._roots = tuple(set(folders.values()))
        self._expanded_roots = tuple({folders[glob] for glob in globs if not _covers_folder(glob)})
        self._parents = {
            f"{path[:position]}/"
            for path in [*paths, *(folder.rstrip("/") for folder in self._roots)]
            for position, character in enumerate(path)
            if character == "/"
        }

    def may_contain(self, folder: str) -> bool:
        """Return True for a folder, with its final slash, that may contain one of the files."""
        return folder in self._parents or folder.startswith(self._roots)

    def expands(self, folder: str) -> bool:
        """Return True unless each glob matches all files of a folder, or none, and it contains no path."""
        return folder in self._parents or folder.startswith(self._expanded_roots)


def _covers_folder(glob: str) -> bool:
    """Return True if a glob matches all files below its literal folder."""
    folder, pattern = find_literal_folder(glob), glob.rstrip("/")
    return f"{pattern}/" == folder or _ALL_FILES.fullmatch(pattern, len(folder)) is not None
