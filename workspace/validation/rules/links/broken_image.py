"""Images whose files do not exist."""

from __future__ import annotations

from functools import partial

from workspace.validation.destinations import find_missing_files
from workspace.validation.rule import Rule, Severity

RULE = Rule(
    "broken-image",
    Severity.ERROR,
    "The file of an image does not exist.",
    partial(find_missing_files, is_image=True),
)
