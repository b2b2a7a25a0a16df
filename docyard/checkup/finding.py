"""One thing that a checkup found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 10


class Severity(StrEnum):
    """How bad it is. A note is worth knowing and needs nothing done."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, in which area ("repository", "index" or "environment"), and what to type."""

    severity: Severity
    area: str
    message: str
    fix: str = ""

    @property
    def is_problem(self) -> bool:
        return self.severity is not Severity.NOTE


def count(items: Sequence[str], one: str, many: str) -> str:
    """How many there are, in words: "1 document is", "1,200 documents are"."""
    return f"{len(items):,} {one if len(items) == 1 else many}"


def some(items: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
