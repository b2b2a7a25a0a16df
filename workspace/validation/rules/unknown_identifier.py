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
                context,
                problem,
                "is required nowhere",
                "Begin a heading or a list item with it where it is required, or correct it.",
            )


def make_identifier_finding(
    context: RuleContext, problem: IdentifierProblem, predicate: str, suggestion: str
) -> ByteFinding:
    """Return the finding at the first mention of an identifier on the line of a problem."""
    line_start = context.document.lines.offset(problem.line - 1)
    start = max(line_start, context.data.find(problem.id.encode(), line_start))
    return ByteFinding(start, start + len(problem.id), f"the identifier {problem.id} {predicate}", suggestion)


RULE = Rule(
    "unknown-identifier",
    Severity.WARNING,
    "An identifier is mentioned, but required nowhere.",
    _find_problems,
)
