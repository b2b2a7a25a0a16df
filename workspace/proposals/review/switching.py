"""What no rule of `validation` tells: comments that switch rules off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.checking import switches_of, whole
from workspace.validation.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from workspace.document.document import Document
    from workspace.validation.finding import Finding

SWITCHED_OFF = "rule-switched-off"


def switched_off(document: Document, rules: Collection[str]) -> Iterator[Finding]:
    """The comments of a document that switch off one of some rules: a merge that adds one escapes a check."""
    for offset, is_off, names in switches_of(document.data):
        if is_off and (not names or names & set(rules)):
            yield whole(
                document.path,
                SWITCHED_OFF,
                Severity.ERROR,
                "a comment switches rules off here, so they were not checked",
                None,
                document.lines.line_at(offset) + 1,
            )
