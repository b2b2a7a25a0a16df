"""A call that has committed returns success with its commit, even if a later step fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo, normal
from tests.tools.faults_after_commit import FAULTS, inject_fault, record_steps
from tests.tools.proposals.conftest import FILES
from tools.registry import Toolbox
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts
from workspace.writing.write import WriteResult

_SAMPLE = 9  # steps of each call at which the quick tests raise a fault


class Server:
    """A toolbox over a repository whose specs are protected, and writing calls for it."""

    def __init__(self, path: Path) -> None:
        self.repo: Repo = normal(path, FILES)
        workspace = Workspace.open(self.repo.path, durable=False)
        self.index = SearchIndex(workspace)
        workspace.inbound = self.index
        self.toolbox = Toolbox(workspace, self.index, TOOLSETS, False)
        self._seen_texts = SeenTexts()
        self._count = 0

    def call_tool(self, tool: str, **arguments: Any) -> Answer:
        return self.toolbox.call(tool, arguments, client="test", seen_texts=self._seen_texts)

    def word(self) -> str:
        """Return a word that no document contains yet."""
        self._count += 1
        return f"zebra{self._count}"

    def commits(self) -> int:
        """Count the commits of all branches."""
        return int(self.repo.git("rev-list", "--all", "--count"))

    def proposal(self) -> str:
        answer = self.call_tool("create_proposal", title=f"About {self.word()}", description="Because.")
        return str(answer.data["proposal"])

    def written_proposal(self) -> str:
        proposal = self.proposal()
        self.call_tool("edit_document", **self.section("notes/plain.md", self.word()), proposal=proposal)
        return proposal

    @staticmethod
    def section(file: str, word: str) -> dict[str, Any]:
        return {"operation": "add_section", "file": file, "title": f"On {word}", "content": f"Of {word}."}


Prepare = Callable[[Server, str], tuple[str, dict[str, Any]]]


def _edit(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", server.section("api.md", word)


def _create(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "create_document", {"doc_type": "api_spec", "title": f"On {word}"}


def _undo(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    server.call_tool("edit_document", **server.section("notes/plain.md", word))
    return "restore_document", {"undo": "HEAD"}


def _edit_in_proposal(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", {**server.section("api.md", word), "proposal": server.proposal()}


def _protected(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", server.section("specs/limits.md", word)


def _open(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "create_proposal", {"title": f"On {word}", "description": "Because.", "submit": True}


def _act(action: str, **fields: str) -> Prepare:
    def prepare(server: Server, word: str) -> tuple[str, dict[str, Any]]:
        proposal = server.written_proposal()
        if action == "refresh":
            server.call_tool("edit_document", **server.section("api.md", server.word()))
        return "update_proposal", {"proposal": proposal, "action": action, **fields}

    return prepare


CALLS: dict[str, Prepare] = {
    "edit": _edit,
    "create": _create,
    "undo": _undo,
    "edit in a proposal": _edit_in_proposal,
    "edit that becomes a proposal": _protected,
    "create a proposal": _open,
    "comment": _act("comment", text="Why?"),
    "submit": _act("submit"),
    "refresh": _act("refresh"),
    "merge": _act("merge"),
    "close": _act("close", text="No."),
    "edit its words": _act("edit", title="Other words"),
}


def _steps(path: Path, prepare: Prepare) -> tuple[Server, list[str]]:
    """Return a server, and the functions that a call without a fault enters after its commit."""
    server = Server(path)
    server.call_tool("search_docs", query="anything")
    for _ in range(2):  # the first call creates files that later calls reuse
        tool, fields = prepare(server, server.word())
        with record_steps() as steps:
            answer = server.call_tool(tool, **fields)
        assert not answer.is_error, answer.data
    return server, steps


def _check(server: Server, prepare: Prepare, step: str, number: int) -> bool:
    """Raise a fault at one step, and check the guarantees; return False if the call skips the step."""
    word = server.word()
    tool, fields = prepare(server, word)
    fields["idempotency_key"] = f"key-{word}"
    before = server.commits()
    with inject_fault(step, FAULTS[number % len(FAULTS)]) as struck:
        answer = server.call_tool(tool, **fields)
    if not struck:
        return False
    place = (step, answer.data)
    assert not answer.is_error, place
    commit = answer.data["commit"]
    assert server.repo.git("cat-file", "-t", commit).strip() == "commit", place
    text = json.dumps(answer.data)
    assert str(server.repo.path) not in text, place
    assert "Traceback" not in text, place
    assert "next_step" in answer.data, place
    after = server.commits()
    assert after > before, place
    again = server.call_tool(tool, **fields)
    assert not again.is_error, (step, again.data)
    if fields.get("action") == "refresh" and server.commits() == after + 1:
        # The retry appends the event of the refresh once; the first call could not append it.
        after += 1
        again = server.call_tool(tool, **fields)
    assert server.commits() == after, (step, again.data)
    if tool == "edit_document" and "proposal" not in again.data:
        assert again.data["commit"] == commit, place
        response = server.call_tool("search_docs", query=word)
        assert fields["file"] in [hit["filepath"] for hit in response.data["hits"]], (step, response.data)
    return True


def test_failed_answer_after_commit_is_a_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WriteResult, "document", _fail)
    answer = _edit_with_failure(Server(tmp_path / "docs"))
    assert set(answer.data) == {"commit", "hints", "next_step"}
    assert "do not send this call again" in answer.data["next_step"]


def test_failed_step_after_commit_preserves_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchIndex, "follow", _fail)
    answer = _edit_with_failure(Server(tmp_path / "docs"))
    assert {"slug", "commit", "hints"} <= set(answer.data)


def _fail(*_: object) -> None:
    raise RuntimeError("a fault")


def _edit_with_failure(server: Server) -> Answer:
    """Return the answer of an edit with a failure after the commit: a success with this commit."""
    before = server.repo.head()
    tool, fields = _edit(server, server.word())
    answer = server.call_tool(tool, **fields)
    assert not answer.is_error, answer.data
    assert answer.data["commit"] == server.repo.head() != before
    assert answer.data["hints"][0].startswith("Committed, but ")
    return answer


@pytest.mark.fault
@loop_over("name", CALLS)
def test_fault_at_sampled_steps_after_commit_is_a_success(name: str, tmp_path: Path) -> None:
    server, steps = _steps(tmp_path / "docs", CALLS[name])
    chosen = steps[:: max(1, len(steps) // _SAMPLE)]
    struck = [_check(server, CALLS[name], step, number) for number, step in enumerate(chosen)]
    assert sum(struck) >= len(chosen) // 2
    assert server.repo.fsck() == ""


@pytest.mark.soak  # some 300 steps of each of 12 calls, each in a separate call
@pytest.mark.parametrize("name", CALLS)
def test_fault_at_each_step_after_commit_is_a_success(name: str, tmp_path: Path) -> None:
    server, steps = _steps(tmp_path / "docs", CALLS[name])
    struck = [_check(server, CALLS[name], step, number) for number, step in enumerate(steps)]
    assert sum(struck) >= len(steps) // 2
    assert server.repo.fsck() == ""
