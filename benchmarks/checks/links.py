"""Compare the broken links of `docyard validate` with those of an independent checker.

    npm install remark-cli remark-frontmatter remark-gfm remark-validate-links vfile-reporter-json
    cp path/to/docyard/benchmarks/remark.mjs .
    CORPUS=$PWD/folder npx remark folder --rc-path remark.mjs --report json --quiet --no-stdout 2> report.json
    python -m benchmarks.checks.links folder report.json

Two findings match if Docyard's destination begins within the span of the checker's finding. For a link that
only the checker reports, this module looks for a known reason. The first differences without a known reason
are printed, and the exit code is then 1. docs/links.md lists the reasons.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

MAX_NESTED_FINDINGS = 20
RULES = ("broken-link", "broken-fragment", "broken-image")
_NAMED_TAG = re.compile(rb"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_MISSING_HEADING = re.compile(r"Cannot find heading for `#(.*?)`(?: in `(.*?)`)?(?:;|$)")


class CheckerFinding(NamedTuple):
    """A broken link of the checker: its span by line and column, and the reason."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    rule: str
    reason: str


class DocyardFinding(NamedTuple):
    """A broken link of Docyard: the start of its destination by line and column, and the message."""

    path: str
    position: tuple[int, int]
    rule: str
    message: str


def read_checker_report(report: Path, folder: Path) -> Iterator[CheckerFinding]:
    """Yield the broken links of the checker's report on the files of a folder."""
    for file in json.loads(report.read_text()):
        absolute_path = Path(file["cwd"], file["path"]).resolve()
        path = absolute_path.relative_to(folder.resolve()).as_posix()
        for message in file["messages"]:
            start, end = message["place"]["start"], message["place"]["end"]
            yield CheckerFinding(
                path,
                (start["line"], start["column"]),
                (end["line"], end["column"]),
                message["ruleId"],
                message["reason"],
            )


def run_validate(folder: Path) -> list[DocyardFinding]:
    """Return the broken links of `docyard validate`. Raises SystemExit if the command fails."""
    command = [sys.executable, "-m", "docyard", "validate", "-C", str(folder), "--json"]
    for rule in RULES:
        command += ["--rule", rule]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode not in (0, 1):
        raise SystemExit(process.stderr)
    findings: list[Mapping[str, Any]] = json.loads(process.stdout)["findings"]
    return [
        DocyardFinding(item["path"], (item["line"], item["column"]), item["rule"], item["message"])
        for item in findings
    ]


def find_containing_findings(
    findings: Sequence[CheckerFinding], position: tuple[int, int]
) -> list[CheckerFinding]:
    """Return the findings that contain a position. Only the last 20 that begin before it are checked."""
    end = bisect_right(findings, position, key=lambda item: item.start)
    return [item for item in findings[max(0, end - MAX_NESTED_FINDINGS) : end] if position <= item.end]


def explain_difference(finding: CheckerFinding, folder: Path) -> str | None:
    """Return the reason why only the checker reports a link, or None if the reason is unknown."""
    match = _MISSING_HEADING.match(finding.reason)
    if match is None:
        return None
    fragment, other_path = match[1], match[2]
    file = folder / PurePosixPath(finding.path).parent / other_path if other_path else folder / finding.path
    html_names = _read_html_names(file.resolve())
    if fragment in html_names:
        return "the target is an HTML tag, which the checker does not read"
    if f"{fragment}/" in html_names:
        return "the fragment ends in a slash, which the checker removes"
    return "the fragment is the top of the page in HTML" if fragment == "top" else None


@cache
def _read_html_names(file: Path) -> frozenset[str]:
    """Return the ids and names of HTML tags in a file, in lower case like the fragments of the checker."""
    if not file.is_file():
        return frozenset()
    return frozenset(
        name.decode("utf-8", "replace").lower() for name in _NAMED_TAG.findall(file.read_bytes())
    )


def main() -> int:
    """Compare the findings and print the differences; return 1 if a difference has no known reason."""
    parser = argparse.ArgumentParser(description="Compare broken links with those of an independent checker.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--shown", type=int, default=20, help="number of differences to print")
    options = parser.parse_args()
    findings_by_path: dict[str, list[CheckerFinding]] = {}
    for finding in read_checker_report(options.report, options.folder):
        findings_by_path.setdefault(finding.path, []).append(finding)
    for findings in findings_by_path.values():
        findings.sort(key=lambda finding: finding.start)
    counts: Counter[str] = Counter()
    unexplained_differences: list[str] = []
    matched_findings: set[CheckerFinding] = set()
    for docyard_finding in run_validate(options.folder):
        containing_findings = find_containing_findings(
            findings_by_path.get(docyard_finding.path, ()), docyard_finding.position
        )
        matched_findings.update(containing_findings)
        if containing_findings:
            counts["reported by both"] += 1
        else:
            line = docyard_finding.position[0]
            unexplained_differences.append(
                f"only Docyard: {docyard_finding.path}:{line}: {docyard_finding.message}"
            )
    for finding in (
        finding
        for findings in findings_by_path.values()
        for finding in findings
        if finding not in matched_findings
    ):
        reason = explain_difference(finding, options.folder)
        if reason:
            counts[f"only the checker: {reason}"] += 1
        else:
            unexplained_differences.append(
                f"only the checker: {finding.path}:{finding.start[0]}: {finding.reason}"
            )
    for name, count in counts.items():
        print(f"{count:>8,} {name}")
    print(f"{len(unexplained_differences):>8,} differences without a known reason")
    for difference in unexplained_differences[: options.shown]:
        print(difference)
    return 1 if unexplained_differences else 0


if __name__ == "__main__":
    sys.exit(main())
