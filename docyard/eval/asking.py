"""Asks an index every case, and measures what comes back and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from docyard.eval.cases import Case, Problem
from docyard.eval.judging import Expected, expected
from docyard.eval.measures import Grades, measure, ranks
from docyard.eval.run import Outcome, Scored
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.service import Hit, SearchIndex
    from workspace.snapshot.snapshot import Snapshot

TIMED = 10
"""Hits of the search that is timed: as many as an agent gets unless it asks for more."""

_REFUSALS = frozenset({"EMPTY_QUERY", "QUERY_TOO_BROAD", "UNKNOWN_FILTER", "UNKNOWN_FILTER_VALUE"})

Progress = Callable[[int, int, str], None]


class CommitChanged(WorkspaceError):
    """The branch moved while the cases were asked, so that their answers are of different commits."""

    code: ClassVar[str] = "COMMIT_CHANGED"


class _Refused(Exception):
    """The search would not take the case as it is written; the text says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of every case, in order, and what was wrong with some of them at this commit."""

    outcomes: tuple[Outcome, ...]
    problems: tuple[Problem, ...]


def ask_all(
    index: SearchIndex,
    snapshot: Snapshot,
    cases: Sequence[Case],
    *,
    top: int,
    progress: Progress | None = None,
) -> Asked:
    """Ask each case twice: for ten hits, which is timed, and for the list of `top` that is judged.

    The index stands at the commit of `snapshot`. The first case is asked once before, so that none is charged
    with opening the index. Raises CommitChanged, and what a search raises that is not the case's own fault.
    """
    problems: list[Problem] = []
    outcomes: list[Outcome] = []
    for case in cases:
        wanted = expected(case, snapshot)
        problems += wanted.unknown
        try:
            if not outcomes:
                _search(index, snapshot, case, TIMED)
            outcomes.append(_ask(index, snapshot, case, wanted, top))
        except _Refused as refused:
            problems.append(Problem(case.file, case.line, str(refused)))
            outcomes.append(_outcome(case, wanted, (), None))
        if progress:
            progress(len(outcomes), len(cases), "asking")
    return Asked(tuple(outcomes), tuple(problems))


def _ask(index: SearchIndex, snapshot: Snapshot, case: Case, wanted: Expected, top: int) -> Outcome:
    started = time.perf_counter()
    _search(index, snapshot, case, TIMED)
    seconds = time.perf_counter() - started
    return _outcome(case, wanted, _search(index, snapshot, case, top), seconds)


def _search(index: SearchIndex, snapshot: Snapshot, case: Case, limit: int) -> tuple[Hit, ...]:
    try:
        page = index.search(case.query, limit=limit, filters=case.filters, path=case.path)
    except WorkspaceError as error:
        if error.code in _REFUSALS:
            raise _Refused(error.message) from error
        raise
    if page.commit != snapshot.commit:
        raise CommitChanged(
            "the branch moved while the cases were asked, so the answers are of different commits",
            fix="Run it again when nobody writes, or in a clone.",
            commits=[snapshot.commit, page.commit],
        )
    return page.hits


def _outcome(case: Case, wanted: Expected, hits: Sequence[Hit], seconds: float | None) -> Outcome:
    chunks = [hit.chunk_id for hit in hits]
    pages = list(dict.fromkeys(hit.filepath for hit in hits))
    return Outcome(
        id=case.id,
        query=case.query,
        category=case.category,
        digest=case.digest,
        ms=None if seconds is None else round(seconds * 1e3, 4),
        hits=len(hits),
        found=tuple(chunks[:TIMED]),
        page=_scored(pages, wanted.pages),
        chunk=_scored(chunks, wanted.chunks) if wanted.chunks else None,
    )


def _scored(ranked: Sequence[str], grades: Grades) -> Scored:
    return Scored(measures=measure(ranked, grades), ranks=ranks(ranked, grades))
