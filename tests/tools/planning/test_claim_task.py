"""claim_task: one valid claim of a task at a time, and the secret that proves it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from index.storage.keys import _load_user_key
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.document.tasks import Claim
from workspace.workspace import Workspace


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning", "documents", "tasks"), False)


def read(repo: Repo) -> str:
    return read_document(repo, "api.md")


def read_document(repo: Repo, path: str) -> str:
    return Workspace.open(repo.path).snapshot().read(path).decode()


def claim(call_tool: CallTool, slug: str = "tasks[1]", **arguments: object) -> dict[str, Any]:
    return call_tool("claim_task", file="api.md", slug=slug, **arguments).data


def list_titles(call_tool: CallTool, **filters: object) -> list[str]:
    return [task["title"] for task in call_tool("list_tasks", **filters).data["tasks"]]


def test_claim_is_a_field_that_others_respect(call_tool: CallTool, repo: Repo) -> None:
    data = claim(call_tool, name="Ana")
    assert data["id"] == "write-tests"
    assert data["claimed_by"].startswith("Ana until 20")
    assert f"- [ ] Write tests {{#write-tests}}\n  - Claimed by: {data['claimed_by']}\n" in read(repo)
    refused = claim(call_tool, name="Ben")
    assert (refused["code"], refused["claimed_by"]) == ("TASK_CLAIMED", "Ana")
    assert claim(call_tool, name="Ana")["code"] == "TASK_CLAIMED"
    assert list_titles(call_tool, ready=True) == ["Ship it"]
    assert list_titles(call_tool, owner="ana") == ["Write tests"]
    call_tool("complete_task", file="api.md", slug="write-tests")
    assert "Claimed by" not in read(repo)


def test_default_name_is_that_of_the_client(call_tool: CallTool) -> None:
    assert claim(call_tool)["claimed_by"].startswith("tester until ")


def test_secret_renews_and_releases(call_tool: CallTool, repo: Repo) -> None:
    first = claim(call_tool, name="Ana", hours=1)
    renewed = claim(call_tool, "write-tests", action="renew", secret=first["secret"], hours=100)
    assert renewed["claimed_by"].startswith("Ana until ")
    assert renewed["claimed_by"] != first["claimed_by"]
    assert claim(call_tool, action="release", secret=first["secret"])["code"] == "TASK_CLAIMED"
    assert claim(call_tool, action="renew", secret="guess")["code"] == "TASK_CLAIMED"
    released = claim(call_tool, action="release", secret=renewed["secret"])
    assert released["released"] is True
    assert "Claimed by" not in read(repo)
    assert claim(call_tool, action="release", secret=renewed["secret"])["code"] == "TASK_CLAIMED"


def test_secret_of_a_rotated_key_is_valid_until_the_key_is_removed(
    call_tool: CallTool, tmp_path: Path
) -> None:
    first = claim(call_tool, name="Ana")
    folder = tmp_path / "state/docyard"
    (folder / "key").rename(folder / "old-key")
    _load_user_key.cache_clear()  # the next process
    renewed = claim(call_tool, action="renew", secret=first["secret"], hours=100)
    assert renewed["claimed_by"].startswith("Ana until ")
    (folder / "old-key").unlink()
    assert claim(call_tool, action="renew", secret=first["secret"])["code"] == "TASK_CLAIMED"
    assert claim(call_tool, action="release", secret=renewed["secret"])["released"] is True


def test_retry_returns_the_same_secret_which_no_commit_contains(call_tool: CallTool, repo: Repo) -> None:
    first = claim(call_tool, name="Ana", idempotency_key="key")
    retry = claim(call_tool, name="Ana", idempotency_key="key")
    assert retry["repeated"] is True
    assert (retry["secret"], retry["commit"]) == (first["secret"], first["commit"])
    assert first["secret"] not in repo.git("log", "--format=%B") + read(repo)
    assert claim(call_tool, name="Ben", idempotency_key="key")["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_dry_run_claims_nothing(call_tool: CallTool, repo: Repo) -> None:
    before = repo.head()
    data = claim(call_tool, dry_run=True)
    assert data["dry_run"] is True
    assert "secret" not in data
    assert repo.head() == before


def test_settings_choose_the_hours_of_a_claim(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"docyard.toml": "[tasks]\nclaim_hours = 2\n"})
    until = Claim.parse(claim(call_tool)["claimed_by"]).until
    assert until is not None
    assert timedelta(hours=1.9) < until - datetime.now(UTC) < timedelta(hours=2)


def test_secret_of_another_task_proves_nothing(call_tool: CallTool) -> None:
    first = claim(call_tool, "tasks[1]")
    claim(call_tool, "tasks[2]", name="Ben")
    assert claim(call_tool, "tasks[2]", action="release", secret=first["secret"])["code"] == "TASK_CLAIMED"


def test_claim_ends_at_a_second(call_tool: CallTool) -> None:
    data = claim(call_tool, name="Ana", hours=1)
    until = Claim.parse(data["claimed_by"]).until
    assert until is not None
    assert data["claimed_by"] == f"Ana until {until:%Y-%m-%dT%H:%M:%SZ}"
    assert abs(until - datetime.now(UTC) - timedelta(hours=1)) < timedelta(seconds=30)


@pytest.mark.parametrize("time", ["2999-01-01T10:00Z", "2999-01-01T10:00:00Z"])
def test_claim_that_a_person_wrote_may_have_no_seconds(call_tool: CallTool, repo: Repo, time: str) -> None:
    repo.commit(
        {"api.md": read(repo).replace("Write tests\n", f"Write tests\n  - Claimed by: Eve until {time}\n")}
    )
    assert claim(call_tool)["until"] == "2999-01-01T10:00:00Z"


def test_holder_keeps_a_task_that_moved(call_tool: CallTool, repo: Repo) -> None:
    first = claim(call_tool, name="Ana", hours=1)
    repo.git("mv", "api.md", "moved.md")
    repo.git("commit", "-q", "-m", "Rename")
    target = {"file": "moved.md", "slug": first["id"]}
    renewed = call_tool("claim_task", **target, action="renew", secret=first["secret"], hours=2).data
    assert renewed["claimed_by"].startswith("Ana until ")
    assert (
        call_tool("claim_task", **target, action="release", secret=renewed["secret"]).data["released"] is True
    )


def test_expired_claim_can_be_replaced(call_tool: CallTool, repo: Repo) -> None:
    first = claim(call_tool, name="Ana")
    repo.commit({"api.md": read(repo).replace(first["claimed_by"], "Ana until 2020-01-01T00:00Z")})
    assert "Write tests" in list_titles(call_tool, ready=True)
    assert claim(call_tool, action="renew", secret=first["secret"])["code"] == "TASK_CLAIMED"
    assert claim(call_tool, name="Ben")["claimed_by"].startswith("Ben until ")


def test_claim_that_a_person_wrote_without_a_time_holds(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"api.md": read(repo).replace("Write tests\n", "Write tests\n  - Claimed by: Eve\n")})
    refused = claim(call_tool)
    assert (refused["code"], refused["claimed_by"], refused["until"]) == ("TASK_CLAIMED", "Eve", None)


@pytest.mark.parametrize(
    ("plan", "slug", "field"),
    [
        ({"blocked": "legal"}, "tasks[2]", "blocked"),
        ({"depends_on": ["tasks[1]"]}, "tasks[2]", "waits_for"),
        ({}, "tasks[0]", "code"),
    ],
)
def test_task_that_is_not_ready_is_not_claimed(
    call_tool: CallTool, plan: dict[str, object], slug: str, field: str
) -> None:
    if plan:
        call_tool("plan_task", file="api.md", slug=slug, **plan)
    refused = claim(call_tool, slug)
    assert refused["code"] == "TASK_NOT_READY"
    assert field in refused


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (" ", "1 to 100 characters (0)"),
        ("x" * 101, "1 to 100 characters (101)"),
        ("a until b", "the word 'until'"),
        ("Until", "the word 'until'"),
        ("a\u202eb", "an invisible character (U+202E)"),
        ("a\u200bb", "an invisible character (U+200B)"),
        ("a\0b", "NUL"),
    ],
)
def test_wrong_names_are_refused(call_tool: CallTool, repo: Repo, name: str, problem: str) -> None:
    before = repo.head()
    assert problem in claim(call_tool, name=name)["error"]
    assert repo.head() == before


@pytest.mark.parametrize("action", ["renew", "release"])
@pytest.mark.parametrize("is_held", [True, False])
def test_missing_secret_is_reported(call_tool: CallTool, action: str, is_held: bool) -> None:
    if is_held:
        claim(call_tool, name="Ana")
    refused = claim(call_tool, action=action)
    assert (refused["code"], refused["field"]) == ("INVALID_ARGUMENTS", "secret")
    assert refused["error"].startswith("'secret' is missing")


def test_completion_names_the_holder_and_open_dependencies(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"api.md": read(repo).replace("Ship it", "Ship it {#ship}\n  - Depends on: lost.md#gone")})
    claimed = claim(call_tool, name="Ana")
    first = call_tool("complete_task", file="api.md", slug="write-tests").data
    assert first["hints"] == [f"the claim is removed: {claimed['claimed_by']}"]
    call_tool("plan_task", file="api.md", slug="ship", depends_on=["write-tests"])
    second = call_tool("complete_task", file="api.md", slug="ship").data
    assert second["hints"] == ["dependencies are still open: lost.md#gone"]
    assert "hints" not in call_tool("complete_task", file="api.md", slug="ship").data


PROTECTED = '[[protect]]\npaths = ["api.md"]\napprovals = 1\n'


def protect(repo: Repo) -> str:
    """Protect the document, and return the commit; its second task gets an id."""
    text = read(repo).replace("Write tests", "Write tests {#write}")
    return repo.commit({"docyard.toml": PROTECTED, "api.md": text})


def test_claim_of_a_protected_document_is_on_the_discussion(call_tool: CallTool, repo: Repo) -> None:
    head = protect(repo)
    data = claim(call_tool, "write", name="Ana", hours=2)
    assert (data["id"], data["branch"]) == ("write", "docyard/discussion")
    assert data["claimed_by"].startswith("Ana until 20")
    assert repo.head() == head
    assert claim(call_tool, "write", name="Ben")["code"] == "TASK_CLAIMED"
    assert list_titles(call_tool, ready=True) == ["Ship it"]
    [task] = call_tool("list_tasks", owner="ana").data["tasks"]
    assert (task["state"], task["claimed_by"]) == ("claimed", data["claimed_by"])
    renewed = claim(call_tool, "write", action="renew", secret=data["secret"], hours=3)
    assert renewed["claimed_by"] != data["claimed_by"]
    assert claim(call_tool, "write", action="release", secret=data["secret"])["code"] == "TASK_CLAIMED"
    assert claim(call_tool, "write", action="release", secret=renewed["secret"])["released"] is True
    assert list_titles(call_tool, ready=True) == ["Write tests", "Ship it"]
    assert claim(call_tool, "write", name="Ben")["claimed_by"].startswith("Ben until ")
    assert repo.head() == head


def test_claim_of_a_protected_document_is_retried_with_a_key(call_tool: CallTool, repo: Repo) -> None:
    protect(repo)
    first = claim(call_tool, "write", name="Ana", idempotency_key="k1")
    second = claim(call_tool, "write", name="Ana", idempotency_key="k1")
    assert (second["secret"], second["repeated"]) == (first["secret"], True)
    dry_run = claim(call_tool, "tasks[2]", dry_run=True)
    assert dry_run["code"] == "TASK_NEEDS_ID"
    assert (
        claim(call_tool, "write", action="release", secret=first["secret"], dry_run=True)["dry_run"] is True
    )
    assert claim(call_tool, "write", name="Ben")["code"] == "TASK_CLAIMED"


def test_task_of_a_protected_document_that_is_not_ready_is_not_claimed(
    call_tool: CallTool, repo: Repo
) -> None:
    protect(repo)
    repo.commit({"api.md": read(repo) + "  - Blocked: no time\n- [ ] Free {#free}\n  - Depends on: #write\n"})
    assert claim(call_tool, "tasks[2]")["code"] == "TASK_NOT_READY"
    assert claim(call_tool, "free")["code"] == "TASK_NOT_READY"
    assert claim(call_tool, "write", action="renew", secret="guess")["code"] == "TASK_CLAIMED"


def test_release_of_one_of_two_equal_claims_keeps_the_other(call_tool: CallTool, repo: Repo) -> None:
    protect(repo)
    repo.commit({"other.md": read(repo), "docyard.toml": PROTECTED.replace('"api.md"', '"*.md"')})
    secrets = []
    for file in ("api.md", "other.md"):  # in most runs within one second
        answer = call_tool("claim_task", file=file, slug="write", name="Ana").data
        secrets.append(answer["secret"])
    claim(call_tool, "write", action="release", secret=secrets[0])
    assert [task["file"] for task in call_tool("list_tasks", owner="ana").data["tasks"]] == ["other.md"]


def rename(repo: Repo, old: str, new: str) -> None:
    repo.git("mv", old, new)
    repo.git("commit", "-q", "-m", "Rename")


def test_claim_follows_a_protected_document_that_is_renamed(call_tool: CallTool, repo: Repo) -> None:
    protect(repo)
    first = claim(call_tool, "write", name="Ana", hours=1)
    rename(repo, "api.md", "moved.md")
    repo.commit({"docyard.toml": PROTECTED.replace("api.md", "moved.md")})
    repo.commit({"other.md": read_document(repo, "moved.md")})
    target = {"file": "moved.md", "slug": "write"}
    [task] = call_tool("list_tasks", owner="ana").data["tasks"]
    assert (task["file"], task["claimed_by"]) == ("moved.md", first["claimed_by"])
    assert call_tool("claim_task", **target, name="Ben").data["claimed_by"] == "Ana"
    renewed = call_tool("claim_task", **target, action="renew", secret=first["secret"], hours=2).data
    assert renewed["claimed_by"] != first["claimed_by"]
    rename(repo, "moved.md", "last.md")
    repo.commit({"docyard.toml": PROTECTED.replace("api.md", "last.md")})
    target["file"] = "last.md"
    assert call_tool("claim_task", **target, name="Ben").data["claimed_by"] == "Ana"
    release = {"action": "release", "secret": renewed["secret"], "idempotency_key": "release"}
    assert call_tool("claim_task", **target, **release).data["released"] is True
    assert call_tool("claim_task", **target, **release).data["repeated"] is True
    assert call_tool("list_tasks", owner="ana").data["tasks"] == []
    assert call_tool("claim_task", **target, name="Ben").data["claimed_by"].startswith("Ben until ")


@pytest.mark.parametrize("action", ["renew", "release"])
def test_claim_in_a_field_holds_when_the_document_becomes_protected(
    call_tool: CallTool, repo: Repo, action: str
) -> None:
    first = claim(call_tool, name="Ana", hours=1)
    head = repo.commit({"docyard.toml": PROTECTED})
    assert claim(call_tool, name="Ben")["claimed_by"] == "Ana"
    changed = claim(call_tool, action=action, secret=first["secret"], hours=2)
    if action == "renew":
        assert claim(call_tool, name="Ben")["claimed_by"] == "Ana"
        assert claim(call_tool, action="release", secret=changed["secret"])["released"] is True
    assert (first["claimed_by"] in read(repo), repo.head()) == (True, head)
    assert "Write tests" in list_titles(call_tool, ready=True)
    assert claim(call_tool, name="Ben")["branch"] == "docyard/discussion"


def test_claim_in_an_event_holds_when_the_document_is_no_longer_protected(
    call_tool: CallTool, repo: Repo
) -> None:
    protect(repo)
    first = claim(call_tool, "write", name="Ana", hours=1)
    repo.commit({"docyard.toml": ""})
    assert list_titles(call_tool, owner="ana") == ["Write tests"]
    assert claim(call_tool, "write", name="Ben")["claimed_by"] == "Ana"
    renewed = claim(call_tool, "write", action="renew", secret=first["secret"], hours=2)
    assert claim(call_tool, "write", action="release", secret=renewed["secret"])["released"] is True
    second = claim(call_tool, "write", name="Ben")
    assert f"Claimed by: {second['claimed_by']}" in read(repo)


def test_claim_in_a_field_that_an_event_released_does_not_hold(call_tool: CallTool, repo: Repo) -> None:
    first = claim(call_tool, name="Ana")
    repo.commit({"docyard.toml": PROTECTED})
    claim(call_tool, action="release", secret=first["secret"])
    repo.commit({"docyard.toml": ""})
    assert "Write tests" in list_titles(call_tool, ready=True)
    assert claim(call_tool, name="Ben")["claimed_by"].startswith("Ben until ")
    assert list_titles(call_tool, owner="ben") == ["Write tests"]


def test_claims_of_protected_documents_are_listed_at_a_proposal(call_tool: CallTool, repo: Repo) -> None:
    protect(repo)
    claim(call_tool, "write", name="Ana")
    proposal = call_tool("complete_task", file="api.md", slug="tasks[2]").data["proposal"]
    [task] = call_tool("list_tasks", ref=proposal).data["tasks"]
    assert (task["id"], task["state"]) == ("write", "claimed")


def test_threads_hold_each_task_once(dispatcher: ToolDispatcher, repo: Repo) -> None:
    """Sixteen agents claim and complete 40 tasks in an order that the dependencies allow."""
    lines = []
    for number in range(40):
        lines.append(f"- [ ] Task {number} {{#t{number}}}")
        if number >= 4:
            lines.append(f"  - Depends on: #t{number - 4}")
    repo.commit({"api.md": "# Tasks\n\n" + "\n".join(lines) + "\n"})
    done: list[str] = []
    errors: list[object] = []
    lock = threading.Lock()

    def work(name: str) -> None:
        call_tool = make_client(dispatcher)
        while len(done) < 40 and not errors:
            for task in call_tool("list_tasks", ready=True, limit=8).data["tasks"]:
                claimed = claim(call_tool, task["id"], name=name)
                if "secret" not in claimed:
                    if claimed["code"] not in ("TASK_CLAIMED", "TASK_NOT_READY"):
                        errors.append(claimed)
                    continue
                answer = call_tool("complete_task", file="api.md", slug=task["id"])
                with lock:
                    done.append(task["id"])
                if answer.is_error or answer.data.get("already_completed"):
                    errors.append(answer.data)
                break

    threads = [threading.Thread(target=work, args=(f"agent-{number}",)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(done) == sorted(f"t{number}" for number in range(40))
    for number in range(4, 40):
        assert done.index(f"t{number - 4}") < done.index(f"t{number}")
