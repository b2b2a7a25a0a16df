"""The reading tools through a client: every specified field, and errors for unreadable files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.acceptance.reading.reading_contract import (
    DESCRIPTION_STARTS,
    ERROR_ANSWER_SCHEMA,
    FULL_TEXT_ANSWER_SCHEMA,
    INPUT_SCHEMAS,
    SECTION_ANSWER_SCHEMA,
    SECTION_ERROR_ANSWER_SCHEMA,
    SUMMARY_ANSWER_SCHEMA,
    TABLE_OF_CONTENTS_ANSWER_SCHEMA,
    JsonSchema,
    require_every_field,
)
from tests.acceptance.server import Server, ToolResponse, serve_repository
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

LONG_TEXT = "# Handbook\n\nHow the service is run.\n\n" + "".join(
    f"## Chapter {chapter}\n\n"
    + "".join(
        f"### Step {step}\n\nStep {step} of chapter {chapter} MUST be done before the next. "
        + "The operator looks at the dashboard, waits for the queue to drain and writes down its values. " * 6
        + "\n\n- [ ] Look\n\n"
        for step in range(12)
    )
    for chapter in range(12)
)
SHORT_TEXT = (
    "# Setup\n\nBegin here.\n\n## 1. Install\n\nRun it.\n\n### 1.1 Linux\n\nUse apt.\n\n## Tests\n\nRun.\n"
)
FILES: dict[str, str | bytes] = {
    "short.md": SHORT_TEXT,
    "long.md": LONG_TEXT,
    "longer.md": LONG_TEXT * 4,
    "guide.rst": "Guide\n=====\n\nText.\n\nSetup\n-----\n\nSteps.\n",
    "app.py": "class App:\n    def run(self):\n        return 1\n",
    "server.log": "2026-01-31 INFO started\n2026-01-31 ERROR failed\n",
    "bare.md": "Words without any heading.\n",
    "ten-thousand.md": "# Many\n\n" + "".join(f"## Heading {number}\n\n" for number in range(10_000)),
    "logo.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
    "data.bin": bytes(range(256)) * 8,
    "utf16.txt": "Words.".encode("utf-16"),
    "archive.zip": b"PK\x03\x04" + b"\0" * 100,
    "pointer.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n",
    "huge.txt": b"line of a log that no person reads to its end\n" * (50_000_000 // 43),
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with readable and unreadable files of many kinds."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "outside.md").write_text("# Outside\n")
    repo = create_repository(folder / "docs", FILES)
    (repo.path / "link.md").symlink_to("short.md")
    (repo.path / "escape.md").symlink_to("../outside.md")
    repo.git("add", "link.md", "escape.md")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},module")
    repo.git("commit", "-q", "-m", "Links and a submodule")
    repo.write({"draft.md": "# Draft\n"})
    return repo


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    """Yield a server, and check after the tests that it still responds."""
    with serve_repository(repo.path, home, "--toolsets", "search,reading") as server:
        yield server
        assert not server.call("list_sections", file_path="short.md").is_error


def check_fields(response: ToolResponse, schema: JsonSchema, repo: Repo) -> dict[str, Any]:
    """Check that the data of a response contain every field of a schema; return the data."""
    Draft202012Validator(require_every_field(schema)).validate(response.data)
    assert json.loads(response.text) == response.data
    assert response.data["commit"] == repo.head()
    return response.data


def make_suggested_call(server: Server, response: ToolResponse) -> ToolResponse:
    """Make the call that a response suggests, and return its response."""
    match = re.search(r"(\w+) (\{.*\})", response.data["next_step"])
    assert match, response.data["next_step"]
    return server.call(match[1], **json.loads(match[2]))


def test_input_schemas_match_contract(server: Server) -> None:
    tools = server.list_tools()
    for name, schema in INPUT_SCHEMAS.items():
        offered_schema = tools[name]["inputSchema"]
        assert offered_schema["type"] == "object"
        assert set(offered_schema["required"]) == set(schema["required"])
        for field, specified_field in schema["properties"].items():
            assert specified_field.items() <= offered_schema["properties"][field].items(), (name, field)
        assert tools[name]["description"].startswith(DESCRIPTION_STARTS[name])
        assert tools[name]["annotations"]["readOnlyHint"] is True


@loop_over("fields", [{}, {"mode": "auto"}, {"mode": "full"}, {"mode": None}])
@loop_over("file", ["short.md", "guide.rst", "app.py", "server.log", "bare.md"])
def test_short_file_is_returned_in_full(
    server: Server, repo: Repo, file: str, fields: dict[str, Any]
) -> None:
    response = server.call("smart_read", file_path=file, **fields)
    data = check_fields(response, FULL_TEXT_ANSWER_SCHEMA, repo)
    content = FILES[file]
    assert data["content"] == content
    assert (data["path"], data["type"]) == (file, "full")
    assert "next_step" not in response.data


@loop_over(
    "fields",
    [
        {},
        {"mode": "auto"},
        {"mode": "summary"},
        *({"mode": "summary", "summary_style": style} for style in ("structured", "outline", "lead")),
    ],
)
def test_long_file_is_summarized(server: Server, repo: Repo, fields: dict[str, Any]) -> None:
    response = server.call("smart_read", file_path="long.md", **fields)
    data = check_fields(response, SUMMARY_ANSWER_SCHEMA, repo)
    assert data["style"] == fields.get("summary_style", "structured")
    assert data["original_tokens"] == data["original"]["size_tokens"] > 10_000
    assert data["summary_tokens"] < data["original_tokens"]
    assert data["reduction_factor"] == pytest.approx(
        data["original_tokens"] / data["summary_tokens"], rel=0.01
    )
    assert data["original"] | {"size_tokens": 0} == {
        "path": "long.md",
        "filename": "long.md",
        "size_bytes": len(LONG_TEXT.encode()),
        "size_tokens": 0,
    }
    assert data["sections"]["count"] == 1 + 12 + 144
    assert 0 < data["coverage"]["completeness_score"] <= 1
    assert 0 < data["confidence"]["completeness"] <= 1
    header = data["sections"]["headers"][-1]
    section = server.call("read_section", file_path="long.md", section_heading=header)
    assert section.data["section"] == header
    assert "next_step" not in response.data


def test_long_file_is_returned_in_parts(server: Server, repo: Repo) -> None:
    response = server.call("smart_read", file_path="longer.md", mode="full")
    parts = [check_fields(response, FULL_TEXT_ANSWER_SCHEMA, repo)["content"]]
    while response.data.get("truncated"):
        response = make_suggested_call(server, response)
        parts.append(check_fields(response, FULL_TEXT_ANSWER_SCHEMA, repo)["content"])
    assert len(parts) > 1
    assert "next_step" not in response.data
    assert "".join(parts) == LONG_TEXT * 4


@loop_over(
    ("file", "section_heading", "section", "lines"),
    [
        ("short.md", "1-install", "1-install", (5, 12)),
        ("short.md", "1.1", "1-install/11-linux", (9, 12)),
        ("short.md", "Tests", "tests", (13, 15)),
        ("short.md", "inst", "1-install", (5, 12)),
        ("short.md", "_preamble", "_preamble", (1, 4)),
        ("guide.rst", "Setup", "setup", None),
        ("bare.md", "_preamble", "_preamble", (1, 1)),
    ],
)
def test_section_is_returned(
    server: Server, repo: Repo, file: str, section_heading: str, section: str, lines: tuple[int, int] | None
) -> None:
    response = server.call("read_section", file_path=file, section_heading=section_heading)
    data = check_fields(response, SECTION_ANSWER_SCHEMA, repo)
    source = FILES[file]
    assert isinstance(source, str)
    assert data["section"].endswith(section)
    if lines:
        assert (data["start_line"], data["end_line"]) == lines
    lines_of_section = source.splitlines(keepends=True)[data["start_line"] - 1 : data["end_line"]]
    assert data["content"] == "".join(lines_of_section)
    assert "next_step" not in response.data


@loop_over("file", ["short.md", "long.md", "guide.rst", "app.py", "bare.md", "server.log"])
def test_sections_are_listed_in_order(server: Server, repo: Repo, file: str) -> None:
    response = server.call("list_sections", file_path=file)
    data = check_fields(response, TABLE_OF_CONTENTS_ANSWER_SCHEMA, repo)
    assert data["count"] == len(data["sections"]) == len(data["outline"])
    assert data["sections"] == [entry["address"] for entry in data["outline"]]
    for address in (data["sections"][0], data["sections"][-1]):
        section = server.call("read_section", file_path=file, section_heading=address)
        assert check_fields(section, SECTION_ANSWER_SCHEMA, repo)["section"] == address
    assert "next_step" not in response.data


READING_CALLS: dict[str, dict[str, str]] = {
    "smart_read": {},
    "read_section": {"section_heading": "tests"},
    "list_sections": {},
}
UNREADABLE_FILES = {
    "an image": ("logo.png", "NOT_TEXT", "binary"),
    "binary data": ("data.bin", "NOT_TEXT", "binary"),
    "an archive": ("archive.zip", "NOT_TEXT", "binary"),
    "UTF-16": ("utf16.txt", "NOT_TEXT", "UTF-8"),
    "a Git LFS pointer": ("pointer.bin", "NOT_A_DOCUMENT", "Git LFS"),
    "50 MB of text": ("huge.txt", "LIMIT_EXCEEDED", "10"),
    "a symlink": ("link.md", "", "link"),
    "a symlink to outside": ("escape.md", "", "link"),
    "a submodule": ("module", "", "submodule"),
    "a file in a submodule": ("module/a.md", "", ""),
    "an uncommitted file": ("draft.md", "NOT_COMMITTED", "not committed"),
    "a missing file": ("shrt.md", "DOCUMENT_NOT_FOUND", "shrt.md"),
    "an absolute path": ("/etc/hosts", "INVALID_PATH", "absolute"),
    "a path above the workspace": ("../outside.md", "", ""),
    "a path with a NUL": ("a\0b.md", "INVALID_PATH", ""),
    "an empty path": ("", "", ""),
}


@loop_over("tool", READING_CALLS)
@loop_over(("file", "code", "word"), UNREADABLE_FILES.values(), ids=list(UNREADABLE_FILES))
def test_unreadable_file_returns_error(
    server: Server, repo: Repo, tool: str, file: str, code: str, word: str
) -> None:
    response = server.call(tool, file_path=file, **READING_CALLS[tool])
    check_error(server, repo, tool, response)
    assert code in ("", response.data["code"])
    assert word in f"{response.data['error']} {response.data.get('fix')}"


def check_error(server: Server, repo: Repo, tool: str, response: ToolResponse) -> None:
    """Check that an error contains the specified fields, no local path, and a valid example."""
    schema = SECTION_ERROR_ANSWER_SCHEMA if tool == "read_section" else ERROR_ANSWER_SCHEMA
    data = check_fields(response, schema, repo)
    assert response.is_error
    assert data["fix"]
    assert str(repo.path) not in response.text
    assert "/etc/hosts" not in data["error"]
    example_response = server.call(tool, **data["example"])
    assert not example_response.is_error, (data["example"], example_response.data)


def test_ten_thousand_headings_are_listed_in_pages(server: Server) -> None:
    response = server.call("list_sections", file_path="ten-thousand.md")
    count = len(response.data["sections"])
    assert response.data["count"] == 10_001
    assert 300 < count < 500
    assert "next_step" not in response.data
    page = server.call("list_sections", file_path="ten-thousand.md", cursor=response.data["cursor"])
    assert page.data["sections"][0] == f"heading-{count - 1}"
    section = server.call("read_section", file_path="ten-thousand.md", section_heading="Heading 9876")
    assert section.data["section"] == "heading-9876"
    assert server.call("smart_read", file_path="ten-thousand.md").data["sections"]["count"] == 10_001
