"""smart_read: short texts in full, long texts as summaries, and correct fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens, get_tokenizer
from workspace.workspace import Workspace

PART_TEXT = (
    "Part {number} keeps the state of customer {number} in table t{number}, which is read once a day. "
    "It was a long day. "
)
LONG_TEXT = "---\ntitle: Long\n---\n# Long\n\nAbout parts.\n\n" + "".join(
    f"## Part {number}\n\n{PART_TEXT.format(number=number) * 4}\n\n"
    f"Clients MUST close part {number}.\n\n- [ ] Test part {number}\n\n"
    for number in range(90)
)
LINE = "Line of words that fills the file.\n"
HUGE_TEXT = "# Huge\n\n" + "".join(f"## Part {number}\n\n{LINE * 700}\n" for number in range(5))
SHORT_TEXT = "# Short\n\nIt caches.\n\n## Limits\n\nUp to 10 files.\n"
FILES: dict[str, str | bytes] = {
    "short.md": SHORT_TEXT,
    "guides/long.md": LONG_TEXT,
    "huge.md": HUGE_TEXT,
    "bare.txt": "Words. " * 15_000,
    "empty.md": "",
    "code.py": '"""Runs things."""\n\n\ndef run(x):\n    """Runs it."""\n    return x\n',
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ["reading"], True)


@pytest.fixture
def smart_read(dispatcher: ToolDispatcher) -> CallTool:
    call_tool = make_client(dispatcher)

    def call_smart_read(file_path: str, /, **fields: object) -> Answer:
        return call_tool("smart_read", file_path=file_path, **fields)

    return call_smart_read


def call_next_step(dispatcher: ToolDispatcher, data: dict[str, Any]) -> Answer:
    """Make the call that a next step names, and return its answer."""
    arguments = data["next_step"].partition("smart_read")[2]
    return dispatcher.call("smart_read", json.JSONDecoder().raw_decode(arguments.strip())[0], client="x")


def test_short_text_is_returned_in_full(smart_read: CallTool) -> None:
    data = smart_read("short.md").data
    assert data["content"] == SHORT_TEXT
    assert (data["type"], data["path"], data["tokens"]) == ("full", "short.md", count_tokens(SHORT_TEXT))
    assert data["tokenizer"] == get_tokenizer()
    assert len(data["commit"]) == 40
    assert not {"truncated", "next_step"} & data.keys()


def test_long_text_is_summarized(smart_read: CallTool) -> None:
    answer = smart_read("guides/long.md")
    data = answer.data
    assert not answer.is_error
    assert (data["type"], data["style"]) == ("summary", "structured")
    assert data["original_tokens"] == data["original"]["size_tokens"] == count_tokens(LONG_TEXT)
    assert data["summary_tokens"] == count_tokens(data["content"]) <= data["budget"]
    assert data["reduction_factor"] == round(data["original_tokens"] / data["summary_tokens"], 2)
    assert data["original"]["path"] == "guides/long.md"
    assert data["original"]["filename"] == "long.md"
    assert data["original"]["size_bytes"] == len(LONG_TEXT.encode())
    assert data["sections"]["count"] == len(data["sections"]["headers"]) == 91
    assert data["_preamble"].startswith("'Long' (guides/long.md) is a Markdown document of ")
    assert 0 < data["coverage"]["completeness_score"] < 1
    assert 0 < data["confidence"]["completeness"] <= 1
    assert "choosing the section to read" in data["confidence"]["recommended_for"]
    for kind, included in data["coverage"]["included"].items():
        assert isinstance(included, int)
        assert included + data["coverage"]["excluded"][kind] >= 0
    assert data["coverage"]["included"]["requirements"] + data["coverage"]["excluded"]["requirements"] == 90
    assert "next_step" not in data


def test_read_section_accepts_listed_headers(smart_read: CallTool, dispatcher: ToolDispatcher) -> None:
    for address in smart_read("guides/long.md").data["sections"]["headers"][::10]:
        answer = dispatcher.call(
            "read_section", {"file_path": "guides/long.md", "section_heading": address}, client="x"
        )
        assert answer.data["section"] == address


def test_threshold_selects_full_text_or_summary(smart_read: CallTool) -> None:
    tokens = count_tokens(SHORT_TEXT)
    assert smart_read("short.md", threshold=tokens).data["type"] == "summary"
    assert smart_read("short.md", threshold=tokens + 1).data["type"] == "full"
    assert smart_read("short.md", threshold=str(tokens)).data["type"] == "summary"


@pytest.mark.parametrize("mode", ["summary", "full"])
def test_mode_overrides_threshold(smart_read: CallTool, mode: str) -> None:
    assert smart_read("short.md", mode=mode).data["type"] == mode
    assert smart_read("guides/long.md", mode=mode).data["type"] == mode


@pytest.mark.parametrize("style", ["structured", "outline", "lead"])
def test_styles_respect_the_budget(smart_read: CallTool, style: str) -> None:
    data = smart_read("guides/long.md", summary_style=style, budget=1500).data
    assert data["style"] == style
    assert data["budget"] == 1500
    assert data["summary_tokens"] <= 1500
    assert data["sections"]["note"].startswith("Every section is named")


def test_budget_too_small_for_names_is_reported(smart_read: CallTool) -> None:
    data = smart_read("guides/long.md", mode="summary", budget=100).data
    named_count = len(data["sections"]["headers"])
    assert 0 < named_count < data["sections"]["count"]
    assert data["sections"]["note"].startswith(f"'content' names {named_count} of 91 sections")


def test_next_step_reads_rest_of_very_long_text(smart_read: CallTool, dispatcher: ToolDispatcher) -> None:
    answer = smart_read("huge.md", mode="full")
    parts = []
    while answer.data.get("truncated"):
        assert count_tokens(answer.data["content"]) <= Limits().text_tokens
        assert answer.data["original_tokens"] == count_tokens(HUGE_TEXT)
        assert answer.data["tokens"] == count_tokens(answer.data["content"])
        parts.append(answer.data["content"])
        answer = call_next_step(dispatcher, answer.data)
    assert "next_step" not in answer.data
    assert "".join([*parts, answer.data["content"]]) == HUGE_TEXT
    assert parts[0].count("## Part") == 3  # the first part ends before a section


@loop_over(
    ("path", "fields", "code"),
    [
        ("short.md", {"summary_style": "poem"}, "UNKNOWN_STYLE"),
        ("short.md", {"mode": "brief"}, "INVALID_ARGUMENTS"),
        ("short.md", {"threshold": 0}, "INVALID_ARGUMENTS"),
        ("short.md", {"budget": 99}, "INVALID_ARGUMENTS"),
        ("short.md", {"budget": 20_001}, "INVALID_ARGUMENTS"),
        ("short.md", {"offset": 1_000}, "INVALID_ARGUMENTS"),
        ("short.md", {"offset": 1, "mode": "summary"}, "INVALID_ARGUMENTS"),
        ("short.md#limits", {}, "INVALID_ARGUMENTS"),
        ("shrt.md", {}, "DOCUMENT_NOT_FOUND"),
        ("logo.png", {}, "NOT_TEXT"),
        ("guides", {}, "NOT_A_FILE"),
        ("short.md", {"ref": "nowhere"}, "REF_NOT_FOUND"),
        ("/etc/passwd", {}, "INVALID_PATH"),
    ],
)
def test_errors_have_contract_fields_and_working_example(
    smart_read: CallTool, dispatcher: ToolDispatcher, path: str, fields: dict[str, object], code: str
) -> None:
    answer = smart_read(path, **fields)
    assert answer.is_error
    assert (answer.data["code"], answer.data["type"]) == (code, "error")
    assert isinstance(answer.data["error"], str)
    assert not dispatcher.call("smart_read", answer.data["example"], client="x").is_error


def test_unknown_style_lists_known_styles(smart_read: CallTool) -> None:
    assert smart_read("short.md", summary_style="poem").data["styles"] == ["structured", "outline", "lead"]


def test_text_without_sections_is_one_section(smart_read: CallTool) -> None:
    data = smart_read("bare.txt").data
    assert data["sections"]["headers"] == ["_preamble"]
    assert data["summary_tokens"] <= data["budget"]
    assert "next_step" not in data


@pytest.mark.parametrize("mode", ["auto", "summary", "full"])
def test_empty_file_is_read(smart_read: CallTool, mode: str) -> None:
    answer = smart_read("empty.md", mode=mode)
    assert not answer.is_error
    assert "next_step" not in answer.data


def test_source_code_is_summarized(smart_read: CallTool) -> None:
    data = smart_read("code.py", mode="summary").data
    assert "- Runs things.\n" in data["content"]
    assert "is source code of" in data["_preamble"]


def test_next_step_reads_at_same_ref(smart_read: CallTool, repo: Repo, dispatcher: ToolDispatcher) -> None:
    first_commit = smart_read("short.md").data["commit"]
    repo.commit({"short.md": "# Short\n\nOther words.\n", "huge.md": "# Huge\n\nOther words.\n"})
    data = smart_read("short.md", ref=first_commit).data
    assert (data["content"], data["commit"], data["ref"]) == (SHORT_TEXT, first_commit, first_commit)
    first_part = smart_read("huge.md", mode="full", ref=first_commit).data
    second_part = call_next_step(dispatcher, first_part).data
    assert second_part["commit"] == first_commit
    assert HUGE_TEXT.startswith(first_part["content"] + second_part["content"])


def test_moved_file_is_read_at_new_path(smart_read: CallTool, repo: Repo) -> None:
    repo.git("mv", "short.md", "limits.md")
    repo.git("commit", "--quiet", "--message", "Rename")
    data = smart_read("short.md").data
    assert data["content"] == SHORT_TEXT
    assert data["path"] == "limits.md"
    assert data["moved_to"]["file"] == "limits.md"
    assert data["next_step"] == "Use 'limits.md' from now on: it was moved"


def test_rest_of_moved_file_is_read_at_new_path(
    smart_read: CallTool, repo: Repo, dispatcher: ToolDispatcher
) -> None:
    repo.git("mv", "huge.md", "giant.md")
    repo.git("commit", "--quiet", "--message", "Rename")
    data = smart_read("huge.md", mode="full").data
    assert (data["path"], data["moved_to"]["file"], data["truncated"]) == ("giant.md", "giant.md", True)
    assert data["next_step"].startswith("Use 'giant.md' from now on: it was moved. Read the rest with ")
    second_part = call_next_step(dispatcher, data).data
    assert (second_part["path"], "moved_to" in second_part) == ("giant.md", False)
    assert HUGE_TEXT.startswith(data["content"] + second_part["content"])


def test_text_shown_in_full_counts_as_read(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ["reading", "documents"], False)
    call_tool = make_client(dispatcher)
    call_tool("smart_read", file_path="short.md")
    edit = {"operation": "update_content", "file": "short.md", "slug": "limits", "content": "None."}
    assert not call_tool("edit_document", **edit).is_error
    call_tool("smart_read", file_path="guides/long.md")
    unread_edit = {
        "operation": "update_content",
        "file": "guides/long.md",
        "slug": "part-3",
        "content": "None.",
    }
    assert call_tool("edit_document", **unread_edit).is_error
