"""Findings as JSON for programs."""

from __future__ import annotations

import json

from docyard.reporting.report import Report
from workspace.validation.finding import Finding, Severity


def as_json(report: Report) -> str:
    """The report as one JSON object; characters beyond ASCII are escaped, so that any pipe can carry it."""
    counts = report.counts
    return json.dumps(
        {
            "valid": report.is_valid,
            "commit": report.commit,
            "documents": report.documents,
            "counts": {severity.value: counts[severity] for severity in Severity},
            "findings": [_finding(finding) for finding in report.written],
            "left_out": report.left_out,
        },
        indent=2,
    )


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
