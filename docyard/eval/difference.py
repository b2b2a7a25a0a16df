"""What changed between two runs of the same cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from docyard.eval.run import Outcome, Run
from docyard.eval.summary import in_category, mean

BY = "ndcg@10"
"""The measure, by page, by which cases are said to have gained or lost."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in an earlier run and in this one."""

    before: Outcome
    now: Outcome

    @property
    def gain(self) -> float:
        """How much the measure of the case rose."""
        return self.now.page.measures[BY] - self.before.page.measures[BY]


@dataclass(frozen=True, slots=True)
class Difference:
    """An earlier run, and the cases of both runs that ask and expect the same; only these are compared."""

    earlier: Run
    pairs: tuple[Pair, ...]

    def gained(self) -> list[Pair]:
        """The cases that gained, most first."""
        return sorted((pair for pair in self.pairs if pair.gain > 0), key=lambda pair: -pair.gain)

    def lost(self) -> list[Pair]:
        """The cases that lost, most first."""
        return sorted((pair for pair in self.pairs if pair.gain < 0), key=lambda pair: pair.gain)

    def change(self, level: str, category: str | None, measure: str) -> float | None:
        """How much a mean of a category rose; None if no case of both runs has it.

        Categories are those of now, so that a case that was only sorted anew is compared with itself.
        """
        pairs = [pair for pair in self.pairs if in_category(pair.now, category)]
        now = mean((pair.now for pair in pairs), level, measure)
        before = mean((pair.before for pair in pairs), level, measure)
        return None if now is None or before is None else now - before


def compare(earlier: Run, run: Run) -> Difference:
    """Pair the cases of two runs by their ids; one that was written anew in between is left out."""
    return Difference(earlier, tuple(_pairs(earlier, run)))


def _pairs(earlier: Run, run: Run) -> Iterator[Pair]:
    known = {outcome.id: outcome for outcome in earlier.cases}
    for now in run.cases:
        before = known.get(now.id)
        if before is not None and before.digest == now.digest:
            yield Pair(before, now)
