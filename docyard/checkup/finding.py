"""One thing that a checkup found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
