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
    # Of two equally frequent ones, the first of the document.
    first = subject.document.ending
    most = max((first, *counts), key=lambda ending: counts[ending])
    if counts[most] == sum(counts.values()):
        return
    odd = next(found for found in _ENDING.finditer(data) if found[0] != most)
    others = ", ".join(f"{counts[one]:,} in {_NAMES[one]}" for one in counts if one != most and counts[one])
    yield Spot(
        odd.start(),
        odd.start(),
        f"lines end in different ways: {counts[most]:,} in {_NAMES[most]}, {others}",
        f"Save the file with {_NAMES[most]} throughout.",
    )


RULE = Rule("mixed-line-endings", Severity.WARNING, "Lines of one document end in different ways.", _find)
