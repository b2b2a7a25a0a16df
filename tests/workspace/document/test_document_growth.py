"""Large and adversarial documents are read and edited in time that is linear in their size."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from index.building.builder import build_segments
from index.documents import IndexedDocument
from index.matches import Matcher
from index.snippets import cut_snippet
from tests.loops import loop_over
from tests.workspace.adversarial_documents import ADVERSARIAL_BUILDERS
from tests.workspace.documents import EDIT_CONTEXT, revise_document
from tools.outline import build_outline, list_titles_not_in_addresses, summarize_sections
from workspace.document.addresses import format_task_address, resolve_section, resolve_task
from workspace.document.document import Document
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, ReopenTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError

FILE = "doc.md"
MEASUREMENTS = 12
# Twice the size takes twice the time if the growth is linear, and four times if it is quadratic.
MAX_GROWTH_FACTOR = 2.5
ALLOWED_NOISE_S = 0.05


@pytest.fixture(autouse=True, scope="module")
def freeze_existing_objects() -> Iterator[None]:
    """Freeze existing objects, because each measurement begins with a garbage collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def measure_parse_s(data: bytes) -> float:
    """Return the CPU seconds to read a document completely."""
    # A collection depends on the number of all objects, so it would occur only in some of the runs.
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        document = Document.parse(data, FILE)
        tasks = sum(len(document.tasks(section)) for section in document.sections)
        assert tasks == len(document.all_tasks)
        assert document.anchor_form is None or document.sections
        return time.process_time() - start
    finally:
        gc.enable()


