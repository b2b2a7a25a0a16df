"""Which mends are looked for in a document: those of the rules that hold for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workspace.validation.checking import MOST, check
from workspace.validation.corpus import Corpus
from workspace.validation.fixes.broken_link import Elsewhere, Twins, led_back
from workspace.validation.fixes.change import Left, Mend
from workspace.validation.fixes.missing_anchor import RULE as MISSING_ANCHOR
from workspace.validation.fixes.missing_anchor import missing_anchors
from workspace.validation.rule import Subject
from workspace.validation.rules import RULES

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.validation.files import Files
    from workspace.validation.finding import Finding
    from workspace.validation.run import Selection

LINKS = frozenset({"broken-link", "broken-fragment", "broken-image"})

_SWITCH = re.compile(rb"<!--\s*docyard:")

MENDED = frozenset(
    {MISSING_ANCHOR, "derived-anchor", "malformed-task", "trailing-space", "invisible-character", *LINKS}
)
"""The rules some of whose findings are safe to mend."""


@dataclass(frozen=True, kw_only=True)
class Fixers:
    """What is looked for: by the rules that `selection` lets hold, among these files."""

    files: Files
    selection: Selection
    elsewhere: Elsewhere

    @cached_property
    def corpus(self) -> Corpus:
        """The world of the files."""
        return Corpus(self.files)

    @cached_property
    def twins(self) -> Twins:
        """Its paths by what they have in common with others."""
        return Twins(self.corpus)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process is sent no document that was read here."""
        return _fixers, (self.files, self.selection, self.elsewhere)

    def find(self, document: Document) -> Iterator[Mend | Left]:
        """Every mend of a document, and what has to be left."""
        severities = self.selection.severities(document.path)
        held = MENDED.intersection(severities)
        if MISSING_ANCHOR in held and not _SWITCH.search(document.data):
            # Nothing but a comment exempts a heading, so that the rule need not be asked.
            yield from missing_anchors(document, self.files.config.anchors)
            held -= {MISSING_ANCHOR}
        rules = [rule for rule in RULES if rule.name in held]
        if not rules:
            return
        subject = Subject(document, self.files.config, self.corpus.types, self.corpus)
        findings = check(subject, rules, severities)
        for finding in findings:
            yield from (Mend(finding.rule, finding.line, splice) for splice in finding.mend)
        if unnamed := _lines(findings, {MISSING_ANCHOR}):
            found = missing_anchors(document, self.files.config.anchors)
            yield from (one for one in found if one.line in unnamed)
        if broken := _lines(findings, LINKS):
            yield from (one for one in led_back(subject, self.elsewhere, self.twins) if one.line in broken)

    def may_find_more(self, mends: tuple[Mend, ...]) -> bool:
        """Whether a rule told of as many places as it tells of at most."""
        return max(Counter(mend.rule for mend in mends).values(), default=0) >= MOST


def _fixers(files: Files, selection: Selection, elsewhere: Elsewhere) -> Fixers:
    return Fixers(files=files, selection=selection, elsewhere=elsewhere)


def _lines(findings: list[Finding], rules: frozenset[str] | set[str]) -> set[int]:
    return {finding.line for finding in findings if finding.rule in rules}
