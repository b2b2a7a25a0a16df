"""Check the document model and the edits over a folder of real Markdown.

    python -m benchmarks.checks.documents FOLDER

scanner     the scanner and the parser give equal documents
headings    the lines and levels of headings equal those of markdown-it-py's own full CommonMark parse
addresses   every section is found by its key, and by its address; an address of two sections is refused
spans       the sections follow one another without a gap, and the last ends with the file
replace     every section is replaced with its own text: no byte changes
rewrite     a section with text is replaced with other text, and then with its own: the bytes are as before
add         a section is added at the top level and below other sections, and removed: the bytes are as before

The last three checks omit sections whose key is an ambiguous address, and files that are not UTF-8. The last
two parse the file again for each section, so they check at most 8 sections of a file, evenly selected;
`addresses` and `replace` check at most 2,000. --every checks all sections. Prints the count of
each check and the first 20 problems; the exit code is 1 if there is a problem.
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
from workspace.edits.content import MAX_LEVEL
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RemoveSection
from workspace.edits.text import UpdateContent
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm

MAX_PRINTED_PROBLEMS = 20
SECTIONS_PER_FILE = 8
MAX_FAST_SECTIONS = 2_000  # of a file, in the checks that do not parse the file again
NEW_TITLE = "A section that no document has"
NEW_TEXT = "A temporary text."
EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-01")

Outcomes = Iterator[str | None]
"""The outcomes of a check: None for each correct result, and a description of each wrong result."""


@dataclass
class DocumentReport:
    """The number of results of each check, and the wrong results: check, path and description."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, other: DocumentReport) -> None:
        """Add the counts and the problems of another report."""
        self.counts.update(other.counts)
        self.problems += other.problems


def check_scanner(document: Document) -> Outcomes:
    """Compare the scanner's document with the parser's."""
    parsed_document = Document.parse_fully(document.data, document.path)
    for name in ("title", "has_title", "front_matter", "front_matter_lines", "front_matter_end"):
        actual, expected = getattr(document, name), getattr(parsed_document, name)
        yield None if actual == expected else f"{name} is {actual!r}, but the parser reads {expected!r}"
    for actual, expected in zip_longest(document.sections, parsed_document.sections):
        yield None if actual == expected else f"the section is {actual}, but the parser reads {expected}"


@cache
def _make_reference_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").use(front_matter_plugin)


def check_headings(document: Document) -> Outcomes:
    """Compare line and level of each heading outside lists and quotations, including the title."""
    text = document.data.decode("utf-8-sig", "replace")
    expected = {
        (token.map[0] + 1, int(token.tag[1]))
        for token in _make_reference_parser().parse(text)
        if token.type == "heading_open" and token.level == 0 and token.map
    }
    actual = {(section.line, section.level or 1) for section in document.sections if section.has_heading}
    for line, level in sorted(expected | actual):
        if (line, level) not in actual:
            yield f"line {line}: no section for the H{level}"
        elif (line, level) not in expected:
            yield f"line {line}: a section, but no H{level}"
        else:
            yield None


def check_addresses(document: Document, count: int) -> Outcomes:
    """Check that each key and each unique address resolves to its section; other addresses must be refused.

    At most `count` sections are checked.
    """
    occurrences = Counter(section.address for section in document.sections)
    for section in _select_evenly(document.sections, count):
        try:
            resolved_section = resolve_section(document, section.address)
            yield (
                None
                if resolved_section is section
                else f"{section.address} resolves to line {resolved_section.line}"
            )
        except AmbiguousAddress:
            if occurrences[section.address] == 1:
                yield f"{section.address} is ambiguous"
        except WorkspaceError as error:
            yield f"{section.address}: {error.code}"
        if section.key != section.address:
            yield (
                None
                if resolve_section(document, section.key) is section
                else f"{section.key} does not resolve to its section"
            )


def check_spans(document: Document) -> Outcomes:
    """Check that no text precedes the first section, that sections are adjacent, and that no text follows."""
    end = document.sections[0].start if document.sections else len(document.data)
    if document.data[document.front_matter_end : end].strip():
        yield "text before the first section"
    for section in document.sections:
        is_ordered = (
            section.start <= section.heading_start <= section.body_start <= section.end <= section.tree_end
        )
        yield (
            None
            if section.start == end and is_ordered
            else f"{section.address} does not begin at the end of the section before"
        )
        end = section.end
    yield None if end == len(document.data) else "text after the last section"


def check_replacing(document: Document, count: int) -> Outcomes:
    """Replace each section with its own text, with and without its heading."""
    for section in _select_evenly(_list_addressable_sections(document), count):
        for text in (document.source(section), document.data[section.body_start : section.end]):
            update = UpdateContent(file=document.path, slug=section.key, content=text.decode())
            yield _compare_bytes(document, section, partial(_apply_operations, document, update))


def check_rewriting(document: Document, count: int) -> Outcomes:
    """Replace the text of sections and then restore it.

    Sections without text are omitted, because the number of their blank lines may change.
    """
    sections_with_text = [
        section for section in _list_addressable_sections(document) if _read_body(document, section).strip()
    ]
    for section in _select_evenly(sections_with_text, count):
        replacement = UpdateContent(file=document.path, slug=section.key, content=NEW_TEXT)
        restoration = UpdateContent(
            file=document.path, slug=section.key, content=_read_body(document, section)
        )
        yield _compare_bytes(
            document, section, partial(_apply_operations, document, replacement, restoration)
        )


