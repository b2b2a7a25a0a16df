"""restore_document: usage, restores of documents and sections, reverts of commits, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, create_empty_repository
from tests.tools.conftest import API_TEXT, CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke

CHANGED_API = API_TEXT.replace("Finds things.", "Finds nothing.")


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ["documents", "tasks", "history"], False)


@pytest.fixture
def first_commit(repo: Repo) -> str:
    """Return the first commit; a later commit changes one section."""
    commit = repo.head()
    repo.commit({"api.md": CHANGED_API}, "A change, with [words]")
    return commit


def read_api(repo: Repo) -> str:
    return (repo.path / "api.md").read_text(encoding="utf-8")


def test_call_without_arguments_returns_usage(call_tool: CallTool, repo: Repo) -> None:
    usage = call_tool("restore_document")
    assert not usage.is_error
    assert set(usage.data) == {"usage", "commit", "next_step"}
    assert set(usage.data["usage"]) == {"document", "section", "undo", "batch"}
    assert usage.data["commit"] == repo.head()


def test_section_is_restored_after_being_read(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    call = {"file": "api.md", "slug": "endpoints/search", "ref": first_commit[:8]}
    refusal = call_tool("restore_document", **call)
    assert refusal.is_error
    assert refusal.data["code"] == "READ_FIRST"
    assert "Finds nothing." in refusal.data["current"]
    assert refusal.data["example"] == call
    result = call_tool("restore_document", **refusal.data["example"])
    assert not result.is_error, result.data
    assert result.data["restored"] is True
    assert (result.data["slug"], result.data["from"]) == ("endpoints/search", first_commit)
    assert result.data["commit"] == repo.head()
    assert result.data["commit"] in result.data["next_step"]
    assert read_api(repo) == API_TEXT
    second_result = call_tool("restore_document", **call)
    assert (second_result.is_error, second_result.data["changed"]) == (False, False)
    assert second_result.data["hints"] == [f"'endpoints/search' already has its text of {first_commit[:7]}"]


def test_whole_document_is_restored(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    call = {"file": "api.md", "ref": "HEAD~1"}
    assert call_tool("restore_document", **call, dry_run=True).data["code"] == "READ_FIRST"
    preview = call_tool("restore_document", **call, dry_run=True)
    assert "+Finds things." in preview.data["diff"]
    assert read_api(repo) == CHANGED_API
    assert not call_tool("restore_document", **call, message="Back to the first").is_error
    assert read_api(repo) == API_TEXT
    assert repo.git("log", "-1", "--format=%s").strip() == "Back to the first"


def test_commit_with_unread_text_is_reverted(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    changing_commit = repo.head()
    result = call_tool("restore_document", undo=changing_commit, idempotency_key="once")
    assert not result.is_error, result.data
    assert result.data["undo"] == changing_commit
    assert result.data["undone"] == [{"file": "api.md", "slug": "endpoints/search", "what": "restored"}]
    assert read_api(repo) == API_TEXT
    subject = repo.git("log", "-1", "--format=%s").strip()
    assert subject == f"Undo {changing_commit[:7]}: A change, with [words]"
    retry = call_tool("restore_document", undo=changing_commit, idempotency_key="once")
    assert (retry.data["commit"], retry.data["undone"]) == (result.data["commit"], result.data["undone"])
    second_undo = call_tool("restore_document", undo=changing_commit)
    assert (second_undo.is_error, second_undo.data["changed"], second_undo.data.get("undone", [])) == (
        False,
        False,
        [],
    )
    assert second_undo.data["commit"] == result.data["commit"] == repo.head()
    undo_of_undo = call_tool("restore_document", undo=result.data["commit"])
    assert not undo_of_undo.is_error, undo_of_undo.data
    assert read_api(repo) == CHANGED_API


def test_batch_commit_is_reverted(call_tool: CallTool, repo: Repo) -> None:
    tree_before = repo.git("rev-parse", "HEAD^{tree}")
    call_tool("view_document", file="api.md")
    batch = call_tool(
        "edit_document",
        operations=[
            {"operation": "rename_section", "file": "api.md", "slug": "endpoints", "new_title": "Paths"},
            {"operation": "move_document", "file": "api.md", "new_path": "specs/"},
            {"operation": "add_section", "file": "notes/plain.md", "title": "New"},
        ],
        mode="all",
    )
    assert not batch.is_error, batch.data
    result = call_tool("restore_document", undo=batch.data["commit"])
    assert not result.is_error, result.data
    assert {"file": "api.md", "what": "moved", "was": "specs/api.md"} in result.data["undone"]
    assert repo.git("rev-parse", "HEAD^{tree}") == tree_before


def test_later_change_is_a_conflict_unless_partial_revert_requested(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.commit({"api.md": CHANGED_API.replace("/v1", "/v2")})
    second_commit = repo.commit({"api.md": CHANGED_API.replace("nothing", "all").replace("/v1", "/v2")})
    refusal = call_tool("restore_document", undo=first_commit)
    assert refusal.is_error
    assert refusal.data["code"] == "CONFLICT"
    reason = "the commit changed this text, and it was changed again since"
    conflict = {"file": "api.md", "slug": "endpoints/search", "reason": reason, "commits": [second_commit]}
    assert refusal.data["conflicts"] == [conflict]
    assert refusal.data["example"] == {"undo": first_commit, "mode": "each", "dry_run": True}
    assert repo.head() == second_commit
    result = call_tool("restore_document", undo=first_commit, mode="each")
    assert not result.is_error, result.data
    assert result.data["conflicts"] == [conflict]
    assert [undone_change["slug"] for undone_change in result.data["undone"]] == ["endpoints"]
    assert '"slug": "endpoints/search"' in result.data["next_step"]
    assert read_api(repo) == API_TEXT.replace("things", "all")


def test_several_restores_make_one_commit(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    repo.git("rm", "-q", "notes/plain.md")
    repo.commit({})
    call_tool("view_document", file="api.md", slug="endpoints/search")
    calls = [
        {"file": "notes/plain.md", "ref": first_commit},
        {"file": "api.md", "slug": "endpoints/search", "ref": first_commit},
        {"file": "none.md", "ref": first_commit},
    ]
    result = call_tool("restore_document", operations=calls)
    assert [entry["success"] for entry in result.data["batch_results"]] == [True, True, False]
    assert result.data["batch_results"][2]["code"] == "NOT_AT_REF"
    assert repo.git("rev-parse", "HEAD^{tree}") == repo.git("rev-parse", f"{first_commit}^{{tree}}")


def test_old_address_returns_current_address(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    repo.git("mv", "api.md", "spec.md")
    repo.commit({})
    refusal = call_tool("restore_document", file="api.md", ref=first_commit)
    assert refusal.is_error
    assert refusal.data["moved_to"]["file"] == "spec.md"
    assert refusal.data["example"] == {"file": "spec.md", "ref": first_commit}
    assert not call_tool("restore_document", **refusal.data["example"]).is_error


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"file": "api.md"}, "INVALID_ARGUMENTS"),
        ({"ref": "HEAD"}, "INVALID_ARGUMENTS"),
        ({"file": "api.md", "ref": "HEAD", "undo": "HEAD"}, "INVALID_ARGUMENTS"),
        ({"file": "api.md", "ref": "nowhere"}, "REF_NOT_FOUND"),
        ({"undo": "nowhere"}, "REF_NOT_FOUND"),
        ({"undo": "0" * 40}, "REF_NOT_FOUND"),
        ({"file": "api.md", "ref": "BLOB"}, "NOT_A_COMMIT"),
        ({"undo": "BLOB"}, "NOT_A_COMMIT"),
        ({"file": "api.md", "ref": "@{1999-01-31}"}, "BEFORE_HISTORY"),
        ({"file": "api.md", "slug": "endpoints/serch", "ref": "HEAD"}, "NOT_AT_REF"),
        ({"file": "none.md", "ref": "HEAD"}, "NOT_AT_REF"),
        ({"file": "none.md", "slug": "endpoints", "ref": "HEAD"}, "DOCUMENT_NOT_FOUND"),
        ({"file": "../api.md", "ref": "HEAD"}, "INVALID_PATH"),
        ({"file": "/etc/passwd", "ref": "HEAD"}, "INVALID_PATH"),
        ({"file": "link.md", "ref": "HEAD"}, "NOT_AT_REF"),
        ({"operations": []}, "INVALID_ARGUMENTS"),
        ({"operations": [{"undo": "HEAD"}], "undo": "HEAD"}, "INVALID_ARGUMENTS"),
    ],
)
def test_impossible_restore_returns_error(
    call_tool: CallTool, repo: Repo, call: dict[str, Any], code: str
) -> None:
    (repo.path / "link.md").symlink_to("api.md")
    head_before = repo.commit({})
    blob = repo.git("rev-parse", "HEAD:api.md").strip()
    answer = call_tool(
        "restore_document", **{name: blob if value == "BLOB" else value for name, value in call.items()}
    )
    assert answer.is_error
    assert answer.data["code"] == code
    assert {"error", "fix", "usage", "example", "commit"} <= answer.data.keys()
    assert str(repo.path) not in str(answer.data)
    if "operations" not in call:
        retry = call_tool("restore_document", **{**answer.data["example"], "dry_run": True})
        assert not retry.is_error or retry.data["code"] in ("READ_FIRST", "CONFLICT"), retry.data
    assert repo.head() == head_before


def test_read_only_server_does_not_offer_restore(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, read_only=True)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ["history"], True)
    with pytest.raises(LookupError):
        make_client(dispatcher)("restore_document", undo="HEAD")


def test_restore_before_first_commit_returns_error(tmp_path: Path) -> None:
    workspace = Workspace.open(create_empty_repository(tmp_path / "empty").path, durable=False)
    call_tool = make_client(ToolDispatcher(workspace, SearchIndex(workspace), ["history"], False))
    for call in ({}, {"file": "a.md", "ref": "HEAD"}, {"undo": "HEAD"}):
        answer = call_tool("restore_document", **call)
        assert answer.is_error == bool(call)
        assert answer.data["commit"] is None


def test_links_broken_by_restore_are_reported(call_tool: CallTool, repo: Repo) -> None:
    page = "# Page\n\nAll that there is to be read.\n\nAnd much more.\n\n{}Of [a thing](plain.md#plain).\n"
    first_commit = repo.commit({"notes/page.md": page.format("")})
    repo.git("mv", "notes/page.md", "page.md")
    repo.commit({"page.md": page.format("Old. ").replace("(plain", "(notes/plain")})
    call_tool("view_document", file="page.md", slug="_preamble")
    result = call_tool("restore_document", file="page.md", ref=first_commit)
    assert not result.is_error, result.data
    assert result.data["was"] == {"file": "notes/page.md"}
    assert any("plain.md#plain" in hint for hint in result.data["hints"])


def test_removed_front_matter_is_reported(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    call_tool("edit_document", operation="set_metadata", file="api.md", metadata={"owner": "Ada"})
    result = call_tool("restore_document", file="api.md", ref=first_commit)
    assert not result.is_error, result.data
    assert result.data["metadata_replaced"] == ["owner"]
    assert "'metadata_replaced'" in result.data["hints"][0]
    assert read_api(repo) == API_TEXT


def test_conflict_in_mode_each_does_not_suggest_mode_each(call_tool: CallTool, repo: Repo) -> None:
    changing_commit = repo.commit({"api.md": CHANGED_API})
    repo.commit({"api.md": CHANGED_API.replace("nothing", "all")})
    default_refusal = call_tool("restore_document", undo=changing_commit)
    refusal = call_tool("restore_document", undo=changing_commit, mode="each")
    assert (default_refusal.data["code"], refusal.data["code"]) == ("CONFLICT", "CONFLICT")
    assert '"each"' in default_refusal.data["fix"]
    assert '"each"' not in refusal.data["fix"]


def test_next_step_of_batch_is_about_changed_document(call_tool: CallTool, repo: Repo) -> None:
    changing_commit = repo.commit({"api.md": CHANGED_API})
    result = call_tool("restore_document", operations=[{"undo": changing_commit}, {"undo": changing_commit}])
    assert [entry.get("changed", True) for entry in result.data["batch_results"]] == [True, False]
    assert result.data["commit"] == repo.head()
    assert f'undo this with restore_document {{"undo": "{repo.head()}"}}' in result.data["next_step"]


@pytest.mark.parametrize("name", ["api.md", "notes/plain.md"])
def test_uncommitted_changes_are_not_overwritten(call_tool: CallTool, repo: Repo, name: str) -> None:
    """Change the document, or create a file at the path of the removed document, without a commit."""
    repo.git("rm", "-q", "notes/plain.md")
    changing_commit = repo.commit({"api.md": CHANGED_API})
    repo.write({name: "Mine."})
    refusal = call_tool("restore_document", undo=changing_commit, mode="each")
    assert refusal.data["code"] == "WORKTREE_CONFLICT"
    assert (repo.path / name).read_text() == "Mine."
    assert repo.head() == changing_commit


def test_restore_on_detached_head_is_refused(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    repo.git("checkout", "-q", "--detach")
    changing_commit = repo.head()
    assert call_tool("restore_document", undo=changing_commit).data["code"] == "DETACHED_HEAD"
    assert not call_tool("restore_document", undo=changing_commit, dry_run=True).is_error
    assert repo.head() == changing_commit
    assert read_api(repo) == CHANGED_API
