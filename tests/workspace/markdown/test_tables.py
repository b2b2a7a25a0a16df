"""The tables of a text: their headers, rows and line numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.markdown.tables import Table, TableRow, find_tables


@loop_over(
    ("text", "tables"),
    [
        (
            "| A | B |\n|---|:-:|\n| 1 | x\\|y |\n| 2 |\n",
            [(0, ("A", "B"), [(2, ("1", "x|y")), (3, ("2", ""))])],
        ),
        ("text\n\nA|B\n-|-\n1|2|3\n\nend\n", [(2, ("A", "B"), [(4, ("1", "2"))])]),
        ("| A |\n|---|\n", [(0, ("A",), [])]),
        ("> | A |\n> |---|\n> | 1 |\n", [(0, ("A",), [(2, ("1",))])]),
        ("- item\n\n  | A |\n  |---|\n  | 1 |\n", [(2, ("A",), [(4, ("1",))])]),
        ("|A|\r\n|-|\r\n|*1*|\r\n", [(0, ("A",), [(2, ("*1*",))])]),
        ("|A|\n|-|\n|1|\n\n|B|\n|-|\n", [(0, ("A",), [(2, ("1",))]), (4, ("B",), [])]),
        ("```\n|A|\n|-|\n```\n", []),
        ("| A |\n| 1 |\n", []),
        ("", []),
    ],
)
def test_tables_have_header_rows_and_lines(text: str, tables: list[tuple]) -> None:
    expected = [
        Table(TableRow(line, header), tuple(TableRow(*row) for row in rows)) for line, header, rows in tables
    ]
    assert find_tables(text) == expected


@given(st.text(st.sampled_from("|-: a\n\\`>*"), max_size=80))
def test_each_row_is_as_long_as_its_header(text: str) -> None:
    line_count = text.count("\n") + 1
    for table in find_tables(text):
        for row in table.rows:
            assert len(row.cells) == len(table.header.cells)
            assert table.header.line < row.line < line_count
