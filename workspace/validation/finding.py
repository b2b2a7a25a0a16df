"""What a rule finds, and how bad it is."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.document.splices import Splice


class Severity(StrEnum):
    """How bad a finding is. A note is worth knowing, and fails nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(NamedTuple):
    """One thing that a rule found in a file.

    Lines and columns count from 1, columns in characters (code points); [column, end_column) is the place.
    `message` begins in lower case, names what is wrong and has no final period. `suggestion` says what to
    write instead. `mend` are splices over the file's bytes that are safe to apply, or none. `text` is the
    line on which it begins and the marked words, by which a finding is known again in another version;
    `same_as` is the message without the lines that it names, which are others there.
    """

    rule: str
    severity: Severity
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    suggestion: str | None = None
    mend: tuple[Splice, ...] = ()
    text: str = ""
    same_as: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether it fails a validation."""
        return self.severity is not Severity.NOTE
