"""Cases: questions whose answers are known, and what can be wrong with a file of them.

A case made of a record's fields: which there are, and what each may hold.

Records of YAML and JSONL files, each with the line on which it begins. The door to YAML for case files.

From files to cases: which form a file has, and all that is wrong with the files at once.

TREC's judgements: `query iteration document grade` on each line, and a file of the queries beside them.

Columns are parted by blanks, or by tabs, where a document's name may hold blanks; the iteration, which
nobody uses, may be left out. Queries are lines of `id<TAB>text`, or JSONL with `id` (or `_id`) and `text`
(or `query`).
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

SHOWN = 20
"""How many problems of a file are listed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the addresses that answer it, each with a grade: 1 and more are right, 0 and less not.

    An address is that of a section, which is its chunk's id, or that of a whole document. `filters` and
    `path` narrow the search as they do for an agent. `file` and `line` (from 1) say where the case stands.
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
        """What is asked and expected, as 16 hexadecimal digits: where it differs, measures do not compare."""
        told = [self.query, sorted(self.expected.items()), sorted(self.filters.items()), self.path]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


class Problem(NamedTuple):
    """What is wrong with a line of a file; lines count from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class InvalidCases(WorkspaceError):
    """Case files that cannot be used as they are; `details` has the first problems and the count of all."""

    code: ClassVar[str] = "INVALID_CASES"

    @classmethod
    def because(cls, problems: Sequence[Problem]) -> InvalidCases:
        """List the first problems in a message of several lines."""
        shown = [str(problem) for problem in problems[:SHOWN]]
        more = len(problems) - len(shown)
        lines = [*shown, f"and {more:,} more"] if more else shown
        return cls(
            "the cases cannot be used:" + "".join(f"\n  {line}" for line in lines),
            fix="Mend these lines; docs/search.md describes the files.",
            problems=shown,
            count=len(problems),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping as it stands in a file, and its first line, counted from 1."""

    line: int
    fields: Mapping[str, object]


def read_text(file: str, data: bytes) -> str | Problem:
    """Decode a file; the Problem is the first line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Problem(file, data.count(b"\n", 0, error.start) + 1, "this is not UTF-8")


def split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    # Unlike here, `splitlines` ends a line at U+2028, which may stand in a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def read_jsonl(file: str, text: str) -> Iterator[Record | Problem]:
    """Read one object from each line; blank lines are skipped."""
    for number, line in split_lines(text):
        try:
            value = json.loads(line, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            yield Problem(file, number, f"this is not JSON: {_lower(error.msg)} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            yield Problem(file, number, f"this cannot be read: {_lower(str(error))}")
        else:
            if isinstance(value, dict):
                yield Record(number, value)
            else:
                yield Problem(file, number, "this is not an object: write {…}")


def read_yaml(file: str, text: str) -> Iterator[Record | Problem]:
    """Read a list of mappings, or a mapping whose `cases` is one. A syntax error ends the file."""
    import yaml

    # The loader in C would overflow the stack on a text made of brackets; this one raises RecursionError.
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Problem(file, _line_of(error), f"this is not YAML: {_reason(error)}")
        return
    if isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == "cases"), root)
    if not isinstance(root, yaml.SequenceNode):
        line = root.start_mark.line + 1 if root else 1
        yield Problem(file, line, "this is not a list of cases: begin each with `- query: …`")
        return
    for node in root.value:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            yield Problem(file, line, "this is not a case: write `query: …` and `expected: …`")
            continue
        try:
            _once([(key.value, None) for key, _ in node.value])
            fields: dict[Any, object] = loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            yield Problem(file, _line_of(error, line), f"this cannot be read: {_reason(error)}")
        else:
            yield Record(line, {str(key): value for key, value in fields.items()})


def _once(pairs: Iterable[tuple[Any, object]]) -> dict[str, object]:
    """Make a mapping of pairs, as JSON and YAML would, but raise ValueError for a key that is repeated."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if str(key) in found:
            raise ValueError(f"'{key}' stands there twice")
        found[str(key)] = value
    return found


def _line_of(error: Exception, default: int = 1) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else default


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return _lower(str(getattr(error, "problem", None) or error).split("\n")[0])


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


