"""Identifiers such as `REQ-12` that are required at several places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import Rule, Severity
from workspace.validation.rules.unknown_identifier import make_identifier_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import ByteFinding, RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    for problem in context.identifier_problems:
        if problem.first is not None:
            yield make_identifier_finding(
                problem,
                f"is already required at {problem.first.address}, line {problem.first.line}",
                "Give one of them another number, or set `required` in [trace] of docyard.toml.",
            )


RULE = Rule(
    "duplicate-identifier",
    Severity.WARNING,
    "A heading or list item requires an identifier that another one requires.",
    _find_problems,
)