def check_adding(document: Document, count: int) -> Outcomes:
    """Add and remove a section at the end of the document, and in sections that may have subsections."""
    parents = [section for section in _list_addressable_sections(document) if 0 < section.level < MAX_LEVEL]
    for parent in (None, *_select_evenly(parents, count)):
        operation = AddSection(
            file=document.path, title=NEW_TITLE, parent_slug=parent.key if parent else None
        )
        yield _compare_bytes(document, parent, partial(_add_and_remove, document, operation))


def _list_addressable_sections(document: Document) -> list[Section]:
    """Return all sections except those whose key is an ambiguous address, which `addresses` checks."""
    occurrences = Counter(section.address for section in document.sections)
    return [
        section
        for section in document.sections
        if section.key != section.address or occurrences[section.address] == 1
    ]


def _read_body(document: Document, section: Section) -> str:
    return document.data[section.body_start : section.end].decode()


def _select_evenly(sections: Sequence[Section], count: int) -> Sequence[Section]:
    """Return at most `count` evenly selected sections, including the first and the last."""
    if len(sections) <= count:
        return sections
    return [sections[i * (len(sections) - 1) // (count - 1)] for i in range(count)]


def _add_and_remove(document: Document, operation: AddSection) -> Document:
    edit = operation.make_edit(document, EDIT_CONTEXT)
    removal = RemoveSection(file=document.path, slug=str(edit.result["slug"]))
    return _apply_operations(apply_edit(document, edit), removal)


def _apply_operations(document: Document, *operations: DocumentOperation) -> Document:
    for operation in operations:
        edit = operation.make_edit(document, EDIT_CONTEXT)
        document = apply_edit(document, edit) if edit.splices else document
    return document


def _compare_bytes(
    document: Document, section: Section | None, make_change: Callable[[], Document]
) -> str | None:
    name = section.key if section else "the top level"
    try:
        data = make_change().data
    except WorkspaceError as error:
        return f"{name}: {error.code} {error.message}"
    if data == document.data:
        return None
    offset = next(
        (
            index
            for index, (new_byte, old_byte) in enumerate(zip(data, document.data, strict=False))
            if new_byte != old_byte
        ),
        -1,
    )
    return (
        f"{name}: bytes differ from {offset}: {document.data[offset:][:30]!r} became {data[offset:][:30]!r}"
    )


def check_file(root: Path, count: int, path: Path) -> DocumentReport:
    """Run all checks of a file. A file that is not UTF-8 cannot be edited, so checks of edits are omitted."""
    report = DocumentReport()
    data = path.read_bytes()
    document = Document.parse(data, path.relative_to(root).as_posix())
    report.counts["files"] += 1
    if scan_layout(data) is None:
        report.counts["files that need the parser"] += 1
    _add_outcomes(report, document, "scanner", check_scanner(document))
    _add_outcomes(report, document, "headings", check_headings(document))
    _add_outcomes(report, document, "addresses", check_addresses(document, max(count, MAX_FAST_SECTIONS)))
    _add_outcomes(report, document, "spans", check_spans(document))
    try:
        data.decode()
    except UnicodeDecodeError:
        report.counts["files that are not UTF-8"] += 1
        return report
    _add_outcomes(report, document, "replace", check_replacing(document, max(count, MAX_FAST_SECTIONS)))
    _add_outcomes(report, document, "rewrite", check_rewriting(document, count))
    _add_outcomes(report, document, "add", check_adding(document, count))
    return report


def _add_outcomes(
    report: DocumentReport, document: Document, name: str, outcomes: Iterable[str | None]
) -> None:
    for outcome in outcomes:
        report.counts[name] += 1
        if outcome is not None:
            report.problems.append((name, document.path, outcome))


def main() -> int:
    """Check a folder; return 1 after a problem, 2 if the folder has no Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checks.documents",
        description="Check the document model and the edits over a folder of real Markdown.",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument(
        "--every",
        action="store_true",
        help=f"check every section, not {SECTIONS_PER_FILE} of a file ({MAX_FAST_SECTIONS:,} in fast checks)",
    )
    arguments = parser.parse_args()
    root: Path = arguments.folder
    check_path = partial(check_file, root, sys.maxsize if arguments.every else SECTIONS_PER_FILE)
    files = find_markdown_files(root)
    if not files:
        print(f"{root} contains no *.md file.", file=sys.stderr)
        return 2
    report = DocumentReport()
    with (
        ProcessPoolExecutor(os.cpu_count()) as processes,
        show_progress("Checking documents") as report_progress,
    ):
        for count, file_report in enumerate(processes.map(check_path, files, chunksize=16), 1):
            report.add(file_report)
            if report_progress:
                report_progress(count, len(files), None)
    print(format_table(("check", "count"), [(name, f"{count:,}") for name, count in report.counts.items()]))
    for name, path, outcome in report.problems[:MAX_PRINTED_PROBLEMS]:
        print(f"{name}: {path}: {outcome}")
    counts_by_check = Counter(name for name, _, _ in report.problems)
    print(
        f"{len(report.problems):,} problems"
        + "".join(f", {count:,} {name}" for name, count in counts_by_check.items())
    )
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
