"""The document model: parsed bytes, and the spans of their sections and tasks.

A document is parsed, never rendered. Every value refers to the bytes from which it was read, so that an edit
can replace exactly these bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from workspace.document.sections import Section, build_breadcrumb, build_sections, derive_title
from workspace.document.tasks import Task, read_tasks
from workspace.frontmatter.reader import InvalidFrontMatter, format_value, parse_front_matter
from workspace.markdown.lines import Lines, detect_line_ending
from workspace.markdown.outline import read_outline
from workspace.markdown.parser import MAX_LINES, check_line_count, may_have_too_many_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from workspace.document.headings import DocumentLayout
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.markdown.outline import BlockOutline


P = ParamSpec("P")
T = TypeVar("T")

# A large document can use 500 MB while it is parsed, so threads parse large documents one after another.
_LARGE_DOCUMENT_BYTES = 500_000
_large_document_lock = Lock()


@dataclass(frozen=True)
class Document:
    """A parsed document: its bytes, title, front matter, sections in order, and tasks.

    `front_matter_lines` counts the lines of the front matter with both marks. `front_matter_end` is the byte
    after them.
    """

    data: bytes
    path: str
    title: str
    has_title: bool
    front_matter: Mapping[str, object]
    front_matter_error: InvalidFrontMatter | None
    front_matter_lines: int
    front_matter_end: int
    sections: tuple[Section, ...]
    _parse_result: tuple[Lines, BlockOutline] | None = field(default=None, compare=False, repr=False)
    _derived_values: dict[Hashable, object] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> Document:
        """Parse a document. Bytes that are not UTF-8 are read as U+FFFD, but stay unchanged in `data`.

        Raises only LimitExceeded, for too many lines or blocks.
        """
        # Imported late, because a server can answer its first calls without parsing a document.
        from workspace.document.headings import scan_layout

        if len(data) > MAX_LINES:  # a line has at least one byte, which ends it
            check_line_count(data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n"))
        layout = scan_layout(data)
        if layout is None:
            return cls.parse_fully(data, path)
        if may_have_too_many_blocks(data, layout.line_count):
            return cls.parse_fully(data, path)
        return cls._from_layout(data, path, layout)

    @classmethod
    def parse_fully(cls, data: bytes, path: str = "") -> Document:
        """Parse a document with the Markdown parser alone; `parse` returns an equal result faster."""
        from workspace.document.headings import parse_layout

        lines = Lines(data)
        outline = _parse_outline(lines)
        return cls._from_layout(data, path, parse_layout(lines, outline), (lines, outline))

    @classmethod
    def _from_layout(
        cls,
        data: bytes,
        path: str,
        layout: DocumentLayout,
        parse_result: tuple[Lines, BlockOutline] | None = None,
    ) -> Document:
        metadata, error = {}, None
        if layout.front_matter_lines:
            start, end = layout.front_matter
            try:
                metadata = dict(parse_front_matter(data[start:end].decode("utf-8", "replace")))
            except InvalidFrontMatter as invalid:
                error = invalid
        sections, title = build_sections(data, layout, format_value(metadata.get("title")))
        return cls(
            data=data,
            path=path,
            title=title or derive_title(path),
            has_title=bool(title),
            front_matter=MappingProxyType(metadata),
            front_matter_error=error,
            front_matter_lines=layout.front_matter_lines,
            front_matter_end=layout.body_start,
            sections=sections,
            _parse_result=parse_result,
        )

    @cached_property
    def lines(self) -> Lines:
        """The offsets of the document's lines."""
        return self._parse_result[0] if self._parse_result else Lines(self.data)

    @cached_property
    def outline(self) -> BlockOutline:
        """The document's headings and list items, as the parser reads them."""
        return self._parse_result[1] if self._parse_result else _parse_outline(self.lines)

    def derive(self, compute: Callable[Concatenate[Document, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of `compute` for this document and these arguments, which is cached.

        The cache is never cleared, because a document is immutable.
        """
        key = (compute, args, *kwargs.items())
        if key not in self._derived_values:
            self._derived_values[key] = compute(self, *args, **kwargs)
        return cast("T", self._derived_values[key])

    @property
    def type(self) -> str | None:
        """The document's type, from its front matter."""
        return format_value(self.front_matter.get("type"))

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's tags, from its front matter: a list, or text separated by commas."""
        value = self.front_matter.get("tags")
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, list):
            return ()
        texts = (format_value(item) for item in value)
        return tuple(dict.fromkeys(text for text in texts if text))

    @cached_property
    def heading_count(self) -> int:
        """The number of headings, including the title."""
        return sum(section.has_heading for section in self.sections)

    def may_nest_deeper(self, levels: int) -> bool:
        """Return True if lists and quotations may be nested more than `levels` deep.

        Each level needs at least one mark or column at the start of a line, so the estimate counts these.
        """
        return (
            re.search(rb"^[ >*+\-0-9.)]{%d}" % (levels + 1), self.data.expandtabs(4), re.MULTILINE)
            is not None
        )

    @property
    def line_ending(self) -> bytes:
        """The line ending of the document's first line; LF for a document of one line."""
        return detect_line_ending(self.data)

    @property
    def preamble(self) -> Section | None:
        """The title and the text before the first section, or None if the document has neither."""
        return next((section for section in self.sections if section.is_preamble), None)

    @property
    def anchor_form(self) -> AnchorForm | None:
        """The most frequent form of the document's anchors, or None if it has no anchors."""
        forms = Counter(section.anchor_form for section in self.sections if section.anchor_form)
        return forms.most_common(1)[0][0] if forms else None

    @cached_property
    def _by_key(self) -> Mapping[str, Section]:
        return {section.key: section for section in self.sections}

    def section_by_key(self, key: str) -> Section | None:
        """Return the section with this key, or None."""
        return self._by_key.get(key)

    @cached_property
    def _by_address(self) -> Mapping[str, tuple[Section, ...]]:
        section_lists: dict[str, list[Section]] = {}
        for section in self.sections:
            section_lists.setdefault(section.address, []).append(section)
        return {address: tuple(sections) for address, sections in section_lists.items()}

    def sections_by_address(self, address: str) -> tuple[Section, ...]:
        """Return the sections with this address: several if headings have the same anchor."""
        return self._by_address.get(address, ())

    @cached_property
    def earlier_names(self) -> Mapping[str, Sequence[Section]]:
        """The sections by the names that only Docyard 0.1.0 assigned; see `v0_1_addresses`."""
        # Imported late, because most calls do not need these names.
        from workspace.document.v0_1_addresses import find_earlier_names

        return find_earlier_names(self.sections)

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[Section, ...]]:
        children: dict[int | None, list[Section]] = {}
        for section in self.sections:
            if not section.is_preamble:
                children.setdefault(section.parent, []).append(section)
        return {parent: tuple(sections) for parent, sections in children.items()}

    def children(self, section: Section | None) -> tuple[Section, ...]:
        """Return the sections directly below a section; for None, the top sections without the preamble."""
        return self._children.get(None if section is None else section.position, ())

    @cached_property
    def _section_starts(self) -> list[int]:
        return [section.start for section in self.sections]

    def section_at(self, offset: int) -> Section | None:
        """Return the section whose heading or own text contains `offset`; None before the first section."""
        position = bisect_right(self._section_starts, offset) - 1
        return self.sections[position] if position >= 0 else None

    def descendants(self, section: Section) -> tuple[Section, ...]:
        """Return every section below a section, in order."""
        return self.sections[section.position + 1 : bisect_left(self._section_starts, section.tree_end)]

    def breadcrumb(self, section: Section) -> tuple[str, ...]:
        """Return the titles from the top section to this one, without the document's title."""
        return build_breadcrumb(self.sections, section)

    def source(self, section: Section) -> bytes:
        """Return a section's own text with its heading."""
        return self.data[section.start : section.end]

    def text(self, start: int, end: int) -> str:
        """Return the bytes [start, end) as text."""
        return self.data[start:end].decode("utf-8", "replace")

    @cached_property
    def all_tasks(self) -> tuple[Task, ...]:
        """Every task of the document, in order, numbered within its section."""
        return read_tasks(self.lines, self.outline.items, self._section_starts)

    def tasks(self, section: Section) -> tuple[Task, ...]:
        """Return the tasks in a section's own text; each task comes before its sub-tasks."""
        start, end = (bisect_left(self._task_starts, offset) for offset in (section.start, section.end))
        return self.all_tasks[start:end]

    def find_task(self, id: str) -> tuple[Section, Task] | None:
        """Return the first task with this id, and its section; None without one."""
        return self._tasks_by_id.get(id)

    @cached_property
    def _tasks_by_id(self) -> Mapping[str, tuple[Section, Task]]:
        # Reversed, so that the first of several tasks with one id is found.
        return {
            task.id: (section, task)
            for section in reversed(self.sections)
            for task in reversed(self.tasks(section))
            if task.id is not None
        }

    @cached_property
    def _task_starts(self) -> list[int]:
        return [task.start for task in self.all_tasks]


def _parse_outline(lines: Lines) -> BlockOutline:
    text = lines.data[lines.offset(0) :].decode("utf-8", "replace")
    with _large_document_lock if len(lines.data) > _LARGE_DOCUMENT_BYTES else nullcontext():
        return read_outline(text, is_document=True)
