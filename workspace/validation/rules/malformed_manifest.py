"""Manifests that cannot be used, so that they have no effect."""

from __future__ import annotations

from workspace.validation.rule import Rule, Severity

RULE = Rule("malformed-manifest", Severity.ERROR, "A .taxonomy.toml cannot be used.", None)
