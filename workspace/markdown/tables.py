"""The tables of a text, as GitHub Flavored Markdown defines them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.parser import check_line_count, make_block_parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class TableRow(NamedTuple):
    """A row of a table: its line in the text, which counts from 0, and the Markdown of its cells."""

    line: int
    cells: tuple[str, ...]


class Table(NamedTuple):
    """A table: its header, and the other rows. Each row has as many cells as the header."""

    header: TableRow
    rows: tuple[TableRow, ...]


def find_tables(text: str) -> list[Table]:
    """Return the tables of a text without front matter, in order; also those in lists and quotations.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    check_line_count(text.count("\n") + 1)
    tables: list[Table] = []
    rows: list[TableRow] = []
    for token, cells in _read_rows(_get_parser().parse(text)):
        if token.type == "table_close":
            tables.append(Table(rows[0], tuple(rows[1:])))
            rows = []
        else:
            assert token.map is not None
            rows.append(TableRow(token.map[0], cells))
    return tables


def _read_rows(tokens: Sequence[Token]) -> Iterator[tuple[Token, tuple[str, ...]]]:
    """Yield the first token of each row with the row's cells, and the last token of each table."""
    row: Token | None = None
    cells: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row, cells = token, []
        elif token.type == "tr_close" and row is not None:
            yield row, tuple(cells)
            row = None
        elif token.type == "inline" and row is not None:
            cells.append(token.content)
        elif token.type == "table_close":
            yield token, ()


@cache
def _get_parser() -> MarkdownIt:
    return make_block_parser().enable("table")
