"""A server that synchronises unasked: on a schedule, after commits, and what answers say when it fails."""

from __future__ import annotations

import logging
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
from tools.registry import Toolbox
from workspace.git.remotes.credentials import Access
from workspace.sync.branches import SyncState
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts


@pytest.fixture
def there(tmp_path: Path) -> Repo:
    """A bare repository."""
    return repositories.bare(tmp_path / "docs.git")


@pytest.fixture
def here(there: Repo, tmp_path: Path) -> Repo:
    """A clone of it that is served."""
    return repositories.cloned(there, tmp_path / "here")


class Server:
    """A toolbox that synchronises, as `docyard serve` has it."""

    def __init__(self, repo: Repo) -> None:
        self.workspace = workspace = Workspace.open(repo.path, durable=False)
        self.index = SearchIndex(workspace)
        self.toolbox = Toolbox(workspace, self.index, None, False)
        self.syncing = Synchronizer(workspace, Access)
        self.toolbox.on_write = self.syncing.notify_commit
        self.seen_texts = SeenTexts()

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The data of an answer."""
        return self.toolbox.call(tool, arguments, client="tester", seen_texts=self.seen_texts).data

    def note(self, title: str) -> dict[str, Any]:
        """Make a document."""
        return self.call("create_document", doc_type="document", title=title, initial_content="Words.")


@pytest.fixture
def server(here: Repo) -> Iterator[Server]:
    """A server of the clone, which has not begun to synchronise."""
    made = Server(here)
    yield made
    made.syncing.close()
    made.index.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in the background."""
    for _ in range(6_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def tip(repo: Repo) -> str:
    return repo.git("rev-parse", "main").strip()


def counted(there: Repo) -> int:
    return int(there.git("rev-list", "--count", "main"))


def test_each_answer_says_what_is_not_pushed(here: Repo, server: Server) -> None:
    assert "unpushed" not in server.call("list_documents")
    first = server.note("One")
    assert (first["unpushed"]["commits"], "sync" in first) == (1, False)
    server.note("Two")
    for tool, arguments in (
        ("list_documents", {}),
        ("view_document", {"file": "one.md"}),
        ("view_document", {"file": "none.md"}),
        ("search_docs", {"query": "words"}),
        ("edit_document", {}),
    ):
        told = server.call(tool, **arguments)["unpushed"]
        assert (told["commits"], told["since"]) == (2, first["unpushed"]["since"])
    here.git("push", "-q", "origin", "main")
    assert "unpushed" not in server.call("list_documents")


def test_a_text_that_a_contract_fixes_stays(here: Repo, server: Server) -> None:
    plain = server.toolbox.call("search_docs", {"query": "example"}, client="t")
    here.commit({"x.md": "# X\n"})
    told = server.toolbox.call("search_docs", {"query": "example"}, client="t")
    assert told.data["unpushed"]["commits"] == 1
    assert (plain.text is None) == (told.text is None)
    assert "unpushed" not in (told.text or "")


@pytest.mark.process
def test_commits_are_pushed_after_their_answers(here: Repo, there: Repo, server: Server) -> None:
    here.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    server.syncing.start()
    for number in range(4):
        server.note(f"Note {number}")
    until(lambda: tip(there) == tip(here))
    assert "unpushed" not in server.call("list_documents")
    assert there.git("log", "-1", "--format=%s") == here.git("log", "-1", "--format=%s")


@pytest.mark.process
def test_another_who_was_first_is_merged_and_pushed(here: Repo, there: Repo, tmp_path: Path) -> None:
    here.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    here.git("push", "-q", "origin", "main")
    other = Repo(tmp_path / "other")
    there.git("clone", "-q", str(there.path), str(other.path))
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"theirs.md": "# Theirs\n\nA heron.\n"})
    other.git("push", "-q")
    server = Server(here)
    server.syncing.start()
    server.note("Ours")
    until(lambda: tip(there) == tip(here) != other.head())
    # What came with it is found by the next search, without being asked for.
    hits = server.call("search_docs", query="heron")
    assert "theirs.md" in str(hits)
    assert hits["commit"] == tip(here)
    server.syncing.close()


