"""A trace matrix as a Markdown table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.diff.formats import escape_markdown, format_code_span
from workspace.escapes import escape_invisible
from workspace.trace import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.trace import Place, Trace

_MAX_PLACES = 3
_PIPE = re.compile(r"(?<!\\)\|")


def format_matrix(traces: Iterable[Trace]) -> str:
    """Return a table with a row for each identifier and a column for each stage."""
    lines = [
        "| id | title | required | designed | tasked | done | tested |",
        "|---|---|---|---|---|---|---|",
    ]
    for trace in traces:
        cells = [trace.id, escape_markdown(trace.title)]
        cells += [_format_places(trace, stage) for stage in Stage]
        lines.append(f"| {' | '.join(map(_escape_pipes, cells))} |")
    return escape_invisible("\n".join(lines) + "\n")


def _format_places(trace: Trace, stage: Stage) -> str:
    places = trace.places[stage]
    if stage is Stage.DONE:
        tasks = trace.places[Stage.TASKED]
        return f"{len(places)} of {len(tasks)}" if tasks else "**no**"
    return _list_addresses(places) if places else "**no**"


def _list_addresses(places: Sequence[Place]) -> str:
    addresses = [format_code_span(place.address) for place in places[:_MAX_PLACES]]
    more = f" and {len(places) - _MAX_PLACES:,} more" if len(places) > _MAX_PLACES else ""
    return ", ".join(addresses) + more


def _escape_pipes(cell: str) -> str:
    """Return a cell in which no pipe ends it, also none in a code span (GFM 0.29 §4.10)."""
    return _PIPE.sub(r"\\|", cell)