FIELDS = ("id", "query", "expected", "expected_ids", "expected_paths", "filters", "path", "category")
_EXPECTED = ("expected", "expected_ids", "expected_paths")


class _Wrong(Exception):
    """A field that does not hold what it may."""


def read_case(file: str, record: Record) -> Case | list[Problem]:
    """Make a case of a record, or say all that is wrong with it.

    Without an `id` a case is known by its query and filters, so that it stays the same where lines move.
    """
    problems = [*_unknown(record.fields)]
    fields = _Fields(record.fields, problems)
    query = fields.text("query")
    if query is not None and not query.strip():
        problems.append("the query is empty")
    elif query is None and "query" not in record.fields:
        problems.append("there is no `query`")
    expected = fields.expected()
    filters = fields.filters()
    path, category, name = fields.text("path"), fields.text("category"), fields.name()
    if problems:
        return [Problem(file, record.line, reason) for reason in problems]
    asked = (query or "").strip()
    narrowed = [f" [{key}: {value}]" for key, value in sorted({**filters, "path": path}.items()) if value]
    return Case(
        id=name or asked + "".join(narrowed),
        query=asked,
        expected=expected,
        filters=filters,
        path=path,
        category=category or "",
        file=file,
        line=record.line,
    )


def _unknown(fields: Mapping[str, object]) -> Iterator[str]:
    for name in fields:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(FIELDS)}"
            yield f"there is no field '{name[:50]}': {hint}"


class _Fields:
    """Reads fields one by one, and notes what is wrong with each."""

    def __init__(self, fields: Mapping[str, object], problems: list[str]) -> None:
        self._fields = fields
        self._problems = problems

    def text(self, name: str) -> str | None:
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value
        self._problems.append(f"`{name}` is not text: put it into quotes")
        return None

    def name(self) -> str:
        value = self._fields.get("id")
        return str(value) if type(value) is int else self.text("id") or ""

    def filters(self) -> Mapping[str, str]:
        value = self._fields.get("filters")
        if value is None:
            return {}
        if isinstance(value, dict) and all(isinstance(one, str) for pair in value.items() for one in pair):
            return value
        self._problems.append("`filters` is not a mapping of a key to a text, such as {type: runbook}")
        return {}

    def expected(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        named = [name for name in _EXPECTED if self._fields.get(name) is not None]
        for name in named:
            try:
                graded = _graded(self._fields[name])
            except _Wrong as wrong:
                self._problems.append(f"`{name}` {wrong}")
                return {}
            repeated = [address for address in graded if address in found]
            self._problems.extend(f"'{address}' is expected twice" for address in repeated)
            found |= graded
        if not named:
            self._problems.append("there is no `expected`")
        elif not any(grade > 0 for grade in found.values()):
            self._problems.append("nothing is expected: name an address with a grade above 0")
        return found


def _graded(value: object) -> dict[str, int]:
    """Addresses with their grades: of one address, a list of them (grade 1 each), or a mapping to grades."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        if not all(isinstance(address, str) for address in value):
            raise _Wrong("holds something else than addresses")
        pairs: list[tuple[object, object]] = [(address, 1) for address in value]
        if len(set(value)) < len(value):
            raise _Wrong("names an address twice")
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        raise _Wrong("is neither an address, nor a list of them, nor a mapping of addresses to grades")
    graded = {}
    for address, grade in pairs:
        if not isinstance(address, str) or not address.strip():
            raise _Wrong("holds an empty address")
        if type(grade) is not int:
            raise _Wrong(f"grades '{address}' by something else than a whole number")
        graded[address.strip()] = grade
    return graded


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
    for number, line in split_lines(text):
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


def join_judgements(
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
    for number, line in split_lines(text):
        name, tab, query = line.partition("\t")
        if tab:
            yield Record(number, {"id": name.strip(), "text": query})
        else:
            yield Problem(file, number, "there must be 2 columns, parted by a tab: id, text")


def _either(record: Record, name: str, other: str) -> object:
    return record.fields.get(name, record.fields.get(other))


_RECORDS = {".yaml": read_yaml, ".yml": read_yaml, ".jsonl": read_jsonl}


def is_qrels(file: Path) -> bool:
    """Return True if a file is read as TREC's judgements, which need a file of queries."""
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
    yield from join_judgements(
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
