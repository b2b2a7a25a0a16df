"""Synchronisation by a server: on a schedule and after commits; responses report its failures."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.sync_report import print_sync
from docyard.sync import Synchronizer
from index.service import SearchIndex
from tests import repositories
from tests.loops import loop_over
from tests.repositories import Repo
from tools.dispatcher import ToolDispatcher
from tools.search.minimum_commit import read_at_least
from workspace.git.remotes.credentials import Access
from workspace.sync.branches import SyncState
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts


@pytest.fixture
def remote_repo(tmp_path: Path) -> Repo:
    """Return a bare repository."""
    return repositories.create_bare_repository(tmp_path / "docs.git")


@pytest.fixture
def clone(remote_repo: Repo, tmp_path: Path) -> Repo:
    """Return a served clone of the bare repository."""
    return repositories.clone_repository(remote_repo, tmp_path / "here")


class InProcessServer:
    """The parts of `docyard serve` in this process: a dispatcher, an index and a synchronizer."""

    def __init__(self, repo: Repo) -> None:
        self.workspace = workspace = Workspace.open(repo.path, durable=False)
        self.index = SearchIndex(workspace)
        self.dispatcher = ToolDispatcher(workspace, self.index, None, False)
        self.synchronizer = Synchronizer(workspace, Access)
        self.dispatcher.on_write = self.synchronizer.notify_commit
        self.dispatcher.request_fetch = self.synchronizer.request_fetch
        self.seen_texts = SeenTexts()

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return the data of its response."""
        return self.dispatcher.call(tool, arguments, client="tester", seen_texts=self.seen_texts).data

    def create_note(self, title: str) -> dict[str, Any]:
        """Create a document, and return the data of the response."""
        return self.call("create_document", doc_type="document", title=title, initial_content="Words.")


