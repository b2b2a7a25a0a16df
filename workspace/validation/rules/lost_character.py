"""Characters that an earlier conversion replaced by U+FFFD."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

_REPLACEMENT_CHARACTER = b"\xef\xbf\xbd"
_LOST_CHARACTERS = re.compile(rb"(?:\xef\xbf\xbd)+")


def _find(subject: Subject) -> Iterator[Spot]:
    if _REPLACEMENT_CHARACTER not in subject.data:
        return
    for match in _LOST_CHARACTERS.finditer(subject.data):
        yield Spot(
            *match.span(),
            "U+FFFD REPLACEMENT CHARACTER: a conversion has lost the original character",
            "Write the original character.",
        )


RULE = Rule("lost-character", Severity.WARNING, "A conversion has lost a character.", _find)
