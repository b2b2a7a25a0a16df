"""Mixed line endings, because of which tools show changes that were not made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_ENDING_NAMES = {b"\n": "LF", b"\r\n": "CRLF", b"\r": "CR"}
_ENDING = re.compile(rb"\r\n?|\n")


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data = context.data
    if b"\r" not in data:
        return
    crlf_count = data.count(b"\r\n")
    counts = {
        b"\r\n": crlf_count,
        b"\n": data.count(b"\n") - crlf_count,
        b"\r": data.count(b"\r") - crlf_count,
    }
    # If two endings are equally frequent, the first ending of the document is chosen.
    first_ending = context.document.line_ending
    main_ending = max((first_ending, *counts), key=lambda ending: counts[ending])
    if counts[main_ending] == sum(counts.values()):
        return
    first_other_match = next(match for match in _ENDING.finditer(data) if match[0] != main_ending)
    other_counts = ", ".join(
        f"{count:,} in {_ENDING_NAMES[ending]}"
        for ending, count in counts.items()
        if ending != main_ending and count
    )
    yield ByteFinding(
        first_other_match.start(),
        first_other_match.start(),
        f"lines end in different ways: {counts[main_ending]:,} in {_ENDING_NAMES[main_ending]}, "
        f"{other_counts}",
        f"Save the file with {_ENDING_NAMES[main_ending]} throughout.",
    )


RULE = Rule(
    "mixed-line-endings", Severity.WARNING, "Lines of one document end in different ways.", _find_problems
)
