"""Characters that an earlier conversion replaced by U+FFFD."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_REPLACEMENT_CHARACTER = b"\xef\xbf\xbd"
_LOST_CHARACTERS = re.compile(rb"(?:\xef\xbf\xbd)+")


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    if _REPLACEMENT_CHARACTER not in context.data:
        return
    for match in _LOST_CHARACTERS.finditer(context.data):
        yield ByteFinding(
            *match.span(),
            "U+FFFD REPLACEMENT CHARACTER: a conversion has lost the original character",
            "Write the original character.",
        )


RULE = Rule("lost-character", Severity.WARNING, "A conversion has lost a character.", _find_problems)
