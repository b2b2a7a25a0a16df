"""What a range of commits brought: findings less those that were there before it.

A finding was there before if the same rule said the same of the same words, on a line that read the same, in
the same document. So one is new where its line was changed, and where something else was: the file that a
link leads to was removed, or the heading that it names was renamed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from workspace.git.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workspace.validation.files import Files
    from workspace.validation.finding import Finding

_NUMBER = re.compile(r"\d+")


def earlier_paths(
    now: Files, before: Files, blobs: Mapping[str, str], paths: Iterable[str]
) -> dict[str, str]:
    """Where each document stood before, by its path now; a new one is left out.

    One that was moved is known by its bytes, else by its name where only one of that name went and came.
    """
    known = set(before.documents)
    gone = known - set(now.documents)
    by_blob: dict[str, list[str]] = {}
    by_name: dict[str, list[str]] = {}
    for path in sorted(gone):
        by_blob.setdefault(blobs[path], []).append(path)
        by_name.setdefault(_name(path), []).append(path)
    come = Counter(_name(path) for path in now.documents if path not in known)
    found: dict[str, str] = {}
    for path in paths:
        if path in before.paths:
            found[path] = path
        elif gone and path in now.paths:
            same = by_blob.get(blob_id(now.reader.read(path)), [])
            alike = by_name.get(_name(path), []) if come[_name(path)] == 1 else []
            if candidates := same or (alike if len(alike) == 1 else []):
                found[path] = candidates[0]
    return found


def without(
    findings: Iterable[Finding], earlier: Iterable[Finding], was_at: Mapping[str, str]
) -> list[Finding]:
    """The findings that were not there before; `was_at` says where each document stood then."""
    left = Counter(_key(finding, finding.path) for finding in earlier)
    new: list[Finding] = []
    for finding in findings:
        key = _key(finding, was_at.get(finding.path, ""))
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def _key(finding: Finding, path: str) -> tuple[str, ...]:
    # Messages name lines, which move.
    return finding.rule, path, finding.text, _NUMBER.sub("0", finding.message)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