@pytest.mark.process
def test_a_schedule_fetches_and_settings_are_followed(
    here: Repo, there: Repo, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("docyard.sync._FIRST_EXCHANGE_S", 0.0)
    server.syncing.start()
    other = Repo(tmp_path / "other")
    there.git("clone", "-q", str(there.path), str(other.path))
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    theirs = other.commit({"docyard.toml": '[remote]\nevery = "5s"\n', "b.md": "# B\n"})
    other.git("push", "-q")
    server.call("list_documents")
    time.sleep(0.2)
    assert tip(here) != theirs  # nobody has asked for it
    here.git("pull", "-q")
    theirs = other.commit({"c.md": "# C\n"})
    other.git("push", "-q")
    server.call("list_documents")  # which lets it look at its settings now
    until(lambda: tip(here) == theirs)
    assert (here.path / "c.md").exists()


@pytest.mark.process
def test_a_failure_is_told_until_it_is_over(
    here: Repo, there: Repo, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("docyard.sync._RETRY_S", 0.05)
    monkeypatch.setattr(server.syncing, "_retry", 0.05)
    here.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    away = there.path.with_name("away.git")
    there.path.rename(away)
    with caplog.at_level(logging.WARNING):
        server.syncing.start()
        until(lambda: "sync" in server.call("list_documents"))
        told = server.note("One")
        assert (told["sync"]["state"], told["unpushed"]["commits"]) == ("failed", 2)
        assert "origin" in told["sync"]["error"]
        assert str(here.path) not in str(told["sync"])
        time.sleep(0.3)  # it fails again, and says it once
        assert server.call("list_documents")["sync"]["since"] == told["sync"]["since"]
        assert (
            len([one for one in caplog.records if "synchronization with the remote failed" in one.message])
            == 1
        )
    away.rename(there.path)
    until(lambda: "sync" not in server.call("list_documents"))
    # What goes through first may be an exchange that was begun before the last commit.
    until(lambda: tip(there) == tip(here))


@pytest.mark.process
def test_a_conflict_blocks_what_is_touched_and_says_so(
    here: Repo, there: Repo, server: Server, tmp_path: Path
) -> None:
    other = Repo(tmp_path / "other")
    there.git("clone", "-q", str(there.path), str(other.path))
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"README.md": "# Example\n\nTheirs.\n"})
    other.git("push", "-q")
    here.commit({"README.md": "# Example\n\nOurs.\n", "docyard.toml": '[remote]\npush = "commit"\n'})
    server.syncing.start()
    until(lambda: server.call("list_documents").get("sync", {}).get("state") == "diverged")
    refused = server.call(
        "edit_document", file="README.md", slug="_preamble", operation="append_content", content="More."
    )
    assert (refused["code"], refused["paths"]) == ("SYNC_CONFLICT", ["README.md"])
    assert server.note("Free")["commit"] == tip(here)
    assert server.call("list_documents")["sync"]["since"]


@pytest.mark.process
def test_the_last_commit_is_pushed_when_the_server_ends(here: Repo, there: Repo, server: Server) -> None:
    here.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    server.syncing.start()
    until(lambda: tip(there) == tip(here))
    server.note("Last")
    server.syncing.close()
    assert tip(there) == tip(here)


@loop_over(
    ("line", "reason"),
    [
        ('token = "abc"', "must hold no secret"),
        ('password = "abc"', "must hold no secret"),
        ('url = "https://x"', "must not say where"),
        ('name = "https://ada:tok@x"', "not its URL"),
        ('every = "soon"', "number of seconds"),
        ("every = 1", "between 5 seconds"),
        ("every = true", "number of seconds"),
        ('push = "always"', "'commit'"),
    ],
)
def test_settings_that_are_refused(line: str, reason: str) -> None:
    from workspace.config.config import WorkspaceConfig
    from workspace.errors import InvalidConfig

    with pytest.raises(InvalidConfig) as caught:
        WorkspaceConfig.read(f"[remote]\n{line}\n".encode())
    assert reason in caught.value.message
    assert "abc" not in caught.value.message
    assert "tok@" not in caught.value.message


@loop_over(("text", "seconds"), [("30", 30), ('"30s"', 30), ('"5m"', 300), ('"1h"', 3600)])
def test_times_of_a_schedule(text: str, seconds: int) -> None:
    from workspace.config.config import WorkspaceConfig

    assert WorkspaceConfig.read(f"[remote]\nevery = {text}\n".encode()).remote.every == seconds


@pytest.mark.process
def test_what_the_remote_took_back_is_not_brought_back_unasked(
    here: Repo, there: Repo, server: Server
) -> None:
    kept = tip(there)
    here.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    sync(server.workspace, Access())
    there.git("update-ref", "refs/heads/main", kept)
    assert sync(server.workspace, Access()).state is SyncState.FORCE_PUSHED
    server.syncing.start()
    assert server.note("Ours")["sync"]["state"] == "rewound"
    server.syncing.close()
    assert tip(there) == kept
    assert server.call("list_documents")["sync"]["state"] == "rewound"
    assert sync(server.workspace, Access(), fetch=False).pushed == 2


@pytest.mark.process
def test_what_is_typed_next_for_words_and_proposals(
    here: Repo, there: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    branch, discussion = "proposals/k3v7m2qa-say-more", "docyard/discussion"
    here.git("branch", branch)
    here.git("branch", discussion, here.commit({"x.md": "# X\n"}))
    workspace = Workspace.open(here.path, durable=False)
    sync(workspace, Access())
    there.git("update-ref", f"refs/heads/{discussion}", "main^")
    here.git("checkout", "-q", branch)
    theirs = here.commit({"a.md": "# A\n\nTheirs.\n"})
    here.git("push", "-q", "origin", branch)
    here.git("reset", "-q", "--hard", "HEAD^")
    here.commit({"a.md": "# A\n\nOurs.\n"})
    here.git("checkout", "-q", "main")
    print_sync(sync(workspace, Access()))
    told = capsys.readouterr().out
    assert "words that it had; ours are all kept, and wait.\n  next: docyard sync --push" in told
    assert f"next: docyard sync --branch {branch} shows it" in told
    print_sync(sync(Workspace.open(here.path, durable=False, branch=branch), Access()))
    assert f"next: docyard sync --branch {branch} --ours a.md or --theirs a.md" in capsys.readouterr().out
    assert there.git("rev-parse", branch).strip() == theirs
    Synchronizer(workspace, Access)._record_result(sync(workspace, Access()))
    failure = workspace.sync_status().failure
    assert failure is not None
    assert "events of the discussion" in failure.error.message
