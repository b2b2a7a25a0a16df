"""Agents of real servers comment, answer and resolve: a kill between edit and answers, and many at once."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.clients import wait_until
from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, create_bare_repository, create_repository
from tests.stdio_client import RawClient, build_serve_command, encode_call

pytestmark = [pytest.mark.process]

TOOLSETS = ("--toolsets", "comments,documents")
FILES = {"guide.md": "# Guide\n\n## Install\n\nRun v1.\n\n## Use\n\nUse it.\n"}
EDIT = {"operation": "replace_text", "file": "guide.md", "slug": "install", "old": "v1", "new": "v2"}
AGENTS_PER_SERVER, COMMENTS_PER_AGENT = 3, 5


def comment(server: Server, text: str = "Which version?") -> str:
    return str(server.call("comment_document", file="guide.md", slug="install", text=text).data["comment"])


def list_open(server: Server, **fields: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    while True:
        data = server.call("list_comments", **fields).data
        entries += data["comments"]
        if "next_cursor" not in data:
            return entries
        fields = {**fields, "cursor": data["next_cursor"]}


def test_retry_after_a_kill_between_edit_and_answers_writes_the_answers_once(
    tmp_path: Path, home: Path
) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    with serve_repository(repo.path, home, *TOOLSETS) as server:
        id = comment(server)
    head = repo.head()
    call = {
        "operations": [EDIT],
        "answers": [{"comment": id, "text": "Done.", "resolve": True}],
        "base_commit": head,
        "idempotency_key": "key",
    }
    lock = repo.path / ".git/refs/heads/docyard/discussion.lock"
    lock.touch()  # the answers cannot be written while another process has this lock
    client = RawClient(build_serve_command(repo.path, *TOOLSETS))
    client.send(encode_call(2, "address_comments", call))
    wait_until(lambda: repo.head() != head, "the edit")
    client.process.kill()
    client.wait_for_exit()
    lock.unlink()
    edited = repo.head()
    with serve_repository(repo.path, home, *TOOLSETS) as server:
        assert [entry["comment"] for entry in list_open(server)] == [id]
        for _ in range(2):
            retry = server.call("address_comments", **call)
            assert not retry.is_error, retry.data
            assert (retry.data["repeated"], retry.data["commit"]) == (True, edited)
        assert list_open(server) == []
        [entry] = list_open(server, resolved=True)
        assert [reply["text"] for reply in entry["replies"]] == ["Done."]
    assert repo.head() == edited
    assert "Run v2." in repo.git("show", "HEAD:guide.md")
    assert repo.status() == repo.fsck() == ""


@pytest.mark.slow
@pytest.mark.parametrize("is_bare", [False, True])
def test_agents_of_two_servers_comment_and_resolve_at_once(
    tmp_path: Path, home: Path, *, is_bare: bool
) -> None:
    create = create_bare_repository if is_bare else create_repository
    repo: Repo = create(tmp_path / "repo", FILES)
    failures: list[object] = []

    def work(server: Server, name: str) -> None:
        for number in range(COMMENTS_PER_AGENT):
            answer = server.call("comment_document", file="guide.md", slug="use", text=f"{name} {number}")
            if answer.is_error:
                failures.append(answer.data)
                return
            if number % 2:
                continue
            answers = [{"comment": answer.data["comment"], "text": f"{name} answers", "resolve": True}]
            operation = {"operation": "add_section", "file": "guide.md", "title": f"{name} {number}"}
            answer = server.call("address_comments", operations=[operation], answers=answers)
            if answer.is_error or not answer.data["answers"]:
                failures.append(answer.data)

    with ExitStack() as stack:
        servers = [stack.enter_context(serve_repository(repo.path, home, *TOOLSETS)) for _ in range(2)]
        threads = [
            threading.Thread(target=work, args=(server, f"s{index}-a{number}"))
            for index, server in enumerate(servers)
            for number in range(AGENTS_PER_SERVER)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        agent_count = len(threads)
        for server in servers:
            assert len(list_open(server)) == agent_count * (COMMENTS_PER_AGENT // 2)
            resolved = list_open(server, resolved=True)
            assert len(resolved) == agent_count * (COMMENTS_PER_AGENT - COMMENTS_PER_AGENT // 2)
            assert all(len(entry["replies"]) == 1 for entry in resolved)
    assert repo.git("show", "main:guide.md").count("## s") == len(resolved)
    assert repo.fsck() == ""
