"""Cases: questions with known answers, read from YAML, JSONL or TREC judgements.

All problems of the files are reported together, each with its line. This module is the boundary module of
YAML for case files.

A line of TREC judgements is `query iteration document grade`, and the queries are in another file. Columns
are separated by blanks, or by tabs if a document's name contains blanks. The iteration is optional.
Queries are lines of `id<TAB>text`, or JSONL with `id` (or `_id`) and `text` (or `query`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from workspace.errors import WorkspaceError

MAX_LISTED_PROBLEMS = 20
"""The maximum number of problems in an error message."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the addresses that answer it, each with a grade; a grade above 0 means relevant.

    An address names a section, by its chunk's id, or a whole document. `filters` and `path` narrow the search
    as they do for an agent. `file` and `line` (from 1) are the location of the case.
    """

    id: str
    query: str
    expected: Mapping[str, int]
    filters: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    category: str = ""
    file: str = ""
    line: int = 0

    @property
    def digest(self) -> str:
        """Return a digest of the question and its answers; cases with different digests are not compared."""
        content = [self.query, sorted(self.expected.items()), sorted(self.filters.items()), self.path]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


class Problem(NamedTuple):
    """A problem on a line of a file; lines count from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class InvalidCases(WorkspaceError):
    """Invalid case files; `details` has the first problems and the number of all problems."""

    code: ClassVar[str] = "INVALID_CASES"

    @classmethod
    def from_problems(cls, problems: Sequence[Problem]) -> InvalidCases:
        """Return an error that lists the first problems, one on each line."""
        listed_problems = [str(problem) for problem in problems[:MAX_LISTED_PROBLEMS]]
        omitted_count = len(problems) - len(listed_problems)
        lines = [*listed_problems, f"and {omitted_count:,} more"] if omitted_count else listed_problems
        return cls(
            "the cases cannot be used:" + "".join(f"\n  {line}" for line in lines),
            fix="Correct these lines; docs/search.md describes the format.",
            problems=listed_problems,
            count=len(problems),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping in a file, and its first line, counted from 1."""

    line: int
    fields: Mapping[str, object]


def decode_text(file: str, content: bytes) -> str | Problem:
    """Return the text of a file, or a Problem for the first line that is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Problem(file, content.count(b"\n", 0, error.start) + 1, "the line must be UTF-8")


def split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    # `splitlines` would also split at U+2028, which a JSON string may contain.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def read_jsonl(file: str, text: str) -> Iterator[Record | Problem]:
    """Yield the object of each line; blank lines are skipped."""
    for number, line in split_lines(text):
        try:
            value = json.loads(line, object_pairs_hook=_reject_repeated_keys)
        except json.JSONDecodeError as error:
            yield Problem(
                file, number, f"the line must be JSON: {_lower_first(error.msg)} at column {error.colno}"
            )
        except (ValueError, RecursionError) as error:
            yield Problem(file, number, f"the case cannot be read: {_lower_first(str(error))}")
        else:
            if isinstance(value, dict):
                yield Record(number, value)
            else:
                yield Problem(file, number, "the line must be a JSON object: write {…}")


def read_yaml(file: str, text: str) -> Iterator[Record | Problem]:
    """Yield the mappings in a list, or in the list `cases` of a mapping.

    A file with a syntax error yields only one problem.
    """
    import yaml

    # The C loader overflows the stack on deeply nested brackets; the Python loader raises RecursionError.
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Problem(file, _get_line(error), f"the file must be YAML: {_format_reason(error)}")
        return
    if isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == "cases"), root)
    if not isinstance(root, yaml.SequenceNode):
        line = root.start_mark.line + 1 if root else 1
        yield Problem(file, line, "the file must be a list of cases: begin each with `- query: …`")
        return
    for node in root.value:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            yield Problem(file, line, "a case must be a mapping: write `query: …` and `expected: …`")
            continue
        try:
            _reject_repeated_keys([(key.value, None) for key, _ in node.value])
            fields: dict[Any, object] = loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            yield Problem(file, _get_line(error, line), f"the case cannot be read: {_format_reason(error)}")
        else:
            yield Record(line, {str(key): value for key, value in fields.items()})


def _reject_repeated_keys(pairs: Iterable[tuple[Any, object]]) -> dict[str, object]:
    """Return a mapping of pairs. Raises ValueError for a repeated key."""
    fields: dict[str, object] = {}
    for key, value in pairs:
        if str(key) in fields:
            raise ValueError(f"the key '{key}' is repeated")
        fields[str(key)] = value
    return fields


def _get_line(error: Exception, default: int = 1) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else default


def _format_reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "the nesting is too deep"
    return _lower_first(str(getattr(error, "problem", None) or error).split("\n")[0])


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]


CASE_FIELDS = ("id", "query", "expected", "expected_ids", "expected_paths", "filters", "path", "category")
_EXPECTED_FIELDS = ("expected", "expected_ids", "expected_paths")


class _InvalidField(Exception):
    """A field has an invalid value."""


