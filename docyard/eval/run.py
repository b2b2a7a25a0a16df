"""A run: the results of all cases, stored in a file and compared with later runs.

The measures of a ranked list are those of trec_eval. A list contains names, which are paths
of documents or ids of chunks: each name once, best first. A grade above 0 means that the name is relevant;
names without a grade are not relevant.

* ndcg@k: DCG of the first k, divided by the DCG of the best possible list; gain = grade,
  discount = log2(rank + 1)

* mrr: 1 / rank of the first relevant name, or 0 if the list has no relevant name

* recall@k: the share of all relevant names in the first k
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from docyard.eval.cases import Case, Problem
from index.documents import format_chunk_id
from index.port import SearchType
from workspace.document.addresses import resolve_section, split_address
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.service import Hit, SearchIndex
    from workspace.snapshot.snapshot import Snapshot

LEVELS = ("page", "chunk")
"""The levels of measurement: the list of documents, ranked by their best sections, and the list of sections.

The list of sections is measured only if a case expects a section.
"""


class InvalidRun(WorkspaceError):
    """A file is not a valid run; `details` has the invalid `field`."""

    code: ClassVar[str] = "INVALID_RUN"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ListMeasures(_Model):
    """The measures of one list by name, and the rank of each expected address; None if the list lacks it."""

    measures: Mapping[str, float]
    ranks: Mapping[str, int | None]


class Outcome(_Model):
    """The result of one case. `ms` is the wall-clock time of one search for ten hits, in milliseconds.

    `digest` changes with the question or its answers. `found` has the first ten chunk ids, `hits` is the
    length of the judged list. If the search rejected the case, `ms` is None and there are no hits.
    """

    id: str
    query: str
    category: str
    digest: str
    ms: float | None
    hits: int
    found: tuple[str, ...]
    page: ListMeasures
    chunk: ListMeasures | None

    def get_measures(self, level: str) -> ListMeasures | None:
        """Return the measures of the list of pages, or of chunks."""
        return self.page if level == "page" else self.chunk


class Parameters(_Model):
    """The parameters of a run: `top` is the length of chunk lists, `limit` the maximum number of cases."""

    top: int
    limit: int | None


class Embedding(_Model):
    """The provider of vectors of a run, its model, and the number of dimensions; None if it failed."""

    provider: str
    model: str
    dimensions: int | None


class EvalRun(_Model):
    """A full run. `search_type` is the requested type, and `embedding` the provider of vectors.

    `name` contains the names of the case files; `at` is the UTC time in ISO 8601, in seconds.

    `metadata` is the index's metadata.json; `version` is Docyard's own; `problems` lists expected addresses
    that the commit lacks, and cases that the search rejected.
    """

    format: Literal[1] = 1
    name: str
    at: str
    commit: str | None
    version: str
    parameters: Parameters
    metadata: Mapping[str, Any] | None
    search_type: SearchType = "bm25"
    embedding: Embedding | None = None
    problems: tuple[str, ...]
    cases: tuple[Outcome, ...]


def read_run(file: Path) -> EvalRun:
    """Return the run in a file. Raises InvalidRun, and OSError if the file cannot be read."""
    try:
        return EvalRun.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first_error["loc"])
        raise InvalidRun(
            f"{file.name} is not a run of docyard eval, at {field or 'its text'}: "
            f"{first_error['msg'].lower()}",
            fix="Name a file that --runs saved, or move this file out of the folder.",
            field=field,
        ) from None


def read_runs(folder: Path, name: str, parameters: Parameters) -> list[EvalRun]:
    """Return a folder's runs of these case files with these parameters, oldest first.

    Raises InvalidRun, OSError.
    """
    runs = [read_run(file) for file in sorted(folder.glob("*.json"))]
    comparable_runs = [run for run in runs if run.name == name and run.parameters == parameters]
    # The sort is stable: two runs of the same second are sorted by the file's name.
    return sorted(comparable_runs, key=lambda run: run.at)


def save_run(folder: Path, run: EvalRun) -> Path:
    """Write a run to a new file in a folder; the names of files sort by time. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{run.at.replace(':', '').replace('-', '')}-{(run.commit or 'empty')[:12]}"
    for number in count(1):
        file = folder / f"{stem}-{number:02}.json"
        with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
            stream.write(run.model_dump_json(indent=1) + "\n")
            break
    return file


