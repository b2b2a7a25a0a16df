"""The report of checks over a folder: the number of runs of each check, other counts, and the problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MAX_PRINTED_PROBLEMS = 20


@dataclass
class CheckReport:
    """The number of runs of each check, other counts by name, and the problems in the order of detection."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, check: str, problem: str | None) -> None:
        """Count a run of a check, and store its problem, if any."""
        self.counts[check] += 1
        if problem is not None:
            self.problems.append(f"{check}: {problem}")

    def print_and_get_exit_code(self) -> int:
        """Print the counts and the first 20 problems; return the exit code, 1 if there is a problem."""
        for name, count in self.counts.items():
            print(f"{name:20} {count:>8,}")
        for problem in self.problems[:_MAX_PRINTED_PROBLEMS]:
            print(problem)
        print(f"{len(self.problems):,} problems")
        return 1 if self.problems else 0
