"""Validation rules: a name, a severity, and a function from a document to places in its bytes.

What a rule finds, and how bad it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import BOM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templates import DocumentType
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.document.splices import Splice
    from workspace.links.link import Link, Links
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.snapshot.document_types import BrokenType

# What begins a line is a key of the block itself: what stands below one is indented (YAML 1.1 §9.3).
FRONT_MATTER_KEY = re.compile(
    rb"""^(["']?)([^\s#"'\-\[{&*!|>%@`:][^\r\n:"']{0,199})\1[ \t]*:(?=[ \t\r\n]|$)""", re.MULTILINE
)
"""A key of front matter that begins a line; group 2 is its name."""


class Spot(NamedTuple):
    """A place in a document's bytes, [start, end), and what is wrong there; see `Finding` for the others."""

    start: int
    end: int
    message: str
    suggestion: str | None = None
    mend: tuple[Splice, ...] = ()
    same_as: str = ""


@dataclass(frozen=True)
class Subject:
    """A document that is held against the rules, and what of its workspace they ask for.

    `suggests`: whether it is worth the time to look for what a broken link may have meant.
    """

    document: Document
    config: WorkspaceConfig
    types: Mapping[str, DocumentType | BrokenType]
    world: FileTree
    suggests: bool = False

    @property
    def data(self) -> bytes:
        """The document's bytes."""
        return self.document.data

    @cached_property
    def front_matter_keys(self) -> Mapping[str, tuple[int, int]]:
        """The bytes [start, end) of each key of front matter that begins a line; of several, the first."""
        first = len(BOM) if self.data.startswith(BOM) else 0
        found = FRONT_MATTER_KEY.finditer(self.data, first, self.document.front_matter_end)
        spans = [(one[2].decode("utf-8", "replace").rstrip(), one.span(2)) for one in found]
        return dict(reversed(spans))

    def is_literal(self, offset: int) -> bool:
        """Return True if a byte stands in code or in HTML, whose text is nothing but itself."""
        position = bisect_right(self._literal, (offset, len(self.data)))
        return position > 0 and offset < self._literal[position - 1][1]

    @cached_property
    def _literal(self) -> list[tuple[int, int]]:
        """The bytes [start, end) of its code blocks and HTML blocks, in order."""
        from workspace.markdown.blocks import find_literal_lines

        lines = self.document.lines
        text = self.data[lines.offset(0) :].decode("utf-8", "replace")
        return [(lines.offset(line), lines.offset(end)) for line, end in find_literal_lines(text)]

    @property
    def read_links(self) -> Links:
        """Its links and anchors as they are written."""
        from workspace.links.reader import read_cached_links

        return read_cached_links(self.document, wiki=self.world.rules.wiki)

    @cached_property
    def links(self) -> tuple[tuple[Link, ResolvedLink], ...]:
        """Its links, each with what it means; those without a destination of their own are left out."""
        from workspace.links.link import LinkKind
        from workspace.links.resolver import resolve

        written = (link for link in self.read_links.links if link.kind is not LinkKind.REFERENCE)
        return tuple((link, resolve(self.world, self.document.path, link)) for link in written)


class Rule(NamedTuple):
    """A rule. `severity` is that of its findings unless the settings say otherwise; None: it is off.

    `find` is None where what it tells of is no place in a document that was read.
    """

    name: str
    severity: Severity | None
    summary: str
    find: Callable[[Subject], Iterator[Spot]] | None


class Severity(StrEnum):
    """The severity of a finding. A note fails no validation."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(NamedTuple):
    """One thing that a rule found in a file.

    Lines and columns count from 1, columns in characters (code points); [column, end_column) is the place.
    `message` begins in lower case, names what is wrong and has no final period. `suggestion` says what to
    write instead. `mend` are splices over the file's bytes that are safe to apply, or none. `text` is the
    line on which it begins and the marked words, by which a finding is known again in another version;
    `same_as` is the message without the lines that it names, which are others there.
    """

    rule: str
    severity: Severity
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    suggestion: str | None = None
    mend: tuple[Splice, ...] = ()
    text: str = ""
    same_as: str = ""

    @property
    def is_problem(self) -> bool:
        """Return True if it fails a validation."""
        return self.severity is not Severity.NOTE
