"""Case files: the three formats, and the errors for invalid lines."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docyard.eval.cases import Case, InvalidCases, read_cases
from tests.example_counts import scale_examples
from tests.loops import loop_over


def write_and_read_cases(folder: Path, name: str, text: str | bytes) -> list[Case]:
    case_file = folder / name
    case_file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_cases([case_file])


def read_problems(folder: Path, name: str, text: str | bytes) -> list[str]:
    with pytest.raises(InvalidCases) as error_info:
        write_and_read_cases(folder, name, text)
    problems = error_info.value.details["problems"]
    assert isinstance(problems, list)
    return problems


YAML_CASES = """\
# Questions of the first week.
- query: how often is it tried again
  expected: guide.md#retries
  category: retries
- id: second
  query: begin
  expected: {guide.md: 2, other.md: 1, third.md: 0}
  filters: {type: runbook}
  path: docs/
"""


def test_yaml_cases_are_read(tmp_path: Path) -> None:
    first_case, second_case = write_and_read_cases(tmp_path, "cases.yaml", YAML_CASES)
    assert first_case == Case(
        id="how often is it tried again",
        query="how often is it tried again",
        expected={"guide.md#retries": 1},
        category="retries",
        file="cases.yaml",
        line=2,
    )
    assert (second_case.id, second_case.expected, second_case.line) == (
        "second",
        {"guide.md": 2, "other.md": 1, "third.md": 0},
        5,
    )
    assert (second_case.filters, second_case.path) == ({"type": "runbook"}, "docs/")


def test_yaml_cases_are_read_below_key_cases(tmp_path: Path) -> None:
    (case,) = write_and_read_cases(
        tmp_path, "cases.yml", "about: x\ncases:\n- {query: a, expected: [x.md, y.md]}\n"
    )
    assert case.expected == {"x.md": 1, "y.md": 1}
    assert case.line == 3


def test_jsonl_cases_are_read(tmp_path: Path) -> None:
    lines = [{"id": 7, "query": "a\u2028b", "expected_ids": ["x.md#y"], "expected_paths": "z.md"}, {}]
    text = "\ufeff" + json.dumps(lines[0], ensure_ascii=False) + "\r\n\n"
    (case,) = write_and_read_cases(tmp_path, "cases.jsonl", text)
    assert (case.id, case.query, case.expected) == ("7", "a\u2028b", {"x.md#y": 1, "z.md": 1})


def test_cases_without_id_get_ids_with_filters(tmp_path: Path) -> None:
    text = "- {query: a, expected: x.md}\n- {query: a, expected: x.md, filters: {type: runbook}, path: b}\n"
    assert [case.id for case in write_and_read_cases(tmp_path, "c.yaml", text)] == [
        "a",
        "a [path: b] [type: runbook]",
    ]


def test_case_digest_depends_only_on_search_and_expected_grades(tmp_path: Path) -> None:
    def compute_digest(text: str) -> str:
        return write_and_read_cases(tmp_path, "c.yaml", f"- {{query: a, {text}}}")[0].digest

    first_digest = compute_digest("expected: x.md")
    assert compute_digest("expected: [x.md], category: c, id: i") == first_digest
    assert (
        len(
            {
                first_digest,
                compute_digest("expected: y.md"),
                compute_digest("expected: {x.md: 2}"),
                compute_digest("expected: x.md, path: p"),
            }
        )
        == 4
    )


@loop_over("separator", ["\t", " ", "   "])
def test_judgements_are_read_with_queries(tmp_path: Path, separator: str) -> None:
    qrels_file = tmp_path / "qrels.txt"
    rows = [("q2", "0", "b.md", "1"), ("q1", "0", "a.md", "2"), ("q2", "0", "c.md", "0")]
    qrels_file.write_text("".join(separator.join(row) + "\n" for row in rows))
    queries_file = tmp_path / "queries.jsonl"
    queries_file.write_text(
        '{"_id": "q1", "text": "one", "metadata": {}}\n{"id": "q2", "text": "two", "category": "c"}\n'
    )
    first_case, second_case = read_cases([qrels_file], queries_file)
    assert (first_case.id, first_case.query, first_case.expected) == ("q1", "one", {"a.md": 2})
    assert (second_case.expected, second_case.category, second_case.line) == ({"b.md": 1, "c.md": 0}, "c", 2)


def test_judgements_without_iteration_may_have_spaces_in_names(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("q1\ta page.md\t1\n")
    (tmp_path / "queries.tsv").write_text("q1\twhat is it\nq2\tnobody judged this\n")
    (case,) = read_cases([tmp_path / "qrels.tsv"], tmp_path / "queries.tsv")
    assert (case.query, case.expected) == ("what is it", {"a page.md": 1})


def test_invalid_judgements_are_reported_by_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a.md 1\nq1 0 a.md 2\nq1 a.md\nq1 0 b.md high\n\nq9 0 a.md 1\n")
    (tmp_path / "queries.tsv").write_text("q1\tone\nno tab here\nq1\tagain\nq3\t \n")
    with pytest.raises(InvalidCases) as error_info:
        read_cases([tmp_path / "qrels"], tmp_path / "queries.tsv")
    assert error_info.value.details["problems"] == [
        "qrels:2: 'a.md' is judged twice for 'q1', first on line 1",
        "qrels:3: a line must have 4 columns: query, iteration, document, grade",
        "qrels:4: the grade must be a whole number (got 'high')",
        "queries.tsv:2: a line must have 2 columns, separated by a tab: id, text",
        "queries.tsv:3: the id 'q1' is repeated, first on line 1",
        "qrels:6: there is no query 'q9' in queries.tsv",
    ]


@loop_over(
    ("case", "reason"),
    [
        ({"query": " ", "expected": "a.md"}, "the query is empty"),
        ({"query": "", "expected": "a.md"}, "the query is empty"),
        ({"expected": "a.md"}, "there is no `query`"),
        ({"query": 7, "expected": "a.md"}, "`query` must be text: put it into quotes"),
        ({"query": "a"}, "there is no `expected`"),
        ({"query": "a", "expected": []}, "`expected` must have an address with a grade above 0"),
        (
            {"query": "a", "expected": {"a.md": 0}},
            "`expected` must have an address with a grade above 0",
        ),
        ({"query": "a", "expected": ["a.md", 3]}, "`expected` must contain only addresses"),
        ({"query": "a", "expected": ["a.md", "a.md"]}, "`expected` must not repeat an address"),
        ({"query": "a", "expected": "a.md", "expected_ids": "a.md"}, "'a.md' is expected twice"),
        ({"query": "a", "expected": ""}, "`expected` must not contain an empty address"),
        (
            {"query": "a", "expected": {"a.md": 1.5}},
            "`expected` must grade 'a.md' with a whole number",
        ),
        (
            {"query": "a", "expected": {"a.md": True}},
            "`expected` must grade 'a.md' with a whole number",
        ),
        (
            {"query": "a", "expected": 3},
            "`expected` must be an address, a list of addresses, or a mapping of addresses to grades",
        ),
        (
            {"query": "a", "expected": "a.md", "categry": "x"},
            "there is no field 'categry': did you mean 'category'?",
        ),
        (
            {"query": "a", "expected": "a.md", "filters": {"tags": ["x"]}},
            "`filters` must be a mapping of keys to texts, such as {type: runbook}",
        ),
    ],
)
@loop_over("file_format", ["jsonl", "yaml"])
def test_invalid_case_returns_reason(
    tmp_path: Path, file_format: str, case: dict[str, object], reason: str
) -> None:
    valid_line, invalid_line = json.dumps({"query": "good", "expected": "a.md"}), json.dumps(case)
    text = (
        f"{valid_line}\n\n{invalid_line}\n"
        if file_format == "jsonl"
        else f"- {valid_line}\n\n- {invalid_line}\n"
    )
    assert read_problems(tmp_path, f"cases.{file_format}", text) == [f"cases.{file_format}:3: {reason}"]


@pytest.mark.slow
@loop_over(
    ("name", "text", "expected"),
    [
        ("c.jsonl", '{"query": "a",}\n', "c.jsonl:1: the line must be JSON: "),
        ("c.jsonl", '\n["a"]\n', "c.jsonl:2: the line must be a JSON object: write {…}"),
        (
            "c.jsonl",
            '{"query": "a", "query": "b"}\n',
            "c.jsonl:1: the case cannot be read: the key 'query' is repeated",
        ),
        ("c.jsonl", "[" * 100_000, "c.jsonl:1: the case cannot be read: "),
        ("c.jsonl", b"{}\n\xff\n", "c.jsonl:2: the line must be UTF-8"),
        ("c.jsonl", "", "c.jsonl:1: there is no case"),
        ("c.yaml", "", "c.yaml:1: the file must be a list of cases"),
        ("c.yaml", "query: a\n", "c.yaml:1: the file must be a list of cases"),
        ("c.yaml", "cases: 3\n", "c.yaml:1: the file must be a list of cases"),
        ("c.yaml", "- query: a\n  expected: 'x\n", "c.yaml:3: the file must be YAML: "),
        ("c.yaml", "- a\n", "c.yaml:1: a case must be a mapping"),
        (
            "c.yaml",
            "- query: a\n  query: b\n",
            "c.yaml:1: the case cannot be read: the key 'query' is repeated",
        ),
        ("c.yaml", "- query: 2024-13-45\n", "c.yaml:1: the case cannot be read: month must be in 1..12"),
        (
            "c.yaml",
            "- !!python/name:os.system {}\n",
            "c.yaml:1: the case cannot be read: could not determine",
        ),
        ("c.yaml", "- " + "[" * 5_000, "c.yaml:1: the file must be YAML: the nesting is too deep"),
        ("c.yaml", "\0", "c.yaml:1: the file must be YAML: "),
    ],
)
def test_invalid_file_returns_problem_with_line(
    tmp_path: Path, name: str, text: str | bytes, expected: str
) -> None:
    (problem,) = read_problems(tmp_path, name, text)
    assert problem.startswith(expected)


def test_at_most_20_invalid_lines_are_listed(tmp_path: Path) -> None:
    with pytest.raises(InvalidCases) as error_info:
        write_and_read_cases(tmp_path, "c.jsonl", "no\n" * 30)
    assert error_info.value.details["count"] == 30
    assert error_info.value.message.count("\n") == 21
    assert error_info.value.message.endswith("\n  and 10 more")


def test_repeated_id_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("\n- {query: x, expected: y.md}\n")
    with pytest.raises(InvalidCases) as error_info:
        read_cases([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    assert error_info.value.details["problems"] == [
        "b.yaml:2: 'x' is also in a.yaml:2: give each case its own `id`"
    ]


def test_error_for_invalid_case_omits_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidCases) as error_info:
        write_and_read_cases(tmp_path, "c.jsonl", "no\n")
    assert str(tmp_path) not in error_info.value.message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scale_examples(60))
@given(data=st.binary(max_size=60) | st.text(alphabet='-{}[]:", \nquery*&!', max_size=60).map(str.encode))
@pytest.mark.parametrize("name", ["c.yaml", "c.jsonl", "qrels"])
def test_arbitrary_bytes_return_cases_or_error(tmp_path: Path, name: str, data: bytes) -> None:
    case_file, queries_file = tmp_path / name, tmp_path / "queries.tsv"
    case_file.write_bytes(data)
    queries_file.write_bytes(data)
    cases = []
    with contextlib.suppress(InvalidCases):
        cases = read_cases([case_file], queries_file)
    assert all(case.query and case.expected for case in cases)
