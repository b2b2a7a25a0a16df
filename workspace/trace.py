"""Traces: where an identifier such as `REQ-12` is required, designed, tasked, done and tested.

An identifier is required where a heading or a list item begins with it. All other mentions in documents are
its design, or tasks; a mention in a file of the test patterns is a test. Code blocks, HTML and comments of
documents are not read.

    ## REQ-12 Sessions end {#req-12}

    - **REQ-13** A session can be ended by its user.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import format_task_address
from workspace.git.trees import walk_tree
from workspace.globs import Glob
from workspace.lru_cache import LRUCache
from workspace.markdown.inline import to_plain_text
from workspace.snapshot.derived_values import DerivedValues

if TYPE_CHECKING:
    from workspace.config.tables import TraceSettings
    from workspace.document.document import Document
    from workspace.document.tasks import Task
    from workspace.git.reader import GitReader
    from workspace.snapshot.derived_values import Progress
    from workspace.snapshot.snapshot import Snapshot

MAX_TEST_FILE_BYTES = 1_000_000
"""The maximum size of a test file; identifiers in a larger file are not found."""

_MAX_CACHED_MATRICES = 8
_MAX_CACHED_FILES = 100_000
_MAX_CACHED_PREFIXES = 4
_MAX_TITLE_CHARACTERS = 200
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}"
_ITEM_START = re.compile(rb"[*_`\[(]{0,4}")
_SEPARATOR = re.compile(r"^[\s\])*_`:.,;\u2013\u2014-]+")


class Stage(StrEnum):
    """A stage of an identifier. It is done if it has tasks and all of them are done."""

    REQUIRED = "required"
    DESIGNED = "designed"
    TASKED = "tasked"
    DONE = "done"
    TESTED = "tested"


class MentionKind(StrEnum):
    """The kind of a mention in a document."""

    DEFINITION = "definition"
    TEXT = "text"
    OPEN_TASK = "open_task"
    DONE_TASK = "done_task"


class Mention(NamedTuple):
    """A mention of an identifier in a document: the address in it, the line from 1, and the title there."""

    id: str
    kind: MentionKind
    slug: str
    line: int
    title: str


class Place(NamedTuple):
    """A place of a stage. `slug` is the address in the document; None in a test file."""

    path: str
    slug: str | None
    line: int
    title: str

    @property
    def address(self) -> str:
        """`path#slug`, or the path of a test file."""
        return self.path if self.slug is None else f"{self.path}#{self.slug}"


class Trace(NamedTuple):
    """An identifier, its title where it is required, and its places by stage, in order of their paths."""

    id: str
    title: str
    places: Mapping[Stage, Sequence[Place]]

    @property
    def missing_stages(self) -> tuple[Stage, ...]:
        """The stages that are not reached."""
        return tuple(stage for stage in Stage if not self.has(stage))

    def has(self, stage: Stage) -> bool:
        """Return True if a stage is reached."""
        if stage is Stage.DONE:
            tasks = self.places[Stage.TASKED]
            return bool(tasks) and len(self.places[Stage.DONE]) == len(tasks)
        return bool(self.places[stage])


class TraceMatrix(NamedTuple):
    """The traces of a commit by identifier, in the order of prefixes and numbers.

    An identifier that is mentioned but required nowhere has a trace, if any other identifier of its prefix is
    required. `unreadable_paths` are documents that could not be read.
    """

    traces: Mapping[str, Trace]
    unreadable_paths: tuple[str, ...]


class TraceFinder:
    """The trace matrices of commits. Unchanged documents and test files are not read again. Thread-safe."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._matrices: LRUCache[tuple[str, TraceSettings], TraceMatrix] = LRUCache(_MAX_CACHED_MATRICES)
        self._mentions: LRUCache[tuple[str, ...], DerivedValues[tuple[Mention, ...]]] = LRUCache(
            _MAX_CACHED_PREFIXES
        )
        self._test_lines: LRUCache[tuple[str, tuple[str, ...]], Mapping[str, int]] = LRUCache(
            _MAX_CACHED_FILES
        )

    def find(self, snapshot: Snapshot, progress: Progress | None = None) -> TraceMatrix:
        """Return the matrix of a snapshot, with its settings. Raises InvalidConfig, DamagedRepository."""
        if snapshot.tree is None:
            return TraceMatrix({}, ())
        settings = snapshot.config.trace
        return self._matrices.get((snapshot.tree, settings), self._build, snapshot, settings, progress)

    def _build(self, snapshot: Snapshot, settings: TraceSettings, progress: Progress | None) -> TraceMatrix:
        mentions = self._mentions.get(settings.prefixes, _make_mention_values, settings.prefixes)
        documents = mentions.read(snapshot, progress)
        tests = self._find_tests(snapshot, settings)
        return build_matrix(settings, documents.values, tests, documents.unreadable_paths)

    def _find_tests(self, snapshot: Snapshot, settings: TraceSettings) -> Mapping[str, Mapping[str, int]]:
        """Return the first line of each identifier in each test file that is not a document."""
        globs = [Glob.compile(glob) for glob in settings.tested]
        pattern = compile_test_pattern(settings.prefixes)
        lines: dict[str, Mapping[str, int]] = {}
        for path, entry in walk_tree(self._git, snapshot.tree or ""):
            if entry.is_blob and path not in snapshot.documents and any(glob.matches(path) for glob in globs):
                found = self._test_lines.get(
                    (entry.id, settings.prefixes), self._read_test_lines, entry.id, pattern
                )
                if found:
                    lines[path] = found
        return lines

    def _read_test_lines(self, blob: str, pattern: re.Pattern[bytes]) -> Mapping[str, int]:
        data = self._git.blob_within(blob, MAX_TEST_FILE_BYTES)
        lines: dict[str, int] = {}
        line, position = 1, 0
        for match in pattern.finditer(data or b""):
            assert data is not None
            line, position = line + data.count(b"\n", position, match.start()), match.start()
            lines.setdefault(f"{match[1].decode().upper()}-{match[2].decode()}", line)
        return lines


