"""The report of a check over a folder: the count of each check, and the disagreements."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_SHOWN = 20


@dataclass
class CheckReport:
    """The count of each check, and the disagreements."""

    tried: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, check: str, problem: str | None) -> None:
        """Count a check, and store its problem if there is one."""
        self.tried[check] += 1
        if problem is not None:
            self.wrong.append(f"{check}: {problem}")

    def show(self) -> int:
        """Print the counts and the first problems; return the exit code, 1 if there are any."""
        for name, count in self.tried.items():
            print(f"{name:20} {count:>8,}")
        for problem in self.wrong[:_SHOWN]:
            print(problem)
        print(f"{len(self.wrong):,} disagreements")
        return 1 if self.wrong else 0
