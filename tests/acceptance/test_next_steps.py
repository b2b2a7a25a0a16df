"""Suggested calls in responses: every next step and every example must be a valid call."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import (
    ProtocolMode,
    Server,
    ToolResponse,
    build_artifact,
    serve_artifact,
    serve_repository,
)
from tests.repositories import Repo, create_repository

Call = tuple[str, dict[str, Any]]

MAX_DEPTH = 2  # the maximum length of a chain of suggested calls
CALL_START = re.compile(r"\b([a-z]+(?:_[a-z]+)+) (?=\{)")
PATHS = (
    "guide.md",
    "C#.md",
    "C",
    'a b/ü "q" {x}.md',
    "long.md",
    "many.md",
    "table.md",
    "empty.md",
    "nul.txt",
    "zero.md",
    "latin.md",
    "equal.md",
    "old/tasks.md",
    "new/tasks.md",
    "app.py",
    "gone.md",
    "/etc/hosts",
)
FILES: dict[str, str | bytes] = {
    "guide.md": "# Guide\n\nThe heron.\n\n## 1. Install\n\nSteps.\n\n### Linux\n\nWith apt.\n",
    "C#.md": "# Sharp\n\n## Set {up} #1\n\nThe heron.\n",
    "C": "Another file, whose name a path with a # begins with.\n",
    'a b/ü "q" {x}.md': '# Odd\n\n## A "b" {c}\n\nThe heron.\n\n- [ ] Look\n',
    "long.md": "# Long\n\n" + "".join(f"## Part {part}\n\n{'many words ' * 3000}\n\n" for part in range(5)),
    "many.md": "# Many\n\n" + "".join(f"## Heading {number}\n\n" for number in range(600)),
    "empty.md": "",
    "table.md": "# Table\n\n## Codes\n\n| Code |\n|------|\n| 429 |\n",
    "nul.txt": b"a\0b",
    "zero.md": b"# Zero\n\nWords around a\0b, as a crash leaves them.\n\n## Rest\n\nThe heron.\n",
    "latin.md": b"# Caf\xe9\n\n## M\xfcsli\n\nThe heron.\n",
    "equal.md": "# Equal\n\n## Same\n\na\n\n## Same\n\nb\n\n## One {#x}\n\n## Two {#x}\n",
    "old/tasks.md": "# Tasks\n\n## Tasks\n\n- [ ] One\n  - Criteria: done\n- [x] Two\n",
    "app.py": "class App:\n    def run(self):\n        return 1\n",
}
ARGUMENTS_BY_READING_TOOL: Mapping[str, tuple[dict[str, Any], ...]] = {
    "smart_read": ({}, {"mode": "full"}, {"mode": "summary", "budget": 100}, {"summary_style": "none"}),
    "read_section": tuple({"section_heading": name} for name in ("_preamble", "1", "tasks", "x", "")),
    "list_sections": ({}, {"limit": 1}),
    "search_table": ({}, {"query": "x"}),
    "view_document": ({}, {"slug": "_preamble"}, {"slug": "tasks[0]"}, {"slug": "x"}),
    "view_history": ({}, {"slug": "_preamble", "limit": 1}, {"blame": True}),
    "get_doc": ({},),
}
PATH_FIELD_BY_TOOL = {
    "smart_read": "file_path",
    "read_section": "file_path",
    "list_sections": "file_path",
    "search_table": "address",
}
FIXED_CALLS: tuple[Call, ...] = (
    ("list_documents", {}),
    ("list_documents", {"limit": 1}),
    ("list_documents", {"path": "gone"}),
    ("search_docs", {"query": "heron", "limit": 1}),
    ("search_docs", {"query": "nowhere"}),
    ("search_documents", {"query": "heron"}),
    ("search_documents", {"query": "nowhere"}),
    ("view_document", {}),
    ("get_doc", {"chunk_id": "zero.md#rest", "context": 1}),
)
"""First calls whose arguments contain no path of `PATHS`."""

ALL_TOOLSETS = "documents,tasks,search,reading,history"
# The client must choose the query of a search, or only use another address in its later calls.
STEP_WITHOUT_CALL = re.compile(r"Search again as the hint suggests|Use '.*' from now on: it was moved$")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with unusual names and bytes, a tag, and a document renamed after the tag."""
    repo = create_repository(tmp_path_factory.mktemp("steps") / "docs", FILES)
    repo.git("tag", "v#1")
    repo.commit({"guide.md": str(FILES["guide.md"]).replace("apt", "dnf")})
    (repo.path / "new").mkdir()
    repo.git("mv", "old/tasks.md", "new/tasks.md")
    repo.commit({})
    return repo


