"""Which rules hold where: the `[validate]` table of `docyard.toml`.

[validate.rules]                    for every document
missing-anchor = "warning"

[[validate.override]]               others where a glob matches; the last that matches counts
match = "archive"
rules = { broken-link = "off" }
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workspace.globs import Glob, problem

NAMES = (
    "broken-link",
    "broken-fragment",
    "broken-image",
    "duplicate-anchor",
    "derived-anchor",
    "missing-anchor",
    "skipped-level",
    "several-h1",
    "malformed-task",
    "malformed-front-matter",
    "unknown-type",
    "type-structure",
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
"""The names of all rules. They stand here because settings are read where no rule is needed."""

MAX_OVERRIDES = 64

Level = Literal["error", "warning", "note", "off"]


def _rule(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"there is no such rule; the rules are {', '.join(NAMES)}")
    return name


def _glob(text: str) -> str:
    if reason := problem(text):
        raise ValueError(f"the glob {reason}")
    return text


Levels = dict[Annotated[str, AfterValidator(_rule)], Level]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Override(_Settings):
    """Levels for the documents that a glob matches, by their paths in the repository."""

    match: Annotated[str, AfterValidator(_glob)]
    rules: Levels


class Validation(_Settings):
    """The level of each rule that is not to have its own."""

    rules: Levels = {}
    override: Annotated[tuple[Override, ...], Field(max_length=MAX_OVERRIDES)] = ()

    def levels(self, path: str) -> dict[str, Level]:
        """The levels that are set for a document."""
        matching = (one.rules for one in reversed(self.override) if Glob.compile(one.match).matches(path))
        return {**self.rules, **next(matching, {})}
