"""Findings as lines for people, by file, with a summary and what to type next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from docyard.cli.reports.formats import Report
from tools.errors import visible
from workspace.validation.finding import Severity

# What they may have meant is looked for when they are mended.
_OF_LINKS = frozenset({"broken-link", "broken-image", "broken-fragment"})


def as_text(report: Report) -> str:
    """The report as text; characters that a terminal would obey or hide are written out."""
    return "\n".join(map(visible, _lines(report)))


def _lines(report: Report) -> Iterator[str]:
    for path, findings in groupby(report.written, key=lambda finding: finding.path):
        yield path
        for one in findings:
            yield f"  {one.line}:{one.column}  {one.severity}: {one.message}  [{one.rule}]"
            if one.suggestion:
                yield f"      {one.suggestion}"
        yield ""
    if report.left_out:
        yield f"{report.left_out:,} more are not shown; --max-findings shows more."
    yield summary(report)
    yield from _next(report)


def _next(report: Report) -> Iterator[str]:
    if report.mending is None:
        return
    rules = {finding.rule for finding in report.findings}
    if any(finding.mend for finding in report.findings):
        yield f"Some of it can be mended: `{report.mending}` shows how."
    elif not rules.isdisjoint(_OF_LINKS):
        yield f"`{report.mending}` shows which of the links can be mended."
    elif "missing-anchor" in rules:
        yield "`docyard fix --anchors` writes the anchors that are missing."


def summary(report: Report) -> str:
    """How much was found, and in how much, in one sentence."""
    looked = f"{_count(report.documents, 'document')} of {report.where}"
    if not report.findings:
        return f"Nothing is wrong in {looked}."
    counts = report.counts
    told = ", ".join(_count(counts[severity], severity) for severity in Severity if counts[severity])
    files = len({finding.path for finding in report.findings})
    return f"{told} in {_count(files, 'file')}. Looked at {looked}."


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"
