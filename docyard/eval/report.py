"""The report of a run in Markdown, with what changed since an earlier one.

Means over the cases of a run: of every measure, for all cases and by category, and of the time it took.

What changed between two runs of the same cases.

Gates: the least that a measure must reach, for whoever wants a build to fail when search gets worse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from docyard.eval.run import LEVELS, MEASURES, EvalRun, Outcome


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """The means of some cases at a level. `category` is None for all cases, "" for those without one."""

    level: str
    category: str | None
    cases: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True)
class Latency:
    """The time on the clock of one search, in milliseconds, at the median and the 95th percentile."""

    p50_ms: float
    p95_ms: float


def build_rows(outcomes: Sequence[Outcome]) -> list[MeasureRow]:
    """Return the means at each level: of all cases, then of each category in order, if any case has one."""
    categories = sorted({outcome.category for outcome in outcomes})
    shown = [None] if categories == [""] else [None, *categories]
    return [row for level in LEVELS for category in shown if (row := _row(level, category, outcomes))]


def is_in_category(outcome: Outcome, category: str | None) -> bool:
    """Return True if a case counts for the row of a category; None is the row of all."""
    return category is None or outcome.category == category


def compute_mean(outcomes: Iterable[Outcome], level: str, measure: str) -> float | None:
    """Return the mean of one measure over the cases that have this level; None if none has it."""
    scored = [one.measures[measure] for outcome in outcomes if (one := outcome.level(level))]
    return sum(scored) / len(scored) if scored else None


def compute_latency(outcomes: Iterable[Outcome]) -> Latency | None:
    """Return how long searches took; None if none was answered."""
    times = sorted(outcome.ms for outcome in outcomes if outcome.ms is not None)
    return Latency(_percentile(times, 0.5), _percentile(times, 0.95)) if times else None


def count_without_hits(outcomes: Iterable[Outcome]) -> int:
    """Return how many cases found nothing at all."""
    return sum(not outcome.hits for outcome in outcomes)


def summarize_run(run: EvalRun) -> dict[str, Any]:
    """Return the means of a run as data: by level, those of all cases and those of each category."""
    found: dict[str, Any] = {}
    for row in build_rows(run.cases):
        data = {"cases": row.cases, **row.means}
        if row.category is None:
            found[row.level] = {**data, "categories": {}}
        else:
            found[row.level]["categories"][row.category] = data
    took = compute_latency(run.cases)
    found["latency"] = {"p50_ms": took.p50_ms, "p95_ms": took.p95_ms} if took else None
    found["without_hits"] = count_without_hits(run.cases)
    return found


def _row(level: str, category: str | None, outcomes: Iterable[Outcome]) -> MeasureRow | None:
    some = [outcome for outcome in outcomes if is_in_category(outcome, category)]
    means = {name: value for name in MEASURES if (value := compute_mean(some, level, name)) is not None}
    return (
        MeasureRow(level, category, sum(one.level(level) is not None for one in some), means)
        if means
        else None
    )


def _percentile(times: Sequence[float], share: float) -> float:
    """Return the least of the sorted times that is not below this share of them (nearest rank)."""
    return times[max(0, math.ceil(share * len(times)) - 1)]


BY = "ndcg@10"
"""The measure, by page, by which cases are said to have gained or lost."""


@dataclass(frozen=True, slots=True)
class CasePair:
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

    earlier: EvalRun
    pairs: tuple[CasePair, ...]

    def gained(self) -> list[CasePair]:
        """Return the cases that gained, most first."""
        return sorted((pair for pair in self.pairs if pair.gain > 0), key=lambda pair: -pair.gain)

    def lost(self) -> list[CasePair]:
        """Return the cases that lost, most first."""
        return sorted((pair for pair in self.pairs if pair.gain < 0), key=lambda pair: pair.gain)

    def change(self, level: str, category: str | None, measure: str) -> float | None:
        """Return how much a mean of a category rose; None if no case of both runs has it.

        Categories are those of now, so that a case that was only sorted anew is compared with itself.
        """
        pairs = [pair for pair in self.pairs if is_in_category(pair.now, category)]
        now = compute_mean((pair.now for pair in pairs), level, measure)
        before = compute_mean((pair.before for pair in pairs), level, measure)
        return None if now is None or before is None else now - before


def compare_runs(earlier: EvalRun, run: EvalRun) -> Difference:
    """Pair the cases of two runs by their ids; one that was written anew in between is left out."""
    return Difference(earlier, tuple(_pairs(earlier, run)))


def _pairs(earlier: EvalRun, run: EvalRun) -> Iterator[CasePair]:
    known = {outcome.id: outcome for outcome in earlier.cases}
    for now in run.cases:
        before = known.get(now.id)
        if before is not None and before.digest == now.digest:
            yield CasePair(before, now)


SHOWN = 10
"""Cases in each list: those that gained, those that lost, those answered worst."""

HEADINGS = ("", "cases", *MEASURES)
"""The heading of each column of `measure_cells`."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>|#]")