def _make_mention_values(prefixes: tuple[str, ...]) -> DerivedValues[tuple[Mention, ...]]:
    pattern = compile_pattern(prefixes)
    return DerivedValues[tuple[Mention, ...]](
        lambda document: read_mentions(document, pattern),
        lambda data: pattern.search(data) is not None,
        (),
        "Reading documents",
    )


def compile_pattern(prefixes: Sequence[str]) -> re.Pattern[bytes]:
    """Return the pattern of identifiers in the bytes of documents: a prefix, a hyphen, numbers with dots."""
    names = "|".join(prefixes)
    return re.compile(rf"(?<![0-9A-Za-z_-])(?:{names})-{_NUMBER}(?![0-9A-Za-z_])".encode())


def compile_test_pattern(prefixes: Sequence[str]) -> re.Pattern[bytes]:
    """Return the pattern of identifiers in test files: also `req_12`, as in the name of a function.

    Group 1 is the prefix, and group 2 the number.
    """
    names = "|".join(prefixes)
    return re.compile(rf"(?<![0-9A-Za-z])({names})[-_]({_NUMBER})(?![0-9A-Za-z])".encode(), re.IGNORECASE)


def read_mentions(document: Document, pattern: re.Pattern[bytes]) -> tuple[Mention, ...]:
    """Return the mentions in a document in order.

    At one address, each identifier is returned once for its definitions' lines, its tasks and its text.
    """
    lines = document.lines
    literal_lines = {line for start, end in document.outline.literal_lines for line in range(start, end)}
    definitions = _find_definitions(document, pattern)
    tasks = document.all_tasks
    task_starts = [task.start for task in tasks]
    mentions: dict[tuple[str, MentionKind, str, int], Mention] = {}
    for match in pattern.finditer(document.data, document.front_matter_end):
        line, section = lines.line_at(match.start()), document.section_at(match.start())
        if line in literal_lines or section is None:
            continue
        id, slug, title = match[0].decode(), section.key, section.title
        kind = MentionKind.TEXT
        task = _find_task(tasks, task_starts, match.start())
        if task is not None:
            kind = MentionKind.DONE_TASK if task.is_done else MentionKind.OPEN_TASK
            slug, title = format_task_address(section.key, task), task.title
        elif definitions.get(line, ("", ""))[0] == id:
            kind, title = MentionKind.DEFINITION, definitions[line][1]
        mention = Mention(id, kind, slug, line + 1, title[:_MAX_TITLE_CHARACTERS])
        repeated_line = line if kind is MentionKind.DEFINITION else -1
        mentions.setdefault((id, kind, slug, repeated_line), mention)
    return tuple(mentions.values())