@dataclass(frozen=True, slots=True)
class ExpectedGrades:
    """The grades of documents, for the list of pages, and of chunk ids, for the list of chunks.

    A document's grade is the best grade of the document and its sections. An address that the commit does not
    have keeps its grade, so it counts as not found, and is reported in `problems`. `chunks` is empty if the
    case expects no section.
    """

    pages: Mapping[str, int]
    chunks: Mapping[str, int]
    problems: tuple[Problem, ...]


def resolve_expected(case: Case, snapshot: Snapshot) -> ExpectedGrades:
    """Resolve the addresses of a case. The key of a section and all its addresses are accepted."""
    pages: dict[str, int] = {}
    chunks: dict[str, int] = {}
    problems = []
    for address, grade in case.expected.items():
        path, key = split_address(address, snapshot.documents)
        try:
            snapshot.blob(path)
            key = None if key is None else _resolve_key(snapshot, path, key)
        except WorkspaceError as error:
            problems.append(Problem(case.file, case.line, error.message))
        pages[path] = max(grade, pages.get(path, grade))
        if key is not None:
            chunk = format_chunk_id(path, key)
            chunks[chunk] = max(grade, chunks.get(chunk, grade))
    return ExpectedGrades(pages, chunks, tuple(problems))


def _resolve_key(snapshot: Snapshot, path: str, fragment: str) -> str:
    document = snapshot.document(path)
    section = document.section_by_key(fragment)
    return (section or resolve_section(document, fragment)).key


Grades = Mapping[str, int]


def compute_ndcg(ranked_names: Sequence[str], grades: Grades, depth: int) -> float:
    """Return the normalised discounted cumulative gain of the first `depth` names, from 0 to 1."""
    best_gain = _compute_dcg(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:depth])
    return (
        _compute_dcg(max(grades.get(name, 0), 0) for name in ranked_names[:depth]) / best_gain
        if best_gain
        else 0.0
    )


def compute_reciprocal_rank(ranked_names: Sequence[str], grades: Grades) -> float:
    """Return 1 / rank of the first relevant name, or 0."""
    return next((1 / rank for rank, name in enumerate(ranked_names, 1) if grades.get(name, 0) > 0), 0.0)


def compute_recall(ranked_names: Sequence[str], grades: Grades, depth: int) -> float:
    """Return the share of the relevant names that are among the first `depth` names, from 0 to 1."""
    relevant_names = {name for name, grade in grades.items() if grade > 0}
    return (
        len(relevant_names.intersection(ranked_names[:depth])) / len(relevant_names)
        if relevant_names
        else 0.0
    )


MEASURES: Mapping[str, Callable[[Sequence[str], Grades], float]] = {
    "ndcg@5": partial(compute_ndcg, depth=5),
    "ndcg@10": partial(compute_ndcg, depth=10),
    "mrr": compute_reciprocal_rank,
    "recall@10": partial(compute_recall, depth=10),
    "recall@50": partial(compute_recall, depth=50),
}
"""The measures by name, in the order of the output."""


def compute_measures(ranked_names: Sequence[str], grades: Grades) -> dict[str, float]:
    """Return each measure of a ranked list, by the name of the measure."""
    return {name: calculate(ranked_names, grades) for name, calculate in MEASURES.items()}


def find_ranks(ranked_names: Sequence[str], grades: Grades) -> dict[str, int | None]:
    """Return the rank of each relevant name, counted from 1; None if the list lacks it."""
    ranks = {name: rank for rank, name in enumerate(ranked_names, 1)}
    return {name: ranks.get(name) for name, grade in grades.items() if grade > 0}


