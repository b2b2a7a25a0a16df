"""One finding of a check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

FIX_COMMAND = "docyard doctor --fix"
"""The command for a finding that can be fixed here."""

FROM_A_CLONE = "git -C CLONE pack-objects -q --all --stdout < /dev/null | git unpack-objects -q"
"""What to type to get missing objects from another clone; `git fetch` refuses where HEAD is not whole."""

_SHOWN = 10


class Severity(StrEnum):
    """The severity of a finding. A note needs no action."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, in which area ("repository", "index" or "environment"), and what to type.

    `mend` does what is safe to do about it, and says what it did; None if there was nothing to do after all.
    It may raise WorkspaceError and OSError. A finding that a person has to mend has none. `ends_it` says that
    nothing more can be looked at; `subject` is the ref or object that is damaged, which is not told twice.
    """

    severity: Severity
    area: str
    message: str
    fix: str = ""
    mend: Callable[[], str | None] | None = field(default=None, repr=False, compare=False)

    ends_it: bool = False
    subject: str = field(default="", compare=False)

    def data(self) -> dict[str, str]:
        """Return the finding as data for programs."""
        return {
            "severity": self.severity,
            "area": self.area,
            "message": self.message,
            "fix": self.fix,
        }

    @property
    def is_problem(self) -> bool:
        return self.severity is not Severity.NOTE


def format_count(items: Sequence[str], one: str, many: str) -> str:
    """Return a number with its noun and verb: "1 document is", "1,200 documents are"."""
    return f"{len(items):,} {one if len(items) == 1 else many}"


def format_some(items: Sequence[str]) -> str:
    """Return the first few items, and the number of the others."""
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
