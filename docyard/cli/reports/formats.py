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
from docyard.terminal import styles
from docyard.terminal.styles import add_style
from docyard.terminal.suggested_commands import complete_commands
from workspace.escapes import escape_invisible
from workspace.validation.rule import Finding, Severity
from workspace.validation.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.validation.rule import Finding, Severity


class Report(NamedTuple):
    """Findings in order of paths and positions, and the number and origin of the checked documents.

    `origin` is text, such as "the work tree". `commit` is set if a commit was read. `limit` is the maximum
    number of listed findings; None means all. `fix_command` is the command that shows the fixes.
    """

    findings: Sequence[Finding]
    document_count: int
    origin: str
    commit: str | None = None
    limit: int | None = None
    fix_command: str | None = None

    @property
    def listed_findings(self) -> Sequence[Finding]:
        """Return the findings that the report lists."""
        return self.findings[: self.limit]

    @property
    def omitted_count(self) -> int:
        """Return the number of findings that the report omits."""
        return len(self.findings) - len(self.listed_findings)

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
    """Return the report as one JSON object. Non-ASCII characters are escaped, so that any encoding works."""
    counts = report.counts
    # The C encoder is much faster, but does not indent.
    findings = ",\n    ".join(map(_indent_finding, map(_finding_to_data, report.listed_findings)))
    document = json.dumps(
        {
            "valid": report.is_valid,
            "commit": report.commit,
            "documents": report.document_count,
            "counts": {severity.value: counts[severity] for severity in Severity},
            "findings": [],
            "left_out": report.omitted_count,
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


# Only `docyard fix` searches for the targets of these links.
_LINK_RULES = frozenset({"broken-link", "broken-image", "broken-fragment"})


def format_text(report: Report) -> str:
    """Return the report as text with styles, and with invisible characters escaped."""
    return "\n".join(_format_text_lines(report))


def _format_text_lines(report: Report) -> Iterator[str]:
    for path, findings in groupby(report.listed_findings, key=lambda finding: finding.path):
        yield add_style(escape_invisible(path), styles.TITLE)
        for finding in findings:
            position = add_style(f"{finding.line}:{finding.column}", styles.MUTED)
            severity = add_style(finding.severity, styles.SEVERITIES[finding.severity])
            rule = add_style(f"[{finding.rule}]", styles.MUTED)
            yield f"  {position}  {severity}: {escape_invisible(finding.message)}  {rule}"
            if finding.suggestion:
                yield f"      {escape_invisible(finding.suggestion)}"
        yield ""
    if report.omitted_count:
        yield f"{report.omitted_count:,} more findings are not shown; --max-findings shows more."
    summary_style = styles.PASSED if report.is_valid else styles.FAILED
    yield add_style(escape_invisible(format_summary(report)), summary_style)
    for suggestion in _suggest_fixes(report):
        yield escape_invisible(complete_commands(suggestion))


def _suggest_fixes(report: Report) -> Iterator[str]:
    if report.fix_command is None:
        return
    rules = {finding.rule for finding in report.findings}
    if any(finding.fix_splices for finding in report.findings):
        yield f"Some findings can be fixed: `{report.fix_command}` shows the fixes."
    elif not rules.isdisjoint(_LINK_RULES):
        yield f"`{report.fix_command}` shows which links can be fixed."
    elif "missing-anchor" in rules:
        yield "`docyard fix --anchors` writes the missing anchors."


def format_summary(report: Report) -> str:
    """Return the number of findings and of checked documents in one sentence."""
    scope = f"{_format_count(report.document_count, 'document')} of {report.origin}"
    if not report.findings:
        return f"Nothing is wrong in {scope}."
    counts = report.counts
    counts_text = ", ".join(
        _format_count(counts[severity], severity) for severity in Severity if counts[severity]
    )
    file_count = len({finding.path for finding in report.findings})
    return f"{counts_text} in {_format_count(file_count, 'file')}. Checked {scope}."


def _format_count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


_ANNOTATION_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def format_annotations(report: Report) -> str:
    """Return the report as one workflow command on each line, followed by the summary."""
    return "\n".join(_format_annotation_lines(report))


def _format_annotation_lines(report: Report) -> Iterator[str]:
    for finding in report.listed_findings:
        properties = {"file": finding.path, "line": finding.line, "endLine": finding.end_line}
        if finding.line == finding.end_line:  # GitHub ignores columns of a finding with several lines
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.column, finding.end_column - 1)
        properties["title"] = finding.rule
        parameters = ",".join(
            f"{name}={_escape_property(escape_invisible(str(value)))}" for name, value in properties.items()
        )
        text = finding.message + (f". {finding.suggestion}" if finding.suggestion else "")
        command = _ANNOTATION_COMMANDS[finding.severity]
        yield f"::{command} {parameters}::{_escape_data(escape_invisible(text))}"
    if report.omitted_count:
        yield f"{report.omitted_count:,} more findings are not shown."
    yield escape_invisible(format_summary(report))


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


_SARIF_SCHEMA_URL = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT_NAME = "docyardFinding/v1"
_RULE_INDEX = {rule.name: index for index, rule in enumerate(RULES)}


def format_sarif(report: Report) -> str:
    """Return the report as a SARIF log of one run.

    Paths are relative URIs, and columns count code points (SARIF 2.1.0 §3.14.27).
    """
    key_counts: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "docyard", "semanticVersion": __version__, "rules": _rules_to_data()}},
        "columnKind": "unicodeCodePoints",
        "results": [_finding_to_sarif(finding, key_counts) for finding in report.listed_findings],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA_URL, "version": "2.1.0", "runs": [run]}, indent=2)


def _rules_to_data() -> list[dict[str, object]]:
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


def _finding_to_sarif(finding: Finding, key_counts: Counter[str]) -> dict[str, object]:
    # SARIF §3.11.3: a message is plain text, so the suggestion is its second sentence.
    text = f"{finding.message[:1].upper()}{finding.message[1:]}."
    if finding.suggestion:
        text += f" {finding.suggestion}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": _RULE_INDEX[finding.rule],
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
        "partialFingerprints": {_FINGERPRINT_NAME: _compute_fingerprint(finding, key_counts)},
    }


def _compute_fingerprint(finding: Finding, key_counts: Counter[str]) -> str:
    """Return an id that does not depend on line numbers (§3.27.17); equal findings are numbered."""
    key = "\0".join((finding.rule, finding.path, finding.text))
    key_counts[key] += 1
    identity = f"{key}\0{key_counts[key]}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(identity).hexdigest()[:32]
