"""The names that settings, commands and modules of rules share: the dialects and the validation rules.

The help of a command lists these names, so this module imports no model of a setting.
"""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    """The renderer whose rules derive fragments of headings and resolve destinations."""

    GITHUB = "github"
    MKDOCS = "mkdocs"
    DOCUSAURUS = "docusaurus"


RULE_NAMES = (
    "broken-link",
    "broken-fragment",
    "broken-image",
    "duplicate-anchor",
    "derived-anchor",
    "missing-anchor",
    "skipped-level",
    "several-h1",
    "malformed-task",
    "malformed-coverage",
    "drift",
    "unknown-identifier",
    "duplicate-identifier",
    "malformed-front-matter",
    "unknown-type",
    "type-structure",
    "missing-step",
    "malformed-skill",
    "taxonomy-limit",
    "malformed-manifest",
    "invisible-character",
    "bidirectional-control",
    "trailing-space",
    "encoding",
    "lost-character",
    "mixed-line-endings",
    "unreadable-document",
)
"""The names of all rules. Settings and help use them without importing any rule."""
