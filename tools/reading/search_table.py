"""search_table: returns the rows of a section's tables that have the words of a query."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field

from tools.arguments import (
    WITHOUT_DEFAULT,
    Integer,
    Natural,
    ReadingArguments,
    read_arguments,
    resolve_target,
)
from tools.examples import correct_address
from tools.pages import CHARACTERS_PER_TOKEN
from tools.read_context import ReadContext
from tools.redirects import add_moved_to, find_current_location
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments
from workspace.document.addresses import resolve_section
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from index.matches import Matcher
    from tools.tool import CallArguments, Context
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.markdown.tables import Table, TableRow
    from workspace.snapshot.snapshot import Snapshot

DEFAULT_ROWS = 20
MAX_ROWS = 200

_MIN_CELL_CHARACTERS = 20
_MAX_SUGGESTED_SECTIONS = 5
_MAX_DOCUMENTS_SCANNED = 20


class TableNotFound(WorkspaceError):
    """A document or section has no table. `candidates` are addresses of its document that have one."""

    code: ClassVar[str] = "TABLE_NOT_FOUND"


class SearchTableArguments(ReadingArguments):
    """The input of search_table."""

    address: str = Field(description="Document or section, with its subsections")
    query: str | None = Field(None, description="Words of the rows; else the first rows")
    max_rows: Integer = Field(DEFAULT_ROWS, description="Most rows to return", ge=1, le=MAX_ROWS)
    offset: Natural = Field(0, description="Rows to skip", json_schema_extra=WITHOUT_DEFAULT)
    ref: str | None = None


class _FoundRow(NamedTuple):
    """A row that matches the query, and the index of its table."""

    table_number: int
    row: TableRow


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "rows": f"Call with {{address, query, max_rows?}}; max_rows is 1 to {MAX_ROWS}",
        "address": "A document (api.md) or a section (api.md#errors); its subsections are searched too",
        "query": "Rows with the most of these words come first; without query, the rows are in order",
        "rest": "Call with the offset of a truncated answer for the next rows",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "address": "search-api.md#errors",
        "query": "rate limit",
        **select_example_arguments(arguments, ("address", "query", "ref")),
    }


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example whose address has a table, if one of the first documents has one."""
    if not isinstance(error, TableNotFound):
        example = correct_address(example, error, snapshot)
        try:
            path, slug = resolve_target(snapshot, example["address"], None)
            document = snapshot.document(path)
            _read_tables(document, resolve_section(document, slug) if slug else None)
        except TableNotFound as table_error:
            error = table_error
        except WorkspaceError:
            return example
        else:
            return example
    address = next(iter(error.details["candidates"]), None) or _find_document_with_table(snapshot)
    return {**example, "address": address} if address else example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(SearchTableArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    location = find_current_location(context, snapshot, *resolve_target(snapshot, request.address, None))
    document = snapshot.document(location.file)
    section = None if location.slug is None else resolve_section(document, location.slug)
    tables, first_line = _read_tables(document, section)
    found_rows, missing_words = _find_rows(tables, request.query or "")
    page = found_rows[request.offset : request.offset + request.max_rows]
    address = document.path if section is None else f"{document.path}#{section.key}"
    data: Data = {"address": address}
    shown_tables, shown_count, has_cut_cells = _describe_tables(tables, page, first_line, context.text_tokens)
    data["tables"] = shown_tables
    data["matching_rows"] = len(found_rows)
    if missing_words:
        data["missing_words"] = missing_words
    data["commit"] = snapshot.commit
    if has_cut_cells:
        data["hints"] = ["a row is too long for an answer: its cells are cut; read the section for all of it"]
    next_offset = request.offset + shown_count
    if next_offset < len(found_rows):
        fields = {
            "address": address,
            **({"query": request.query} if request.query else {}),
            "max_rows": request.max_rows,
            "offset": next_offset,
        }
        step = NextStep(
            "Read more rows with ", read_context.build_continuation_call("search_table", **fields)
        )
        data |= {"truncated": True, "offset": next_offset, "next_step": step}
    return Answer(add_moved_to(location, data))


def _read_tables(document: Document, section: Section | None) -> tuple[Sequence[Table], int]:
    """Return the tables of a section with its subsections, and the line of the document where it begins.

    None and the preamble stand for the whole document. Raises TableNotFound, LimitExceeded.
    """
    from workspace.markdown.tables import find_tables

    is_whole = section is None or section.is_preamble
    # An empty document has no section.
    first = next(iter(document.sections), None) if section is None else section
    if first is not None:
        end = len(document.data) if is_whole else first.tree_end
        if tables := find_tables(document.text(first.start, end)):
            return tables, first.line
    name = document.path if section is None else f"{document.path}#{section.key}"
    sections_with_tables = (
        f"{document.path}#{other.key}"
        for other in document.sections
        if "|" in (text := document.text(other.start, other.end)) and find_tables(text)
    )
    candidates = [*islice(sections_with_tables, _MAX_SUGGESTED_SECTIONS)]
    raise TableNotFound(
        f"'{name}' has no table",
        fix=f"The document has tables in {', '.join(candidates)}."
        if candidates
        else "Search for the document with the table first.",
        candidates=candidates,
    )


def _find_document_with_table(snapshot: Snapshot) -> str | None:
    """Return the path of one of the first documents that has a table; None without one."""
    for path in list(snapshot.documents)[:_MAX_DOCUMENTS_SCANNED]:
        with suppress(WorkspaceError):  # a document that cannot be read, or has no table
            _read_tables(snapshot.document(path), None)
            return path
    return None


def _find_rows(tables: Sequence[Table], query: str) -> tuple[list[_FoundRow], list[str]]:
    """Return the rows with words of a query, those with the most different words first, and missing words.

    An empty query selects all rows, in order.
    """
    from index.analysis.terms import weigh_query_terms
    from index.analysis.words import TOKEN, normalize
    from index.matches import Matcher
    from index.port import Query
    from index.query import find_missing_words

    rows = [_FoundRow(number, row) for number, table in enumerate(tables) for row in table.rows]
    terms = weigh_query_terms(TOKEN.findall(normalize(query)))
    if not terms:
        return rows, []
    matcher = Matcher(terms)
    terms_of_rows = [_find_terms(matcher, found_row.row.cells) for found_row in rows]
    order = sorted(
        (position for position, found_terms in enumerate(terms_of_rows) if found_terms),
        key=lambda position: -len(terms_of_rows[position]),
    )
    header_terms = _find_terms(matcher, [cell for table in tables for cell in table.header.cells])
    absent_terms = terms.keys() - header_terms.union(*terms_of_rows)
    return [rows[position] for position in order], [*find_missing_words(query, Query(terms), absent_terms)]


def _find_terms(matcher: Matcher, cells: Sequence[str]) -> set[str]:
    """Return the terms of a query that some cells contain."""
    return {term for cell in cells for _, terms in matcher.find_matches(cell) for term in terms}


def _describe_tables(
    tables: Sequence[Table], page: Sequence[_FoundRow], first_line: int, tokens: int
) -> tuple[list[Data], int, bool]:
    """Return the tables of a page of rows, the number of rows that fit, and True if cells are cut.

    `lines` has the line of each row in the document, which counts from 1. At least one row is returned.
    """
    budget = tokens * CHARACTERS_PER_TOKEN // 2
    described_tables: dict[int, Data] = {}
    count, has_cut_cells = 0, False
    for number, (line, cells) in page:
        is_new = number not in described_tables
        size = _measure((*tables[number].header.cells, *cells) if is_new else cells)
        if size > budget:
            if count:
                break
            has_cut_cells = True
        # Half of the budget of a row that is cut is for its header.
        limit = budget // 2 if has_cut_cells else budget
        if is_new:
            described_tables[number] = {**_describe_header(tables[number], first_line, limit), "lines": []}
        described_tables[number]["rows"].append(_cut_cells(cells, limit) if has_cut_cells else list(cells))
        described_tables[number]["lines"].append(first_line + line)
        budget -= size
        count += 1
    if not page:
        for number, table in enumerate(tables):
            if (size := _measure(table.header.cells)) <= budget:
                described_tables[number] = _describe_header(table, first_line, budget)
                budget -= size
    return [*described_tables.values()], count, has_cut_cells


def _describe_header(table: Table, first_line: int, limit: int) -> Data:
    """Return a table without its rows; a header of more than `limit` characters is cut."""
    cells = table.header.cells
    return {
        "line": first_line + table.header.line,
        "header": list(cells) if _measure(cells) <= limit else _cut_cells(cells, limit),
        "rows": [],
        "row_count": len(table.rows),
    }


def _measure(cells: Sequence[str]) -> int:
    return len(json.dumps(cells, ensure_ascii=False))


def _cut_cells(cells: Sequence[str], budget: int) -> list[str]:
    """Return cells that share a number of characters equally; the last ones may be left out."""
    max_length = max(budget // max(len(cells), 1), _MIN_CELL_CHARACTERS)
    shown_cells = cells[: max(budget // _MIN_CELL_CHARACTERS, 1)]
    return [cell if len(cell) <= max_length else cell[:max_length] + "…" for cell in shown_cells]


TOOL = Tool(
    name="search_table",
    title="Search a table",
    toolset="reading",
    description="The header and the rows of a section's tables that have the words of a query.",
    arguments=SearchTableArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
