"""Time: documents that are large or nasty are read and edited in time that grows as they do."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable

import pytest

from tests.workspace.documents import revised
from workspace.document import Document
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    RemoveSection,
    RenameSection,
    UpdateContent,
)
from workspace.edits.operation import DocumentOperation

NASTY: dict[str, Callable[[int], bytes]] = {
    "equal headings": lambda n: b"## Errors\n" * n,
    "equal anchors": lambda n: b"## A {#same}\n" * n,
    "anchored headings": lambda n: b"".join(b"## E {#e%d}\n" % number for number in range(n)),
    "anchors above": lambda n: b'<a id="x"></a>\n\n## H\n' * n,
    "lines of anchors": lambda n: b'<a id="x"></a>\n' * n + b"## H\n",
    "anchors in one heading": lambda n: b"# " + b'<a id="x"></a>' * n,
    "underlined headings": lambda n: b"a\n---\n" * n,
    "a heading of spaces": lambda n: b"## a" + b" " * n + b"b}",
    "a heading of hashes": lambda n: b"## a" + b" #" * n,
    "a heading of openings": lambda n: b"# " + b"{#a" * n + b"}",
    "brackets": lambda n: b"# " + b"[" * n,
    "images": lambda n: b"# " + b"![a](" * n,
    "emphasis": lambda n: b"# " + b"*a_" * n,
    "code spans": lambda n: b"# " + b"a`b``c" * n + b'<a id="x"></a>',
    "escapes": lambda n: b"# " + b"\\[" * n,
    "quotes": lambda n: b">" * n,
    "quoted lines": lambda n: b"> > > a\n" * n,
    "lists in lists": lambda n: b"- " * n,
    "tasks": lambda n: b"- [ ] a\n" * n,
    "tasks with fields": lambda n: b"- [ ] a\n  - Note: b\n" * n,
    "references": lambda n: b"[a]: b\n" * n,
    "unfinished references": lambda n: b"[a\n" * n,
    "HTML": lambda n: b"<div>\n" * n,
    "comments": lambda n: b"<!--\n" * n,
    "fences": lambda n: b"```\n" * n,
    "one long line": lambda n: b"a " * n,
    "carriage returns": lambda n: b"# a\r" * n,
    "blank lines": lambda n: b"\n" * n,
    "tabs": lambda n: b"\t" * n + b"a",
    "NULs": lambda n: b"\0" * n,
    "not UTF-8": lambda n: b"\xff" * n,
    "front matter": lambda n: b"---\n" + b"a: b\n" * n + b"---\n",
    "front matter that never ends": lambda n: b"---\n" + b"- a\n" * n,
    "front matter of brackets": lambda n: b"---\n" + b"[" * n + b"\n---\n",
    "tables": lambda n: b"| a | b |\n" * n,
}


def read(data: bytes) -> float:
    """The processor's seconds that it takes to read all that is in a document."""
    # A collection falls due by the number of all objects there are, so one run has it and the next has not.
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        document = Document.parse(data, "doc.md")
        tasks = sum(len(document.tasks(section)) for section in document.sections)
        assert tasks == len(document.all_tasks)
        assert document.form is None or document.sections
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("make", NASTY.values(), ids=NASTY)
def test_time_grows_with_size(make: Callable[[int], bytes]) -> None:
    read(make(10))
    # What else a machine does can only make a run longer, so the shortest runs are compared.
    single = double = math.inf
    for _ in range(12):
        single, double = min(single, read(make(4000))), min(double, read(make(8000)))
        if double < 2.5 * single + 0.05:
            return
    pytest.fail(f"{double:.2f} s for twice what takes {single:.2f} s")


def test_nesting_does_not_overflow() -> None:
    for piece in (b"> ", b"- ", b"1. ", b">- ", b"[", b"*", b"<b>", b"![", b"- [ ] "):
        document = Document.parse(piece * 5000 + b"a\n\n# T\n", "doc.md")
        assert document.title
        assert document.all_tasks is not None


BIG = b"# Big\n\n" + b"".join(
    b"## Part\n\n- [ ] a task of %d\n\nText.\n\n" % number for number in range(2_000)
)


def test_an_edit_of_thousands_of_sections_costs_little_more_than_reading_it() -> None:
    start = time.perf_counter()
    document = Document.parse(BIG, "doc.md")
    assert len(document.all_tasks) == 2_000
    reading = time.perf_counter() - start
    operations: list[DocumentOperation] = [
        AddSection(file="doc.md", title="New", before="part-1000"),
        AddTask(file="doc.md", slug="part-1000", title="New"),
        AppendContent(file="doc.md", slug="part-1999", content="More."),
        CompleteTask(file="doc.md", slug="part-1[0]"),
        RenameSection(file="doc.md", slug="part-1000", new_title="New"),
        RemoveSection(file="doc.md", slug="part-1999"),
        UpdateContent(file="doc.md", slug="part-1999", content="x"),
    ]
    for operation in operations:
        start = time.perf_counter()
        revised(document, operation)
        assert time.perf_counter() - start < 4 * reading + 1


def test_content_with_thousands_of_headings() -> None:
    document = Document.parse(b"# T\n", "doc.md")
    content = "## Errors\n\n" * 3000
    reading = read(content.encode())
    start = time.process_time()
    changed = revised(document, UpdateContent(file="doc.md", slug="_preamble", content=content))
    assert time.process_time() - start < 20 * reading + 1
    assert changed.sections[-1].address == "errors-2999"
