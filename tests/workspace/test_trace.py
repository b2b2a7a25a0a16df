"""Traces: where identifiers are required, designed, tasked, done and tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repositories import Repo, create_repository
from workspace.config.tables import TraceSettings
from workspace.document.document import Document
from workspace.errors import InvalidConfig
from workspace.git.reader import GitReader
from workspace.snapshot.snapshot import Snapshot
from workspace.trace import (
    Mention,
    MentionKind,
    Stage,
    Trace,
    TraceFinder,
    TraceMatrix,
    compile_pattern,
    compile_test_pattern,
    find_document_problems,
    read_mentions,
    read_test_identifier,
)

REQUIREMENTS = """# Requirements

## REQ-1 Sessions end {#req-1}

After 30 minutes.

- **REQ-2** Logout
- `REQ-3`: Login
"""
DESIGN = """# Design

## Sessions {#sessions}

For REQ-1 and REQ-2.

- [x] Store the time of REQ-1
  - [ ] test it
- [x] Button
  - Note: REQ-2
- [ ] Page of REQ-2
"""
FILES = {
    "requirements/auth.md": REQUIREMENTS,
    "design/auth.md": DESIGN,
    "tests/test_auth.py": "# REQ-1\n\ndef test_req_2_logs_out(): ...\n",
    "src/auth.py": "# REQ-3\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", FILES)


def find_matrix(repo: Repo, ref: str = "HEAD") -> TraceMatrix:
    git = GitReader(repo.path)
    return TraceFinder(git).find(Snapshot(git, repo.git("rev-parse", ref).strip()))


def list_places(trace: Trace) -> dict[str, list[str]]:
    return {
        stage.value: [f"{place.address}:{place.line}" for place in trace.places[stage]]
        for stage in Stage
        if trace.places[stage]
    }


def test_identifier_has_its_places_by_stage(repo: Repo) -> None:
    matrix = find_matrix(repo)
    assert list(matrix.traces) == ["REQ-1", "REQ-2", "REQ-3"]
    assert list_places(matrix.traces["REQ-1"]) == {
        "required": ["requirements/auth.md#req-1:3"],
        "designed": ["design/auth.md#sessions:5"],
        "tasked": ["design/auth.md#sessions[0]:7"],
        "done": ["design/auth.md#sessions[0]:7"],
        "tested": ["tests/test_auth.py:1"],
    }
    assert list_places(matrix.traces["REQ-2"]) == {
        "required": ["requirements/auth.md#req-1:7"],
        "designed": ["design/auth.md#sessions:5"],
        "tasked": ["design/auth.md#sessions[1]:10", "design/auth.md#sessions[2]:11"],
        "done": ["design/auth.md#sessions[1]:10"],
        "tested": ["tests/test_auth.py:3"],
    }
    assert [trace.title for trace in matrix.traces.values()] == ["Sessions end", "Logout", "Login"]
    assert [trace.missing_stages for trace in matrix.traces.values()] == [
        (),
        (Stage.DONE,),
        (Stage.DESIGNED, Stage.TASKED, Stage.DONE, Stage.TESTED),
    ]


def test_settings_choose_prefixes_and_paths(repo: Repo) -> None:
    settings = '[trace]\nprefixes = ["REQ", "SEC-REQ"]\nrequired = ["requirements"]\ndesigned = ["design"]\n'
    repo.commit(
        {
            "docyard.toml": settings + 'tested = ["checks"]\n',
            "design/more.md": "# More\n\n## REQ-1 in detail {#detail}\n\n- SEC-REQ-4\n",
            "requirements/security.md": "# Security\n\n- SEC-REQ-4: keys\n\nSee REQ-1.\n",
            "notes.md": "# Notes\n\nREQ-1\n",
            "checks/plan.md": "# Plan\n\nREQ-1\n",
        }
    )
    matrix = find_matrix(repo)
    assert list_places(matrix.traces["REQ-1"]) == {
        "required": ["requirements/auth.md#req-1:3"],
        "designed": ["design/auth.md#sessions:5", "design/more.md#detail:3"],
        "tasked": ["design/auth.md#sessions[0]:7"],
        "done": ["design/auth.md#sessions[0]:7"],
        "tested": ["checks/plan.md#_preamble:3"],
    }
    assert list_places(matrix.traces["SEC-REQ-4"]) == {
        "required": ["requirements/security.md#_preamble:3"],
        "designed": ["design/more.md#detail:5"],
    }


@pytest.mark.parametrize(
    "table",
    [
        'prefixes = ["req"]',
        "prefixes = []",
        'prefixes = ["REQ-"]',
        'prefixes = [".*"]',
        'tested = ["/x"]',
        "designd = []",
    ],
)
def test_invalid_settings_are_refused(repo: Repo, table: str) -> None:
    repo.commit({"docyard.toml": f"[trace]\n{table}\n"})
    with pytest.raises(InvalidConfig):
        find_matrix(repo)


def read(text: str) -> list[Mention]:
    return list(read_mentions(Document.parse(text.encode(), "a.md"), compile_pattern(("REQ",))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("REQ-1, REQ-1.2. REQ-3.", ["REQ-1", "REQ-1.2", "REQ-3"]),
        ("XREQ-1 A-REQ-2 REQ-3x REQ-4_b _REQ-5_ req-6 REQ-1234567890", []),
        ("(REQ-1) **REQ-2** `REQ-3` [REQ-4](x.md) REQ-5/REQ-6 REQ-7-", [f"REQ-{n}" for n in range(1, 8)]),
        ("REQ-1.2.3.4 REQ-1.2.3.4.5 REQ-2-x REQ-3-4 REQ-5.6x REQ-7.x", ["REQ-1.2.3.4", "REQ-7"]),
        ("a <!-- REQ-1 --> REQ-2 <!-- a\nREQ-3 --> REQ-4 <b>REQ-5</b>", ["REQ-2", "REQ-4", "REQ-5"]),
        ("a <!-- REQ-1\n\nREQ-2 --> REQ-3", ["REQ-1", "REQ-2", "REQ-3"]),
        ("a <!-- <!-- REQ-1 --> REQ-2 --> <!--> REQ-3 <!--->REQ-4", ["REQ-2", "REQ-3", "REQ-4"]),
        ("<!-- REQ-1 -->\n\n```\nREQ-2\n```\n\n    REQ-3\n\nREQ-4", ["REQ-4"]),
        ("---\ntags: REQ-1\n---\nREQ-2", ["REQ-2"]),
        ("REQ-1\r\nREQ-2\rREQ-3", ["REQ-1", "REQ-2", "REQ-3"]),
        ("\ufeff# REQ-1", ["REQ-1"]),
        ("", []),
    ],
)
def test_mentions_of_a_document(text: str, expected: list[str]) -> None:
    assert [mention.id for mention in read(text)] == expected


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## REQ-1 Title", "Title"),
        ("## REQ-1: Title {#req-1}", "Title"),
        ("## [REQ-1] *Title*", "Title"),
        ("REQ-1 \u2013 Title\n---", "Title"),
        ("- **REQ-1:** Title", "Title"),
        ("1. (REQ-1) `Title`\n   more", "Title"),
        ("- x\n  - REQ-1: Title", "Title"),
        ("- **REQ-1 A user** can", "A user can"),
        ("- [REQ-1](x.md) Title", "Title"),
        ("- [REQ-1 Title](x.md)", "Title"),
        ("## [REQ-1](x.md) Title", "Title"),
        ("- **REQ-1\n  Title**", ""),
        ("- REQ-1 <!-- note --> Title", "Title"),
        ("- see REQ-1", None),
        ("## About REQ-1", None),
        ("- [ ] REQ-1 Title", None),
        ("> - REQ-1 Title", None),
    ],
)
def test_heading_or_item_that_begins_with_identifier_requires_it(line: str, title: str | None) -> None:
    definitions = [mention for mention in read(f"# A\n\n{line}\n") if mention.kind is MentionKind.DEFINITION]
    assert [mention.title for mention in definitions] == ([title] if title is not None else [])


def test_identifier_in_a_name_of_a_test_is_found() -> None:
    pattern = compile_test_pattern(("REQ", "SEC-REQ"))
    text = (
        b"test_req_1_x REQ-2 REQ_3 testReq_4 req-5.1 xreq_6 req7 req_8a test_req_9_1 req_9_2_10_x req_10_2fa "
        b"req_1_2_3_4_5 REQ-11.12.13.14.15 test_sec_req_16 SEC-REQ-17"
    )
    assert [read_test_identifier(match) for match in pattern.finditer(text)] == [
        "REQ-1",
        "REQ-2",
        "REQ-3",
        "REQ-5.1",
        "REQ-9.1",
        "REQ-9.2.10",
        "REQ-10",
        "SEC-REQ-16",
        "SEC-REQ-17",
    ]


def test_other_refs_and_unread_files(repo: Repo) -> None:
    repo.git("branch", "topic")
    repo.commit({"requirements/auth.md": "# None\n", "tests/large.txt": "x" * 1_000_001 + "\nREQ-3\n"})
    assert find_matrix(repo).traces == {}
    assert list(find_matrix(repo, "topic").traces) == ["REQ-1", "REQ-2", "REQ-3"]
    repo.commit({"requirements/auth.md": REQUIREMENTS})
    assert not find_matrix(repo).traces["REQ-3"].has(Stage.TESTED)


def test_problems_are_listed_by_document(repo: Repo) -> None:
    texts = {
        "requirements/auth.md": REQUIREMENTS,
        "more.md": "# More\n\n- REQ-1 again\n\nREQ-77\n",
        "other.md": "REQ-77 REQ-77\nREQ-770 REQ-77\n",
    }
    documents = [Document.parse(text.encode(), path) for path, text in texts.items()]
    first = ("requirements/auth.md", "req-1", 3, "Sessions end")
    assert find_document_problems(documents, TraceSettings(designed=("design",))) == {
        "more.md": [(10, "REQ-1", first), (23, "REQ-77", None)],
        "other.md": [(0, "REQ-77", None), (14, "REQ-770", None), (22, "REQ-77", None)],
    }


def test_designs_and_tests_require_only_if_required_names_them(repo: Repo) -> None:
    repo.commit(
        {
            "docyard.toml": '[trace]\ndesigned = ["design"]\n',
            "design/a.md": "# A\n\n## REQ-1 design\n",
            "tests/plan.md": "# Plan\n\n- REQ-3 by hand\n",
        }
    )
    matrix = find_matrix(repo)
    assert matrix.traces["REQ-1"].title == "Sessions end"
    assert list_places(matrix.traces["REQ-1"])["required"] == ["requirements/auth.md#req-1:3"]
    assert list_places(matrix.traces["REQ-3"]) == {
        "required": ["requirements/auth.md#req-1:8"],
        "tested": ["tests/plan.md#_preamble:3"],
    }
    repo.commit({"docyard.toml": '[trace]\nrequired = ["tests"]\n'})
    assert list_places(find_matrix(repo).traces["REQ-3"])["required"] == ["tests/plan.md#_preamble:3"]


def test_stage_of_tests_is_unknown_without_test_files(repo: Repo) -> None:
    repo.commit({"tests/plan.md": "# Plan\n\nREQ-3\n"})
    git = GitReader(repo.path)
    finder = TraceFinder(git, has_test_files=False)
    traces = finder.find(Snapshot(git, repo.head())).traces
    assert traces["REQ-1"].unknown_stages == (Stage.TESTED,)
    assert traces["REQ-1"].missing_stages == ()
    assert traces["REQ-3"].unknown_stages == ()
    assert traces["REQ-3"].has(Stage.TESTED)


LINES = st.sampled_from(
    [
        "## REQ-{} title",
        "- REQ-{} item",
        "text REQ-{}",
        "- [ ] task REQ-{}",
        "- [x] task REQ-{}",
        "  - Note: REQ-{}",
        "```\nREQ-{}\n```",
        "",
    ]
)


@given(st.lists(st.tuples(LINES, st.integers(1, 3)), max_size=12))
def test_each_mention_outside_code_is_found_once_for_its_address(lines: list[tuple[str, int]]) -> None:
    text = "# A\n\n" + "\n\n".join(line.format(number) for line, number in lines) + "\n"
    mentions = read(text)
    source_lines = text.split("\n")
    assert len({(mention.id, mention.kind, mention.slug, mention.line) for mention in mentions}) == len(
        mentions
    )
    for mention in mentions:
        assert mention.id in source_lines[mention.line - 1]
        assert mention.kind is not MentionKind.DEFINITION or re.match(
            rf"\s*(## |- ){mention.id}", source_lines[mention.line - 1]
        )
    outside_code = re.sub(r"```\n.*?\n```", "", text, flags=re.DOTALL)
    indented_code = re.sub(r"(?m)^    .*$", "", outside_code)
    assert {mention.id for mention in mentions} <= set(re.findall(r"REQ-\d", outside_code))
    assert {mention.id for mention in mentions} >= set(
        re.findall(r"REQ-\d", re.sub(r"(?m)^\s+- Note.*$", "", indented_code))
    )


def test_default_settings_accept_any_document() -> None:
    settings = TraceSettings.model_construct()
    assert settings.may_require("a.md")
    assert settings.may_design("a.md", set())
    assert not settings.may_design("a.md", {"a.md"})
    assert settings.is_test("a/b/test_x.py")
    assert settings.is_test("web/a.spec.ts")
    assert not settings.is_test("src/contest.py")
    assert not settings.may_require("tests/a.md")
