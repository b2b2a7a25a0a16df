"""What a check is: a name, the rules that it stands for, and what it answers."""

from __future__ import annotations

from typing import NamedTuple

CHECKS = ("links", "anchors", "types", "tasks")
"""The names of all checks."""

MOST_PROBLEMS = 50
"""Problems of one check that are told; of more, how many there are."""


class Problem(NamedTuple):
    """Something that a merge would make worse.

    `rule` is that of `docyard validate`, or `rule-switched-off` or `unchecked`; `address` is the document's
    path, or that of a section in it; `line` counts from 1, in the document after the merge. `message` begins
    in lower case and names what is wrong.
    """

    rule: str
    address: str
    line: int
    message: str


class CheckResult(NamedTuple):
    """What a check says of a merge: the first problems, and how many `more` there are."""

    name: str
    passed: bool
    problems: tuple[Problem, ...] = ()
    more: int = 0


def result(name: str, problems: list[Problem]) -> CheckResult:
    """What a check says that found these."""
    return CheckResult(
        name, not problems, tuple(problems[:MOST_PROBLEMS]), max(0, len(problems) - MOST_PROBLEMS)
    )


def unchecked(reason: str) -> tuple[CheckResult, ...]:
    """What all checks say where nothing could be looked at."""
    return tuple(CheckResult(name, False, (Problem("unchecked", "", 1, reason),)) for name in CHECKS)
