"""What a validation found, before it is written in some form."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.validation.finding import Finding, Severity


class Report(NamedTuple):
    """The findings in order of paths and places, and what was looked at.

    `shown` is how many findings are written out at most; None: all. `commit` is set where one was read, and
    `mending` is the command that shows what of it can be mended.
    """

    findings: Sequence[Finding]
    documents: int
    where: str
    commit: str | None = None
    shown: int | None = None
    mending: str | None = None

    @property
    def written(self) -> Sequence[Finding]:
        """The findings that are written out."""
        return self.findings[: self.shown]

    @property
    def left_out(self) -> int:
        """How many findings are not written out."""
        return len(self.findings) - len(self.written)

    @property
    def counts(self) -> Counter[Severity]:
        """How many findings there are of each severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def is_valid(self) -> bool:
        """Whether no error and no warning was found."""
        return not any(finding.is_problem for finding in self.findings)
