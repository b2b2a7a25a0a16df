"""Findings as workflow commands, which GitHub Actions turns into annotations of the changed files.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator

from docyard.cli.reports.formats import Report
from docyard.cli.reports.plain import summary
from tools.errors import visible
from workspace.validation.finding import Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def as_annotations(report: Report) -> str:
    """The report as one command a line, and the summary behind them."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for finding in report.written:
        properties = {"file": finding.path, "line": finding.line, "endLine": finding.end_line}
        if finding.line == finding.end_line:  # columns are not read where lines differ
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.column, finding.end_column - 1)
        properties["title"] = finding.rule
        said = ",".join(f"{name}={_property(visible(str(value)))}" for name, value in properties.items())
        text = finding.message + (f". {finding.suggestion}" if finding.suggestion else "")
        yield f"::{_COMMANDS[finding.severity]} {said}::{_data(visible(text))}"
    if report.left_out:
        yield f"{report.left_out:,} more are not shown."
    yield visible(summary(report))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
