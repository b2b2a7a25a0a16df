"""The merge of documents: examples, and properties of any three versions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from benchmarks.checks.merges import check_documents, find_lost_text
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.cases import CASES_FOLDER, Case, read_cases
from tests.workspace.documents import documents
from workspace.document.document import Document
from workspace.merge.conflict import (
    InvalidResolution,
    MergedDocument,
    Resolution,
    ResolutionChoice,
    UnitConflict,
    UnitId,
    UnitKind,
)
from workspace.merge.documents import merge_documents

GUIDE = b"""---
type: document
tags: [a, b]
# note
status: draft
---

# Guide

Words of introduction.

## Setup

Steps follow below.

- apples
- oranges

### Linux

Use aptitude tool.

#### Deep

Deeper words.

### Macos

Use homebrew.


## Tasks

- [ ] First thing
  - Criteria: works nicely
- [ ] Second thing
- [x] Third thing
  - Completed: 2020-01-01
  - [ ] Nested thing

Errors
------

Oopsie daisy.

```
fenced words
```

| aaaaa | bbbbb |
|---|---|
| 1 | 2 |

## Last {#last}

The ending.
"""
VARIANTS = (
    GUIDE,
    GUIDE.replace(b"\n", b"\r\n"),
    b"\xef\xbb\xbf" + GUIDE,
    GUIDE.partition(b"---\n\n")[2].replace(b"  - ", b"    +   ").replace(b"- ", b"*   ").rstrip(b"\n"),
)


def read_document(case: Case, fence: str) -> Document | None:
    return Document.parse(case.data(fence), "doc.md") if fence in case.fences else None


def list_conflict_fields(conflict: UnitConflict) -> list[str | None]:
    texts = (None if text is None else text.decode() for text in conflict[1:])
    return [*conflict.unit, *texts]


def merge_texts(
    base: bytes, ours: bytes, theirs: bytes, resolutions: Mapping[UnitId, Resolution] = {}
) -> MergedDocument:
    return merge_documents(Document.parse(base), Document.parse(ours), Document.parse(theirs), resolutions)


@loop_over("case", read_cases("merge.md"))
def test_examples_are_merged_as_described(case: Case) -> None:
    ours, theirs = read_document(case, "ours"), read_document(case, "theirs")
    assert ours
    assert theirs
    result = merge_documents(read_document(case, "base"), ours, theirs)
    assert result.data.decode() == case.data("merged" if "merged" in case.fences else "ours").decode()
    assert [list_conflict_fields(conflict) for conflict in result.conflicts] == (
        case.json("conflicts") if "conflicts" in case.fences else []
    )


@pytest.mark.property
def test_edits_of_different_units_merge_and_edits_of_one_unit_conflict() -> None:
    base = [Document.parse(data, f"{number}.md") for number, data in enumerate(VARIANTS)]
    pair_count = 60
    report = check_documents(base, pair_count, seed=1)
    assert report.counts["equal"] == pair_count
    assert report.counts["conflict"] > pair_count
    assert report.problems == []


@pytest.mark.slow
def test_many_edit_scripts_merge_or_conflict() -> None:
    paths = sorted([*CASES_FOLDER.parents[1].glob("docs/**/*.md"), *CASES_FOLDER.glob("*.md")])
    pair_count = 2_000
    report = check_documents(
        [Document.parse(path.read_bytes(), path.name) for path in paths], pair_count, seed=1
    )
    assert report.counts["equal"] == pair_count
    assert report.counts["conflict"] > pair_count
    assert report.problems == []


@settings(max_examples=scale_examples(30), deadline=None)
@given(documents, documents, documents)
def test_merge_of_any_three_documents_loses_nothing(base: Document, ours: Document, theirs: Document) -> None:
    result = merge_documents(base, ours, theirs)
    assert find_lost_text(base, ours, theirs, result) is None
    assert merge_documents(base, ours, theirs) == result


@settings(max_examples=scale_examples(30), deadline=None)
@given(documents, documents)
def test_unchanged_side_gives_other_side(base: Document, changed_document: Document) -> None:
    for versions in (
        (base, base, changed_document),
        (base, changed_document, base),
        (base, changed_document, changed_document),
        (None, changed_document, changed_document),
    ):
        assert merge_documents(*versions) == MergedDocument(changed_document.data, ())


@settings(max_examples=scale_examples(30), deadline=None)
@given(documents, documents, documents)
def test_each_conflict_can_be_resolved(base: Document, ours: Document, theirs: Document) -> None:
    for choice in (ResolutionChoice.OURS, ResolutionChoice.THEIRS):
        resolutions: dict[UnitId, Resolution] = {}
        for _ in range(20):
            result = merge_documents(base, ours, theirs, resolutions)
            if not result.conflicts:
                break
            resolutions.update((conflict.unit, Resolution(choice)) for conflict in result.conflicts)
        assert not result.conflicts
        assert set(result.resolved_units) <= set(resolutions)
    document_resolution = {UnitId(UnitKind.DOCUMENT): Resolution(ResolutionChoice.THEIRS)}
    if merge_documents(base, ours, theirs).conflicts[:1] == (
        UnitConflict(UnitId(UnitKind.DOCUMENT), base.data, ours.data, theirs.data),
    ):
        assert merge_documents(base, ours, theirs, document_resolution).data == theirs.data


TASKS = b"## Tasks\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n"


@loop_over(
    ("resolution", "expected"),
    [
        (Resolution(ResolutionChoice.OURS), b"- [ ] Mine\n"),
        (Resolution(ResolutionChoice.THEIRS), b"- [ ] Yours\n"),
        (Resolution(ResolutionChoice.CONTENT, b"- [ ] Both"), b"- [ ] Both\n"),
        (Resolution(ResolutionChoice.CONTENT), b""),
    ],
)
def test_resolution_replaces_unit(resolution: Resolution, expected: bytes) -> None:
    our_data, their_data = TASKS.replace(b"Two", b"Mine"), TASKS.replace(b"Two", b"Yours")
    unit = UnitId(UnitKind.TASK, "tasks[1]")
    [conflict] = merge_texts(TASKS, our_data, their_data).conflicts
    assert conflict.unit == unit
    result = merge_texts(TASKS, our_data, their_data, {unit: resolution})
    assert result == (TASKS.replace(b"- [ ] Two\n", expected), (), (unit,))


def test_removed_section_is_restored_whole_by_resolution() -> None:
    base = b"# T\n\n## A\n\na\n\n### B\n\nb\n\n## C\n\nc\n"
    ours, theirs = b"# T\n\n## C\n\nmine\n", base.replace(b"b\n", b"yours\n")
    unit = UnitId(UnitKind.SECTION, "a")
    for choice, expected in (
        (ResolutionChoice.OURS, ours),
        (ResolutionChoice.THEIRS, theirs.replace(b"c\n", b"mine\n")),
    ):
        assert merge_texts(base, ours, theirs, {unit: Resolution(choice)}).data == expected
        other_choice = ResolutionChoice.THEIRS if choice is ResolutionChoice.OURS else ResolutionChoice.OURS
        assert merge_texts(base, theirs, ours, {unit: Resolution(other_choice)}).data == expected
    with pytest.raises(InvalidResolution):
        merge_texts(base, ours, theirs, {unit: Resolution(ResolutionChoice.CONTENT, b"x")})


def test_position_conflict_can_be_resolved_for_theirs() -> None:
    base = b"## A\n\na\n\n## B\n\nb\n\n## C\n\nc\n"
    ours = b"## B\n\nb\n\n### A {#a}\n\na\n\n## C\n\nc\n"
    theirs = b"## B\n\nb\n\n## C\n\nc\n\n### A {#a}\n\na\n"
    resolutions = {UnitId(UnitKind.POSITION, "a"): Resolution(ResolutionChoice.THEIRS)}
    assert merge_texts(base, ours, theirs, resolutions).data == theirs


@loop_over(
    "repeated_text",
    [b"- [ ] x\n", b"## A\n\nx\n\n", b"x\n\n", b"- " * 300 + b"x\n", b"key%d: x\n", b"> " * 300 + b"\n"],
)
def test_additions_to_repetitive_documents_are_merged_or_in_conflict(repeated_text: bytes) -> None:
    base = b"# T\n\n" + repeated_text * (1000 if len(repeated_text) < 100 else 100)
    result = merge_texts(base, b"one\n\n" + base, base + b"\ntwo\n")
    assert b"one" in result.data
    assert b"two" in result.data or result.conflicts
