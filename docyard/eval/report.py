"""The report of a run in Markdown, compared with an earlier run.

The report contains the means of all measures, for all cases and by category, and the search time. Two runs of
the same cases are compared case by case. A required minimum of a mean lets the evaluation fail a build.
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
    """The means of some cases at a level.

    `category` is None for all cases, and "" for cases without a category.
    """

    level: str
    category: str | None
    case_count: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True)
class Latency:
    """The wall-clock time of one search, in milliseconds, at the median and the 95th percentile."""

    p50_ms: float
    p95_ms: float


def build_rows(outcomes: Sequence[Outcome]) -> list[MeasureRow]:
    """Return the means at each level: of all cases, then of each category, if any case has a category."""
    categories = sorted({outcome.category for outcome in outcomes})
    row_categories = [None] if categories == [""] else [None, *categories]
    return [
        row
        for level in LEVELS
        for category in row_categories
        if (row := _build_row(level, category, outcomes))
    ]


def is_in_category(outcome: Outcome, category: str | None) -> bool:
    """Return True if a case belongs to the row of a category; None is the row of all cases."""
    return category is None or outcome.category == category


def compute_mean(outcomes: Iterable[Outcome], level: str, measure: str) -> float | None:
    """Return the mean of one measure over the cases that have this level; None if no case has the level."""
    scores = [result.measures[measure] for outcome in outcomes if (result := outcome.get_measures(level))]
    return sum(scores) / len(scores) if scores else None


def compute_latency(outcomes: Iterable[Outcome]) -> Latency | None:
    """Return the search times; None if no search succeeded."""
    times = sorted(outcome.ms for outcome in outcomes if outcome.ms is not None)
    return Latency(_compute_percentile(times, 0.5), _compute_percentile(times, 0.95)) if times else None


def count_cases_without_hits(outcomes: Iterable[Outcome]) -> int:
    """Return the number of cases whose search has no hits."""
    return sum(not outcome.hits for outcome in outcomes)


def summarize_run(run: EvalRun) -> dict[str, Any]:
    """Return the means of a run as data, by level: of all cases, and of each category."""
    summary: dict[str, Any] = {}
    for row in build_rows(run.cases):
        data = {"cases": row.case_count, **row.means}
        if row.category is None:
            summary[row.level] = {**data, "categories": {}}
        else:
            summary[row.level]["categories"][row.category] = data
    latency = compute_latency(run.cases)
    summary["latency"] = {"p50_ms": latency.p50_ms, "p95_ms": latency.p95_ms} if latency else None
    summary["without_hits"] = count_cases_without_hits(run.cases)
    return summary


def _build_row(level: str, category: str | None, outcomes: Iterable[Outcome]) -> MeasureRow | None:
    members = [outcome for outcome in outcomes if is_in_category(outcome, category)]
    means = {name: value for name in MEASURES if (value := compute_mean(members, level, name)) is not None}
    return (
        MeasureRow(
            level, category, sum(outcome.get_measures(level) is not None for outcome in members), means
        )
        if means
        else None
    )


def _compute_percentile(times: Sequence[float], fraction: float) -> float:
    """Return the percentile of sorted times by the nearest-rank method; `fraction` is between 0 and 1."""
    return times[max(0, math.ceil(fraction * len(times)) - 1)]


COMPARED_MEASURE = "ndcg@10"
"""The page-level measure by which a case in two runs has gained or lost."""


@dataclass(frozen=True, slots=True)
class CasePair:
    """The outcomes of one case in an earlier run and in the current run."""

    earlier: Outcome
    current: Outcome

    @property
    def gain(self) -> float:
        """Return the increase of COMPARED_MEASURE from the earlier run to the current run."""
        return self.current.page.measures[COMPARED_MEASURE] - self.earlier.page.measures[COMPARED_MEASURE]


@dataclass(frozen=True, slots=True)
class Difference:
    """An earlier run, and the cases with the same question and answers in both runs."""

    earlier_run: EvalRun
    pairs: tuple[CasePair, ...]

    def list_gains(self) -> list[CasePair]:
        """Return the cases that gained, the largest gain first."""
        return sorted((pair for pair in self.pairs if pair.gain > 0), key=lambda pair: -pair.gain)

    def list_losses(self) -> list[CasePair]:
        """Return the cases that lost, the largest loss first."""
        return sorted((pair for pair in self.pairs if pair.gain < 0), key=lambda pair: pair.gain)

    def compute_change(self, level: str, category: str | None, measure: str) -> float | None:
        """Return the increase of a category's mean; None if no case of both runs has the level.

        The current run's categories apply, so a case that changed its category is compared with itself.
        """
        pairs = [pair for pair in self.pairs if is_in_category(pair.current, category)]
        current_mean = compute_mean((pair.current for pair in pairs), level, measure)
        earlier_mean = compute_mean((pair.earlier for pair in pairs), level, measure)
        return None if current_mean is None or earlier_mean is None else current_mean - earlier_mean


def compare_runs(earlier_run: EvalRun, run: EvalRun) -> Difference:
    """Pair the cases of two runs by their ids. Cases with changed questions or answers are omitted."""
    return Difference(earlier_run, tuple(_pair_cases(earlier_run, run)))


def _pair_cases(earlier_run: EvalRun, run: EvalRun) -> Iterator[CasePair]:
    earlier_outcomes = {outcome.id: outcome for outcome in earlier_run.cases}
    for current in run.cases:
        match = earlier_outcomes.get(current.id)
        if match is not None and match.digest == current.digest:
            yield CasePair(match, current)


MAX_LISTED_CASES = 10
"""The maximum number of cases in each list: gained, lost, and worst results."""

HEADINGS = ("", "cases", *MEASURES)
"""The headings of the columns of `format_measure_cells`."""

_SPECIAL_CHARACTERS = re.compile(r"[\\`*_\[\]<>|#]")


def render_report(run: EvalRun, difference: Difference | None = None) -> str:
    """Return the full report."""
    lines = [f"# Search evaluation: {_escape(run.name)}", "", *_describe_run(run)]
    lines += ["", "## Measures", "", *_format_measures(run, difference)]
    if difference is not None:
        lines += ["", "## Difference", "", *_format_difference(difference)]
    lines += ["", "## Worst results", "", *_format_worst_cases(run.cases)]
    if run.problems:
        lines += ["", f"## Problems: {len(run.problems):,}", ""]
        lines += [f"- {_escape(problem)}" for problem in run.problems]
    return "\n".join(lines) + "\n"


def format_measure_cells(run: EvalRun, difference: Difference | None = None) -> list[list[str]]:
    """Return one line of cells for each level and category: its name, the number of cases, every mean.

    With an earlier run each mean has its change in brackets, computed from the cases that both runs have.
    """
    rows = []
    for row in build_rows(run.cases):
        name = "" if row.category is None else f", {_escape(row.category) or '(none)'}"
        cells = [f"by {row.level}{name}", f"{row.case_count:,}"]
        for measure, value in row.means.items():
            change = difference.compute_change(row.level, row.category, measure) if difference else None
            cells.append(f"{value:.4f}" if change is None else f"{value:.4f} ({change:+.4f})")
        rows.append(cells)
    return rows


def format_time_cells(run: EvalRun, difference: Difference | None = None) -> list[list[str]]:
    """Return the number of cases without hits, and the search time: one name and one value on each line."""
    lines = [["cases without hits", f"{count_cases_without_hits(run.cases):,}"]]
    latency, earlier_latency = (
        compute_latency(run.cases),
        compute_latency(difference.earlier_run.cases) if difference else None,
    )
    for name in ("p50", "p95") if latency else ():
        earlier_note = f" (was {getattr(earlier_latency, f'{name}_ms'):.2f})" if earlier_latency else ""
        lines.append([f"search, {name}", f"{getattr(latency, f'{name}_ms'):.2f} ms{earlier_note}"])
    return lines


def _describe_run(run: EvalRun) -> Iterator[str]:
    yield f"- commit: `{run.commit or 'none yet'}`"
    yield f"- run: {run.at}, by docyard {run.version}"
    stats = (run.metadata or {}).get("stats")
    if stats:
        yield f"- index: {stats['total_files']:,} documents, {stats['total_chunks']:,} sections"
    yield f"- embedding: {describe_embedding(run)}"
    limit_note = "" if run.parameters.limit is None else " (only the first ones in the files were run)"
    yield f"- cases: {len(run.cases):,}{limit_note}; top {run.parameters.top:,} sections for each query"


def describe_embedding(run: EvalRun) -> str:
    """Return the provider, its model and the type of the search; "none" without a provider."""
    if run.embedding is None:
        return "none"
    provider, model, dimensions = run.embedding.provider, run.embedding.model, run.embedding.dimensions
    size = "" if dimensions is None else f", {dimensions:,} dimensions"
    return f"{_escape(provider)}, {_escape(model)}{size}; search type {run.search_type}"


COMPARISON_HEADINGS = ("embedding", "search type", *MEASURES, "p50 ms")
"""The headings of the columns of `format_comparison`."""


def format_comparison(runs: Iterable[EvalRun]) -> list[list[str]]:
    """Return one line of cells for each run: provider, search type, means by page, and median time."""
    rows = []
    for run in runs:
        means = [compute_mean(run.cases, "page", measure) for measure in MEASURES]
        latency = compute_latency(run.cases)
        rows.append(
            [
                f"{run.embedding.provider} {run.embedding.model}" if run.embedding else "none",
                run.search_type,
                *("" if mean is None else f"{mean:.4f}" for mean in means),
                "" if latency is None else f"{latency.p50_ms:.2f}",
            ]
        )
    return rows


def _format_measures(run: EvalRun, difference: Difference | None) -> Iterator[str]:
    if difference is not None:
        yield f"In brackets: the change over the {len(difference.pairs):,} cases that both runs have."
        yield ""
    yield from _format_table(HEADINGS, format_measure_cells(run, difference))
    yield ""
    yield from _format_table(("", ""), format_time_cells(run, difference))


def _format_difference(difference: Difference) -> Iterator[str]:
    earlier_run = difference.earlier_run
    commit = earlier_run.commit or "none yet"
    yield f"Since {earlier_run.at}, commit `{commit}`, docyard {earlier_run.version}."
    omitted_count = len(earlier_run.cases) - len(difference.pairs)
    if omitted_count:
        yield f"Of its {len(earlier_run.cases):,} cases, {omitted_count:,} no longer exist or have changed."
    for title, pairs in (("Gained", difference.list_gains()), ("Lost", difference.list_losses())):
        yield from ("", f"### {title}: {len(pairs):,}")
        if pairs:
            yield ""
            yield from _format_table(
                ("query", f"{COMPARED_MEASURE} by page", "first relevant page"),
                map(_format_changed_case, pairs[:MAX_LISTED_CASES]),
            )


def _format_changed_case(pair: CasePair) -> list[str]:
    earlier, current = pair.earlier, pair.current
    return [
        _escape(current.query),
        f"{earlier.page.measures[COMPARED_MEASURE]:.4f} → {current.page.measures[COMPARED_MEASURE]:.4f}",
        f"{_format_first_relevant_rank(earlier)} → {_format_first_relevant_rank(current)}",
    ]


def _format_worst_cases(outcomes: Sequence[Outcome]) -> Iterator[str]:
    worst_outcomes = sorted(outcomes, key=lambda outcome: outcome.page.measures[COMPARED_MEASURE])[
        :MAX_LISTED_CASES
    ]
    columns = ("query", f"{COMPARED_MEASURE} by page", "first relevant page", "first hit")
    yield from _format_table(columns, map(_format_case, worst_outcomes))


def _format_case(outcome: Outcome) -> list[str]:
    first_hit = _escape(outcome.found[0]) if outcome.found else "nothing"
    return [
        _escape(outcome.query),
        f"{outcome.page.measures[COMPARED_MEASURE]:.4f}",
        _format_first_relevant_rank(outcome),
        first_hit,
    ]


def _format_first_relevant_rank(outcome: Outcome) -> str:
    ranks = [rank for rank in outcome.page.ranks.values() if rank is not None]
    return str(min(ranks)) if ranks else "none"


def _format_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    """Return text on one line, with Markdown's special characters escaped."""
    return _SPECIAL_CHARACTERS.sub(lambda match: "\\" + match[0], " ".join(text.split()))


