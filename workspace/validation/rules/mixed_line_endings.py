"""Mixed line endings, because of which tools show unmade changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

_NAMES = {b"\n": "LF", b"\r\n": "CRLF", b"\r": "CR"}
_ENDING = re.compile(rb"\r\n?|\n")


def _find(subject: Subject) -> Iterator[Spot]:
    data = subject.data
    if b"\r" not in data:
        return
    crlf = data.count(b"\r\n")
    counts = {b"\r\n": crlf, b"\n": data.count(b"\n") - crlf, b"\r": data.count(b"\r") - crlf}
    # If two endings are equally frequent, the first ending of the document is chosen.
    first_ending = subject.document.line_ending
    most_frequent = max((first_ending, *counts), key=lambda ending: counts[ending])
    if counts[most_frequent] == sum(counts.values()):
        return
    first_other = next(match for match in _ENDING.finditer(data) if match[0] != most_frequent)
    other_counts = ", ".join(
        f"{count:,} in {_NAMES[other]}" for other, count in counts.items() if other != most_frequent and count
    )
    yield Spot(
        first_other.start(),
        first_other.start(),
        f"lines end in different ways: {counts[most_frequent]:,} in {_NAMES[most_frequent]}, {other_counts}",
        f"Save the file with {_NAMES[most_frequent]} throughout.",
    )


RULE = Rule("mixed-line-endings", Severity.WARNING, "Lines of one document end in different ways.", _find)
