"""Addresses of before: readers are answered with the new place, writers are told of it."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask, next_call
from tools.moved import Location, find_for_reading, find_moved
from tools.registry import Toolbox

OTHER = "# Other\n\nOther words.\n"


@pytest.fixture
def renamed(repo: Repo) -> str:
    """Return the commit in which `api.md` became `reference.md`."""
    repo.git("mv", "api.md", "reference.md")
    return repo.commit({})


@pytest.fixture
def retitled(repo: Repo) -> str:
    """Return the commit in which a person gave the section `tasks` another heading."""
    text = (repo.path / "api.md").read_text()
    return repo.commit({"api.md": text.replace("## Tasks", "## Work to do")})


def test_a_document_is_read_where_it_is_now(ask: Ask, renamed: str) -> None:
    answer = ask("view_document", file="api.md")
    assert answer.data["file"] == "reference.md"
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": None, "commit": renamed}
    assert answer.data["next_step"].startswith("Use 'reference.md' from now on")
    tool, fields = next_call(answer)
    assert fields["file"] == "reference.md"
    assert not ask(tool, **fields).is_error


def test_a_list_of_one_document(ask: Ask, renamed: str) -> None:
    answer = ask("list_documents", path="./api.md")
    assert [entry["path"] for entry in answer.data["documents"]] == ["reference.md"]
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": None, "commit": renamed}
    assert "moved_to" not in ask("list_documents", path="notes/").data
    assert ask("list_documents", path="nothing").data["code"] == "DOCUMENT_NOT_FOUND"


def test_a_section_of_a_document_that_was_renamed(ask: Ask, renamed: str) -> None:
    answer = ask("view_document", file="api.md", slug="endpoints/search")
    assert answer.data["content"].startswith("### Search")
    expected = {"file": "reference.md", "slug": "endpoints/search", "commit": renamed}
    assert answer.data["moved_to"] == expected
    assert ask("view_document", file="api.md#endpoints/search").data["moved_to"] == expected


def test_a_section_that_came_after_its_document_was_renamed(ask: Ask, repo: Repo, renamed: str) -> None:
    text = (repo.path / "reference.md").read_text()
    repo.commit({"reference.md": text + "\n## Later\n\nAdded.\n"})
    answer = ask("view_document", file="api.md", slug="later")
    assert answer.data["moved_to"] == {"file": "reference.md", "slug": "later", "commit": renamed}


def test_a_task_follows_its_section(ask: Ask, retitled: str) -> None:
    answer = ask("view_document", file="api.md", slug="tasks[1]")
    assert answer.data["task"]["title"] == "Write tests"
    assert answer.data["moved_to"] == {"file": "api.md", "slug": "work-to-do[1]", "commit": retitled}


def test_in_a_batch_each_view_says_its_own(ask: Ask, retitled: str) -> None:
    views = [{"file": "api.md", "slug": "tasks"}, {"file": "api.md", "slug": "endpoints"}]
    there, same = ask("view_document", operations=views).data["batch_results"]
    assert there["moved_to"]["slug"] == "work-to-do"
    assert "moved_to" not in same


def test_what_was_never_there_was_not_moved(ask: Ask, renamed: str) -> None:
    for fields in (
        {"file": "nothing.md"},
        {"file": "reference.md", "slug": "nothing"},
        {"file": "api.md/x"},
        {"file": "x" * 10_000 + ".md"},
        {"file": "a\nb.md"},
        {"file": "reference.md", "slug": "x" * 10_000},
        {"file": "reference.md", "slug": "[0]"},
    ):
        answer = ask("view_document", **fields)
        assert answer.is_error
        assert "moved_to" not in answer.data


def test_what_stands_there_now_is_what_is_meant(ask: Ask, repo: Repo, renamed: str) -> None:
    repo.commit({"api.md": OTHER})
    answer = ask("view_document", file="api.md")
    assert answer.data["title"] == "Other"
    assert "moved_to" not in answer.data


def test_a_file_that_is_not_committed_yet_was_not_moved(ask: Ask, repo: Repo, renamed: str) -> None:
    repo.write({"api.md": OTHER})
    assert ask("view_document", file="api.md").data["code"] == "NOT_COMMITTED"


def test_at_a_ref_moves_are_those_of_before_it(ask: Ask, repo: Repo, renamed: str) -> None:
    repo.git("tag", "v2")
    repo.git("mv", "reference.md", "again.md")
    repo.commit({})
    assert ask("view_document", file="api.md", ref="v2").data["moved_to"]["file"] == "reference.md"
    assert ask("view_document", file="api.md").data["moved_to"]["file"] == "again.md"
    early = ask("view_document", file="again.md", ref="v2")
    assert (early.data["code"], "moved_to" in early.data) == ("DOCUMENT_NOT_FOUND", False)


def test_a_writer_is_refused_and_told(ask: Ask, repo: Repo, retitled: str) -> None:
    assert ask("view_document", file="api.md", slug="tasks").data["moved_to"]  # and its words are seen
    for tool, fields in (
        ("complete_task", {"slug": "tasks[1]", "note": "Done."}),
        ("edit_document", {"operation": "append_content", "slug": "tasks", "content": "More."}),
        ("edit_document", {"operation": "add_section", "parent_slug": "tasks", "title": "Later"}),
        ("remove_document", {"slug": "tasks"}),
    ):
        before = repo.head()
        answer = ask(tool, file="api.md", **fields)
        assert answer.is_error
        assert answer.data["code"] == "SECTION_NOT_FOUND"
        assert repo.head() == before
        there = answer.data["moved_to"]
        assert (there["file"], there["commit"]) == ("api.md", retitled)
        assert f"'api.md#{there['slug']}'" in answer.data["fix"]
        example = answer.data["example"]
        assert there["slug"] in (example.get("slug"), example.get("parent_slug"))
        assert not ask(tool, **{**example, "dry_run": True}).is_error


def test_a_writer_is_told_of_a_renamed_document(ask: Ask, renamed: str) -> None:
    expected = {"file": "reference.md", "slug": None, "commit": renamed}
    answer = ask("tag_document", file="api.md", tags=["new"])
    assert (answer.data["code"], answer.data["moved_to"]) == ("DOCUMENT_NOT_FOUND", expected)
    assert answer.data["example"]["file"] == "reference.md"
    answer = ask("remove_document", path="api.md", dry_run=True)
    assert answer.data["moved_to"] == expected
    assert answer.data["example"]["path"] == "reference.md"
    answer = ask("remove_document", path="api.md#tasks", dry_run=True)
    assert answer.data["moved_to"] == {**expected, "slug": "tasks"}
    assert answer.data["example"]["file"] == "reference.md"
    answer = ask("complete_task", file="api.md", slug="tasks[1]")
    assert answer.data["moved_to"] == {**expected, "slug": "tasks[1]"}
    done = ask("complete_task", **answer.data["example"])
    assert done.data["commit"] != answer.data["commit"]


def test_a_batch_tells_each_operation(ask: Ask, renamed: str) -> None:
    answer = ask(
        "complete_task",
        operations=[{"file": "api.md", "slug": "tasks[1]"}, {"file": "nothing.md", "slug": "tasks[1]"}],
    )
    there, none = answer.data["batch_results"]
    assert there["moved_to"]["file"] == "reference.md"
    assert "moved_to" not in none


def test_of_a_long_batch_only_the_first_failures_are_looked_for(ask: Ask, renamed: str) -> None:
    operations = [{"file": "api.md", "slug": "tasks[1]"}] * 25
    results = ask("complete_task", operations=operations, mode="each").data["batch_results"]
    assert [("moved_to" in result) for result in results] == [True] * 20 + [False] * 5


def test_a_file_that_is_no_document_is_left_to_who_reads_it(toolbox: Toolbox, repo: Repo) -> None:
    repo.commit({"src/main.py": "x = 1\n"})
    context = toolbox.context()
    snapshot = context.snapshot()
    assert find_for_reading(context, snapshot, "src/main.py", "anything") == Location(
        "src/main.py", "anything", None
    )
    assert find_for_reading(context, snapshot, "src", None) == Location("src", None, None)
    assert find_moved(context.workspace.moves, snapshot, "api.md", "endpoints") is None
    assert Location("a.md", "b", None).address == "a.md#b"