@pytest.fixture
def server(clone: Repo) -> Iterator[InProcessServer]:
    """Yield a server of the clone, whose synchronizer is not started."""
    new_server = InProcessServer(clone)
    yield new_server
    new_server.synchronizer.close()
    new_server.index.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition of background work is true."""
    for _ in range(6_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("the condition did not become true")


def read_tip(repo: Repo) -> str:
    return repo.git("rev-parse", "main").strip()


def count_commits(remote_repo: Repo) -> int:
    return int(remote_repo.git("rev-list", "--count", "main"))


def test_each_response_reports_unpushed_commits(clone: Repo, server: InProcessServer) -> None:
    assert "unpushed" not in server.call("list_documents")
    first_response = server.create_note("One")
    assert (first_response["unpushed"]["commits"], "sync" in first_response) == (1, False)
    server.create_note("Two")
    for tool, arguments in (
        ("list_documents", {}),
        ("view_document", {"file": "one.md"}),
        ("view_document", {"file": "none.md"}),
        ("search_docs", {"query": "words"}),
        ("edit_document", {}),
    ):
        unpushed = server.call(tool, **arguments)["unpushed"]
        assert (unpushed["commits"], unpushed["since"]) == (2, first_response["unpushed"]["since"])
    clone.git("push", "-q", "origin", "main")
    assert "unpushed" not in server.call("list_documents")


def test_text_of_search_response_has_no_sync_report(clone: Repo, server: InProcessServer) -> None:
    plain_response = server.dispatcher.call("search_docs", {"query": "example"}, client="t")
    clone.commit({"x.md": "# X\n"})
    response = server.dispatcher.call("search_docs", {"query": "example"}, client="t")
    assert response.data["unpushed"]["commits"] == 1
    assert (plain_response.text is None) == (response.text is None)
    assert "unpushed" not in (response.text or "")


@pytest.mark.process
def test_commits_are_pushed_after_their_responses(
    clone: Repo, remote_repo: Repo, server: InProcessServer
) -> None:
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    server.synchronizer.start()
    for number in range(4):
        server.create_note(f"Note {number}")
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone))
    assert "unpushed" not in server.call("list_documents")
    assert remote_repo.git("log", "-1", "--format=%s") == clone.git("log", "-1", "--format=%s")


@pytest.mark.process
def test_unexpected_error_does_not_end_the_synchronization(
    clone: Repo, remote_repo: Repo, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docyard.sync._SETTINGS_INTERVAL_S", 0.01)
    list_unpushed = server.synchronizer._list_unpushed
    failures = [KeyError("one"), KeyError("two")]

    def fail_twice() -> object:
        if failures:
            raise failures.pop()
        return list_unpushed()

    monkeypatch.setattr(server.synchronizer, "_list_unpushed", fail_twice)
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    server.synchronizer.start()
    server.create_note("A note")
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone))
    assert failures == []


@pytest.mark.process
def test_concurrent_remote_commit_is_merged_and_pushed(
    clone: Repo, remote_repo: Repo, tmp_path: Path
) -> None:
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    clone.git("push", "-q", "origin", "main")
    other_clone = Repo(tmp_path / "other")
    remote_repo.git("clone", "-q", str(remote_repo.path), str(other_clone.path))
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    other_clone.commit({"theirs.md": "# Theirs\n\nA heron.\n"})
    other_clone.git("push", "-q")
    server = InProcessServer(clone)
    server.synchronizer.start()
    server.create_note("Ours")
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone) != other_clone.head())
    # The next search finds the merged document.
    hits = server.call("search_docs", query="heron")
    assert "theirs.md" in str(hits)
    assert hits["commit"] == read_tip(clone)
    server.synchronizer.close()


@pytest.mark.process
def test_server_fetches_on_schedule_after_settings_change(
    clone: Repo, remote_repo: Repo, server: InProcessServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("docyard.sync._FIRST_EXCHANGE_DELAY_S", 0.0)
    server.synchronizer.start()
    other_clone = Repo(tmp_path / "other")
    remote_repo.git("clone", "-q", str(remote_repo.path), str(other_clone.path))
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    their_commit = other_clone.commit({"docyard.toml": '[remote]\nevery = "5s"\n', "b.md": "# B\n"})
    other_clone.git("push", "-q")
    server.call("list_documents")
    time.sleep(0.2)
    assert read_tip(clone) != their_commit  # no schedule is set
    clone.git("pull", "-q")
    their_commit = other_clone.commit({"c.md": "# C\n"})
    other_clone.git("push", "-q")
    server.call("list_documents")  # so that the synchronizer reads the settings now
    wait_until(lambda: read_tip(clone) == their_commit)
    assert (clone.path / "c.md").exists()


@pytest.mark.process
@pytest.mark.guarantee
def test_read_of_a_commit_that_the_clone_lacks_fetches_it_at_once(
    clone: Repo, remote_repo: Repo, server: InProcessServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("docyard.sync._FIRST_EXCHANGE_DELAY_S", 0.0)
    clone.commit({"docyard.toml": '[remote]\nevery = "1d"\npush = "commit"\n'})
    server.synchronizer.start()
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone))
    writer = InProcessServer(repositories.clone_repository(remote_repo, tmp_path / "writer"))
    writer.synchronizer.start()
    for number in range(3):
        commit = writer.create_note(f"Heron {number}")["commit"]
        found = server.call("search_docs", query=f"heron {number}", min_commit=commit)
        assert (found["commit"], "behind" in found) == (commit, False)
        assert f"heron-{number}.md" in [hit["filepath"] for hit in found["hits"]]
        assert (
            "Words."
            in server.call("get_doc", chunk_id=f"heron-{number}.md", min_commit=commit)["chunks"][0]["text"]
        )
    writer.synchronizer.close()


@pytest.mark.process
@pytest.mark.guarantee
def test_read_waits_once_for_a_remote_that_does_not_answer(
    clone: Repo, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is too long at first, so the tool runs again: it must not wait again."""
    attempts: list[str | None] = []
    slept_s: list[float] = []
    reading_thread = threading.get_ident()
    sleep = time.sleep

    def read_and_count(context: Any, min_commit: str | None, *arguments: Any) -> Any:
        attempts.append(min_commit)
        return read_at_least(context, min_commit, *arguments)

    def sleep_and_count(seconds: float) -> None:
        if threading.get_ident() == reading_thread:
            slept_s.append(seconds)
        sleep(seconds)

    files = {f"heron-{number}.md": f"# Heron {number}\n\n{'A heron. ' * 60}\n" for number in range(12)}
    tip = clone.commit({**files, "docyard.toml": '[remote]\nevery = "1d"\n'})
    monkeypatch.setattr("docyard.sync._FIRST_EXCHANGE_DELAY_S", 0.0)
    monkeypatch.setattr("tools.search.minimum_commit.MAX_WAIT_S", 0.5)
    monkeypatch.setattr("tools.search.search_docs.read_at_least", read_and_count)
    monkeypatch.setattr("time.sleep", sleep_and_count)
    with socket.create_server(("127.0.0.1", 0)) as silent_remote:
        port = silent_remote.getsockname()[1]
        clone.git("remote", "set-url", "origin", f"git://127.0.0.1:{port}/docs.git")
        server.synchronizer.start()
        connection, _ = silent_remote.accept()  # a fetch is running when the read begins
        with connection:
            found = server.call("search_docs", query="heron", min_commit="0" * 40, max_tokens=900)
    assert found["hits"]
    assert (found["behind"]["code"], found["behind"]["commit"]) == ("BEHIND_MIN_COMMIT", tip)
    assert len(attempts) > 1
    # Each pause ends before the deadline, so this sum does not depend on the speed of the machine.
    assert sum(slept_s) <= 0.5


