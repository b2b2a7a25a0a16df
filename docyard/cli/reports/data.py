"""Findings as JSON for programs."""

from __future__ import annotations

import json

from docyard.cli.reports.formats import Report
from workspace.validation.finding import Finding, Severity

_ENCODER = json.JSONEncoder(separators=(",\n      ", ": "))


def as_json(report: Report) -> str:
    """The report as one JSON object; characters beyond ASCII are escaped, so that any pipe can carry it."""
    counts = report.counts
    # Findings are written by the encoder in C, which indents nothing: as many others would take longer to
    # write than to find.
    findings = ",\n    ".join(map(_written, map(_finding, report.written)))
    whole = json.dumps(
        {
            "valid": report.is_valid,
            "commit": report.commit,
            "documents": report.documents,
            "counts": {severity.value: counts[severity] for severity in Severity},
            "findings": [],
            "left_out": report.left_out,
        },
        indent=2,
    )
    return whole.replace("[]", f"[\n    {findings}\n  ]", 1) if findings else whole


def _written(finding: dict[str, object]) -> str:
    return f"{{\n      {_ENCODER.encode(finding)[1:-1]}\n    }}"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "suggestion": finding.suggestion,
        "fixable": bool(finding.mend),
    }
