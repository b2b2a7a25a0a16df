"""Checks the document model and the edits over a folder of real Markdown.

    python -m benchmarks.checks.documents FOLDER

scanner     the scanner and the parser read the same document
headings    the sections' headings are those that markdown-it-py finds by its own full CommonMark parse
addresses   every section's address resolves to that very section (its key, where two anchors are the same)
spans       the sections follow one another without a gap, and the last ends with the file
replace     every section replaced with the text that a reader sees: no byte changes
rewrite     every section replaced with other text, and then with its own again: the old bytes come back
add         a section added at the top level and below other sections, and removed: the old bytes come back

The last two parse the file again for each section, so they check at most 8 sections of a file, spread over
it; `addresses` and `replace` check at most 2,000. --every checks all. Prints the count of each check and the
first disagreements; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.front_matter import front_matter_plugin

from benchmarks.corpus import find_markdown_files
from benchmarks.reports.report import format_table
from docyard.terminal.console import show_progress
from workspace.document.addresses import AmbiguousAddress, resolve_section
from workspace.document.document import Document
from workspace.document.headings import scan_layout
from workspace.document.sections import Section
from workspace.document.splices import EditContext, apply_edit
from workspace.edits import AddSection, DocumentOperation, RemoveSection, UpdateContent
from workspace.edits.content import MAX_LEVEL
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm

SHOWN = 20
SPREAD = 8
MOST = 2_000
TITLE = "A section that no document has"
OTHER = "Words that were here for a moment."
EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-01")

Outcomes = Iterator[str | None]
"""None for each right result, and a description of each wrong one."""


@dataclass
class Report:
    """The count of each check, and the disagreements."""

    tried: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.tried.update(other.tried)
        self.wrong += other.wrong


def scanner(document: Document) -> Outcomes:
    """Compare the scanner's document with the parser's."""
    parsed = Document.parse_fully(document.data, document.path)
    for name in ("title", "has_title", "front_matter", "front_matter_lines", "front_matter_end"):
        found, expected = getattr(document, name), getattr(parsed, name)
        yield None if found == expected else f"{name} is {found!r}, and {expected!r} by the parser"
    for found, expected in zip_longest(document.sections, parsed.sections):
        yield None if found == expected else f"{found} is {expected} by the parser"


@cache
def _reference() -> MarkdownIt:
    return MarkdownIt("commonmark").use(front_matter_plugin)


def headings(document: Document) -> Outcomes:
    """Compare line and level of each heading outside lists and quotations, including the title."""
    text = document.data.decode("utf-8-sig", "replace")
    expected = {
        (token.map[0] + 1, int(token.tag[1]))
        for token in _reference().parse(text)
        if token.type == "heading_open" and token.level == 0 and token.map
    }
    found = {(section.line, section.level or 1) for section in document.sections if section.has_heading}
    for line, level in sorted(expected | found):
        if (line, level) not in found:
            yield f"line {line}: no section for the H{level}"
        elif (line, level) not in expected:
            yield f"line {line}: a section, but no H{level}"
        else:
            yield None


def addresses(document: Document, count: int) -> Outcomes:
    """Check that a shared address is refused, and that keys resolve to one section each."""
    times = Counter(section.address for section in document.sections)
    for section in _spread(document.sections, count):
        try:
            found = resolve_section(document, section.address)
            yield None if found is section else f"{section.address} resolves to line {found.line}"
        except AmbiguousAddress:
            if times[section.address] == 1:
                yield f"{section.address} is ambiguous"
        except WorkspaceError as error:
            yield f"{section.address}: {error.code}"
        if section.key != section.address:
            yield None if resolve_section(document, section.key) is section else f"{section.key} is lost"


def spans(document: Document) -> Outcomes:
    """Check that only front matter and blank lines precede the first section, and that no gap is between."""
    end = document.sections[0].start if document.sections else len(document.data)
    if document.data[document.front_matter_end : end].strip():
        yield "text before the first section"
    for section in document.sections:
        ordered = section.start <= section.heading_start <= section.body <= section.end <= section.tree_end
        yield (
            None if section.start == end and ordered else f"{section.address} does not begin where it should"
        )
        end = section.end
    yield None if end == len(document.data) else "text after the last section"


def replace(document: Document, count: int) -> Outcomes:
    """Replace each section with its own text, with and without its heading."""
    for section in _spread(_nameable(document), count):
        for source in (document.source(section), document.data[section.body : section.end]):
            update = UpdateContent(file=document.path, slug=section.key, content=source.decode())
            yield _same(document, section, partial(_apply, document, update))


def rewrite(document: Document, count: int) -> Outcomes:
    """Rewrite sections with text; an empty one may get another number of blank lines."""
    with_text = [section for section in _nameable(document) if _body(document, section).strip()]
    for section in _spread(with_text, count):
        away = UpdateContent(file=document.path, slug=section.key, content=OTHER)
        back = UpdateContent(file=document.path, slug=section.key, content=_body(document, section))
        yield _same(document, section, partial(_apply, document, away, back))


def add(document: Document, count: int) -> Outcomes:
    """Add sections at the end of the document and of sections that may have subsections."""
    parents = [section for section in _nameable(document) if 0 < section.level < MAX_LEVEL]
    for parent in (None, *_spread(parents, count)):
        operation = AddSection(file=document.path, title=TITLE, parent_slug=parent.key if parent else None)
        yield _same(document, parent, partial(_add_and_remove, document, operation))


def _nameable(document: Document) -> list[Section]:
    """Return all sections except those whose key is a shared address, which `addresses` checks."""
    times = Counter(section.address for section in document.sections)
    return [
        section
        for section in document.sections
        if section.key != section.address or times[section.address] == 1
    ]


def _body(document: Document, section: Section) -> str:
    return document.data[section.body : section.end].decode()


def _spread(sections: Sequence[Section], count: int) -> Sequence[Section]:
    """Return at most `count` sections, including the first and the last."""
    if len(sections) <= count:
        return sections
    return [sections[i * (len(sections) - 1) // (count - 1)] for i in range(count)]


def _add_and_remove(document: Document, operation: AddSection) -> Document:
    edit = operation.edit(document, EDIT_CONTEXT)
    removal = RemoveSection(file=document.path, slug=str(edit.result["slug"]))
    return _apply(apply_edit(document, edit), removal)


def _apply(document: Document, *operations: DocumentOperation) -> Document:
    for operation in operations:
        edit = operation.edit(document, EDIT_CONTEXT)
        document = apply_edit(document, edit) if edit.splices else document
    return document


def _same(document: Document, section: Section | None, change: Callable[[], Document]) -> str | None:
    place = section.key if section else "the top level"
    try:
        data = change().data
    except WorkspaceError as error:
        return f"{place}: {error.code} {error.message}"
    if data == document.data:
        return None
    same = next((i for i, (a, b) in enumerate(zip(data, document.data, strict=False)) if a != b), -1)
    return f"{place}: bytes differ from {same}: {document.data[same:][:30]!r} became {data[same:][:30]!r}"


def check(root: Path, count: int, path: Path) -> Report:
    """Run all checks of one file. A file that is not UTF-8 cannot be edited, so edits are omitted."""
    report = Report()
    data = path.read_bytes()
    document = Document.parse(data, path.relative_to(root).as_posix())
    report.tried["files"] += 1
    if scan_layout(data) is None:
        report.tried["files that the scanner left to the parser"] += 1
    _note(report, document, "scanner", scanner(document))
    _note(report, document, "headings", headings(document))
    _note(report, document, "addresses", addresses(document, max(count, MOST)))
    _note(report, document, "spans", spans(document))
    try:
        data.decode()
    except UnicodeDecodeError:
        report.tried["files that are not UTF-8"] += 1
        return report
    _note(report, document, "replace", replace(document, max(count, MOST)))
    _note(report, document, "rewrite", rewrite(document, count))
    _note(report, document, "add", add(document, count))
    return report


def _note(report: Report, document: Document, name: str, outcomes: Iterable[str | None]) -> None:
    for outcome in outcomes:
        report.tried[name] += 1
        if outcome is not None:
            report.wrong.append((name, document.path, outcome))


def main() -> int:
    """Check a folder; return 1 if anything disagreed, 2 if it has no Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checks.documents",
        description="Checks the document model and the edits over a folder of real Markdown.",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument(
        "--every",
        action="store_true",
        help=f"try every section, not {SPREAD} of a file (or {MOST:,} where that is quick)",
    )
    arguments = parser.parse_args()
    root: Path = arguments.folder
    one_file = partial(check, root, sys.maxsize if arguments.every else SPREAD)
    files = find_markdown_files(root)
    if not files:
        print(f"There is no *.md file in {root}.", file=sys.stderr)
        return 2
    report = Report()
    with (
        ProcessPoolExecutor(os.cpu_count()) as processes,
        show_progress("Checking documents") as report_progress,
    ):
        for done, one in enumerate(processes.map(one_file, files, chunksize=16), 1):
            report.add(one)
            if report_progress:
                report_progress(done, len(files), None)
    print(format_table(("check", "times"), [(name, f"{count:,}") for name, count in report.tried.items()]))
    for name, path, outcome in report.wrong[:SHOWN]:
        print(f"{name}: {path}: {outcome}")
    kinds = Counter(name for name, _, _ in report.wrong)
    print(
        f"{len(report.wrong):,} disagreements"
        + "".join(f", {count:,} {kind}" for kind, count in kinds.items())
    )
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
