"""Validation reports: text, JSON, GitHub annotations, and SARIF.

Annotations are workflow commands of GitHub Actions
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands). SARIF is the Static
Analysis Results Interchange Format (OASIS SARIF 2.1.0) for code scanning.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from docyard import __version__
from tools.errors import escape_invisible
from workspace.validation.rule import Finding, Severity
from workspace.validation.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.validation.rule import Finding, Severity


class Report(NamedTuple):
    """Findings in order of paths and places, and the sources that were checked.

    `shown` is the maximum number of findings in the report; None: all. `commit` is set if a commit was read,
    and `mending` is the command that shows the fixes.
    """

    findings: Sequence[Finding]
    documents: int
    where: str
    commit: str | None = None
    shown: int | None = None
    mending: str | None = None

    @property
    def written(self) -> Sequence[Finding]:
        """The findings that the report lists."""
        return self.findings[: self.shown]

    @property
    def left_out(self) -> int:
        """The number of findings that the report omits."""
        return len(self.findings) - len(self.written)

    @property
    def counts(self) -> Counter[Severity]:
        """The number of findings of each severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def is_valid(self) -> bool:
        """Return True if there is no error and no warning."""
        return not any(finding.is_problem for finding in self.findings)


_ENCODER = json.JSONEncoder(separators=(",\n      ", ": "))


def format_json(report: Report) -> str:
    """Return the report as one JSON object. Characters beyond ASCII are escaped, so any pipe takes it."""
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


# What they may have meant is looked for when they are mended.
_OF_LINKS = frozenset({"broken-link", "broken-image", "broken-fragment"})


def format_text(report: Report) -> str:
    """Return the report as text, with invisible characters escaped."""
    return "\n".join(map(escape_invisible, _plain_lines(report)))


def _plain_lines(report: Report) -> Iterator[str]:
    for path, findings in groupby(report.written, key=lambda finding: finding.path):
        yield path
        for one in findings:
            yield f"  {one.line}:{one.column}  {one.severity}: {one.message}  [{one.rule}]"
            if one.suggestion:
                yield f"      {one.suggestion}"
        yield ""
    if report.left_out:
        yield f"{report.left_out:,} more are not shown; --max-findings shows more."
    yield format_summary(report)
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


def format_summary(report: Report) -> str:
    """Return the number of findings and of checked documents in one sentence."""
    looked = f"{_count(report.documents, 'document')} of {report.where}"
    if not report.findings:
        return f"Nothing is wrong in {looked}."
    counts = report.counts
    told = ", ".join(_count(counts[severity], severity) for severity in Severity if counts[severity])
    files = len({finding.path for finding in report.findings})
    return f"{told} in {_count(files, 'file')}. Looked at {looked}."


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def format_annotations(report: Report) -> str:
    """Return the report as one command a line, followed by the summary."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for finding in report.written:
        properties = {"file": finding.path, "line": finding.line, "endLine": finding.end_line}
        if finding.line == finding.end_line:  # columns are not read where lines differ
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.column, finding.end_column - 1)
        properties["title"] = finding.rule
        said = ",".join(
            f"{name}={_property(escape_invisible(str(value)))}" for name, value in properties.items()
        )
        text = finding.message + (f". {finding.suggestion}" if finding.suggestion else "")
        yield f"::{_COMMANDS[finding.severity]} {said}::{_data(escape_invisible(text))}"
    if report.left_out:
        yield f"{report.left_out:,} more are not shown."
    yield escape_invisible(format_summary(report))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "docyardFinding/v1"
_INDEX = {rule.name: index for index, rule in enumerate(RULES)}


def format_sarif(report: Report) -> str:
    """Return the report as a SARIF log of one run.

    Paths are relative URIs, columns count code points (§3.14.17).
    """
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "docyard", "semanticVersion": __version__, "rules": _rules()}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, seen) for finding in report.written],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rules() -> list[dict[str, object]]:
    return [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.summary},
            "defaultConfiguration": {
                "enabled": rule.severity is not None,
                "level": (rule.severity or Severity.WARNING).value,
            },
        }
        for rule in RULES
    ]


def _result(finding: Finding, seen: Counter[str]) -> dict[str, object]:
    # SARIF §3.11.3: a message is plain text, in which a suggestion is a further sentence.
    text = f"{finding.message[:1].upper()}{finding.message[1:]}."
    if finding.suggestion:
        text += f" {finding.suggestion}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": finding.severity.value,
        "message": {"text": escape_invisible(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.path.encode("utf-8", "surrogateescape"))},
                    "region": {
                        "startLine": finding.line,
                        "startColumn": finding.column,
                        "endLine": finding.end_line,
                        "endColumn": finding.end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding, seen)},
    }


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """Return an id that does not depend on line numbers (§3.27.17); equal findings are numbered."""
    key = "\0".join((finding.rule, finding.path, finding.text))
    seen[key] += 1
    words = f"{key}\0{seen[key]}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(words).hexdigest()[:32]
