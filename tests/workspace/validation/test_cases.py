"""Documents have the findings of the examples in `tests/cases/validate.md`."""

from __future__ import annotations

from itertools import pairwise

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.validation.memory import build_validator
from workspace.validation.rule import Finding
from workspace.validation.rules import RULES


@loop_over("case", read_cases("validate.md"))
def test_examples_have_expected_findings(case: Case) -> None:
    texts: dict[str, str | bytes] = {"a.md": case.data("document")}
    texts.update(case.json("files") if "files" in case.fences else {})
    if "settings" in case.fences:
        texts["docyard.toml"] = case.fences["settings"]
    validator = build_validator(texts)
    findings = validator.add_suggestions(validator.check(["a.md"]))
    assert "".join(map(_format_finding, findings)) == case.fences["findings"]
    if "fixed" in case.fences:
        assert apply_fixes(case.data("document"), findings) == case.data("fixed")


def test_every_rule_has_an_example() -> None:
    text = "".join(case.values[0].fences["findings"] for case in read_cases("validate.md"))
    # A fence cannot contain the bytes that these rules report; test_characters.py and test_run.py test them.
    # The findings of `drift` depend on the history; tests/docyard/commands/test_validate.py tests them.
    rules_without_example = {
        "invisible-character",
        "bidirectional-control",
        "encoding",
        "lost-character",
        "unreadable-document",
        "malformed-manifest",
        "drift",
    }
    assert {rule.name for rule in RULES if f" {rule.name} " not in text} == rules_without_example


def apply_fixes(data: bytes, findings: list[Finding]) -> bytes:
    """Return a document after the safe fixes of its findings."""
    splices = sorted(
        (splice for finding in findings for splice in finding.fix_splices), key=lambda splice: splice.start
    )
    assert all(previous_splice.end <= next_splice.start for previous_splice, next_splice in pairwise(splices))
    for splice in reversed(splices):
        data = data[: splice.start] + splice.replacement + data[splice.end :]
    return data


def _format_finding(finding: Finding) -> str:
    span = f"{finding.line}:{finding.column}-{finding.end_line}:{finding.end_column}"
    suggestion = f"  {finding.suggestion}\n" if finding.suggestion else ""
    return f"{span} {finding.rule} {finding.severity}: {finding.message}\n{suggestion}"
