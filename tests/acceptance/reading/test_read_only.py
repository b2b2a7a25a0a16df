"""A read-only server, which offers no writing tools and changes no file except those of the search index."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from mcp import MCPError

from tests.acceptance.server import serve_repository
from tests.repositories import create_repository
from tools.toolsets import all_tools

WRITING_TOOLS = [tool.name for tool in all_tools() if tool.writes]
FILES = {
    "guides/retries.md": "---\ntype: runbook\ntags: [sdk]\n---\n\n# Retries\n\n## Backoff\n\nIt doubles.\n",
    "guides/tasks.md": "# Work\n\n## Tasks\n\n- [ ] One\n- [x] Two\n",
}


def compute_digest(folder: Path) -> str:
    """Return a digest of every file's path, mode, modification time and bytes, except the search index."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_relative_to(folder / ".git" / "docyard") or not path.is_file():
            continue
        status = path.stat()
        digest.update(f"{path.relative_to(folder)} {status.st_mode} {status.st_mtime_ns}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--toolsets", "documents,tasks,search"), marks=pytest.mark.slow)],
    ids=["default-toolsets", "three-toolsets"],
)
def test_hundred_reads_change_no_file(tmp_path: Path, home: Path, options: tuple[str, ...]) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    repo.status()
    digest_before = compute_digest(repo.path)
    with serve_repository(repo.path, home, "--read-only", *options) as server:
        tools = server.list_tools()
        assert {"search_docs", "get_doc", "list_documents", "view_document"} <= set(tools)
        assert not set(WRITING_TOOLS) & set(tools)
        assert all(tool["annotations"]["readOnlyHint"] is True for tool in tools.values())
        for name in WRITING_TOOLS:
            with pytest.raises(MCPError, match="Unknown tool") as error_info:
                server.call(name, file="guides/tasks.md", slug="tasks[0]", path="guides/tasks.md", tags=["x"])
            assert error_info.value.error.code == -32602
        for number in range(100):
            search = server.call("search_docs", query=f"backoff doubles {number}")
            assert search.data["hits"][0]["chunk_id"] == "guides/retries.md#backoff"
            responses = [
                server.call("list_documents", has_open_tasks=True),
                server.call("view_document", file="guides/tasks.md", slug=("tasks", "tasks[0]")[number % 2]),
                server.call("get_doc", chunk_id="guides/retries.md#backoff", context=number % 6),
            ]
            assert not any("next_step" in response.data for response in (search, *responses))
            responses_with_step = [
                server.call("view_document"),
                server.call("list_documents", tag=f"none-{number}"),
                server.call("search_docs", query=f"nothing{number}"),
            ]
            steps = " ".join(response.data["next_step"] for response in responses_with_step)
            assert not any(response.is_error for response in (*responses, *responses_with_step))
            assert not any(name in steps for name in WRITING_TOOLS), (
                "a next step names a tool that is not offered"
            )
    assert compute_digest(repo.path) == digest_before
    assert repo.status() == repo.fsck() == ""
