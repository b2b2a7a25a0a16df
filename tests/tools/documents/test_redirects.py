"""Old addresses: reading tools read at the new address, writing tools report it."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.redirects import find_current_location
from workspace.history.moved_addresses import Location, find_moved_location

OTHER_DOCUMENT = "# Other\n\nOther words.\n"


@pytest.fixture
def renaming_commit(repo: Repo) -> str:
    """Return the commit that renames `api.md` to `reference.md`."""
    repo.git("mv", "api.md", "reference.md")
    return repo.commit({})


@pytest.fixture
def retitling_commit(repo: Repo) -> str:
    """Return the commit in which a user changes the title of the section `tasks` with Git."""
    text = (repo.path / "api.md").read_text()
    return repo.commit({"api.md": text.replace("## Tasks", "## Work to do")})


def test_moved_document_is_read_at_new_path(call_tool: CallTool, renaming_commit: str) -> None:
    answer = call_tool("view_document", file="api.md")
    assert answer.data["file"] == "reference.md"
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": None, "commit": renaming_commit}
    assert answer.data["next_step"] == "Use 'reference.md' from now on: it was moved"


def test_rest_of_moved_section_is_read_at_new_path(call_tool: CallTool, repo: Repo) -> None:
    body = "".join(f"Paragraph {number} with words.\n\n" for number in range(8_000))
    repo.commit({"long.md": f"# Long\n\n## Body\n\n{body}"})
    repo.git("mv", "long.md", "longer.md")
    repo.commit({})
    answer = call_tool("view_document", file="long.md", slug="body")
    assert (answer.data["truncated"], answer.data["moved_to"]["file"]) == (True, "longer.md")
    assert answer.data["next_step"].startswith("Use 'longer.md#body' from now on: it was moved. Read the")
    tool, fields = parse_next_call(answer)
    assert (tool, fields["file"]) == ("view_document", "longer.md")
    next_part = call_tool(tool, **fields).data
    assert "moved_to" not in next_part
    assert f"## Body\n\n{body}".startswith(answer.data["content"] + next_part["content"])


def test_list_of_moved_document_shows_new_path(call_tool: CallTool, renaming_commit: str) -> None:
    answer = call_tool("list_documents", path="./api.md")
    assert [entry["path"] for entry in answer.data["documents"]] == ["reference.md"]
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": None, "commit": renaming_commit}
    assert "moved_to" not in call_tool("list_documents", path="notes/").data
    assert call_tool("list_documents", path="nothing").data["code"] == "DOCUMENT_NOT_FOUND"


def test_section_of_renamed_document_is_read(call_tool: CallTool, renaming_commit: str) -> None:
    answer = call_tool("view_document", file="api.md", slug="endpoints/search")
    assert answer.data["content"].startswith("### Search")
    expected = {"file": "reference.md", "slug": "endpoints/search", "commit": renaming_commit}
    assert answer.data["moved_to"] == expected
    assert call_tool("view_document", file="api.md#endpoints/search").data["moved_to"] == expected


def test_section_added_after_rename_is_read_at_old_path(
    call_tool: CallTool, repo: Repo, renaming_commit: str
) -> None:
    text = (repo.path / "reference.md").read_text()
    repo.commit({"reference.md": text + "\n## Later\n\nAdded.\n"})
    answer = call_tool("view_document", file="api.md", slug="later")
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": "later", "commit": renaming_commit}


def test_task_of_moved_section_is_read(call_tool: CallTool, retitling_commit: str) -> None:
    answer = call_tool("view_document", file="api.md", slug="tasks[1]")
    assert answer.data["task"]["title"] == "Write tests"
    assert answer.data["moved_to"] == {"file": "api.md", "slug": "work-to-do[1]", "commit": retitling_commit}


def test_each_view_of_batch_reports_its_move(call_tool: CallTool, retitling_commit: str) -> None:
    views = [{"file": "api.md", "slug": "tasks"}, {"file": "api.md", "slug": "endpoints"}]
    moved_view, unmoved_view = call_tool("view_document", operations=views).data["batch_results"]
    assert moved_view["moved_to"]["slug"] == "work-to-do"
    assert "moved_to" not in unmoved_view


def test_unknown_address_is_not_reported_as_moved(call_tool: CallTool, renaming_commit: str) -> None:
    for fields in (
        {"file": "nothing.md"},
        {"file": "reference.md", "slug": "nothing"},
        {"file": "api.md/x"},
        {"file": "x" * 10_000 + ".md"},
        {"file": "a\nb.md"},
        {"file": "reference.md", "slug": "x" * 10_000},
        {"file": "reference.md", "slug": "[0]"},
    ):
        answer = call_tool("view_document", **fields)
        assert answer.is_error
        assert "moved_to" not in answer.data


def test_existing_address_takes_precedence_over_moved_one(
    call_tool: CallTool, repo: Repo, renaming_commit: str
) -> None:
    repo.commit({"api.md": OTHER_DOCUMENT})
    answer = call_tool("view_document", file="api.md")
    assert answer.data["title"] == "Other"
    assert "moved_to" not in answer.data


def test_uncommitted_file_is_not_reported_as_moved(
    call_tool: CallTool, repo: Repo, renaming_commit: str
) -> None:
    repo.write({"api.md": OTHER_DOCUMENT})
    assert call_tool("view_document", file="api.md").data["code"] == "NOT_COMMITTED"


def test_read_at_ref_ignores_later_moves(call_tool: CallTool, repo: Repo, renaming_commit: str) -> None:
    repo.git("tag", "v2")
    repo.git("mv", "reference.md", "again.md")
    repo.commit({})
    assert call_tool("view_document", file="api.md", ref="v2").data["moved_to"]["file"] == "reference.md"
    assert call_tool("view_document", file="api.md").data["moved_to"]["file"] == "again.md"
    answer = call_tool("view_document", file="again.md", ref="v2")
    assert (answer.data["code"], "moved_to" in answer.data) == ("DOCUMENT_NOT_FOUND", False)


def test_write_to_moved_section_is_refused_with_new_address(
    call_tool: CallTool, repo: Repo, retitling_commit: str
) -> None:
    assert call_tool("view_document", file="api.md", slug="tasks").data[
        "moved_to"
    ]  # the text of the section now counts as read
    for tool, fields in (
        ("complete_task", {"slug": "tasks[1]", "note": "Done."}),
        ("edit_document", {"operation": "append_content", "slug": "tasks", "content": "More."}),
        ("edit_document", {"operation": "add_section", "parent_slug": "tasks", "title": "Later"}),
        ("remove_document", {"slug": "tasks"}),
    ):
        head_before = repo.head()
        answer = call_tool(tool, file="api.md", **fields)
        assert answer.is_error
        assert answer.data["code"] == "SECTION_NOT_FOUND"
        assert repo.head() == head_before
        location = answer.data["moved_to"]
        assert (location["file"], location["commit"]) == ("api.md", retitling_commit)
        assert f"'api.md#{location['slug']}'" in answer.data["fix"]
        example = answer.data["example"]
        assert location["slug"] in (example.get("slug"), example.get("parent_slug"))
        assert not call_tool(tool, **{**example, "dry_run": True}).is_error


def test_write_to_renamed_document_is_refused_with_new_path(
    call_tool: CallTool, renaming_commit: str
) -> None:
    expected = {"file": "reference.md", "slug": None, "commit": renaming_commit}
    answer = call_tool("tag_document", file="api.md", tags=["new"])
    assert (answer.data["code"], answer.data["moved_to"]) == ("DOCUMENT_NOT_FOUND", expected)
    assert answer.data["example"]["file"] == "reference.md"
    answer = call_tool("remove_document", path="api.md", dry_run=True)
    assert answer.data["moved_to"] == expected
    assert answer.data["example"]["path"] == "reference.md"
    answer = call_tool("remove_document", path="api.md#tasks", dry_run=True)
    assert answer.data["moved_to"] == {**expected, "slug": "tasks"}
    assert answer.data["example"]["file"] == "reference.md"
    answer = call_tool("complete_task", file="api.md", slug="tasks[1]")
    assert answer.data["moved_to"] == {**expected, "slug": "tasks[1]"}
    result = call_tool("complete_task", **answer.data["example"])
    assert result.data["commit"] != answer.data["commit"]


def test_batch_reports_move_only_for_moved_addresses(call_tool: CallTool, renaming_commit: str) -> None:
    answer = call_tool(
        "complete_task",
        operations=[{"file": "api.md", "slug": "tasks[1]"}, {"file": "nothing.md", "slug": "tasks[1]"}],
    )
    moved_result, unknown_result = answer.data["batch_results"]
    assert moved_result["moved_to"]["file"] == "reference.md"
    assert "moved_to" not in unknown_result


def test_only_first_failures_of_long_batch_are_resolved(call_tool: CallTool, renaming_commit: str) -> None:
    operations = [{"file": "api.md", "slug": "tasks[1]"}] * 25
    results = call_tool("complete_task", operations=operations, mode="each").data["batch_results"]
    assert [("moved_to" in result) for result in results] == [True] * 20 + [False] * 5


def test_path_that_is_not_a_document_is_returned_unchanged(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.commit({"src/main.py": "x = 1\n"})
    context = dispatcher.context()
    snapshot = context.snapshot()
    assert find_current_location(context, snapshot, "src/main.py", "anything") == Location(
        "src/main.py", "anything", None
    )
    assert find_current_location(context, snapshot, "src", None) == Location("src", None, None)
    assert find_moved_location(context.workspace.moves, snapshot, "api.md", "endpoints") is None
    assert Location("a.md", "b", None).address == "a.md#b"