def generate_first_calls(refs: tuple[str | None, ...]) -> Iterator[Call]:
    """Yield the first calls of a crawl, for each ref; None means the branch."""
    for ref in refs:
        ref_field = {} if ref is None else {"ref": ref}
        for tool, arguments in FIXED_CALLS:
            yield tool, {**arguments, **ref_field}
        for tool, variants in ARGUMENTS_BY_READING_TOOL.items():
            field = "chunk_id" if tool == "get_doc" else PATH_FIELD_BY_TOOL.get(tool, "file")
            for path in PATHS:
                for arguments in variants:
                    yield tool, {field: path, **arguments, **ref_field}


def parse_suggested_calls(response: ToolResponse) -> list[Call]:
    """Return the calls that a response names, with complete arguments."""
    text = response.data.get("next_step", "")
    decoder = json.JSONDecoder()
    return [(match[1], decoder.raw_decode(text, match.end())[0]) for match in CALL_START.finditer(text)]


def needs_next_step(data: Mapping[str, Any]) -> bool:
    """Return True for a reading tool's answer with a truncated text, without results, or with the usage."""
    results = [data[name] for name in ("hits", "matches", "documents") if name in data]
    return "truncated" in data or "usage" in data or [] in results


def find_next_page(tool: str, arguments: dict[str, Any], data: Mapping[str, Any]) -> list[Call]:
    """Return a list with the call for the next page of an answer; an empty list if the page is the last."""
    cursor = data.get("next_cursor") or data.get("cursor")
    return [(tool, {**arguments, "cursor": cursor})] if cursor else []


def crawl(server: Server, refs: tuple[str | None, ...]) -> int:
    """Make the first calls, then suggested calls up to `MAX_DEPTH`; return the number of calls made."""
    tools = server.list_tools()
    pending = deque((call, 0, "") for call in generate_first_calls(refs) if call[0] in tools)
    made_calls: set[str] = set()
    while pending:
        (tool, arguments), depth, suggesting_call = pending.popleft()
        if (call_text := json.dumps([tool, arguments])) in made_calls:
            continue
        made_calls.add(call_text)
        is_reading_tool = tools[tool]["annotations"]["readOnlyHint"]
        response = server.call(tool, **arguments, **({} if is_reading_tool else {"dry_run": True}))
        # An overwrite needs an earlier read, and an artifact has no history.
        is_allowed = (
            not response.is_error or not depth or response.data["code"] in ("READ_FIRST", "NO_HISTORY")
        )
        assert is_allowed, (suggesting_call, response.text[:500])
        next_calls = (
            [(tool, response.data["example"])] if response.is_error else parse_suggested_calls(response)
        )
        if is_reading_tool and not response.is_error:
            step = response.data.get("next_step")
            assert step is not None or not needs_next_step(response.data), (tool, arguments)
            assert step is None or next_calls or STEP_WITHOUT_CALL.search(step), (tool, arguments, step)
            next_calls += find_next_page(tool, arguments, response.data)
        assert {call[0] for call in next_calls} <= tools.keys(), (tool, arguments, next_calls)
        if depth < MAX_DEPTH and is_reading_tool:
            pending.extend((call, depth + 1, call_text) for call in next_calls)
    return len(made_calls)


@pytest.mark.parametrize(
    ("toolsets", "protocol"),
    [
        (ALL_TOOLSETS, "auto"),
        pytest.param(ALL_TOOLSETS, "legacy", marks=pytest.mark.slow),
        pytest.param("reading", "auto", marks=pytest.mark.slow),
        pytest.param("history", "legacy", marks=pytest.mark.slow),
        pytest.param("search,reading", "auto", marks=pytest.mark.slow),
    ],
)
def test_calls_suggested_by_server_of_repository_are_valid(
    repo: Repo, home: Path, toolsets: str, protocol: ProtocolMode
) -> None:
    head_before = repo.head()
    with serve_repository(repo.path, home, "--toolsets", toolsets, protocol=protocol) as server:
        assert crawl(server, (None, "v#1")) > 100
    assert repo.head() == head_before


@pytest.mark.parametrize("refs", [(None,), pytest.param((None, "v#1"), marks=pytest.mark.slow)])
def test_calls_suggested_by_server_of_artifact_are_valid(
    repo: Repo, home: Path, tmp_path: Path, refs: tuple[str | None, ...]
) -> None:
    artifact = tmp_path / "out"
    build_artifact(repo.path, home, artifact)
    with serve_artifact(artifact, home, "--toolsets", ALL_TOOLSETS) as server:
        assert crawl(server, refs) > 100
