"""Identifiers such as `REQ-12` that no document requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.trace import IdentifierProblem
    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    for problem in context.identifier_problems:
        if problem.first is None:
            yield make_identifier_finding(
                problem,
                "is required nowhere",
                "Begin a heading or a list item with it where it is required, or correct it.",
            )


def make_identifier_finding(problem: IdentifierProblem, predicate: str, suggestion: str) -> ByteFinding:
    """Return the finding at the identifier of a problem."""
    end = problem.start + len(problem.id)
    return ByteFinding(problem.start, end, f"the identifier {problem.id} {predicate}", suggestion)


RULE = Rule(
    "unknown-identifier",
    Severity.WARNING,
    "An identifier is mentioned, but required nowhere.",
    _find_problems,
)