def measure_call_s(run: Callable[[Document], object], document: Document) -> float:
    """Return the CPU seconds that a call needs for a document; an expected error ends the call."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        with suppress(WorkspaceError):
            run(document)
        return time.process_time() - start
    finally:
        gc.enable()


def find_excessive_growth(measure: Callable[[int], float], size: int) -> str | None:
    """Return a message if the time grows more than linearly between `size` and twice `size`, or None."""
    # Other load on the machine only makes a run longer, so the shortest runs are compared.
    single_size_s = double_size_s = math.inf
    gc.disable()  # a collection would also look at all that earlier tests have left in this process
    try:
        for _ in range(MEASUREMENTS):
            single_size_s, double_size_s = (
                min(single_size_s, measure(size)),
                min(double_size_s, measure(2 * size)),
            )
            if double_size_s < MAX_GROWTH_FACTOR * single_size_s + ALLOWED_NOISE_S:
                return None
    finally:
        gc.enable()
    return f"{double_size_s:.2f} s for twice the size, {single_size_s:.2f} s for the size"


@pytest.mark.growth
@pytest.mark.parametrize("build_document", ADVERSARIAL_BUILDERS.values(), ids=ADVERSARIAL_BUILDERS)
def test_parse_time_is_linear_in_size(build_document: Callable[[int], bytes]) -> None:
    measure_parse_s(build_document(10))
    assert find_excessive_growth(lambda size: measure_parse_s(build_document(size)), 4000) is None


def find_last_section_key(document: Document) -> str:
    return document.sections[-1].key if document.sections else "_preamble"


def find_first_task_address(document: Document) -> str:
    addresses = (
        format_task_address(section.key, task)
        for section in document.sections
        for task in document.tasks(section)
    )
    return next(addresses, "none[0]")


def decode_text(document: Document) -> str:
    return document.data.decode("utf-8", "replace").replace("\0", "")


EDIT_BUILDERS: dict[str, Callable[[Document], DocumentOperation]] = {
    "add a section": lambda d: AddSection(file=FILE, title="Its own", content="Text."),
    "add a section before": lambda d: AddSection(file=FILE, title="Its own", before=find_last_section_key(d)),
    "append": lambda d: AppendContent(file=FILE, slug=find_last_section_key(d), content="Text."),
    "update": lambda d: UpdateContent(file=FILE, slug=find_last_section_key(d), content="Text."),
    "update with itself": lambda d: UpdateContent(
        file=FILE,
        slug=find_last_section_key(d),
        content=d.text(d.sections[-1].start, d.sections[-1].end) if d.sections else "",
    ),
    "update everything": lambda d: UpdateContent(
        file=FILE,
        slug=d.sections[0].key if d.sections else find_last_section_key(d),
        content="Text.",
        include_subsections=True,
    ),
    "rename": lambda d: RenameSection(file=FILE, slug=find_last_section_key(d), new_title="Other"),
    "remove": lambda d: RemoveSection(file=FILE, slug=find_last_section_key(d)),
    "add a task": lambda d: AddTask(file=FILE, slug=find_last_section_key(d), title="Do", criteria="Done"),
    "add a subtask": lambda d: AddTask(file=FILE, slug=find_first_task_address(d), title="Do"),
    "complete a task": lambda d: CompleteTask(file=FILE, slug=find_first_task_address(d), note="Note"),
    "reopen a task": lambda d: ReopenTask(file=FILE, slug=find_first_task_address(d)),
    "tag": lambda d: TagDocument(file=FILE, tags=("tag",)),
    "name a missing section": lambda d: AppendContent(file=FILE, slug="no/such-section", content="x"),
}


def build_edit(build_operation: Callable[[Document], DocumentOperation]) -> Callable[[Document], object]:
    return lambda document: build_operation(document).revise(document, EDIT_CONTEXT)


DOCUMENT_CALLS: dict[str, Callable[[Document], object]] = {
    **{name: build_edit(build_operation) for name, build_operation in EDIT_BUILDERS.items()},
    "write as content": lambda d: UpdateContent(file=FILE, slug="_preamble", content=decode_text(d)).revise(
        Document.parse(b"# T\n", FILE), EDIT_CONTEXT
    ),
    "index": lambda d: build_segments([IndexedDocument.of(d, "0" * 40)]),
    "show hits": lambda d: [cut_snippet(decode_text(d)[:100_000], Matcher({"word"}))],
    "outline": lambda d: (build_outline(d, 0, 10**9), summarize_sections(d), list_titles_not_in_addresses(d)),
    "name sections": lambda d: [resolve_section(d, section.key) for section in d.sections],
}


@pytest.mark.growth
@pytest.mark.parametrize("build_document", ADVERSARIAL_BUILDERS.values(), ids=ADVERSARIAL_BUILDERS)
def test_time_of_every_call_is_linear_in_size(build_document: Callable[[int], bytes]) -> None:
    problems = {}
    for name, call in DOCUMENT_CALLS.items():
        problem = find_excessive_growth(
            lambda size, call=call: measure_call_s(call, Document.parse(build_document(size), FILE)),  # type: ignore[misc]
            1000,
        )
        if problem:
            problems[name] = problem
    assert problems == {}


def test_deep_nesting_does_not_overflow_the_stack() -> None:
    for construct in (b"> ", b"- ", b"1. ", b">- ", b"[", b"*", b"<b>", b"![", b"- [ ] "):
        document = Document.parse(construct * 5000 + b"a\n\n# T\n\n## Later\n\n- [ ] a\n", FILE)
        assert document.title == "T"
        assert resolve_task(document, "later[0]")


@loop_over("depth", [*range(1, 60, 7), 49, 50, 51, 99, 100, 101, 200])
@loop_over("mark", [b"- ", b"1. ", b"> ", b"> - ", b"- > "])
def test_sections_after_deep_nesting_are_read(mark: bytes, depth: int) -> None:
    indented = b"".join(b" " * len(mark) * level + mark + b"a\n" for level in range(depth))
    for nested in (mark * depth + b"a\n", indented if b">" not in mark else b""):
        document = Document.parse(b"# T\n\n" + nested + b"\n## After\n\n- [ ] a\n\n### Below\n", FILE)
        assert [section.address for section in document.sections] == ["_preamble", "after", "after/below"]
        assert resolve_task(document, "after[0]")


LARGE_DOCUMENT = b"# Big\n\n" + b"".join(
    b"## Part\n\n- [ ] a task of %d\n\nText.\n\n" % number for number in range(2_000)
)


@pytest.mark.growth
def test_edit_of_large_document_costs_at_most_four_parses() -> None:
    start = time.perf_counter()
    document = Document.parse(LARGE_DOCUMENT, FILE)
    assert len(document.all_tasks) == 2_000
    parse_time_s = time.perf_counter() - start
    operations: list[DocumentOperation] = [
        AddSection(file=FILE, title="New", before="part-1000"),
        AddTask(file=FILE, slug="part-1000", title="New"),
        AppendContent(file=FILE, slug="part-1999", content="More."),
        CompleteTask(file=FILE, slug="part-1[0]"),
        RenameSection(file=FILE, slug="part-1000", new_title="New"),
        RemoveSection(file=FILE, slug="part-1999"),
        UpdateContent(file=FILE, slug="part-1999", content="x"),
    ]
    for operation in operations:
        start = time.perf_counter()
        revise_document(document, operation)
        # One second is allowed for other load on the machine.
        assert time.perf_counter() - start < 4 * parse_time_s + 1


@pytest.mark.growth
def test_content_with_many_headings_costs_at_most_twenty_parses() -> None:
    document = Document.parse(b"# T\n", FILE)
    content = "## Errors\n\n" * 3000
    parse_time_s = measure_parse_s(content.encode())
    start = time.process_time()
    new_document = revise_document(document, UpdateContent(file=FILE, slug="_preamble", content=content))
    assert time.process_time() - start < 20 * parse_time_s + 1
    assert new_document.sections[-1].address == "errors-2999"