_MINIMUM_PATTERN = re.compile(r"(?:(\w+)\.)?([^=.]+)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RequiredMinimum:
    """The minimum that the mean of a measure over all cases at a level must reach."""

    level: str
    measure: str
    minimum: float

    def describe_miss(self, run: EvalRun) -> str | None:
        """Return the reason why the mean of the run is too low or missing; None if it is high enough."""
        name = f"{self.measure} by {self.level}"
        mean = compute_mean(run.cases, self.level, self.measure)
        if mean is None:
            return f"{name} was not measured: no case expects a section"
        return None if mean >= self.minimum else f"{name} must be at least {self.minimum:g} (got {mean:.4f})"


def parse_minimum(text: str) -> RequiredMinimum:
    """Parse a minimum such as `chunk.mrr=.5`. If the level is missing, as in `ndcg@10=.45`, it is `page`.

    Raises ValueError with the reason.
    """
    match = _MINIMUM_PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError("write MEASURE=NUMBER, such as ndcg@10=.45 or chunk.mrr=.5")
    level, measure, number = match[1] or "page", match[2].strip().lower(), match[3]
    if level not in LEVELS:
        raise ValueError(f"the level must be {' or '.join(LEVELS)} (got {level})")
    if measure not in MEASURES:
        raise ValueError(f"the measure must be one of {', '.join(MEASURES)} (got '{measure}')")
    try:
        minimum = float(number)
    except ValueError:
        minimum = -1.0
    if not 0 <= minimum <= 1:
        raise ValueError("the number must be between 0 and 1")
    return RequiredMinimum(level, measure, minimum)
