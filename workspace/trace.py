"""Traces: where an identifier such as `REQ-12` is required, designed, tasked, done and tested.

An identifier is a prefix, a hyphen, and one to four numbers of at most nine digits with dots between them. It
is required where a heading or a list item begins with it. All other mentions in documents are its design, or
tasks; a mention in a file of the test patterns is a test. Code blocks, HTML blocks and comments of documents
are not read.

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
_COMMENT_BOUNDARY = re.compile(rb"<!---?>|<!--|-->|\n[ \t]*\r?\n|\r[ \t]*\r")
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
    """A mention of an identifier in a document: its offset, address, line from 1, and the title there."""

    start: int
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
    """An identifier, its title where it is required, and its places by stage, in order of their paths.

    `unknown_stages` have no known place, but may have places in files that cannot be read.
    """

    id: str
    title: str
    places: Mapping[Stage, Sequence[Place]]
    unknown_stages: tuple[Stage, ...] = ()

    @property
    def missing_stages(self) -> tuple[Stage, ...]:
        """The stages that are certainly not reached."""
        return tuple(stage for stage in Stage if not self.has(stage) and stage not in self.unknown_stages)

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
    """The trace matrices of commits. Unchanged documents and test files are not read again. Thread-safe.

    If `has_test_files` is False, as in an artifact, it is unknown what the test files mention.
    """

    def __init__(self, git: GitReader, *, has_test_files: bool = True) -> None:
        self._git, self._has_test_files = git, has_test_files
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
        tests = self._find_tests(snapshot, settings) if self._has_test_files else None
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
            lines.setdefault(read_test_identifier(match), line)
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
    """Return the pattern of identifiers in documents. It matches no part of a longer name."""
    names = "|".join(prefixes)
    end = r"(?![0-9A-Za-z_]|\.[0-9]|-[0-9A-Za-z])"
    return re.compile(rf"(?<![0-9A-Za-z_-])(?:{names})-{_NUMBER}{end}".encode())


def compile_test_pattern(prefixes: Sequence[str]) -> re.Pattern[bytes]:
    """Return the pattern of identifiers in test files, also in names of functions: `req_12_1` is `REQ-12.1`.

    Group 1 is the prefix, and group 2 the number.
    """
    names = "|".join(prefixes).replace("-", "[-_]")
    number = _NUMBER.replace(r"\.", "[._]")
    end = r"(?![0-9A-Za-z]|\.[0-9]|_[0-9]+(?![0-9A-Za-z]))"
    return re.compile(rf"(?<![0-9A-Za-z])({names})[-_]({number}){end}".encode(), re.IGNORECASE)


def read_test_identifier(match: re.Match[bytes]) -> str:
    """Return the identifier of a match in a test file."""
    prefix, number = match[1].decode().upper(), match[2].decode()
    return f"{prefix.replace('_', '-')}-{number.replace('_', '.')}"


def read_mentions(document: Document, pattern: re.Pattern[bytes]) -> tuple[Mention, ...]:
    """Return the mentions in a document in order; at one address, each identifier once for each line."""
    lines = document.lines
    literal_lines = {line for start, end in document.outline.literal_lines for line in range(start, end)}
    definitions = _find_definitions(document, pattern)
    tasks = document.all_tasks
    task_starts = [task.start for task in tasks]
    mentions: dict[tuple[str, MentionKind, str, int], Mention] = {}
    comments = _find_comments(document.data)
    comment_starts = [start for start, _ in comments]
    for match in pattern.finditer(document.data, document.front_matter_end):
        position = bisect_right(comment_starts, match.start()) - 1
        if position >= 0 and match.start() < comments[position][1]:
            continue
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
        mention = Mention(match.start(), id, kind, slug, line + 1, title[:_MAX_TITLE_CHARACTERS])
        mentions.setdefault((id, kind, slug, line), mention)
    return tuple(mentions.values())


def _find_comments(data: bytes) -> list[tuple[int, int]]:
    """Return the ranges [start, end) of comments in order. A blank line ends a comment within a paragraph."""
    comments: list[tuple[int, int]] = []
    start: int | None = None
    for match in _COMMENT_BOUNDARY.finditer(data):
        if match[0] == b"<!--":
            start = match.start() if start is None else start
            continue
        if match[0].endswith(b"-->") and start is not None:
            comments.append((start, match.end()))
        start = None
    return comments


def _find_definitions(document: Document, pattern: re.Pattern[bytes]) -> Mapping[int, tuple[str, str]]:
    """Return the identifier and title of each line on which a heading or a list item begins with one."""
    starts = [
        (section.heading.block.line, section.title)
        for section in document.sections
        if section.heading is not None
    ]
    starts += [
        (item.paragraph_line, to_plain_text(item.source.partition("\n")[0]))
        for item in document.outline.items
    ]
    definitions: dict[int, tuple[str, str]] = {}
    for line, text in starts:
        data = text.encode()
        marks = _ITEM_START.match(data)
        match = pattern.match(data, marks.end() if marks else 0)
        if match is not None:
            definitions[line] = match[0].decode(), _SEPARATOR.sub("", data[match.end() :].decode())
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
    tests: Mapping[str, Mapping[str, int]] | None,
    unreadable_paths: tuple[str, ...] = (),
) -> TraceMatrix:
    """Return the matrix of mentions by document, and of the lines of identifiers by test file.

    `tests` is None if the test files are unknown.
    """
    places: dict[str, dict[Stage, dict[tuple[str, str | None, int], Place]]] = {}
    titles: dict[str, str] = {}

    def get_places(id: str) -> dict[Stage, dict[tuple[str, str | None, int], Place]]:
        return places.setdefault(id, {stage: {} for stage in Stage})

    def add(id: str, stage: Stage, place: Place) -> None:
        # Each list item requires its identifier; other mentions at one address are one place.
        line = place.line if stage is Stage.REQUIRED else 0
        get_places(id)[stage].setdefault((place.path, place.slug, line), place)

    definition_paths: dict[str, set[str]] = {}
    requiring_paths = {path for path, items in mentions.items() if items and settings.may_require(path)}
    for path in requiring_paths:
        for mention in mentions[path]:
            if mention.kind is MentionKind.DEFINITION:
                definition_paths.setdefault(mention.id, set()).add(path)
    for path, items in mentions.items():
        is_test = bool(items) and settings.is_test(path)
        for mention in items:
            place = Place(path, mention.slug, mention.line, mention.title)
            if mention.kind in (MentionKind.OPEN_TASK, MentionKind.DONE_TASK):
                add(mention.id, Stage.TASKED, place)
                if mention.kind is MentionKind.DONE_TASK:
                    add(mention.id, Stage.DONE, place)
            elif mention.kind is MentionKind.DEFINITION and path in requiring_paths:
                add(mention.id, Stage.REQUIRED, place)
                titles.setdefault(mention.id, mention.title)
            elif is_test:
                add(mention.id, Stage.TESTED, place)
            elif settings.may_design(path, definition_paths.get(mention.id, set())):
                add(mention.id, Stage.DESIGNED, place)
            else:
                get_places(mention.id)
    for path, lines in (tests or {}).items():
        for id, line in lines.items():
            add(id, Stage.TESTED, Place(path, None, line, ""))
    used_prefixes = {id.rpartition("-")[0] for id in definition_paths}
    ids = sorted((id for id in places if id.rpartition("-")[0] in used_prefixes), key=make_sort_key)
    traces = {
        id: Trace(
            id,
            titles.get(id, ""),
            {stage: tuple(items.values()) for stage, items in places[id].items()},
            (Stage.TESTED,) if tests is None and not places[id][Stage.TESTED] else (),
        )
        for id in ids
    }
    return TraceMatrix(traces, unreadable_paths)


def make_sort_key(id: str) -> tuple[str, tuple[int, ...]]:
    """Return the key that sorts identifiers by prefix and numbers."""
    prefix, _, number = id.rpartition("-")
    return prefix, tuple(map(int, number.split(".")))


class IdentifierProblem(NamedTuple):
    """An identifier at an offset of a document that no document requires, or that is required again.

    `first` is the place of the first requirement; None if there is none.
    """

    start: int
    id: str
    first: Place | None


def find_document_problems(
    documents: Iterable[Document], settings: TraceSettings
) -> Mapping[str, Sequence[IdentifierProblem]]:
    """Return the problems of documents by path, without reading test files."""
    pattern = compile_pattern(settings.prefixes)
    mentions = {document.path: read_mentions(document, pattern) for document in documents}
    traces = build_matrix(settings, mentions, {}).traces
    repeated = {
        (place.path, place.line, id)
        for id, trace in traces.items()
        for place in trace.places[Stage.REQUIRED][1:]
    }
    problems: dict[str, list[IdentifierProblem]] = {}
    for path, items in mentions.items():
        mention_by_line: dict[tuple[int, str], Mention] = {}
        for mention in items:
            mention_by_line.setdefault((mention.line, mention.id), mention)
        for (line, id), mention in mention_by_line.items():
            if id not in traces:
                continue
            required = traces[id].places[Stage.REQUIRED]
            if not required or (path, line, id) in repeated:
                first = required[0] if required else None
                problems.setdefault(path, []).append(IdentifierProblem(mention.start, id, first))
    return problems
