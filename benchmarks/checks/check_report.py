"""The report of a check over a folder: the count of each check, and the disagreements."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MAX_PROBLEMS_SHOWN = 20


@dataclass
class CheckReport:
    """The count of each check, and the disagreements."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, check: str, problem: str | None) -> None:
        """Count a check, and store its problem, if any."""
        self.counts[check] += 1
        if problem is not None:
            self.problems.append(f"{check}: {problem}")

    def show(self) -> int:
        """Print the counts and the first problems; return the exit code, 1 if there is a problem."""
        for name, count in self.counts.items():
            print(f"{name:20} {count:>8,}")
        for problem in self.problems[:_MAX_PROBLEMS_SHOWN]:
            print(problem)
        print(f"{len(self.problems):,} disagreements")
        return 1 if self.problems else 0
