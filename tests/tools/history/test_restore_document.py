"""restore_document, as a client meets it: its stages, its two forms, its errors, and calls that work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, unborn
from tests.tools.conftest import API, Ask, client_of
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
    """Return the commit of before; by now one section is another one."""
    commit = repo.head()
    repo.commit({"api.md": OTHER}, "A change, with [words]")
    return commit


def text(repo: Repo) -> str:
    return (repo.path / "api.md").read_text(encoding="utf-8")


def test_it_explains_itself(ask: Ask, repo: Repo) -> None:
    told = ask("restore_document")
    assert not told.is_error
    assert set(told.data) == {"usage", "commit", "next_step"}
    assert set(told.data["usage"]) == {"document", "section", "undo", "batch"}
    assert told.data["commit"] == repo.head()


def test_a_section_is_read_then_restored_then_as_it_was(ask: Ask, repo: Repo, first: str) -> None:
    call = {"file": "api.md", "slug": "endpoints/search", "ref": first[:8]}
    refused = ask("restore_document", **call)
    assert refused.is_error
    assert refused.data["code"] == "READ_FIRST"
    assert "Finds nothing." in refused.data["current"]
    assert refused.data["example"] == call
    done = ask("restore_document", **refused.data["example"])
    assert not done.is_error, done.data
    assert done.data["restored"] is True
    assert (done.data["slug"], done.data["from"]) == ("endpoints/search", first)
    assert done.data["commit"] == repo.head()
    assert done.data["commit"] in done.data["next_step"]
    assert text(repo) == API
    again = ask("restore_document", **call)
    assert (again.is_error, again.data["changed"]) == (False, False)
    assert again.data["hints"] == [f"'endpoints/search' is as it was at {first[:7]}"]


def test_a_whole_document(ask: Ask, repo: Repo, first: str) -> None:
    call = {"file": "api.md", "ref": "HEAD~1"}
    assert ask("restore_document", **call, dry_run=True).data["code"] == "READ_FIRST"
    shown = ask("restore_document", **call, dry_run=True)
    assert "+Finds things." in shown.data["diff"]
    assert text(repo) == OTHER
    assert not ask("restore_document", **call, message="Back to the first").is_error
    assert text(repo) == API
    assert repo.git("log", "-1", "--format=%s").strip() == "Back to the first"


def test_a_commit_is_taken_back_without_being_read(ask: Ask, repo: Repo, first: str) -> None:
    changed = repo.head()
    done = ask("restore_document", undo=changed, idempotency_key="once")
    assert not done.is_error, done.data
    assert done.data["undo"] == changed
    assert done.data["undone"] == [{"file": "api.md", "slug": "endpoints/search", "what": "restored"}]
    assert text(repo) == API
    subject = repo.git("log", "-1", "--format=%s").strip()
    assert subject == f"Undo {changed[:7]}: A change, with [words]"
    repeated = ask("restore_document", undo=changed, idempotency_key="once")
    assert (repeated.data["commit"], repeated.data["undone"]) == (done.data["commit"], done.data["undone"])
    nothing = ask("restore_document", undo=changed)
    assert (nothing.is_error, nothing.data["changed"], nothing.data["undone"]) == (False, False, [])
    assert nothing.data["commit"] == done.data["commit"] == repo.head()
    back = ask("restore_document", undo=done.data["commit"])
    assert not back.is_error, back.data
    assert text(repo) == OTHER


def test_a_batch_of_a_client_is_taken_back(ask: Ask, repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD^{tree}")
    ask("view_document", file="api.md")
    batch = ask(
        "edit_document",
        operations=[
            {"operation": "rename_section", "file": "api.md", "slug": "endpoints", "new_title": "Paths"},
            {"operation": "move_document", "file": "api.md", "new_path": "specs/"},
            {"operation": "add_section", "file": "notes/plain.md", "title": "New"},
        ],
        mode="all",
    )
    assert not batch.is_error, batch.data
    done = ask("restore_document", undo=batch.data["commit"])
    assert not done.is_error, done.data
    assert {"file": "api.md", "what": "moved", "was": "specs/api.md"} in done.data["undone"]
    assert repo.git("rev-parse", "HEAD^{tree}") == before


def test_what_was_changed_since_is_a_conflict_and_the_rest_on_demand(ask: Ask, repo: Repo) -> None:
    first = repo.commit({"api.md": OTHER.replace("/v1", "/v2")})
    second = repo.commit({"api.md": OTHER.replace("nothing", "all").replace("/v1", "/v2")})
    refused = ask("restore_document", undo=first)
    assert refused.is_error
    assert refused.data["code"] == "CONFLICT"
    reason = "it was changed by the commit, and again since"
    clash = {"file": "api.md", "slug": "endpoints/search", "reason": reason, "commits": [second]}
    assert refused.data["conflicts"] == [clash]
    assert refused.data["example"] == {"undo": first, "mode": "each", "dry_run": True}
    assert repo.head() == second
    done = ask("restore_document", undo=first, mode="each")
    assert not done.is_error, done.data
    assert done.data["conflicts"] == [clash]
    assert [item["slug"] for item in done.data["undone"]] == ["endpoints"]
    assert '"slug": "endpoints/search"' in done.data["next_step"]
    assert text(repo) == API.replace("things", "all")


def test_several_in_one_commit(ask: Ask, repo: Repo, first: str) -> None:
    repo.git("rm", "-q", "notes/plain.md")
    repo.commit({})
    ask("view_document", file="api.md", slug="endpoints/search")
    calls = [
        {"file": "notes/plain.md", "ref": first},
        {"file": "api.md", "slug": "endpoints/search", "ref": first},
        {"file": "none.md", "ref": first},
    ]
    done = ask("restore_document", operations=calls)
    assert [entry["success"] for entry in done.data["batch_results"]] == [True, True, False]
    assert done.data["batch_results"][2]["code"] == "NOT_AT_REF"
    assert repo.git("rev-parse", "HEAD^{tree}") == repo.git("rev-parse", f"{first}^{{tree}}")


def test_an_old_address_is_answered_with_the_new_one(ask: Ask, repo: Repo) -> None:
    first = repo.head()
    repo.git("mv", "api.md", "spec.md")
    repo.commit({})
    refused = ask("restore_document", file="api.md", ref=first)
    assert refused.is_error
    assert refused.data["moved_to"]["file"] == "spec.md"
    assert refused.data["example"] == {"file": "spec.md", "ref": first}
    assert not ask("restore_document", **refused.data["example"]).is_error


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
def test_what_cannot_be_restored(ask: Ask, repo: Repo, call: dict[str, Any], code: str) -> None:
    (repo.path / "link.md").symlink_to("api.md")
    before = repo.commit({})
    blob = repo.git("rev-parse", "HEAD:api.md").strip()
    answer = ask(
        "restore_document", **{name: blob if value == "BLOB" else value for name, value in call.items()}
    )
    assert answer.is_error
    assert answer.data["code"] == code
    assert {"error", "fix", "usage", "example", "commit"} <= answer.data.keys()
    assert str(repo.path) not in str(answer.data)
    if "operations" not in call:
        example = ask("restore_document", **{**answer.data["example"], "dry_run": True})
        assert not example.is_error or example.data["code"] in ("READ_FIRST", "CONFLICT"), example.data
    assert repo.head() == before


def test_a_server_that_only_reads_does_not_offer_it(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, read_only=True)
    toolbox = Toolbox(workspace, SearchIndex(workspace), ["history"], True)
    with pytest.raises(LookupError):
        client_of(toolbox)("restore_document", undo="HEAD")


def test_before_the_first_commit(tmp_path: Path) -> None:
    workspace = Workspace.open(unborn(tmp_path / "empty").path, durable=False)
    ask = client_of(Toolbox(workspace, SearchIndex(workspace), ["history"], False))
    for call in ({}, {"file": "a.md", "ref": "HEAD"}, {"undo": "HEAD"}):
        answer = ask("restore_document", **call)
        assert answer.is_error == bool(call)
        assert answer.data["commit"] is None


def test_links_that_lead_nowhere_afterwards_are_told(ask: Ask, repo: Repo) -> None:
    page = "# Page\n\nAll that there is to be read.\n\nAnd much more.\n\n{}Of [a thing](plain.md#plain).\n"
    first = repo.commit({"notes/page.md": page.format("")})
    repo.git("mv", "notes/page.md", "page.md")
    repo.commit({"page.md": page.format("Old. ").replace("(plain", "(notes/plain")})
    ask("view_document", file="page.md", slug="_preamble")
    done = ask("restore_document", file="page.md", ref=first)
    assert not done.is_error, done.data
    assert done.data["was"] == {"file": "notes/page.md"}
    assert any("plain.md#plain" in hint for hint in done.data["hints"])


def test_front_matter_that_goes_is_named(ask: Ask, repo: Repo) -> None:
    first = repo.head()
    ask("edit_document", operation="set_metadata", file="api.md", metadata={"owner": "Ada"})
    done = ask("restore_document", file="api.md", ref=first)
    assert not done.is_error, done.data
    assert done.data["metadata_replaced"] == ["owner"]
    assert "'metadata_replaced'" in done.data["hints"][0]
    assert text(repo) == API


def test_where_nothing_at_all_can_be_taken_back_mode_each_is_not_advised_again(ask: Ask, repo: Repo) -> None:
    changed = repo.commit({"api.md": OTHER})
    repo.commit({"api.md": OTHER.replace("nothing", "all")})
    advised = ask("restore_document", undo=changed)
    refused = ask("restore_document", undo=changed, mode="each")
    assert (advised.data["code"], refused.data["code"]) == ("CONFLICT", "CONFLICT")
    assert '"each"' in advised.data["fix"]
    assert '"each"' not in refused.data["fix"]


def test_of_several_the_next_step_is_about_one_that_changed_something(ask: Ask, repo: Repo) -> None:
    changed = repo.commit({"api.md": OTHER})
    done = ask("restore_document", operations=[{"undo": changed}, {"undo": changed}])
    assert [entry.get("changed", True) for entry in done.data["batch_results"]] == [True, False]
    assert done.data["commit"] == repo.head()
    assert f'undo this with restore_document {{"undo": "{repo.head()}"}}' in done.data["next_step"]


@pytest.mark.parametrize("name", ["api.md", "notes/plain.md"])
def test_what_is_not_committed_is_not_overwritten(ask: Ask, repo: Repo, name: str) -> None:
    """Be it changed, or made anew where a removed document would come back."""
    repo.git("rm", "-q", "notes/plain.md")
    changed = repo.commit({"api.md": OTHER})
    repo.write({name: "Mine."})
    refused = ask("restore_document", undo=changed, mode="each")
    assert refused.data["code"] == "WORKTREE_CONFLICT"
    assert (repo.path / name).read_text() == "Mine."
    assert repo.head() == changed


def test_a_detached_head_is_left_alone(ask: Ask, repo: Repo, first: str) -> None:
    repo.git("checkout", "-q", "--detach")
    changed = repo.head()
    assert ask("restore_document", undo=changed).data["code"] == "DETACHED_HEAD"
    assert not ask("restore_document", undo=changed, dry_run=True).is_error
    assert repo.head() == changed
    assert text(repo) == OTHER