def _compute_dcg(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


TIMED_HIT_COUNT = 10
"""The number of hits of the timed search, which is the default of `search_docs`."""

_REJECTION_CODES = frozenset({"EMPTY_QUERY", "QUERY_TOO_BROAD", "UNKNOWN_FILTER", "UNKNOWN_FILTER_VALUE"})
Progress = Callable[[int, int, str], None]


class CommitChanged(WorkspaceError):
    """The branch moved during the run, so that the results belong to different commits."""

    code: ClassVar[str] = "COMMIT_CHANGED"


class VectorsUnusable(WorkspaceError):
    """A search of the run could not use the vectors, so that its measures would be those of words."""

    code: ClassVar[str] = "VECTORS_UNUSABLE"


class _SearchRejected(Exception):
    """The search rejected the case; the message has the reason."""


@dataclass(frozen=True, slots=True)
class CaseResults:
    """The outcome of every case, in order, and the problems of the cases at this commit."""

    outcomes: tuple[Outcome, ...]
    problems: tuple[Problem, ...]


def run_cases(
    index: SearchIndex,
    snapshot: Snapshot,
    cases: Sequence[Case],
    *,
    top: int,
    search_type: SearchType | None = None,
    progress: Progress | None = None,
) -> CaseResults:
    """Run each case twice: a timed search for ten hits, and a search for the judged list of `top` hits.

    The index must be at the commit of `snapshot`. One search runs before the first case, so that no time
    includes opening the index. Raises CommitChanged, and search errors that the case did not cause.
    """
    problems: list[Problem] = []
    outcomes: list[Outcome] = []
    search = partial(_search, index, snapshot, search_type)
    for case in cases:
        expected_grades = resolve_expected(case, snapshot)
        problems += expected_grades.problems
        try:
            if not outcomes:
                search(case, TIMED_HIT_COUNT)
            outcomes.append(_run_case(search, case, expected_grades, top))
        except _SearchRejected as rejection:
            problems.append(Problem(case.file, case.line, str(rejection)))
            outcomes.append(_build_outcome(case, expected_grades, (), None))
        if progress:
            progress(len(outcomes), len(cases), "Searching")
    return CaseResults(tuple(outcomes), tuple(problems))


def _run_case(
    search: Callable[[Case, int], tuple[Hit, ...]], case: Case, expected_grades: ExpectedGrades, top: int
) -> Outcome:
    start_time = time.perf_counter()
    search(case, TIMED_HIT_COUNT)
    seconds = time.perf_counter() - start_time
    return _build_outcome(case, expected_grades, search(case, top), seconds)


def _search(
    index: SearchIndex, snapshot: Snapshot, search_type: SearchType | None, case: Case, limit: int
) -> tuple[Hit, ...]:
    try:
        page = index.search(
            case.query, limit=limit, filters=case.filters, path=case.path, search_type=search_type
        )
    except WorkspaceError as error:
        if error.code in _REJECTION_CODES:
            raise _SearchRejected(error.message) from error
        raise
    if page.commit != snapshot.commit:
        raise CommitChanged(
            f"the branch moved during the run, from {snapshot.commit} to {page.commit}",
            fix="Run the command again while no process writes, or in a clone.",
            commits=[snapshot.commit, page.commit],
        )
    if page.embedding is not None and page.embedding.note is not None:
        raise VectorsUnusable(
            f"a search used words alone: {page.embedding.note}",
            fix="Run `docyard index embed`, or use --search-type bm25.",
        )
    return page.hits


def _build_outcome(
    case: Case, expected_grades: ExpectedGrades, hits: Sequence[Hit], seconds: float | None
) -> Outcome:
    chunks = [hit.chunk_id for hit in hits]
    pages = list(dict.fromkeys(hit.filepath for hit in hits))
    return Outcome(
        id=case.id,
        query=case.query,
        category=case.category,
        digest=case.digest,
        ms=None if seconds is None else round(seconds * 1e3, 4),
        hits=len(hits),
        found=tuple(chunks[:TIMED_HIT_COUNT]),
        page=_measure_list(pages, expected_grades.pages),
        chunk=_measure_list(chunks, expected_grades.chunks) if expected_grades.chunks else None,
    )


def _measure_list(ranked_names: Sequence[str], grades: Grades) -> ListMeasures:
    return ListMeasures(
        measures=compute_measures(ranked_names, grades), ranks=find_ranks(ranked_names, grades)
    )
