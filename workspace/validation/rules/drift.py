"""Documents and sections whose code changed after their text last did."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from workspace.history.covered_text import normalize_text, read_covered_text
from workspace.validation.rule import ByteFinding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the drifts of the document, without those whose text has changed since their commit."""
    document = context.document
    for drift in context.drifts:
        section = document.section_by_key(drift.section.key) if drift.section else None
        if drift.section is not None and section is None:
            continue
        if normalize_text(read_covered_text(document, section)) != drift.text:
            continue
        start, end = (section.heading_start, section.body_start) if section else (0, 0)
        count = len(drift.changes)
        yield ByteFinding(
            start,
            end,
            f"{count:,} later {'commit' if count == 1 else 'commits'} changed the code that this text covers",
            "See them with docyard drift, and correct the text, or note in it that it was checked.",
            # Further commits do not make the finding new, but commits after a correction of the text do.
            comparison_key=sha256(drift.text).hexdigest(),
        )


RULE = Rule(
    "drift", None, "The code that a document or section covers changed after its text.", _find_problems
)
