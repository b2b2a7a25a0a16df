"""Links to sections that their documents do not have."""

from __future__ import annotations

from workspace.validation.destinations import find_missing_fragments
from workspace.validation.rule import Rule, Severity

RULE = Rule(
    "broken-fragment",
    Severity.ERROR,
    "A link names a section that its document does not have.",
    find_missing_fragments,
)