def read_case(file: str, record: Record) -> Case | list[Problem]:
    """Return the case in a record, or all problems of the record.

    If a record has no `id`, the id is made from the query, the filters and the path, so that it does not
    change if lines move.
    """
    problems = [*_check_field_names(record.fields)]
    fields = _FieldReader(record.fields, problems)
    query = fields.read_text("query")
    if query is not None and not query.strip():
        problems.append("the query is empty")
    elif query is None and "query" not in record.fields:
        problems.append("there is no `query`")
    expected = fields.read_grades()
    filters = fields.read_filters()
    path, category, case_id = fields.read_text("path"), fields.read_text("category"), fields.read_id()
    if problems:
        return [Problem(file, record.line, reason) for reason in problems]
    query_text = (query or "").strip()
    restrictions = [f" [{key}: {value}]" for key, value in sorted({**filters, "path": path}.items()) if value]
    return Case(
        id=case_id or query_text + "".join(restrictions),
        query=query_text,
        expected=expected,
        filters=filters,
        path=path,
        category=category or "",
        file=file,
        line=record.line,
    )


def _check_field_names(fields: Mapping[str, object]) -> Iterator[str]:
    for name in fields:
        if name not in CASE_FIELDS:
            nearest = difflib.get_close_matches(name, CASE_FIELDS, n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else f"the fields are {', '.join(CASE_FIELDS)}"
            yield f"there is no field '{name[:50]}': {hint}"


class _FieldReader:
    """A reader of the fields of a case, which adds their problems to a list."""

    def __init__(self, fields: Mapping[str, object], problems: list[str]) -> None:
        self._fields = fields
        self._problems = problems

    def read_text(self, name: str) -> str | None:
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value
        self._problems.append(f"`{name}` must be text: put it into quotes")
        return None

    def read_id(self) -> str:
        value = self._fields.get("id")
        return str(value) if type(value) is int else self.read_text("id") or ""

    def read_filters(self) -> Mapping[str, str]:
        value = self._fields.get("filters")
        if value is None:
            return {}
        if isinstance(value, dict) and all(isinstance(part, str) for pair in value.items() for part in pair):
            return value
        self._problems.append("`filters` must be a mapping of keys to texts, such as {type: runbook}")
        return {}

    def read_grades(self) -> Mapping[str, int]:
        grades: dict[str, int] = {}
        present_fields = [name for name in _EXPECTED_FIELDS if self._fields.get(name) is not None]
        for name in present_fields:
            try:
                address_grades = _parse_grades(self._fields[name])
            except _InvalidField as error:
                self._problems.append(f"`{name}` {error}")
                return {}
            repeated_addresses = [address for address in address_grades if address in grades]
            self._problems.extend(f"'{address}' is expected twice" for address in repeated_addresses)
            grades |= address_grades
        if not present_fields:
            self._problems.append("there is no `expected`")
        elif not any(grade > 0 for grade in grades.values()):
            self._problems.append("`expected` must have an address with a grade above 0")
        return grades


def _parse_grades(value: object) -> dict[str, int]:
    """Return the grade of each address in a text, in a list (grade 1 each), or in a mapping to grades."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        if not all(isinstance(address, str) for address in value):
            raise _InvalidField("must contain only addresses")
        pairs: list[tuple[object, object]] = [(address, 1) for address in value]
        if len(set(value)) < len(value):
            raise _InvalidField("must not repeat an address")
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        raise _InvalidField("must be an address, a list of addresses, or a mapping of addresses to grades")
    grades = {}
    for address, grade in pairs:
        if not isinstance(address, str) or not address.strip():
            raise _InvalidField("must not contain an empty address")
        if type(grade) is not int:
            raise _InvalidField(f"must grade '{address}' with a whole number")
        grades[address.strip()] = grade
    return grades


_QUERY_FIELDS = ("category", "filters", "path")


class Judgement(NamedTuple):
    """A line of a file of TREC judgements. `query` is the id of a query."""

    line: int
    query: str
    document: str
    grade: int


def read_qrels(file: str, text: str) -> Iterator[Judgement | Problem]:
    """Yield judgements line by line; a second judgement of a document for one query is a problem."""
    first_lines: dict[tuple[str, str], int] = {}
    for number, line in split_lines(text):
        columns = [cell.strip() for cell in line.split("\t")] if "\t" in line.strip() else line.split()
        if len(columns) not in (3, 4) or not all(columns):
            yield Problem(file, number, "a line must have 4 columns: query, iteration, document, grade")
            continue
        query, document, grade = columns[0], columns[-2], columns[-1]
        try:
            judgement = Judgement(number, query, document, int(grade))
        except ValueError:
            yield Problem(file, number, f"the grade must be a whole number (got '{grade[:50]}')")
            continue
        first_line = first_lines.setdefault((query, document), number)
        if first_line == number:
            yield judgement
        else:
            yield Problem(
                file, number, f"'{document}' is judged twice for '{query}', first on line {first_line}"
            )


def read_queries(file: str, text: str) -> Iterator[Record | Problem]:
    """Yield queries as records with `id` and `query`, from JSONL or TSV; a repeated id is a problem."""
    first_lines: dict[str, int] = {}
    is_jsonl = Path(file).suffix.lower() == ".jsonl"
    for item in (read_jsonl if is_jsonl else _read_tsv)(file, text):
        if isinstance(item, Problem):
            yield item
            continue
        query_id, query = _get_either(item, "id", "_id"), _get_either(item, "text", "query")
        if not isinstance(query_id, str | int) or query_id == "":
            yield Problem(file, item.line, "there is no `id`")
        elif query is None:
            yield Problem(file, item.line, "there is no `text`")
        elif (first_line := first_lines.setdefault(str(query_id), item.line)) != item.line:
            yield Problem(file, item.line, f"the id '{query_id}' is repeated, first on line {first_line}")
        else:
            extra_fields = {key: item.fields[key] for key in _QUERY_FIELDS if key in item.fields}
            yield Record(item.line, {"id": str(query_id), "query": query, **extra_fields})


def join_judgements(
    file: str, judgements: list[Judgement], queries_file: str, queries: list[Record]
) -> Iterator[Case | Problem]:
    """Yield a case for each judged query, in the order of the queries."""
    grades_by_query: dict[str, dict[str, int]] = {}
    query_ids = {query.fields["id"] for query in queries}
    for judgement in judgements:
        if judgement.query in query_ids:
            grades_by_query.setdefault(judgement.query, {})[judgement.document] = judgement.grade
        else:
            yield Problem(file, judgement.line, f"there is no query '{judgement.query}' in {queries_file}")
    for query in queries:
        grades: Mapping[str, int] | None = grades_by_query.get(str(query.fields["id"]))
        if grades is not None:
            case = read_case(queries_file, Record(query.line, {**query.fields, "expected": grades}))
            yield from case if isinstance(case, list) else [case]


def _read_tsv(file: str, text: str) -> Iterator[Record | Problem]:
    for number, line in split_lines(text):
        query_id, tab, query = line.partition("\t")
        if tab:
            yield Record(number, {"id": query_id.strip(), "text": query})
        else:
            yield Problem(file, number, "a line must have 2 columns, separated by a tab: id, text")


def _get_either(record: Record, name: str, other_name: str) -> object:
    return record.fields.get(name, record.fields.get(other_name))


_RECORD_READERS = {".yaml": read_yaml, ".yml": read_yaml, ".jsonl": read_jsonl}


def is_qrels(file: Path) -> bool:
    """Return True if a file is read as TREC judgements, which need a file of queries."""
    return file.suffix.lower() not in _RECORD_READERS


def read_cases(files: Sequence[Path], queries: Path | None = None) -> list[Case]:
    """Return the cases of all files. Raises InvalidCases, which lists the problems by file and line.

    `queries` is the file of queries for files of judgements; a query without a judgement is ignored. Raises
    OSError for a file that cannot be read.
    """
    items = [item for file in files for item in _read_file(file, queries)]
    problems = [item for item in items if isinstance(item, Problem)]
    cases = [item for item in items if isinstance(item, Case)]
    problems += _find_repeated_ids(cases)
    if not cases and not problems:
        problems.append(Problem(files[0].name, 1, "there is no case"))
    if problems:
        raise InvalidCases.from_problems(problems)
    return cases


def _read_file(file: Path, queries: Path | None) -> Iterator[Case | Problem]:
    if not is_qrels(file):
        yield from _read_records(file)
    elif queries is None:
        yield Problem(file.name, 1, "judgements need a file of queries")
    else:
        yield from _read_judgements(file, queries)


def _read_records(file: Path) -> Iterator[Case | Problem]:
    text = decode_text(file.name, file.read_bytes())
    if isinstance(text, Problem):
        yield text
        return
    for item in _RECORD_READERS[file.suffix.lower()](file.name, text):
        case = read_case(file.name, item) if isinstance(item, Record) else [item]
        yield from case if isinstance(case, list) else [case]


def _read_judgements(file: Path, queries: Path) -> Iterator[Case | Problem]:
    judgement_text = decode_text(file.name, file.read_bytes())
    query_text = decode_text(queries.name, queries.read_bytes())
    if isinstance(judgement_text, Problem) or isinstance(query_text, Problem):
        yield from (text for text in (judgement_text, query_text) if isinstance(text, Problem))
        return
    judgements = [*read_qrels(file.name, judgement_text)]
    records = [*read_queries(queries.name, query_text)]
    yield from (item for item in [*judgements, *records] if isinstance(item, Problem))
    yield from join_judgements(
        file.name,
        [line for line in judgements if isinstance(line, Judgement)],
        queries.name,
        [record for record in records if isinstance(record, Record)],
    )


def _find_repeated_ids(cases: Iterable[Case]) -> Iterator[Problem]:
    """Yield a problem for each repeated id; a comparison with another run needs unique ids."""
    first_cases: dict[str, Case] = {}
    for case in cases:
        first_case = first_cases.setdefault(case.id, case)
        if first_case is not case:
            position = f"{first_case.file}:{first_case.line}"
            yield Problem(
                case.file, case.line, f"'{case.id[:100]}' is also in {position}: give each case its own `id`"
            )
