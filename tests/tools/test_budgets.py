"""No answer has more tokens than its call allows, and the calls that it names reach all of a text or list."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.texts.token_bound import count_tokens_at_most
from workspace.workspace import Workspace

TOOLSETS = ("documents", "tasks", "search", "reading", "history", "proposals")
WORDS = (
    "retry",
    "needle",
    "数据",
    "🚀",
    "x" * 30,
    '"quoted"',
    "back\\slash",
    "a|b",
    "`code`",
    "été",
    "-" * 20,
)
RANDOM = random.Random(3)


def make_text(word_count: int, words_per_line: int = 12) -> str:
    words = RANDOM.choices(WORDS, k=word_count)
    starts = range(0, word_count, words_per_line)
    return "\n".join(" ".join(words[start : start + words_per_line]) for start in starts)


DOCUMENTS = {
    "small.md": "# Small\n\nA needle.\n\n## Part\n\nMore needle.\n",
    "line.md": "# Line\n\nneedle " + "y" * 60_000 + "\n",
    "headings.md": "# Headings\n\n" + "".join(f"## Needle {number}\n\nText.\n\n" for number in range(1_500)),
    "titles.md": f"# {'Title ' * 400}\n\n## {'数据' * 300} needle\n\nText.\n\n## {'A' * 3_000}\n\nneedle\n",
    "front.md": "---\ntype: note\ntags: ["
    + ", ".join(f"tag-{number}" for number in range(60))
    + "]\nowner: "
    + "o" * 5_000
    + "\n---\n\n# Front\n\nneedle\n",
    "cjk.md": "# 数据\n\n" + "请求失败之后等待一段时间再重试。needle\n\n" * 400,
    "emoji.md": "# 🚀\n\n" + "👩‍👩‍👧‍👦🏳️‍🌈 needle " * 800 + "\n",
    "nesting.md": "# Nesting\n\n"
    + "".join(f"{'#' * level} Level {level}\n\nneedle\n\n" for level in range(2, 7))
    + "".join("  " * level + "- item needle\n" for level in range(18)),
    "table.md": "# Table\n\n## Errors\n\n| code | text |\n|---|---|\n"
    + "".join(f"| E{number} | needle {number} |\n" for number in range(400)),
    "cells.md": "# Cells\n\n|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n|" + ("needle" * 40 + "|") * 300 + "\n",
    "tasks.md": "# Tasks\n\n## Tasks\n\n" + "".join(f"- [ ] needle task {number}\n" for number in range(300)),
    "mixed.md": "# Mixed\n\n"
    + "\n\n".join(f"## Part {number}\n\n{make_text(300)}" for number in range(8))
    + "\n",
    f"{'folder/' * 20}deep.md": "# Deep\n\nneedle\n",
    **{f"list/{number:03d}.md": f"# Entry {number}\n\nneedle {number}\n" for number in range(60)},
}
PATHS = tuple(DOCUMENTS)

pytestmark = pytest.mark.property


@pytest.fixture(scope="module")
def budget_repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = create_repository(tmp_path_factory.mktemp("budgets") / "docs", DOCUMENTS)
    for number in range(12):
        repo.commit(
            {"small.md": f"# Small\n\nA needle {number}.\n\n## Part\n\n{make_text(40)}\n"},
            f"change {number}",
        )
    return repo


@pytest.fixture(scope="module")
def server(budget_repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolDispatcher]:
    state = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(state))
        monkeypatch.setenv("XDG_CACHE_HOME", str(state))
        workspace = Workspace.open(budget_repo.path, durable=False)
        dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)
        dispatcher.call("search_docs", {"query": "needle"}, client="tester")
        yield dispatcher


def render_answer(answer: Answer) -> tuple[str, str]:
    """Return the text of an answer, and its data as JSON."""
    data = json.dumps(answer.data, ensure_ascii=False, separators=(",", ":"))
    return answer.text if answer.text is not None else data, data


def call_within(server: ToolDispatcher, tool: str, max_tokens: int, **fields: Any) -> Answer:
    answer = server.call(tool, {**fields, "max_tokens": max_tokens}, client="tester")
    for text in render_answer(answer):
        assert count_tokens_at_most(text) <= max_tokens, (tool, fields, text[:2_000])
    return answer


paths = st.sampled_from(PATHS)
calls = st.one_of(
    st.tuples(st.just("view_document"), st.fixed_dictionaries({"file": paths})),
    st.tuples(
        st.just("view_document"),
        st.fixed_dictionaries(
            {"file": paths, "slug": st.just("_preamble"), "include_subsections": st.booleans()}
        ),
    ),
    st.tuples(
        st.just("view_document"),
        st.fixed_dictionaries(
            {"operations": st.lists(st.fixed_dictionaries({"file": paths}), min_size=1, max_size=8)}
        ),
    ),
    st.tuples(st.just("view_document"), st.just({"file": "missing.md", "slug": "x" * 500})),
    st.tuples(
        st.just("list_documents"),
        st.fixed_dictionaries(
            {"paths_only": st.booleans(), "path": st.sampled_from((".", "list", "front.md"))}
        ),
    ),
    st.tuples(
        st.just("list_documents"),
        st.just({"fields": ["open_tasks", "title", "sections", "tags"], "type": "note"}),
    ),
    st.tuples(
        st.just("search_documents"),
        st.fixed_dictionaries({"query": st.sampled_from(WORDS), "limit": st.integers(1, 50)}),
    ),
    st.tuples(st.just("search_documents"), st.just({"operations": [{"query": "needle", "limit": 9}] * 6})),
    st.tuples(
        st.just("search_docs"),
        st.fixed_dictionaries({"query": st.sampled_from(WORDS), "limit": st.integers(1, 50)}),
    ),
    st.tuples(st.just("search_docs"), st.just({"query": "nothing-like-this " * 30})),
    st.tuples(st.just("get_doc"), st.fixed_dictionaries({"chunk_id": paths, "context": st.integers(0, 5)})),
    st.tuples(
        st.just("smart_read"),
        st.fixed_dictionaries(
            {
                "file_path": paths,
                "mode": st.sampled_from(("auto", "summary", "full")),
                "summary_style": st.sampled_from(("structured", "outline", "lead", "wrong")),
            }
        ),
    ),
    st.tuples(
        st.just("read_section"),
        st.fixed_dictionaries(
            {
                "file_path": paths,
                "section_heading": st.sampled_from(("_preamble", "1", "errors", "no such heading")),
            }
        ),
    ),
    st.tuples(st.just("list_sections"), st.fixed_dictionaries({"file_path": paths})),
    st.tuples(
        st.just("search_table"),
        st.fixed_dictionaries(
            {
                "address": st.sampled_from(("table.md", "cells.md", "small.md")),
                "query": st.sampled_from(WORDS),
                "max_rows": st.integers(1, 200),
            }
        ),
    ),
    st.tuples(st.just("view_history"), st.fixed_dictionaries({"file": paths, "blame": st.booleans()})),
    st.tuples(
        st.just("view_history"),
        st.fixed_dictionaries({"file": st.just("small.md"), "slug": st.just("part"), "diff": st.booleans()}),
    ),
    st.tuples(
        st.just("view_proposal"),
        st.sampled_from(({}, {"state": "open"}, {"state": "nope"}, {"proposal": "k7m2q9xa"})),
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(call=calls, max_tokens=st.one_of(st.integers(200, 400), st.integers(200, 6_000), st.just(25_000)))
def test_no_answer_exceeds_its_budget(
    server: ToolDispatcher, call: tuple[str, dict[str, Any]], max_tokens: int
) -> None:
    tool, fields = call
    answer = call_within(server, tool, max_tokens, **fields)
    assert "commit" in answer.data or answer.is_error


def iter_answers(server: ToolDispatcher, tool: str, max_tokens: int, **fields: Any) -> Iterator[Answer]:
    """Yield the answer to a call, and to each next call at the position that the previous answer names."""
    position: dict[str, Any] = {}
    for _ in range(3_000):
        answer = call_within(server, tool, max_tokens, **{**fields, **position})
        assert not answer.is_error, answer.data
        yield answer
        if (cursor := answer.data.get("next_cursor") or answer.data.get("cursor")) is not None:
            position = {"cursor": cursor}
        elif answer.data.get("offset") is not None:
            if max_tokens > 1_000:
                step_tool, step_fields = parse_next_call(answer)
                assert (step_tool, step_fields["max_tokens"]) == (tool, max_tokens)
            position = {"offset": answer.data["offset"]}
        else:
            return
    raise AssertionError("the text or list does not end")


budgets = st.one_of(st.integers(250, 500), st.integers(250, 8_000))


@settings(max_examples=5, deadline=None)
@given(
    path=st.sampled_from(("mixed.md", "cjk.md", "emoji.md", "nesting.md")), max_tokens=st.integers(400, 8_000)
)
def test_parts_are_the_whole_text(server: ToolDispatcher, path: str, max_tokens: int) -> None:
    text = DOCUMENTS[path]
    for tool, fields in (
        ("view_document", {"file": path, "slug": "_preamble", "include_subsections": True}),
        ("smart_read", {"file_path": path, "mode": "full"}),
    ):
        parts = [answer.data["content"] for answer in iter_answers(server, tool, max_tokens, **fields)]
        assert "".join(parts) == text, tool
    chunk = server.call("get_doc", {"chunk_id": path}, client="tester").data["chunks"][0]["chunk_id"]
    parts = [
        answer.data["chunks"][0]["text"]
        for answer in iter_answers(server, "get_doc", max_tokens, chunk_id=chunk)
    ]
    assert text.startswith("".join(parts))


@settings(max_examples=5, deadline=None)
@given(max_tokens=budgets)
def test_pages_of_a_list_have_each_entry(server: ToolDispatcher, max_tokens: int) -> None:
    listed_paths = [
        path
        for answer in iter_answers(server, "list_documents", max_tokens, paths_only=True)
        for path in answer.data["paths"]
    ]
    assert listed_paths == sorted(DOCUMENTS)
    hits = [
        hit["chunk_id"]
        for answer in iter_answers(
            server, "search_docs", max(max_tokens, 1_000), query="needle", limit=50, path="list"
        )
        for hit in answer.data["hits"]
    ]
    assert len(hits) == len(set(hits)) == 60
    changes = [
        entry["commit"]
        for answer in iter_answers(server, "view_history", max_tokens, file="small.md")
        for entry in answer.data["history"]
    ]
    assert len(changes) == len(set(changes)) == 13


@settings(max_examples=3, deadline=None)
@given(max_tokens=st.integers(1_000, 8_000))
def test_pages_of_an_outline_have_each_section(server: ToolDispatcher, max_tokens: int) -> None:
    keys = [
        key
        for answer in iter_answers(server, "view_document", max_tokens, file="headings.md")
        for key in answer.data["sections"]
    ]
    assert len(keys) == len(set(keys)) == 1_500
    sections = [
        key
        for answer in iter_answers(server, "list_sections", max_tokens, file_path="headings.md")
        for key in answer.data["sections"]
    ]
    assert len(sections) == 1_501
    rows = [
        row
        for answer in iter_answers(server, "search_table", max_tokens, address="table.md", max_rows=200)
        for table in answer.data["tables"]
        for row in table["rows"]
    ]
    assert len(rows) == 400
