"""Machine-readable report formats: SARIF, GitHub's workflow commands, and JSON."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from docyard.cli.reports.formats import Report, format_annotations, format_json, format_sarif
from workspace.validation.rule import Finding, Severity
from workspace.validation.rules import RULES

LINK_FINDING = Finding(
    "broken-link",
    Severity.ERROR,
    "a, b:c/50% ü.md",
    3,
    5,
    3,
    12,
    "the link 'x%0A' leads nowhere",
    None,
    (),
    "x",
)
MULTILINE_FINDING = Finding(
    "several-h1", Severity.WARNING, "b.md", 4, 1, 5, 4, "a second h1", "Write it as ##.", (), "y"
)
NOTE_FINDING = Finding("unknown-type", Severity.NOTE, "b.md", 9, 2, 9, 2, "there is no\ntype", None, (), "z")


def build_report(*findings: Finding) -> Report:
    return Report(findings, 2, "the work tree")


def build_sarif_log(*findings: Finding) -> Any:
    return json.loads(format_sarif(build_report(*findings)))


def test_sarif_log_has_required_fields() -> None:
    """Check what OASIS SARIF 2.1.0 requires of the log (§3.13), run, tool, results and regions (§3.30)."""
    log = build_sarif_log(LINK_FINDING, MULTILINE_FINDING, NOTE_FINDING)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "docyard"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    assert [rule["id"] for rule in driver["rules"]] == [rule.name for rule in RULES]
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in driver["rules"])
    assert run["columnKind"] == "unicodeCodePoints"
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        location = result["locations"][0]["physicalLocation"]
        region = location["region"]
        assert all(isinstance(value, int) and value >= 1 for value in region.values())
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def test_sarif_paths_are_percent_encoded_relative_uris() -> None:
    location = build_sarif_log(LINK_FINDING)["runs"][0]["results"][0]["locations"][0]["physicalLocation"][
        "artifactLocation"
    ]
    # RFC 3986 §4.2: a colon in the first segment would read as a scheme.
    assert location["uri"] == "a%2C%20b%3Ac/50%25%20%C3%BC.md"
    assert unquote(location["uri"]) == LINK_FINDING.path


def test_sarif_fingerprints_ignore_lines_and_differ_for_equal_findings() -> None:
    def read_fingerprints(*findings: Finding) -> list[str]:
        results = build_sarif_log(*findings)["runs"][0]["results"]
        return [result["partialFingerprints"]["docyardFinding/v1"] for result in results]

    first_fingerprint, second_fingerprint = read_fingerprints(
        LINK_FINDING, LINK_FINDING._replace(line=7, end_line=7)
    )
    assert first_fingerprint != second_fingerprint
    assert read_fingerprints(LINK_FINDING._replace(line=90, end_line=90)) == [first_fingerprint]


def test_workflow_commands_escape_special_characters() -> None:
    lines = format_annotations(build_report(LINK_FINDING, MULTILINE_FINDING, NOTE_FINDING)).split("\n")
    assert lines == [
        "::error file=a%2C b%3Ac/50%25 ü.md,line=3,endLine=3,col=5,endColumn=11,title=broken-link"
        "::the link 'x%250A' leads nowhere",
        "::warning file=b.md,line=4,endLine=5,title=several-h1::a second h1. Write it as ##.",
        "::notice file=b.md,line=9,endLine=9,col=2,endColumn=2,title=unknown-type::there is no%0Atype",
        "1 error, 1 warning, 1 note in 2 files. Checked 2 documents of the work tree.",
    ]


def test_json_has_the_fields_of_a_finding_and_of_the_report() -> None:
    data = json.loads(format_json(build_report(LINK_FINDING, MULTILINE_FINDING)))
    assert data["findings"][0] == {
        "rule": "broken-link",
        "severity": "error",
        "path": "a, b:c/50% ü.md",
        "line": 3,
        "column": 5,
        "end_line": 3,
        "end_column": 12,
        "message": "the link 'x%0A' leads nowhere",
        "suggestion": None,
        "fixable": False,
    }
    assert (data["valid"], data["documents"], data["left_out"]) == (False, 2, 0)
