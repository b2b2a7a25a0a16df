"""Manifests that cannot be used, so that nothing of what they say has effect."""

from __future__ import annotations

from workspace.validation.rule import Rule, Severity

RULE = Rule("malformed-manifest", Severity.ERROR, "A .taxonomy.toml cannot be used.", None)