@pytest.mark.process
def test_sync_failure_is_reported_until_resolved(
    clone: Repo,
    remote_repo: Repo,
    server: InProcessServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("docyard.sync._RETRY_DELAY_S", 0.05)
    monkeypatch.setattr(server.synchronizer, "_retry_delay_s", 0.05)
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    moved_path = remote_repo.path.with_name("away.git")
    remote_repo.path.rename(moved_path)
    with caplog.at_level(logging.WARNING):
        server.synchronizer.start()
        wait_until(lambda: "sync" in server.call("list_documents"))
        response = server.create_note("One")
        assert (response["sync"]["state"], response["unpushed"]["commits"]) == ("failed", 2)
        assert "origin" in response["sync"]["error"]
        assert str(clone.path) not in str(response["sync"])
        time.sleep(0.3)  # time for further failures, which are not logged
        assert server.call("list_documents")["sync"]["since"] == response["sync"]["since"]
        assert (
            len(
                [
                    record
                    for record in caplog.records
                    if "synchronization with the remote failed" in record.message
                ]
            )
            == 1
        )
    moved_path.rename(remote_repo.path)
    wait_until(lambda: "sync" not in server.call("list_documents"))
    # The first successful exchange may have started before the last commit.
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone))


@pytest.mark.process
def test_write_to_conflicted_path_is_refused(
    clone: Repo, remote_repo: Repo, server: InProcessServer, tmp_path: Path
) -> None:
    other_clone = Repo(tmp_path / "other")
    remote_repo.git("clone", "-q", str(remote_repo.path), str(other_clone.path))
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    other_clone.commit({"README.md": "# Example\n\nTheirs.\n"})
    other_clone.git("push", "-q")
    clone.commit({"README.md": "# Example\n\nOurs.\n", "docyard.toml": '[remote]\npush = "commit"\n'})
    server.synchronizer.start()
    wait_until(lambda: server.call("list_documents").get("sync", {}).get("state") == "diverged")
    refusal = server.call(
        "edit_document", file="README.md", slug="_preamble", operation="append_content", content="More."
    )
    assert (refusal["code"], refusal["paths"]) == ("SYNC_CONFLICT", ["README.md"])
    assert server.create_note("Free")["commit"] == read_tip(clone)
    assert server.call("list_documents")["sync"]["since"]


