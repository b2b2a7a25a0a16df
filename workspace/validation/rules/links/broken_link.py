"""Links to files that do not exist."""

from __future__ import annotations

from functools import partial

from workspace.validation.destinations import find_missing_files
from workspace.validation.rule import Rule, Severity

RULE = Rule(
    "broken-link",
    Severity.ERROR,
    "A link leads to a file or folder that does not exist, or out of the repository.",
    partial(find_missing_files, is_image=False),
)
