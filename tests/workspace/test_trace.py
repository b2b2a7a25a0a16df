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
    list_problems,
    read_mentions,
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
    ['prefixes = ["req"]', 'prefixes = ["REQ-"]', 'prefixes = [".*"]', 'tested = ["/x"]', "designd = []"],
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
        ("(REQ-1) **REQ-2** `REQ-3` [REQ-4](x.md) REQ-5/REQ-6 REQ-7-a", [f"REQ-{n}" for n in range(1, 8)]),
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
        ("- see REQ-1", None),
        ("## About REQ-1", None),
        ("- [ ] REQ-1 Title", None),
        ("> - REQ-1 Title", None),
    ],
)
def test_heading_or_item_that_begins_with_identifier_requires_it(line: str, title: str | None) -> None:
    definitions = [mention for mention in read(f"# A\n\n{line}\n") if mention.kind is MentionKind.DEFINITION]
    assert [mention.title for mention in definitions] == ([title] if title else [])


def test_identifier_in_a_name_of_a_test_is_found() -> None:
    pattern = compile_test_pattern(("REQ",))
    text = b"test_req_1_x REQ-2 REQ_3 testReq_4 req-5.1 xreq_6 req7 req_8a"
    assert [match[2].decode() for match in pattern.finditer(text)] == ["1", "2", "3", "5.1"]


def test_other_refs_and_unread_files(repo: Repo) -> None:
    repo.git("branch", "topic")
    repo.commit({"requirements/auth.md": "# None\n", "tests/large.txt": "x" * 1_000_001 + "\nREQ-3\n"})
    assert find_matrix(repo).traces == {}
    assert list(find_matrix(repo, "topic").traces) == ["REQ-1", "REQ-2", "REQ-3"]
    repo.commit({"requirements/auth.md": REQUIREMENTS})
    assert not find_matrix(repo).traces["REQ-3"].has(Stage.TESTED)


def test_problems_are_listed_by_document(repo: Repo) -> None:
    repo.commit({"more.md": "# More\n\n- REQ-1 again\n\nREQ-77\n"})
    assert list_problems(find_matrix(repo)) == {
        "requirements/auth.md": [("REQ-1", 3, "more.md#_preamble")],
        "more.md": [("REQ-77", 5, None)],
    }


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
