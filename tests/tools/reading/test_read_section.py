"""read_section: exact sources, found by every name of a section."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens
from workspace.workspace import Workspace

PAPER = (
    "---\ntype: design_doc\n---\n\n# Paper\n\nAbstract.\n\n## 1. Introduction\n\nText.\n\n"
    "## 2. Methods\n\nHow.\r\n\r\n### 2.1 Data\n\nNumbers.\n\n### 2.2 方法\n\n数字。\n\n## Results\n\n"
    "See.\n\nNotes\n-----\n\nOne.\n\n## Twice\n\nA.\n\n## 2. Methods again\n\n### Notes\n\nTwo.\n"
)
FILES: dict[str, str | bytes] = {
    "paper.md": PAPER,
    "guide.rst": "Guide\n=====\n\nText.\n\nSetup\n-----\n\nSteps.\n",
    "app.py": "import os\n\n\nclass App:\n    def run(self):\n        return 1\n",
    "notes.txt": "No heading at all.\n",
    "odd.md": b"\xef\xbb\xbf# Odd\n\n\xff\xfe text\n\n## Caf\xc3\xa9\n\nEnd",
    "c#.md": "# C\n\n## Setup\n\nText.\n",
    "logo.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 50,
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def call_tool(repo: Repo) -> CallTool:
    workspace = Workspace.open(repo.path, durable=False)
    return make_client(
        ToolDispatcher(workspace, SearchIndex(workspace), ["documents", "search", "reading"], False)
    )


def read_section(call_tool: CallTool, section: str, file: str = "paper.md", **fields: object) -> Answer:
    return call_tool("read_section", file_path=file, section_heading=section, **fields)


@loop_over("file", [name for name in FILES if name != "logo.png"])
def test_every_section_equals_its_source(call_tool: CallTool, file: str) -> None:
    listing = call_tool("list_sections", file_path=file).data
    content = FILES[file]
    data = content.encode() if isinstance(content, str) else content
    text = data.decode("utf-8", "replace")
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    assert listing["sections"]
    for entry in listing["outline"]:
        answer = read_section(call_tool, entry["address"], file).data
        first_line, last_line = answer["start_line"], answer["end_line"]
        assert answer["content"].removeprefix("\ufeff") == "".join(
            lines[first_line - 1 : last_line]
        ).removeprefix("\ufeff")
        assert (answer["section"], answer["tokens"]) == (entry["address"], entry["tokens"])
        assert answer["lines"] == entry["lines"] == [first_line, last_line]
        assert answer["heading_level"] == entry["level"]


@loop_over(
    ("heading", "section"),
    [
        ("2-methods", "2-methods"),
        ("paper.md#2-methods", "2-methods"),
        ("2.1", "2-methods/21-data"),
        ("Data", "2-methods/21-data"),
        ("方法", "2-methods/22-方法"),
        ("results", "results"),
        ("## Results", "results"),
        ("Intro", "1-introduction"),
        ("_preamble", "_preamble"),
        ("TWICE", "twice"),
    ],
)
def test_section_is_found_by_every_name(call_tool: CallTool, heading: str, section: str) -> None:
    answer = read_section(call_tool, heading)
    assert answer.data["section"] == section, answer.data
    assert answer.data["type"] == "section"


def test_section_includes_subsections_but_preamble_does_not(call_tool: CallTool) -> None:
    methods = read_section(call_tool, "2-methods").data
    assert methods["content"].startswith("## 2. Methods\n\nHow.\r\n\r\n### 2.1")
    assert methods["content"].endswith("数字。\n\n")
    assert (methods["heading"], methods["heading_level"], methods["number"]) == ("2. Methods", 2, "2")
    preamble = read_section(call_tool, "_preamble").data
    assert preamble["content"].strip() == "# Paper\n\nAbstract."
    assert preamble["heading_level"] == 1


def test_ambiguous_heading_returns_candidates_with_lines(call_tool: CallTool) -> None:
    answer = read_section(call_tool, "Notes")
    assert answer.is_error
    assert answer.data["code"] in ("AMBIGUOUS_SECTION", "AMBIGUOUS_ADDRESS")
    assert (answer.data["type"], answer.data["content"], answer.data["section"]) == ("error", "", "Notes")
    assert {candidate["slug"] for candidate in answer.data["candidates"]} == {
        "notes",
        "2-methods-again/notes",
    }
    assert all(candidate["line"] for candidate in answer.data["candidates"])
    assert not read_section(call_tool, answer.data["example"]["section_heading"]).is_error


@loop_over("heading", ["Metods", "résultats", "nothing like it", "2.7", "9", "tasks[0]", ""])
def test_unknown_section_returns_existing_sections(call_tool: CallTool, heading: str) -> None:
    answer = read_section(call_tool, heading)
    assert answer.is_error
    assert (answer.data["type"], answer.data["content"], answer.data["section"]) == ("error", "", heading)
    assert isinstance(answer.data["error"], str)
    assert not call_tool("read_section", **answer.data["example"]).is_error, answer.data


@loop_over("file", ["papr.md", "logo.png", "none/at/all.md", "", "../x.md", "/etc/hosts"])
def test_unreadable_file_returns_working_example(call_tool: CallTool, file: str) -> None:
    answer = read_section(call_tool, "results", file)
    assert answer.is_error
    assert answer.data["type"] == "error"
    assert "/etc" not in json.dumps(answer.data)
    assert not call_tool("read_section", **answer.data["example"]).is_error, answer.data


def test_absolute_paths_and_paths_with_number_sign_are_read(call_tool: CallTool, repo: Repo) -> None:
    assert read_section(call_tool, "results", str(repo.path / "paper.md")).data["path"] == "paper.md"
    assert read_section(call_tool, "results", f"{repo.path}/paper.md#results").data["section"] == "results"
    assert read_section(call_tool, "setup", "c#.md").data["section"] == "setup"
    assert read_section(call_tool, "setup", "./c#.md#setup").data["section"] == "setup"
    repo.commit({"c": "A file whose name is the start of another name.\n"})
    answer = read_section(call_tool, "twice", "c#.md#setup").data
    assert (answer["code"], answer["example"]["file_path"]) == ("INVALID_ARGUMENTS", "c#.md")


def test_section_at_ref_has_text_of_that_commit(call_tool: CallTool, repo: Repo) -> None:
    old_commit = repo.head()
    repo.commit({"paper.md": PAPER.replace("Numbers.", "Other numbers.")})
    answer = read_section(call_tool, "2.1", ref=old_commit[:10])
    assert (answer.data["commit"], answer.data["ref"]) == (old_commit, old_commit[:10])
    assert "Numbers." in answer.data["content"]
    assert "next_step" not in answer.data
    assert "Other" in read_section(call_tool, "2.1").data["content"]
    error_answer = read_section(call_tool, "2.1", ref="never")
    assert (error_answer.data["code"], error_answer.data["type"]) == ("REF_NOT_FOUND", "error")
    assert not call_tool("read_section", **error_answer.data["example"]).is_error


def test_moved_section_is_read_at_new_address(call_tool: CallTool, repo: Repo) -> None:
    moving_commit = repo.commit({"paper.md": PAPER.replace("## Results", "## Findings")})
    answer = read_section(call_tool, "results")
    assert answer.data["section"] == "findings"
    assert answer.data["moved_to"] == {"file": "paper.md", "slug": "findings", "commit": moving_commit}
    assert answer.data["next_step"] == "Use 'paper.md#findings' from now on: it was moved"
    repo.git("mv", "paper.md", "article.md")
    repo.commit({})
    answer = read_section(call_tool, "2-methods/21-data")
    assert answer.data["path"] == "article.md"
    assert answer.data["moved_to"]["file"] == "article.md"
    assert call_tool("list_sections", file_path="paper.md").data["moved_to"]["slug"] is None


def test_long_section_is_cut_between_subsections(call_tool: CallTool, repo: Repo) -> None:
    subsections = "".join(
        f"### Part {number}\n\n" + f"Wörter {number}. " * 700 + "\n\n" for number in range(40)
    )
    repo.commit({"long.md": f"# Long\n\n## All\n\n{subsections}## Next\n"})
    parts: list[str] = []
    arguments: dict[str, object] = {"file_path": "long.md", "section_heading": "all"}
    while True:
        answer = call_tool("read_section", **arguments)
        data = answer.data
        assert count_tokens(data["content"]) <= Limits().text_tokens
        assert data["content"].startswith("#")
        assert data["lines"] == [3, 3 + 2 + 40 * 4 - 1]
        assert data["start_line"] == 3 + sum(part.count("\n") for part in parts)
        parts.append(data["content"])
        if "truncated" not in data:
            break
        tool, arguments = parse_next_call(answer)
        assert (tool, arguments["section_heading"]) == ("read_section", "all")
        assert arguments["offset"] == data["offset"] == sum(map(len, parts))
    assert "".join(parts) == f"## All\n\n{subsections}"
    assert data["end_line"] == data["lines"][1]
    assert "next_step" not in data
    assert len(parts) > 1


def test_offset_after_end_returns_error(call_tool: CallTool) -> None:
    assert read_section(call_tool, "2.1", offset=5).data["content"] == ".1 Data\n\nNumbers.\n\n"
    assert read_section(call_tool, "2.1", offset=1_000).data["code"] == "INVALID_ARGUMENTS"


def test_only_read_sections_may_be_overwritten(call_tool: CallTool, repo: Repo) -> None:
    read_section(call_tool, "2.1")

    def overwrite(slug: str) -> Answer:
        return call_tool(
            "edit_document", operation="update_content", file="paper.md", slug=slug, content="New."
        )

    assert not overwrite("2-methods/21-data").is_error
    assert overwrite("results").is_error
