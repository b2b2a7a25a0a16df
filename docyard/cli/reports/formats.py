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
    """Findings in order of paths and positions, and the sources that were checked.

    `limit` is the maximum number of findings in the report; None for all. `commit` is set if a commit was
    read. `fix_command` is the command that shows the fixes.
    """

    findings: Sequence[Finding]
    documents: int
    origin: str
    commit: str | None = None
    limit: int | None = None
    fix_command: str | None = None

    @property
    def listed(self) -> Sequence[Finding]:
        """Return the findings that the report lists."""
        return self.findings[: self.limit]

    @property
    def left_out(self) -> int:
        """Return the number of findings that the report omits."""
        return len(self.findings) - len(self.listed)

    @property
    def counts(self) -> Counter[Severity]:
        """Return the number of findings of each severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def is_valid(self) -> bool:
        """Return True if there is no error and no warning."""
        return not any(finding.is_problem for finding in self.findings)


_ENCODER = json.JSONEncoder(separators=(",\n      ", ": "))


def format_json(report: Report) -> str:
    """Return the report as one JSON object. Characters beyond ASCII are escaped, so any pipe can carry it."""
    counts = report.counts
    # The C encoder is much faster, but does not indent.
    findings = ",\n    ".join(map(_indent_finding, map(_finding_to_data, report.listed)))
    document = json.dumps(
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
    return document.replace("[]", f"[\n    {findings}\n  ]", 1) if findings else document


def _indent_finding(finding: dict[str, object]) -> str:
    return f"{{\n      {_ENCODER.encode(finding)[1:-1]}\n    }}"


def _finding_to_data(finding: Finding) -> dict[str, object]:
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
        "fixable": bool(finding.fix_splices),
    }


# Possible targets of these findings are searched only by `docyard fix`.
_LINK_RULES = frozenset({"broken-link", "broken-image", "broken-fragment"})


def format_text(report: Report) -> str:
    """Return the report as text, with invisible characters escaped."""
    return "\n".join(map(escape_invisible, _plain_lines(report)))


def _plain_lines(report: Report) -> Iterator[str]:
    for path, findings in groupby(report.listed, key=lambda finding: finding.path):
        yield path
        for finding in findings:
            position = f"{finding.line}:{finding.column}"
            yield f"  {position}  {finding.severity}: {finding.message}  [{finding.rule}]"
            if finding.suggestion:
                yield f"      {finding.suggestion}"
        yield ""
    if report.left_out:
        yield f"{report.left_out:,} more are not shown; --max-findings shows more."
    yield format_summary(report)
    yield from _suggest_fixes(report)


def _suggest_fixes(report: Report) -> Iterator[str]:
    if report.fix_command is None:
        return
    rules = {finding.rule for finding in report.findings}
    if any(finding.fix_splices for finding in report.findings):
        yield f"Some findings can be fixed: `{report.fix_command}` shows how."
    elif not rules.isdisjoint(_LINK_RULES):
        yield f"`{report.fix_command}` shows which links can be fixed."
    elif "missing-anchor" in rules:
        yield "`docyard fix --anchors` writes the missing anchors."


def format_summary(report: Report) -> str:
    """Return the number of findings and of checked documents in one sentence."""
    scope = f"{_count(report.documents, 'document')} of {report.origin}"
    if not report.findings:
        return f"Nothing is wrong in {scope}."
    counts = report.counts
    counts_text = ", ".join(_count(counts[severity], severity) for severity in Severity if counts[severity])
    files = len({finding.path for finding in report.findings})
    return f"{counts_text} in {_count(files, 'file')}. Checked {scope}."


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def format_annotations(report: Report) -> str:
    """Return the report as one command a line, followed by the summary."""
    return "\n".join(_annotation_lines(report))


def _annotation_lines(report: Report) -> Iterator[str]:
    for finding in report.listed:
        properties = {"file": finding.path, "line": finding.line, "endLine": finding.end_line}
        if finding.line == finding.end_line:  # GitHub ignores columns of a finding with several lines
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.column, finding.end_column - 1)
        properties["title"] = finding.rule
        parameters = ",".join(
            f"{name}={_escape_property(escape_invisible(str(value)))}" for name, value in properties.items()
        )
        text = finding.message + (f". {finding.suggestion}" if finding.suggestion else "")
        yield f"::{_COMMANDS[finding.severity]} {parameters}::{_escape_data(escape_invisible(text))}"
    if report.left_out:
        yield f"{report.left_out:,} more are not shown."
    yield escape_invisible(format_summary(report))


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


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
        "results": [_result(finding, seen) for finding in report.listed],
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
    identity = f"{key}\0{seen[key]}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(identity).hexdigest()[:32]
