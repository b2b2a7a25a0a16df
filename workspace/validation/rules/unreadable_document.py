"""Documents that Docyard does not read: they have too many bytes, lines or blocks."""

from __future__ import annotations

from workspace.validation.rule import Rule, Severity

RULE = Rule("unreadable-document", Severity.ERROR, "A document is too large to be read.", None)
