"""Addresses of a document, and their resolution."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from workspace.document.addresses import (
    AmbiguousAddress,
    Fragment,
    InvalidAddress,
    SectionNotFound,
    TaskNotFound,
    read_fragment,
    resolve_section,
    resolve_task,
    split_address,
)
from workspace.document.document import Document
from workspace.nearest import find_nearest

pytestmark = pytest.mark.smoke


def format_outline(document: Document) -> str:
    """Return the document's title, and its sections (line, level, key, title, other names) and tasks."""
    lines = [f"title: {document.title}"]
    for section in document.sections:
        indent = "  " * (len(document.breadcrumb(section)) - 1)
        other_names = [
            name for name in (section.anchor, *section.aliases) if name and name != section.address
        ]
        suffix = f" (also {', '.join(other_names)})" if other_names else ""
        lines.append(f"{section.line:>2} H{section.level} {indent}{section.key} = {section.title}{suffix}")
        lines += [
            f"      [{task.index}] {'x' if task.is_done else ' '} {task.title}"
            for task in document.tasks(section)
        ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


@loop_over("case", read_cases("addresses.md"))
def test_document_has_the_addresses_of_each_example(case: Case) -> None:
    assert (
        format_outline(Document.parse(case.data("document"), "notes/The-File.md")) == case.fences["sections"]
    )


GUIDE = Document.parse(
    b"# Guide {#top}\n\n## Setup\n\n- [ ] one\n  - [ ] inner\n\n### Errors\n\n## Usage\n\n### Errors\n\n"
    b'## Faults <#f>\n\n<a id="one"></a><a id="two"></a>\n\n## Last\n\n## A {#same}\n\n## B {#same}\n',
    "guide.md",
)


@loop_over(
    ("slug", "line"),
    [
        ("_preamble", 1),
        ("top", 1),
        ("setup", 3),
        ("#setup", 3),
        (" setup ", 3),
        ("setup/errors", 8),
        ("usage/errors", 12),
        ("f", 14),
        ("faults", 14),
        ("one", 18),
        ("two", 18),
        ("last", 18),
        ("same~1", 20),
        ("same~2", 22),
        ("a", 20),
    ],
)
def test_slug_resolves_to_its_section(slug: str, line: int) -> None:
    assert resolve_section(GUIDE, slug).line == line


def test_ambiguous_slug_is_an_error_with_candidates() -> None:
    with pytest.raises(AmbiguousAddress) as error_info:
        resolve_section(GUIDE, "errors")
    assert error_info.value.details["candidates"] == [
        {"slug": "setup/errors", "title": "Errors", "line": 8, "parent": "setup"},
        {"slug": "usage/errors", "title": "Errors", "line": 12, "parent": "usage"},
    ]
    with pytest.raises(AmbiguousAddress) as error_info:
        resolve_section(GUIDE, "same")
    candidates = error_info.value.details["candidates"]
    assert isinstance(candidates, list)
    assert [resolve_section(GUIDE, candidate["slug"]).line for candidate in candidates] == [20, 22]
    assert "'same~1'" in error_info.value.fix
    assert "anchor" in error_info.value.fix


def test_unknown_slug_error_suggests_the_nearest_slug() -> None:
    with pytest.raises(SectionNotFound) as error_info:
        resolve_section(GUIDE, "setup/erors")
    assert error_info.value.fix == "Did you mean 'setup/errors'?"
    with pytest.raises(SectionNotFound) as error_info:
        resolve_section(GUIDE, "x" * 5000)
    assert len(error_info.value.message) < 300
    with pytest.raises(SectionNotFound):
        resolve_section(Document.parse(b"", "empty.md"), "_preamble")
    with pytest.raises(SectionNotFound):
        resolve_section(Document.parse(b"## _preamble\n", "x.md"), "_preamble")


def test_task_address_resolves_to_its_task() -> None:
    section, task = resolve_task(GUIDE, "setup[0.0]")
    assert (section.address, task.title, task.depth) == ("setup", "inner", 1)
    with pytest.raises(TaskNotFound):
        resolve_task(GUIDE, "setup[1]")
    with pytest.raises(InvalidAddress):
        resolve_task(GUIDE, "setup")
    with pytest.raises(InvalidAddress):
        resolve_section(GUIDE, "setup[0]")


@loop_over(
    ("address", "path", "fragment"),
    [
        ("a.md", "a.md", None),
        ("a.md#x", "a.md", "x"),
        ("C#.md", "C#.md", None),
        ("C#.md#setup", "C#.md", "setup"),
        ("C#.md#a#b", "C#.md", "a#b"),
        ("b#c", "b", "c"),
        ("a.md#", "a.md", ""),
        ("unknown.md#x", "unknown.md", "x"),
        ("a.md#x.md", "a.md#x.md", None),
        ("a.md#x.md#y", "a.md#x.md", "y"),
    ],
)
def test_address_is_split_after_the_longest_existing_path(
    address: str, path: str, fragment: str | None
) -> None:
    assert split_address(address, {"a.md", "C#.md", "b", "a.md#x.md"}) == (path, fragment)


def test_fragment_is_read_as_section_and_task() -> None:
    assert read_fragment("tasks[1.0]").task == "1.0"
    assert read_fragment("tasks[]").section == "tasks[]"
    assert read_fragment("[0]").section == ""
    assert read_fragment("a[0][1]") == Fragment("a", "0.1")


def test_nearest_names_are_found_for_a_misspelt_name() -> None:
    assert find_nearest("setpu", ["usage", "setup", "Setup"])[0].lower() == "setup"
    assert find_nearest("guide.md", ["docs/guide.md", "x.md"]) == ["docs/guide.md"]
    assert find_nearest("x" * 1000, ["a", "b"]) == ["a", "b"]
    assert "docs/page-77.md" in find_nearest(
        "docs/pge-77.md", [f"docs/p{'age' if number % 2 else 'g'}-{number}.md" for number in range(5000)]
    )


def test_section_with_anchor_is_found_by_the_headings_above_it() -> None:
    document = Document.parse(
        b"# T\n\n## Get {#get}\n\n### Errors {#get/errors}\n\n"
        b"## Withdraw {#cancel}\n\n### Errors {#cancel/errors}\n\n### Twice {#a}\n\n### Twice {#b}\n"
    )
    assert resolve_section(document, "withdraw/errors").key == "cancel/errors"
    with pytest.raises(AmbiguousAddress):
        resolve_section(document, "withdraw/twice")
    with pytest.raises(SectionNotFound):
        resolve_section(document, "get/twice")
