"""The report of a run in Markdown, with what changed since an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from docyard.eval.difference import BY, Difference, Pair
from docyard.eval.measures import MEASURES
from docyard.eval.run import Outcome, Run
from docyard.eval.summary import latency, rows, without_hits

SHOWN = 10
"""Cases in each list: those that gained, those that lost, those answered worst."""

HEADINGS = ("", "cases", *MEASURES)
"""The heading of each column of `measure_cells`."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>|#]")


def report(run: Run, difference: Difference | None = None) -> str:
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


def measure_cells(run: Run, difference: Difference | None = None) -> list[list[str]]:
    """One line of cells for each level and category: its name, how many cases, every mean.

    With an earlier run each mean has its change in brackets, taken over the cases that both runs have.
    """
    lines = []
    for row in rows(run.cases):
        name = "" if row.category is None else f", {_plain(row.category) or '(none)'}"
        cells = [f"by {row.level}{name}", f"{row.cases:,}"]
        for measure, value in row.means.items():
            change = difference.change(row.level, row.category, measure) if difference else None
            cells.append(f"{value:.4f}" if change is None else f"{value:.4f} ({change:+.4f})")
        lines.append(cells)
    return lines


def time_cells(run: Run, difference: Difference | None = None) -> list[list[str]]:
    """The cases that found nothing, and the time that a search took: a name and a value on each line."""
    lines = [["cases that found nothing", f"{without_hits(run.cases):,}"]]
    took, before = latency(run.cases), latency(difference.earlier.cases) if difference else None
    for name in ("p50", "p95") if took else ():
        was = f" (was {getattr(before, f'{name}_ms'):.2f})" if before else ""
        lines.append([f"search, {name}", f"{getattr(took, f'{name}_ms'):.2f} ms{was}"])
    return lines


def _about(run: Run) -> Iterator[str]:
    yield f"- commit: `{run.commit or 'none yet'}`"
    yield f"- asked: {run.at}, by docyard {run.version}"
    stats = (run.metadata or {}).get("stats")
    if stats:
        yield f"- index: {stats['total_files']:,} documents, {stats['total_chunks']:,} sections"
    first = "" if run.parameters.limit is None else ", the first of the files"
    yield f"- cases: {len(run.cases):,}{first}; lists of the best {run.parameters.top:,} sections"


def _measures(run: Run, difference: Difference | None) -> Iterator[str]:
    if difference is not None:
        yield f"In brackets: the change over the {len(difference.pairs):,} cases that both runs have."
        yield ""
    yield from _table(HEADINGS, measure_cells(run, difference))
    yield ""
    yield from _table(("", ""), time_cells(run, difference))


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


def _changed(pair: Pair) -> list[str]:
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
    """Text on one line that Markdown shows as it is."""
    return _SPECIAL.sub(lambda special: "\\" + special[0], " ".join(text.split()))
