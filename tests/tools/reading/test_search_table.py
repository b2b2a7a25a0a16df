"""search_table: rows of tables by words, pages of rows, and long rows."""

from __future__ import annotations

import json

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.workspace import Workspace

ERRORS_TEXT = """# Errors

Intro.

## Codes

| Code | Name | Meaning |
|------|------|---------|
| 400 | INVALID | The request is malformed. |
| 401 | NO_TOKEN | A token is missing. |
| 429 | RATE_LIMITED | Too many requests; retry later. |
| 503 | BUSY | Retry. |

### Old codes

| Code | Replaced by |
|------|-------------|
| 42 | 429 |

## Prose

No table here.
"""


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ["reading"], True)


@pytest.fixture
def commit(repo: Repo) -> str:
    return repo.commit({"errors.md": ERRORS_TEXT})


def list_first_cells(answer: Answer) -> list[str]:
    return [row[0] for table in answer.data["tables"] for row in table["rows"]]


def test_rows_with_most_words_come_first(call_tool: CallTool, commit: str) -> None:
    data = call_tool("search_table", address="errors.md#codes", query="retry later zookeeper").data
    [table] = data["tables"]
    assert table["header"] == ["Code", "Name", "Meaning"]
    assert [row[0] for row in table["rows"]] == ["429", "503"]
    assert (table["line"], table["lines"], table["row_count"]) == (7, [11, 12], 4)
    assert (data["address"], data["commit"], data["matching_rows"]) == ("errors.md#codes", commit, 2)
    assert data["missing_words"] == ["zookeeper"]
    assert "next_step" not in data


def test_tables_of_subsections_are_searched(call_tool: CallTool, commit: str) -> None:
    for address in ("errors.md#codes", "errors.md", "errors.md#_preamble"):
        tables = call_tool("search_table", address=address, query="429").data["tables"]
        assert [(table["rows"], table["lines"]) for table in tables] == [
            ([["429", "RATE_LIMITED", "Too many requests; retry later."]], [11]),
            ([["42", "429"]], [18]),
        ]
    tables = call_tool("search_table", address="errors.md#codes/old-codes").data["tables"]
    assert [table["rows"] for table in tables] == [[["42", "429"]]]


def test_lines_count_from_the_beginning_of_the_file(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"errors.md": "---\ntype: x\ntags: [a]\n---\n" + ERRORS_TEXT})
    lines = ["", *(repo.path / "errors.md").read_text().splitlines()]
    for address in ("errors.md", "errors.md#codes"):
        [table] = call_tool("search_table", address=address, query="busy").data["tables"]
        assert "Code" in lines[table["line"]]
        assert "BUSY" in lines[table["lines"][0]]


def test_query_without_matching_row_returns_headers(call_tool: CallTool, commit: str) -> None:
    data = call_tool("search_table", address="errors.md#codes/old-codes", query="zookeeper code").data
    assert (data["matching_rows"], data["missing_words"]) == (0, ["zookeeper"])
    assert data["tables"] == [{"line": 16, "header": ["Code", "Replaced by"], "rows": [], "row_count": 1}]


def test_next_steps_return_each_row_once(call_tool: CallTool, repo: Repo) -> None:
    rows = [f"| {number} | word {'x' * (number % 50)} |" for number in range(45)]
    repo.commit({"long.md": "\n".join(["# Long", "", "| N | T |", "|--|--|", *rows, ""])})
    answer = call_tool("search_table", address="long.md", query="word")
    numbers = list_first_cells(answer)
    assert len(numbers) == 20
    repo.commit({"long.md": "# Long\n"})  # the rest is read at the same commit
    while answer.data.get("truncated"):
        tool, arguments = parse_next_call(answer)
        answer = call_tool(tool, **arguments)
        numbers += list_first_cells(answer)
    assert numbers == [str(number) for number in range(45)]


def test_rows_over_the_budget_are_cut(call_tool: CallTool, repo: Repo) -> None:
    row = "| " + " | ".join("x" * 30_000 for _ in range(9)) + " |"
    table = ["|" + "h|" * 9, "|" + "-|" * 9, row, row]
    repo.commit({"wide.md": "\n".join(["# Wide", "", *table, ""])})
    answer = call_tool("search_table", address="wide.md")
    assert len(json.dumps(answer.data)) < 100_000
    assert answer.data["hints"]
    assert sum(len(table["rows"]) for table in answer.data["tables"]) == 1
    _, arguments = parse_next_call(answer)
    assert arguments["offset"] == 1
    assert "next_step" not in call_tool("search_table", **arguments).data


def test_section_without_table_names_sections_with_tables(
    call_tool: CallTool, repo: Repo, commit: str
) -> None:
    answer = call_tool("search_table", address="errors.md#prose", query="x")
    assert (answer.is_error, answer.data["code"]) == (True, "TABLE_NOT_FOUND")
    assert answer.data["candidates"] == ["errors.md#codes", "errors.md#codes/old-codes"]
    assert answer.data["example"]["address"] == "errors.md#codes"
    repo.commit({"empty.md": ""})
    for address in ("notes/plain.md", "empty.md"):
        answer = call_tool("search_table", address=address, query="x")
        assert (answer.data["code"], answer.data["candidates"]) == ("TABLE_NOT_FOUND", [])
        assert answer.data["example"]["address"] == "errors.md"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"address": "nope.md"},
        {"address": "errors.md#nope"},
        {"address": ""},
        {"address": "#"},
        {"address": "errors.md", "max_rows": 0},
        {"address": "errors.md", "max_rows": 10**9},
        {"address": "errors.md", "offset": -1},
        {"address": "errors.md", "query": ["a"]},
        {"address": "errors.md", "ref": "nope"},
    ],
)
def test_invalid_call_returns_an_example_that_works(
    call_tool: CallTool, commit: str, fields: dict[str, object]
) -> None:
    answer = call_tool("search_table", **fields)
    assert answer.is_error
    assert answer.data["fix"]
    assert not call_tool("search_table", **answer.data["example"]).is_error


def test_example_replaces_path_with_number_sign_that_has_no_table(
    call_tool: CallTool, repo: Repo, commit: str
) -> None:
    repo.commit({"C#.md": "# Sharp\n\nNo table.\n", "C": "No document.\n"})
    answer = call_tool("search_table", address="C")
    assert (answer.is_error, answer.data["example"]["address"]) == (True, "errors.md")
    assert not call_tool("search_table", **answer.data["example"]).is_error


def test_offset_after_the_last_row_returns_headers(call_tool: CallTool, commit: str) -> None:
    data = call_tool("search_table", address="errors.md#codes", offset=100).data
    assert [table["rows"] for table in data["tables"]] == [[], []]
    assert "next_step" not in data


def test_moved_address_is_followed(call_tool: CallTool, repo: Repo, commit: str) -> None:
    repo.git("mv", "errors.md", "codes.md")
    repo.commit({})
    data = call_tool("search_table", address="errors.md#codes", query="busy").data
    assert data["address"] == "codes.md#codes"
    assert data["moved_to"]
