"""From files to cases: which form a file has, and all that is wrong with the files at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from docyard.eval.cases import Case, InvalidCases, Problem
from docyard.eval.fields import read_case
from docyard.eval.qrels import Judgement, judged_cases, read_qrels, read_queries
from docyard.eval.records import Record, read_jsonl, read_text, read_yaml

_RECORDS = {".yaml": read_yaml, ".yml": read_yaml, ".jsonl": read_jsonl}


def is_qrels(file: Path) -> bool:
    """Whether a file is read as TREC's judgements, which need a file of queries."""
    return file.suffix.lower() not in _RECORDS


def read_cases(files: Sequence[Path], queries: Path | None = None) -> list[Case]:
    """Read every case of some files. Raises InvalidCases, which lists what is wrong by file and line.

    `queries` has the texts for those of the files that are judgements; a query that none of them judges is
    left out. Raises OSError for a file that cannot be read.
    """
    items = [item for file in files for item in _read(file, queries)]
    problems = [item for item in items if isinstance(item, Problem)]
    cases = [item for item in items if isinstance(item, Case)]
    problems += _repeated(cases)
    if not cases and not problems:
        problems.append(Problem(files[0].name, 1, "there is no case"))
    if problems:
        raise InvalidCases.because(problems)
    return cases


def _read(file: Path, queries: Path | None) -> Iterator[Case | Problem]:
    if not is_qrels(file):
        yield from _read_records(file)
    elif queries is None:
        yield Problem(file.name, 1, "judgements need the file of their queries beside them")
    else:
        yield from _read_judged(file, queries)


def _read_records(file: Path) -> Iterator[Case | Problem]:
    text = read_text(file.name, file.read_bytes())
    if isinstance(text, Problem):
        yield text
        return
    for item in _RECORDS[file.suffix.lower()](file.name, text):
        case = read_case(file.name, item) if isinstance(item, Record) else [item]
        yield from case if isinstance(case, list) else [case]


def _read_judged(file: Path, queries: Path) -> Iterator[Case | Problem]:
    judged, asked = read_text(file.name, file.read_bytes()), read_text(queries.name, queries.read_bytes())
    if isinstance(judged, Problem) or isinstance(asked, Problem):
        yield from (text for text in (judged, asked) if isinstance(text, Problem))
        return
    lines = [*read_qrels(file.name, judged)]
    records = [*read_queries(queries.name, asked)]
    yield from (item for item in [*lines, *records] if isinstance(item, Problem))
    yield from judged_cases(
        file.name,
        [line for line in lines if isinstance(line, Judgement)],
        queries.name,
        [record for record in records if isinstance(record, Record)],
    )


def _repeated(cases: Iterable[Case]) -> Iterator[Problem]:
    """Find cases that answer to one name; a comparison with another run could not tell them apart."""
    seen: dict[str, Case] = {}
    for case in cases:
        first = seen.setdefault(case.id, case)
        if first is not case:
            place = f"{first.file}:{first.line}"
            yield Problem(case.file, case.line, f"'{case.id[:100]}' stands in {place} too: give each an `id`")
