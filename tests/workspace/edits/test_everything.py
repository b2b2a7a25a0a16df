"""Each operation is applied to a document with every kind of block, with LF and with CRLF."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.links.cases import OPERATIONS, plan_case, read_files
from workspace.edits.documents import CreateDocument, RemoveDocument

CASES = read_cases("everything.md")
# These operations do not have a document both before and after.
OPERATIONS_WITHOUT_CASE = {CreateDocument.name, RemoveDocument.name}
REQUIRED_BLOCKS = {
    "a setext heading": r"^\w+\n-+$",
    "a list of tasks": r"^- \[x\] ",
    "a numbered list": r"^1\. ",
    "tasks below tasks": r"^  - \[ \]",
    "a table": r"^\|-+\|",
    "a fence": r"^~~~sh$",
    "HTML": r"^<div",
    "a quotation": r"^   > ",
    "front matter with a comment": r"\A---\n[^#]*\n#",
    "nested sections": r"^### .*\{#\w+/\w+\}$",
    "a definition": r"^\[d\]: ",
}


def replace_endings(case: Case, ending: str) -> Case:
    """Return the case with `ending` as the line ending of its documents."""
    fences = {
        fence: text.replace("\n", ending) if fence.partition(" ")[0] in ("before", "after") else text
        for fence, text in case.fences.items()
    }
    return replace(case, fences=fences)


@loop_over("ending", ["\n", "␍\n"], ids=["LF", "CRLF"])
@loop_over("case", CASES)
def test_operation_has_the_result_of_its_example(case: Case, ending: str, tmp_path: Path) -> None:
    case = replace_endings(case, ending)
    plan = plan_case(case, tmp_path / "repo")
    assert plan.steps[0].error is None
    deletions = dict.fromkeys(
        fence.removeprefix("gone ") for fence in case.fences if fence.startswith("gone ")
    )
    assert dict(plan.changes) == {**read_files(case, "after"), **deletions}


def test_every_operation_has_a_case() -> None:
    assert {case.values[0].json("json")["operation"] for case in CASES} == set(
        OPERATIONS
    ) - OPERATIONS_WITHOUT_CASE


def test_document_of_each_case_has_every_kind_of_block() -> None:
    for case in CASES:
        text = case.values[0].fences["before doc.md"]
        missing_blocks = [
            name for name, pattern in REQUIRED_BLOCKS.items() if not re.search(pattern, text, re.MULTILINE)
        ]
        assert not missing_blocks, case.id