def _find_definitions(document: Document, pattern: re.Pattern[bytes]) -> Mapping[int, tuple[str, str]]:
    """Return the identifier and title of each line on which a heading or a list item begins with one."""
    starts = [
        (section.heading.block.line, section.title)
        for section in document.sections
        if section.heading is not None
    ]
    starts += [(item.paragraph_line, item.source) for item in document.outline.items]
    definitions: dict[int, tuple[str, str]] = {}
    for line, source in starts:
        data = source.partition("\n")[0].encode()
        marks = _ITEM_START.match(data)
        match = pattern.match(data, marks.end() if marks else 0)
        if match is not None:
            title = to_plain_text(data[match.end() :].decode())
            definitions[line] = match[0].decode(), _SEPARATOR.sub("", title)
    return definitions


def _find_task(tasks: Sequence[Task], starts: Sequence[int], offset: int) -> Task | None:
    """Return the innermost task whose lines contain an offset."""
    for position in range(bisect_right(starts, offset) - 1, -1, -1):
        task = tasks[position]
        if offset < task.end:
            return task
        if task.depth == 0:
            return None
    return None


def build_matrix(
    settings: TraceSettings,
    mentions: Mapping[str, Sequence[Mention]],
    tests: Mapping[str, Mapping[str, int]],
    unreadable_paths: tuple[str, ...] = (),
) -> TraceMatrix:
    """Return the matrix of mentions by document, and of the lines of identifiers by test file."""
    places: dict[str, dict[Stage, list[Place]]] = {}
    titles: dict[str, str] = {}

    def add(id: str, stage: Stage, place: Place) -> None:
        places.setdefault(id, {stage: [] for stage in Stage})[stage].append(place)

    definition_paths: dict[str, set[str]] = {}
    for path, items in mentions.items():
        for mention in items:
            if mention.kind is MentionKind.DEFINITION and settings.may_require(path):
                definition_paths.setdefault(mention.id, set()).add(path)
    for path, items in mentions.items():
        is_test = settings.is_test(path)
        for mention in items:
            place = Place(path, mention.slug, mention.line, mention.title)
            if mention.kind in (MentionKind.OPEN_TASK, MentionKind.DONE_TASK):
                add(mention.id, Stage.TASKED, place)
                if mention.kind is MentionKind.DONE_TASK:
                    add(mention.id, Stage.DONE, place)
            elif mention.kind is MentionKind.DEFINITION and settings.may_require(path):
                add(mention.id, Stage.REQUIRED, place)
                titles.setdefault(mention.id, mention.title)
            elif is_test:
                add(mention.id, Stage.TESTED, place)
            elif settings.may_design(path, definition_paths.get(mention.id, set())):
                add(mention.id, Stage.DESIGNED, place)
            else:
                places.setdefault(mention.id, {stage: [] for stage in Stage})
    for path, lines in tests.items():
        for id, line in lines.items():
            add(id, Stage.TESTED, Place(path, None, line, ""))
    used_prefixes = {id.rpartition("-")[0] for id in definition_paths}
    ids = sorted((id for id in places if id.rpartition("-")[0] in used_prefixes), key=make_sort_key)
    return TraceMatrix({id: Trace(id, titles.get(id, ""), places[id]) for id in ids}, unreadable_paths)


def make_sort_key(id: str) -> tuple[str, tuple[int, ...]]:
    """Return the key that sorts identifiers by prefix and numbers."""
    prefix, _, number = id.rpartition("-")
    return prefix, tuple(map(int, number.split(".")))


class IdentifierProblem(NamedTuple):
    """A line (from 1) of a document with an identifier that no document requires, or that is required again.

    `first` is the address of the first requirement; None if there is none.
    """

    id: str
    line: int
    first: str | None


def list_problems(matrix: TraceMatrix) -> Mapping[str, Sequence[IdentifierProblem]]:
    """Return the problems of each document by path."""
    problems: dict[str, list[IdentifierProblem]] = {}
    for trace in matrix.traces.values():
        required = trace.places[Stage.REQUIRED]
        first = required[0].address if required else None
        mentions = [
            place for stage in (Stage.DESIGNED, Stage.TASKED, Stage.TESTED) for place in trace.places[stage]
        ]
        for place in required[1:] if required else mentions:
            if place.slug is not None:  # not a test file
                problems.setdefault(place.path, []).append(IdentifierProblem(trace.id, place.line, first))
    return problems


def find_document_problems(
    documents: Iterable[Document], settings: TraceSettings
) -> Mapping[str, Sequence[IdentifierProblem]]:
    """Return the problems of documents by path, without reading test files."""
    pattern = compile_pattern(settings.prefixes)
    return list_problems(
        build_matrix(
            settings, {document.path: read_mentions(document, pattern) for document in documents}, {}
        )
    )
