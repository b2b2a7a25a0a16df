"""Gates: the least that a measure must reach, for whoever wants a build to fail when search gets worse."""

from __future__ import annotations

import re
from dataclasses import dataclass

from docyard.eval.measures import MEASURES
from docyard.eval.run import LEVELS, Run
from docyard.eval.summary import mean

_GATE = re.compile(r"(?:(\w+)\.)?([^=.]+)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gate:
    """The least mean of a measure over all cases at a level."""

    level: str
    measure: str
    least: float

    def missed(self, run: Run) -> str | None:
        """Say by how much the run misses it; None if it does not."""
        name = f"{self.measure} by {self.level}"
        found = mean(run.cases, self.level, self.measure)
        if found is None:
            return f"{name} was not measured: no case names a section"
        return None if found >= self.least else f"{name} is {found:.4f}, and must be at least {self.least:g}"


def read_gate(text: str) -> Gate:
    """Read `ndcg@10=.45`, which is by page, or `chunk.mrr=.5`. Raises ValueError with the reason."""
    match = _GATE.fullmatch(text.strip())
    if match is None:
        raise ValueError("write MEASURE=NUMBER, such as ndcg@10=.45 or chunk.mrr=.5")
    level, measure, number = match[1] or "page", match[2].strip().lower(), match[3]
    if level not in LEVELS:
        raise ValueError(f"lists are by {' or '.join(LEVELS)}, not by {level}")
    if measure not in MEASURES:
        raise ValueError(f"there is no measure '{measure}', only {', '.join(MEASURES)}")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise ValueError("the number must be between 0 and 1")
    return Gate(level, measure, least)
