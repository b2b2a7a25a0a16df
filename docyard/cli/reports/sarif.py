"""Findings in the Static Analysis Results Interchange Format (OASIS SARIF 2.1.0), for code scanning."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from urllib.parse import quote

from docyard import __version__
from docyard.cli.reports.formats import Report
from tools.errors import visible
from workspace.validation.finding import Finding, Severity
from workspace.validation.rules import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "docyardFinding/v1"
_INDEX = {rule.name: index for index, rule in enumerate(RULES)}


def as_sarif(report: Report) -> str:
    """The report as a SARIF log of one run. Paths are relative URIs, columns count code points (§3.14.17)."""
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
        "message": {"text": visible(text)},
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
    """What stays the same when lines above come or go (§3.27.17); equal findings are numbered."""
    key = "\0".join((finding.rule, finding.path, finding.text))
    seen[key] += 1
    words = f"{key}\0{seen[key]}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(words).hexdigest()[:32]
