"""The examples of `tests/cases/validate.md`: documents and their findings."""

from __future__ import annotations

from itertools import pairwise

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.validation.memory import validator
from workspace.validation.rule import Finding
from workspace.validation.rules import RULES


@loop_over("case", read_cases("validate.md"))
def test_examples_have_expected_findings(case: Case) -> None:
    held: dict[str, str | bytes] = {"a.md": case.data("document")}
    held.update(case.json("files") if "files" in case.fences else {})
    if "settings" in case.fences:
        held["docyard.toml"] = case.fences["settings"]
    made = validator(held)
    found = made.add_suggestions(made.check(["a.md"]))
    assert "".join(map(_line, found)) == case.fences["findings"]
    if "mended" in case.fences:
        assert apply_fixes(case.data("document"), found) == case.data("mended")


def test_every_rule_has_an_example() -> None:
    text = "".join(case.values[0].fences["findings"] for case in read_cases("validate.md"))
    elsewhere = {  # in test_characters.py and test_run.py: fences cannot show them
        "invisible-character",
        "bidirectional-control",
        "encoding",
        "lost-character",
        "unreadable-document",
        "malformed-manifest",
    }
    assert {rule.name for rule in RULES if f" {rule.name} " not in text} == elsewhere


def apply_fixes(data: bytes, found: list[Finding]) -> bytes:
    """Return a document after the safe fixes of its findings."""
    splices = sorted((splice for one in found for splice in one.fix_splices), key=lambda splice: splice.start)
    assert all(one.end <= other.start for one, other in pairwise(splices))
    for splice in reversed(splices):
        data = data[: splice.start] + splice.replacement + data[splice.end :]
    return data


def _line(one: Finding) -> str:
    place = f"{one.line}:{one.column}-{one.end_line}:{one.end_column}"
    suggestion = f"  {one.suggestion}\n" if one.suggestion else ""
    return f"{place} {one.rule} {one.severity}: {one.message}\n{suggestion}"
