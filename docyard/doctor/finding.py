"""One finding of a check, and the formats of counts and lists in its message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

FIX_COMMAND = "docyard doctor --fix"
"""The command that applies the safe fixes."""

COPY_OBJECTS_COMMAND = "git -C CLONE pack-objects -q --all --stdout < /dev/null | git unpack-objects -q"
"""The command that copies missing objects from another clone; `git fetch` fails if HEAD is damaged."""

MAX_LISTED_ITEMS = 10
"""The maximum number of items that a message lists."""


class Severity(StrEnum):
    """The severity of a finding. A note needs no action."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or a note in an area ("repository", "index" or "environment"), and how to fix it.

    `apply_fix` applies the safe fix and returns its description, or None if there is nothing to fix any more.
    The function may raise WorkspaceError and OSError. `apply_fix` is None if only a person can fix the
    finding. `is_fatal` is true if no further check is possible. `subject` is the damaged ref or object, which
    is reported once. `extra` is the extra of Docyard whose libraries are missing.
    """

    severity: Severity
    area: str
    message: str
    fix: str = ""
    apply_fix: Callable[[], str | None] | None = field(default=None, repr=False, compare=False)

    is_fatal: bool = False
    subject: str = field(default="", compare=False)
    extra: str = field(default="", compare=False)

    def to_data(self) -> dict[str, str]:
        """Return the fields of the finding in the JSON output, without the function that fixes it."""
        return {
            "severity": self.severity,
            "area": self.area,
            "message": self.message,
            "fix": self.fix,
        }

    @property
    def is_problem(self) -> bool:
        """Return True for an error or a warning."""
        return self.severity is not Severity.NOTE


def format_count(items: Sequence[str], singular: str, plural: str) -> str:
    """Return the number of items with a noun and its verb: "1 document is", "1,200 documents are"."""
    return f"{len(items):,} {singular if len(items) == 1 else plural}"


def format_list(items: Sequence[str]) -> str:
    """Return at most ten items separated by commas, and the number of omitted items."""
    omitted_count = len(items) - MAX_LISTED_ITEMS
    return ", ".join(items[:MAX_LISTED_ITEMS]) + (f" and {omitted_count:,} more" if omitted_count > 0 else "")
