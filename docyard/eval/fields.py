"""A case made of a record's fields: which there are, and what each may hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from docyard.eval.cases import Case, Problem
from docyard.eval.records import Record

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
