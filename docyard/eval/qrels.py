"""TREC's judgements: `query iteration document grade` on each line, and a file of the queries beside them.

Columns are parted by blanks, or by tabs, where a document's name may hold blanks; the iteration, which
nobody uses, may be left out. Queries are lines of `id<TAB>text`, or JSONL with `id` (or `_id`) and `text`
(or `query`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from docyard.eval.cases import Case, Problem
from docyard.eval.fields import read_case
from docyard.eval.records import Record, lines, read_jsonl

_TAKEN = ("category", "filters", "path")


class Judgement(NamedTuple):
    """A line of a qrels file."""

    line: int
    query: str
    document: str
    grade: int


def read_qrels(file: str, text: str) -> Iterator[Judgement | Problem]:
    """Read judgements line by line; a document that is judged twice for one query is a problem."""
    seen: dict[tuple[str, str], int] = {}
    for number, line in lines(text):
        columns = [cell.strip() for cell in line.split("\t")] if "\t" in line.strip() else line.split()
        if len(columns) not in (3, 4) or not all(columns):
            yield Problem(file, number, "there must be 4 columns: query, iteration, document, grade")
            continue
        query, document, grade = columns[0], columns[-2], columns[-1]
        try:
            judgement = Judgement(number, query, document, int(grade))
        except ValueError:
            yield Problem(file, number, f"the grade '{grade[:50]}' is not a whole number")
            continue
        first = seen.setdefault((query, document), number)
        if first == number:
            yield judgement
        else:
            yield Problem(file, number, f"'{document}' is judged twice for '{query}', first on line {first}")


def read_queries(file: str, text: str) -> Iterator[Record | Problem]:
    """Read queries as records with `id` and `query`, whichever form the file has; each id stands once."""
    seen: dict[str, int] = {}
    is_jsonl = Path(file).suffix.lower() == ".jsonl"
    for item in (read_jsonl if is_jsonl else _read_tsv)(file, text):
        if isinstance(item, Problem):
            yield item
            continue
        name, query = _either(item, "id", "_id"), _either(item, "text", "query")
        if not isinstance(name, str | int) or name == "":
            yield Problem(file, item.line, "there is no `id`")
        elif query is None:
            yield Problem(file, item.line, "there is no `text`")
        elif (first := seen.setdefault(str(name), item.line)) != item.line:
            yield Problem(file, item.line, f"the id '{name}' stands twice, first on line {first}")
        else:
            taken = {key: item.fields[key] for key in _TAKEN if key in item.fields}
            yield Record(item.line, {"id": str(name), "query": query, **taken})


def judged_cases(
    file: str, judgements: list[Judgement], queries_file: str, queries: list[Record]
) -> Iterator[Case | Problem]:
    """Join judgements and queries: a case for each query that is judged, in the order of the queries."""
    expected: dict[str, dict[str, int]] = {}
    known = {query.fields["id"] for query in queries}
    for judgement in judgements:
        if judgement.query in known:
            expected.setdefault(judgement.query, {})[judgement.document] = judgement.grade
        else:
            yield Problem(file, judgement.line, f"there is no query '{judgement.query}' in {queries_file}")
    for query in queries:
        graded: Mapping[str, int] | None = expected.get(str(query.fields["id"]))
        if graded is not None:
            case = read_case(queries_file, Record(query.line, {**query.fields, "expected": graded}))
            yield from case if isinstance(case, list) else [case]


def _read_tsv(file: str, text: str) -> Iterator[Record | Problem]:
    for number, line in lines(text):
        name, tab, query = line.partition("\t")
        if tab:
            yield Record(number, {"id": name.strip(), "text": query})
        else:
            yield Problem(file, number, "there must be 2 columns, parted by a tab: id, text")


def _either(record: Record, name: str, other: str) -> object:
    return record.fields.get(name, record.fields.get(other))