def render_report(run: EvalRun, difference: Difference | None = None) -> str:
    """Write the whole report."""
    lines = [f"# Search evaluation: {_plain(run.name)}", "", *_about(run)]
    lines += ["", "## Measures", "", *_measures(run, difference)]
    if difference is not None:
        lines += ["", "## Difference", "", *_difference(difference)]
    lines += ["", "## Answered worst", "", *_worst(run.cases)]
    if run.problems:
        lines += ["", f"## Problems: {len(run.problems):,}", ""]
        lines += [f"- {_plain(problem)}" for problem in run.problems]
    return "\n".join(lines) + "\n"


def format_measure_cells(run: EvalRun, difference: Difference | None = None) -> list[list[str]]:
    """Return one line of cells for each level and category: its name, how many cases, every mean.

    With an earlier run each mean has its change in brackets, taken over the cases that both runs have.
    """
    lines = []
    for row in build_rows(run.cases):
        name = "" if row.category is None else f", {_plain(row.category) or '(none)'}"
        cells = [f"by {row.level}{name}", f"{row.cases:,}"]
        for measure, value in row.means.items():
            change = difference.change(row.level, row.category, measure) if difference else None
            cells.append(f"{value:.4f}" if change is None else f"{value:.4f} ({change:+.4f})")
        lines.append(cells)
    return lines


def format_time_cells(run: EvalRun, difference: Difference | None = None) -> list[list[str]]:
    """Return the number of cases without hits, and the search time: a name and a value a line."""
    lines = [["cases that found nothing", f"{count_without_hits(run.cases):,}"]]
    took, before = (
        compute_latency(run.cases),
        compute_latency(difference.earlier.cases) if difference else None,
    )
    for name in ("p50", "p95") if took else ():
        was = f" (was {getattr(before, f'{name}_ms'):.2f})" if before else ""
        lines.append([f"search, {name}", f"{getattr(took, f'{name}_ms'):.2f} ms{was}"])
    return lines


def _about(run: EvalRun) -> Iterator[str]:
    yield f"- commit: `{run.commit or 'none yet'}`"
    yield f"- asked: {run.at}, by docyard {run.version}"
    stats = (run.metadata or {}).get("stats")
    if stats:
        yield f"- index: {stats['total_files']:,} documents, {stats['total_chunks']:,} sections"
    first = "" if run.parameters.limit is None else ", the first of the files"
    yield f"- cases: {len(run.cases):,}{first}; lists of the best {run.parameters.top:,} sections"


def _measures(run: EvalRun, difference: Difference | None) -> Iterator[str]:
    if difference is not None:
        yield f"In brackets: the change over the {len(difference.pairs):,} cases that both runs have."
        yield ""
    yield from _table(HEADINGS, format_measure_cells(run, difference))
    yield ""
    yield from _table(("", ""), format_time_cells(run, difference))


def _difference(difference: Difference) -> Iterator[str]:
    earlier = difference.earlier
    yield f"Since {earlier.at}, commit `{earlier.commit or 'none yet'}`, docyard {earlier.version}."
    gone = len(earlier.cases) - len(difference.pairs)
    if gone:
        yield f"Of its {len(earlier.cases):,} cases {gone:,} are not asked any more, or not in that way."
    for title, pairs in (("Gained", difference.gained()), ("Lost", difference.lost())):
        yield from ("", f"### {title}: {len(pairs):,}")
        if pairs:
            yield ""
            yield from _table(("query", f"{BY} by page", "first right page"), map(_changed, pairs[:SHOWN]))


def _changed(pair: CasePair) -> list[str]:
    before, now = pair.before, pair.now
    return [
        _plain(now.query),
        f"{before.page.measures[BY]:.4f} → {now.page.measures[BY]:.4f}",
        f"{_first_right(before)} → {_first_right(now)}",
    ]


def _worst(outcomes: Sequence[Outcome]) -> Iterator[str]:
    worst = sorted(outcomes, key=lambda outcome: outcome.page.measures[BY])[:SHOWN]
    columns = ("query", f"{BY} by page", "first right page", "found first")
    yield from _table(columns, map(_answered, worst))


def _answered(outcome: Outcome) -> list[str]:
    first = _plain(outcome.found[0]) if outcome.found else "nothing"
    return [_plain(outcome.query), f"{outcome.page.measures[BY]:.4f}", _first_right(outcome), first]


def _first_right(outcome: Outcome) -> str:
    found = [rank for rank in outcome.page.ranks.values() if rank is not None]
    return str(min(found)) if found else "none"


def _table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for cells in lines:
        yield f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _SPECIAL.sub(lambda special: "\\" + special[0], " ".join(text.split()))


_GATE = re.compile(r"(?:(\w+)\.)?([^=.]+)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gate:
    """The least mean of a measure over all cases at a level."""

    level: str
    measure: str
    least: float

    def missed(self, run: EvalRun) -> str | None:
        """Say by how much the run misses it; None if it does not."""
        name = f"{self.measure} by {self.level}"
        found = compute_mean(run.cases, self.level, self.measure)
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
