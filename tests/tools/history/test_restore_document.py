"""restore_document for clients: its stages, both forms, errors, and suggested calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, unborn
from tests.tools.conftest import API, CallTool, make_client
from tools.registry import Toolbox
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke

OTHER = API.replace("Finds things.", "Finds nothing.")


@pytest.fixture
def toolbox(repo: Repo) -> Toolbox:
    workspace = Workspace.open(repo.path, durable=False)
    return Toolbox(workspace, SearchIndex(workspace), ["documents", "tasks", "history"], False)


@pytest.fixture
def first(repo: Repo) -> str:
    """Return the first commit; a later commit changes one section."""
    commit = repo.head()
    repo.commit({"api.md": OTHER}, "A change, with [words]")
    return commit


def text(repo: Repo) -> str:
    return (repo.path / "api.md").read_text(encoding="utf-8")


def test_call_without_arguments_returns_usage(call_tool: CallTool, repo: Repo) -> None:
    usage = call_tool("restore_document")
    assert not usage.is_error
    assert set(usage.data) == {"usage", "commit", "next_step"}
    assert set(usage.data["usage"]) == {"document", "section", "undo", "batch"}
    assert usage.data["commit"] == repo.head()


def test_section_is_restored_after_being_read(call_tool: CallTool, repo: Repo, first: str) -> None:
    call = {"file": "api.md", "slug": "endpoints/search", "ref": first[:8]}
    refused = call_tool("restore_document", **call)
    assert refused.is_error
    assert refused.data["code"] == "READ_FIRST"
    assert "Finds nothing." in refused.data["current"]
    assert refused.data["example"] == call
    response = call_tool("restore_document", **refused.data["example"])
    assert not response.is_error, response.data
    assert response.data["restored"] is True
    assert (response.data["slug"], response.data["from"]) == ("endpoints/search", first)
    assert response.data["commit"] == repo.head()
    assert response.data["commit"] in response.data["next_step"]
    assert text(repo) == API
    again = call_tool("restore_document", **call)
    assert (again.is_error, again.data["changed"]) == (False, False)
    assert again.data["hints"] == [f"'endpoints/search' is as it was at {first[:7]}"]


def test_whole_document_is_restored(call_tool: CallTool, repo: Repo, first: str) -> None:
    call = {"file": "api.md", "ref": "HEAD~1"}
    assert call_tool("restore_document", **call, dry_run=True).data["code"] == "READ_FIRST"
    shown = call_tool("restore_document", **call, dry_run=True)
    assert "+Finds things." in shown.data["diff"]
    assert text(repo) == OTHER
    assert not call_tool("restore_document", **call, message="Back to the first").is_error
    assert text(repo) == API
    assert repo.git("log", "-1", "--format=%s").strip() == "Back to the first"


def test_commit_is_reverted_without_reading_it(call_tool: CallTool, repo: Repo, first: str) -> None:
    changed = repo.head()
    response = call_tool("restore_document", undo=changed, idempotency_key="once")
    assert not response.is_error, response.data
    assert response.data["undo"] == changed
    assert response.data["undone"] == [{"file": "api.md", "slug": "endpoints/search", "what": "restored"}]
    assert text(repo) == API
    subject = repo.git("log", "-1", "--format=%s").strip()
    assert subject == f"Undo {changed[:7]}: A change, with [words]"
    repeated = call_tool("restore_document", undo=changed, idempotency_key="once")
    assert (repeated.data["commit"], repeated.data["undone"]) == (
        response.data["commit"],
        response.data["undone"],
    )
    nothing = call_tool("restore_document", undo=changed)
    assert (nothing.is_error, nothing.data["changed"], nothing.data["undone"]) == (False, False, [])
    assert nothing.data["commit"] == response.data["commit"] == repo.head()
    back = call_tool("restore_document", undo=response.data["commit"])
    assert not back.is_error, back.data
    assert text(repo) == OTHER


def test_batch_commit_is_reverted(call_tool: CallTool, repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD^{tree}")
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
    response = call_tool("restore_document", undo=batch.data["commit"])
    assert not response.is_error, response.data
    assert {"file": "api.md", "what": "moved", "was": "specs/api.md"} in response.data["undone"]
    assert repo.git("rev-parse", "HEAD^{tree}") == before


def test_later_change_is_a_conflict_unless_partial_revert_requested(call_tool: CallTool, repo: Repo) -> None:
    first = repo.commit({"api.md": OTHER.replace("/v1", "/v2")})
    second = repo.commit({"api.md": OTHER.replace("nothing", "all").replace("/v1", "/v2")})
    refused = call_tool("restore_document", undo=first)
    assert refused.is_error
    assert refused.data["code"] == "CONFLICT"
    reason = "it was changed by the commit, and again since"
    clash = {"file": "api.md", "slug": "endpoints/search", "reason": reason, "commits": [second]}
    assert refused.data["conflicts"] == [clash]
    assert refused.data["example"] == {"undo": first, "mode": "each", "dry_run": True}
    assert repo.head() == second
    response = call_tool("restore_document", undo=first, mode="each")
    assert not response.is_error, response.data
    assert response.data["conflicts"] == [clash]
    assert [item["slug"] for item in response.data["undone"]] == ["endpoints"]
    assert '"slug": "endpoints/search"' in response.data["next_step"]
    assert text(repo) == API.replace("things", "all")


def test_several_restores_make_one_commit(call_tool: CallTool, repo: Repo, first: str) -> None:
    repo.git("rm", "-q", "notes/plain.md")
    repo.commit({})
    call_tool("view_document", file="api.md", slug="endpoints/search")
    calls = [
        {"file": "notes/plain.md", "ref": first},
        {"file": "api.md", "slug": "endpoints/search", "ref": first},
        {"file": "none.md", "ref": first},
    ]
    response = call_tool("restore_document", operations=calls)
    assert [entry["success"] for entry in response.data["batch_results"]] == [True, True, False]
    assert response.data["batch_results"][2]["code"] == "NOT_AT_REF"
    assert repo.git("rev-parse", "HEAD^{tree}") == repo.git("rev-parse", f"{first}^{{tree}}")


def test_old_address_returns_current_address(call_tool: CallTool, repo: Repo) -> None:
    first = repo.head()
    repo.git("mv", "api.md", "spec.md")
    repo.commit({})
    refused = call_tool("restore_document", file="api.md", ref=first)
    assert refused.is_error
    assert refused.data["moved_to"]["file"] == "spec.md"
    assert refused.data["example"] == {"file": "spec.md", "ref": first}
    assert not call_tool("restore_document", **refused.data["example"]).is_error


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
    before = repo.commit({})
    blob = repo.git("rev-parse", "HEAD:api.md").strip()
    answer = call_tool(
        "restore_document", **{name: blob if value == "BLOB" else value for name, value in call.items()}
    )
    assert answer.is_error
    assert answer.data["code"] == code
    assert {"error", "fix", "usage", "example", "commit"} <= answer.data.keys()
    assert str(repo.path) not in str(answer.data)
    if "operations" not in call:
        example = call_tool("restore_document", **{**answer.data["example"], "dry_run": True})
        assert not example.is_error or example.data["code"] in ("READ_FIRST", "CONFLICT"), example.data
    assert repo.head() == before


def test_read_only_server_does_not_offer_restore(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, read_only=True)
    toolbox = Toolbox(workspace, SearchIndex(workspace), ["history"], True)
    with pytest.raises(LookupError):
        make_client(toolbox)("restore_document", undo="HEAD")


def test_restore_before_first_commit_returns_error(tmp_path: Path) -> None:
    workspace = Workspace.open(unborn(tmp_path / "empty").path, durable=False)
    call_tool = make_client(Toolbox(workspace, SearchIndex(workspace), ["history"], False))
    for call in ({}, {"file": "a.md", "ref": "HEAD"}, {"undo": "HEAD"}):
        answer = call_tool("restore_document", **call)
        assert answer.is_error == bool(call)
        assert answer.data["commit"] is None


def test_links_broken_by_restore_are_reported(call_tool: CallTool, repo: Repo) -> None:
    page = "# Page\n\nAll that there is to be read.\n\nAnd much more.\n\n{}Of [a thing](plain.md#plain).\n"
    first = repo.commit({"notes/page.md": page.format("")})
    repo.git("mv", "notes/page.md", "page.md")
    repo.commit({"page.md": page.format("Old. ").replace("(plain", "(notes/plain")})
    call_tool("view_document", file="page.md", slug="_preamble")
    response = call_tool("restore_document", file="page.md", ref=first)
    assert not response.is_error, response.data
    assert response.data["was"] == {"file": "notes/page.md"}
    assert any("plain.md#plain" in hint for hint in response.data["hints"])


def test_removed_front_matter_is_reported(call_tool: CallTool, repo: Repo) -> None:
    first = repo.head()
    call_tool("edit_document", operation="set_metadata", file="api.md", metadata={"owner": "Ada"})
    response = call_tool("restore_document", file="api.md", ref=first)
    assert not response.is_error, response.data
    assert response.data["metadata_replaced"] == ["owner"]
    assert "'metadata_replaced'" in response.data["hints"][0]
    assert text(repo) == API


def test_conflict_in_mode_each_does_not_suggest_mode_each(call_tool: CallTool, repo: Repo) -> None:
    changed = repo.commit({"api.md": OTHER})
    repo.commit({"api.md": OTHER.replace("nothing", "all")})
    advised = call_tool("restore_document", undo=changed)
    refused = call_tool("restore_document", undo=changed, mode="each")
    assert (advised.data["code"], refused.data["code"]) == ("CONFLICT", "CONFLICT")
    assert '"each"' in advised.data["fix"]
    assert '"each"' not in refused.data["fix"]


def test_next_step_of_batch_is_about_changed_document(call_tool: CallTool, repo: Repo) -> None:
    changed = repo.commit({"api.md": OTHER})
    response = call_tool("restore_document", operations=[{"undo": changed}, {"undo": changed}])
    assert [entry.get("changed", True) for entry in response.data["batch_results"]] == [True, False]
    assert response.data["commit"] == repo.head()
    assert f'undo this with restore_document {{"undo": "{repo.head()}"}}' in response.data["next_step"]


@pytest.mark.parametrize("name", ["api.md", "notes/plain.md"])
def test_uncommitted_changes_are_not_overwritten(call_tool: CallTool, repo: Repo, name: str) -> None:
    """Test a changed file, and a file created again at the path of the removed document."""
    repo.git("rm", "-q", "notes/plain.md")
    changed = repo.commit({"api.md": OTHER})
    repo.write({name: "Mine."})
    refused = call_tool("restore_document", undo=changed, mode="each")
    assert refused.data["code"] == "WORKTREE_CONFLICT"
    assert (repo.path / name).read_text() == "Mine."
    assert repo.head() == changed


def test_restore_on_detached_head_is_refused(call_tool: CallTool, repo: Repo, first: str) -> None:
    repo.git("checkout", "-q", "--detach")
    changed = repo.head()
    assert call_tool("restore_document", undo=changed).data["code"] == "DETACHED_HEAD"
    assert not call_tool("restore_document", undo=changed, dry_run=True).is_error
    assert repo.head() == changed
    assert text(repo) == OTHER