@pytest.mark.process
def test_last_commit_is_pushed_when_server_ends(
    clone: Repo, remote_repo: Repo, server: InProcessServer
) -> None:
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    server.synchronizer.start()
    wait_until(lambda: read_tip(remote_repo) == read_tip(clone))
    server.create_note("Last")
    server.synchronizer.close()
    assert read_tip(remote_repo) == read_tip(clone)


@loop_over(
    ("line", "reason"),
    [
        ('token = "abc"', "must not contain a secret"),
        ('password = "abc"', "must not contain a secret"),
        ('url = "https://x"', "must not contain an address"),
        ('name = "https://ada:tok@x"', "not its URL"),
        ('every = "soon"', "number of seconds"),
        ("every = 1", "between 5 seconds"),
        ("every = true", "number of seconds"),
        ('push = "always"', "'commit'"),
    ],
)
def test_invalid_remote_settings_are_refused(line: str, reason: str) -> None:
    from workspace.config.config import WorkspaceConfig
    from workspace.errors import InvalidConfig

    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(f"[remote]\n{line}\n".encode())
    assert reason in error_info.value.message
    assert "abc" not in error_info.value.message
    assert "tok@" not in error_info.value.message


@loop_over(("text", "seconds"), [("30", 30), ('"30s"', 30), ('"5m"', 300), ('"1h"', 3600)])
def test_interval_is_read_as_seconds(text: str, seconds: int) -> None:
    from workspace.config.config import WorkspaceConfig

    assert WorkspaceConfig.read(f"[remote]\nevery = {text}\n".encode()).remote.every == seconds


@pytest.mark.process
def test_commits_removed_by_force_push_are_not_pushed_again(
    clone: Repo, remote_repo: Repo, server: InProcessServer
) -> None:
    old_tip = read_tip(remote_repo)
    clone.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    sync(server.workspace, Access())
    remote_repo.git("update-ref", "refs/heads/main", old_tip)
    assert sync(server.workspace, Access()).state is SyncState.FORCE_PUSHED
    server.synchronizer.start()
    assert server.create_note("Ours")["sync"]["state"] == "rewound"
    server.synchronizer.close()
    assert read_tip(remote_repo) == old_tip
    assert server.call("list_documents")["sync"]["state"] == "rewound"
    assert sync(server.workspace, Access(), fetch=False).pushed_count == 2


@pytest.mark.process
def test_sync_report_suggests_commands_for_discussion_and_proposals(
    clone: Repo, remote_repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    branch, discussion = "proposals/k3v7m2qa-say-more", "docyard/discussion"
    clone.git("branch", branch)
    clone.git("branch", discussion, clone.commit({"x.md": "# X\n"}))
    workspace = Workspace.open(clone.path, durable=False)
    sync(workspace, Access())
    remote_repo.git("update-ref", f"refs/heads/{discussion}", "main^")
    clone.git("checkout", "-q", branch)
    their_commit = clone.commit({"a.md": "# A\n\nTheirs.\n"})
    clone.git("push", "-q", "origin", branch)
    clone.git("reset", "-q", "--hard", "HEAD^")
    clone.commit({"a.md": "# A\n\nOurs.\n"})
    clone.git("checkout", "-q", "main")
    print_sync(sync(workspace, Access()))
    output = capsys.readouterr().out
    assert (
        "events of the discussion; the local branch still has all of them.\n  next: docyard sync --push"
        in output
    )
    assert f"next: docyard sync --branch {branch} shows the conflicts" in output
    print_sync(sync(Workspace.open(clone.path, durable=False, branch=branch), Access()))
    assert f"next: docyard sync --branch {branch} --ours a.md or --theirs a.md" in capsys.readouterr().out
    assert remote_repo.git("rev-parse", branch).strip() == their_commit
    Synchronizer(workspace, Access)._record_result(sync(workspace, Access()))
    failure = workspace.sync_status().failure
    assert failure is not None
    assert "events of the discussion" in failure.error.message
