"""Cases: questions whose answers are known, and what can be wrong with a file of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError

SHOWN = 20
"""How many problems of a file are listed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the addresses that answer it, each with a grade: 1 and more are right, 0 and less not.

    An address is that of a section, which is its chunk's id, or that of a whole document. `filters` and
    `path` narrow the search as they do for an agent. `file` and `line` (from 1) say where the case stands.
    """

    id: str
    query: str
    expected: Mapping[str, int]
    filters: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    category: str = ""
    file: str = ""
    line: int = 0

    @property
    def digest(self) -> str:
        """What is asked and expected, as 16 hexadecimal digits: where it differs, measures do not compare."""
        told = [self.query, sorted(self.expected.items()), sorted(self.filters.items()), self.path]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


class Problem(NamedTuple):
    """What is wrong with a line of a file; lines count from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class InvalidCases(WorkspaceError):
    """Case files that cannot be used as they are; `details` has the first problems and the count of all."""

    code: ClassVar[str] = "INVALID_CASES"

    @classmethod
    def because(cls, problems: Sequence[Problem]) -> InvalidCases:
        """List the first problems in a message of several lines."""
        shown = [str(problem) for problem in problems[:SHOWN]]
        more = len(problems) - len(shown)
        lines = [*shown, f"and {more:,} more"] if more else shown
        return cls(
            "the cases cannot be used:" + "".join(f"\n  {line}" for line in lines),
            fix="Mend these lines; docs/evaluation.md describes the files.",
            problems=shown,
            count=len(problems),
        )
