"""Validation rules, the documents that they check, and their findings.

A rule has a name, a severity, and a function that finds its problems in a document's bytes.
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
    from collections.abc import Mapping, Sequence

    from templates import DocumentType
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.document.splices import Splice
    from workspace.history.drift import Drift
    from workspace.links.link import Link, LinksAndNames
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.snapshot.document_types import BrokenType
    from workspace.trace import IdentifierProblem

# A key at the beginning of a line is a top-level key: nested keys are indented (YAML 1.1 §9.3).
FRONT_MATTER_KEY = re.compile(
    rb"""^(["']?)([^\s#"'\-\[{&*!|>%@`:][^\r\n:"']{0,199})\1[ \t]*:(?=[ \t\r\n]|$)""", re.MULTILINE
)
"""A front matter key at the beginning of a line; group 2 is its name."""


class ByteFinding(NamedTuple):
    """A problem in the range [start, end) of a document's bytes. The other fields are as in `Finding`."""

    start: int
    end: int
    message: str
    suggestion: str | None = None
    fix_splices: tuple[Splice, ...] = ()
    comparison_key: str = ""


@dataclass(frozen=True)
class RuleContext:
    """A document to check, and the data of its workspace that the rules need.

    If `makes_suggestions` is True, the rules on links search for similar destinations, which takes time.
    `drifts` are those of the document at the commit. `identifier_problems` are those of its identifiers among
    all documents.
    """

    document: Document
    config: WorkspaceConfig
    types: Mapping[str, DocumentType | BrokenType]
    file_tree: FileTree
    makes_suggestions: bool = False
    drifts: Sequence[Drift] = ()
    identifier_problems: Sequence[IdentifierProblem] = ()

    @property
    def data(self) -> bytes:
        """The document's bytes."""
        return self.document.data

    @cached_property
    def front_matter_keys(self) -> Mapping[str, tuple[int, int]]:
        """The byte range [start, end) of the first occurrence of each top-level key of front matter."""
        text_start = len(BOM) if self.data.startswith(BOM) else 0
        matches = FRONT_MATTER_KEY.finditer(self.data, text_start, self.document.front_matter_end)
        spans = [(match[2].decode("utf-8", "replace").rstrip(), match.span(2)) for match in matches]
        return dict(reversed(spans))

    def is_literal(self, offset: int) -> bool:
        """Return True if a byte is in a code block or an HTML block."""
        position = bisect_right(self._literal_ranges, (offset, len(self.data)))
        return position > 0 and offset < self._literal_ranges[position - 1][1]

    @cached_property
    def _literal_ranges(self) -> list[tuple[int, int]]:
        """The byte ranges [start, end) of code blocks and HTML blocks, in order."""
        lines = self.document.lines
        return [(lines.offset(line), lines.offset(end)) for line, end in self.document.outline.literal_lines]

    @property
    def parsed_links(self) -> LinksAndNames:
        """The unresolved links of the document, and the names that its HTML and footnotes define."""
        from workspace.links.reader import read_cached_links

        return read_cached_links(self.document, wiki=self.file_tree.rules.wiki)

    @cached_property
    def links(self) -> tuple[tuple[Link, ResolvedLink], ...]:
        """The links of the document with their resolutions, without reference links."""
        from workspace.links.link import LinkKind
        from workspace.links.resolver import resolve

        links = (link for link in self.parsed_links.links if link.kind is not LinkKind.REFERENCE)
        return tuple((link, resolve(self.file_tree, self.document.path, link)) for link in links)


class Rule(NamedTuple):
    """A rule; `severity` is its default severity, and None if the rule is off by default.

    `find` yields the problems of a document. It is None if other code reports the findings of the rule.
    """

    name: str
    severity: Severity | None
    summary: str
    find: Callable[[RuleContext], Iterator[ByteFinding]] | None


class Severity(StrEnum):
    """The severity of a finding. A note does not fail a validation."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(NamedTuple):
    """A problem that a rule reports in a file.

    Lines and columns count from 1, and columns are code points; `end_column` is exclusive. `message` begins
    in lower case, names the problem and has no final period. `suggestion` is the text of a fix. `fix_splices`
    are splices of the file's bytes that are safe to apply. `text` is the first line of the range, NUL, and
    the text in the range, each cut after 200 bytes. It identifies the finding in another version of the file.
    `comparison_key`, if set, replaces the message when two versions are compared.
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
    fix_splices: tuple[Splice, ...] = ()
    text: str = ""
    comparison_key: str = ""

    @property
    def is_problem(self) -> bool:
        """Return True if the finding fails a validation."""
        return self.severity is not Severity.NOTE
