"""Text that a diff of view_history shows in full counts as read; text shown in part does not."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

LONG_TEXT = "".join(f"Line {number}.\n" for number in range(20))


@pytest.fixture
def call_tool(repo: Repo) -> CallTool:
    workspace = Workspace.open(repo.path, durable=False)
    return make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))


def is_overwrite_refused(call_tool: CallTool, slug: str) -> bool:
    """Return True if the section may not be overwritten unread; nothing is written."""
    answer = call_tool(
        "edit_document", operation="update_content", file="a.md", slug=slug, content="New.", dry_run=True
    )
    assert not answer.is_error or answer.data["code"] == "READ_FIRST"
    return answer.is_error


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_diff_of_added_document_counts_as_read(call_tool: CallTool, repo: Repo, ending: str) -> None:
    text = f"# A\n\nIntroduction.\n\n## One\n\nFirst.\n\n\nLast.\n\n## Two\n\n{LONG_TEXT}".replace(
        "\n", ending
    )
    repo.commit({"a.md": text.encode()})
    call_tool("view_history", file="a.md")  # without diffs
    assert is_overwrite_refused(call_tool, "one")  # the diff shows that section only
    assert is_overwrite_refused(call_tool, "two")
    repo.commit({"a.md": text.replace("First", "1st").replace("Line", "Row").encode()})
    call_tool("view_history", file="a.md", diff=True)
    assert [is_overwrite_refused(call_tool, slug) for slug in ("_preamble", "one", "two")] == [False] * 3


def test_section_counts_as_read_only_if_fully_shown(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"a.md": f"# A\n\n## One\n\nWords.\n\n## Two\n\n{LONG_TEXT}"})
    repo.commit({"a.md": f"# A\n\n## One\n\nOther words.\n\n## Two\n\n{LONG_TEXT}"})
    call_tool("view_history", file="a.md", diff=True, limit=1)
    assert [is_overwrite_refused(call_tool, slug) for slug in ("one", "two")] == [False, True]


def test_restored_earlier_text_counts_as_read(call_tool: CallTool, repo: Repo) -> None:
    old_commit = repo.commit({"a.md": "# A\n\n## One\n\nOld words.\n"})
    repo.commit({"a.md": "# A\n\n## One\n\nNew words.\n"})
    call_tool("view_history", file="a.md", slug="one", limit=1)
    repo.git("checkout", old_commit, "--", "a.md")
    repo.commit({})
    assert not is_overwrite_refused(call_tool, "one")


def test_text_changed_since_does_not_count_as_read(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"a.md": "# A\n\n## One\n\nWords.\n"})
    call_tool("view_history", file="a.md", slug="one")
    repo.commit({"a.md": "# A\n\n## One\n\nWords of another author.\n"})
    assert is_overwrite_refused(call_tool, "one")
