"""A call that has committed returns success with its commit, even if a later step fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.tools.faults_after_commit import FAULTS, raise_fault_at, record_steps
from tests.tools.proposals.conftest import FILES
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts
from workspace.writing.write import WriteResult

_SAMPLE_SIZE = 9  # steps of each call at which the quick tests raise a fault


class Server:
    """A dispatcher over a repository whose specs are protected, and writing calls for it."""

    def __init__(self, path: Path) -> None:
        self.repo: Repo = create_repository(path, FILES)
        workspace = Workspace.open(self.repo.path, durable=False)
        self.index = SearchIndex(workspace)
        workspace.inbound_links = self.index
        self.dispatcher = ToolDispatcher(workspace, self.index, TOOLSETS, False)
        self._seen_texts = SeenTexts()
        self._word_count = 0

    def call_tool(self, tool: str, **arguments: Any) -> Answer:
        return self.dispatcher.call(tool, arguments, client="test", seen_texts=self._seen_texts)

    def make_unique_word(self) -> str:
        """Return a word that no document contains yet."""
        self._word_count += 1
        return f"zebra{self._word_count}"

    def count_commits(self) -> int:
        """Count the commits of all branches."""
        return int(self.repo.git("rev-list", "--all", "--count"))

    def create_proposal(self) -> str:
        answer = self.call_tool(
            "create_proposal", title=f"About {self.make_unique_word()}", description="Because."
        )
        return str(answer.data["proposal"])

    def create_proposal_with_edit(self) -> str:
        proposal = self.create_proposal()
        self.call_tool(
            "edit_document",
            **self.build_section_fields("notes/plain.md", self.make_unique_word()),
            proposal=proposal,
        )
        return proposal

    @staticmethod
    def build_section_fields(file: str, word: str) -> dict[str, Any]:
        return {
            "operation": "add_section",
            "file": file,
            "title": f"On {word}",
            "content": f"Of {word}.",
        }


PrepareCall = Callable[[Server, str], tuple[str, dict[str, Any]]]


def _prepare_edit(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", server.build_section_fields("api.md", word)


def _prepare_creation(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "create_document", {"doc_type": "api_spec", "title": f"On {word}"}


def _prepare_undo(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    server.call_tool("edit_document", **server.build_section_fields("notes/plain.md", word))
    return "restore_document", {"undo": "HEAD"}


def _prepare_proposal_edit(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", {
        **server.build_section_fields("api.md", word),
        "proposal": server.create_proposal(),
    }


def _prepare_protected_edit(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "edit_document", server.build_section_fields("specs/limits.md", word)


def _prepare_proposal(server: Server, word: str) -> tuple[str, dict[str, Any]]:
    return "create_proposal", {"title": f"On {word}", "description": "Because.", "submit": True}


def _prepare_action(action: str, **fields: str) -> PrepareCall:
    def prepare(server: Server, word: str) -> tuple[str, dict[str, Any]]:
        proposal = server.create_proposal_with_edit()
        if action == "refresh":
            server.call_tool(
                "edit_document", **server.build_section_fields("api.md", server.make_unique_word())
            )
        return "update_proposal", {"proposal": proposal, "action": action, **fields}

    return prepare


CALLS: dict[str, PrepareCall] = {
    "edit": _prepare_edit,
    "create": _prepare_creation,
    "undo": _prepare_undo,
    "edit in a proposal": _prepare_proposal_edit,
    "edit that becomes a proposal": _prepare_protected_edit,
    "create a proposal": _prepare_proposal,
    "comment": _prepare_action("comment", text="Why?"),
    "submit": _prepare_action("submit"),
    "refresh": _prepare_action("refresh"),
    "merge": _prepare_action("merge"),
    "close": _prepare_action("close", text="No."),
    "edit its title": _prepare_action("edit", title="Other words"),
}


def _record_steps(path: Path, prepare: PrepareCall) -> tuple[Server, list[str]]:
    """Return a server, and the functions that a call enters after its commit when nothing fails."""
    server = Server(path)
    server.call_tool("search_docs", query="anything")
    for _ in range(2):  # the first call creates files and caches that later calls use
        tool, fields = prepare(server, server.make_unique_word())
        with record_steps() as steps:
            answer = server.call_tool(tool, **fields)
        assert not answer.is_error, answer.data
    return server, steps


def _check_fault(server: Server, prepare: PrepareCall, step: str, number: int) -> bool:
    """Raise a fault at one step, and check the guarantees; return False if the call skips the step."""
    word = server.make_unique_word()
    tool, fields = prepare(server, word)
    fields["idempotency_key"] = f"key-{word}"
    count_before = server.count_commits()
    with raise_fault_at(step, FAULTS[number % len(FAULTS)]) as raised_steps:
        answer = server.call_tool(tool, **fields)
    if not raised_steps:
        return False
    details = (step, answer.data)
    assert not answer.is_error, details
    commit = answer.data["commit"]
    assert server.repo.git("cat-file", "-t", commit).strip() == "commit", details
    text = json.dumps(answer.data)
    assert str(server.repo.path) not in text, details
    assert "Traceback" not in text, details
    assert "next_step" in answer.data, details
    count_after = server.count_commits()
    assert count_after > count_before, details
    retry = server.call_tool(tool, **fields)
    assert not retry.is_error, (step, retry.data)
    if fields.get("action") == "refresh" and server.count_commits() == count_after + 1:
        # The retry appends the event of the refresh, which the first call could not append, once.
        count_after += 1
        retry = server.call_tool(tool, **fields)
    assert server.count_commits() == count_after, (step, retry.data)
    if tool == "edit_document" and "proposal" not in retry.data:
        assert retry.data["commit"] == commit, details
        search_answer = server.call_tool("search_docs", query=word)
        assert fields["file"] in [hit["filepath"] for hit in search_answer.data["hits"]], (
            step,
            search_answer.data,
        )
    return True


def test_failed_answer_after_commit_is_a_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WriteResult, "document", _raise_error)
    answer = _edit_with_fault(Server(tmp_path / "docs"))
    assert set(answer.data) == {"commit", "hints", "next_step"}
    assert "do not send this call again" in answer.data["next_step"]


def test_failed_step_after_commit_preserves_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchIndex, "update_to_tip", _raise_error)
    answer = _edit_with_fault(Server(tmp_path / "docs"))
    assert {"slug", "commit", "hints"} <= set(answer.data)


def _raise_error(*_: object) -> None:
    raise RuntimeError("a fault")


def _edit_with_fault(server: Server) -> Answer:
    """Return the answer of an edit in which a step fails after the commit: a success with that commit."""
    head_before = server.repo.head()
    tool, fields = _prepare_edit(server, server.make_unique_word())
    answer = server.call_tool(tool, **fields)
    assert not answer.is_error, answer.data
    assert answer.data["commit"] == server.repo.head() != head_before
    assert answer.data["hints"][0].startswith("Committed, but ")
    return answer


@pytest.mark.fault
@loop_over("name", CALLS)
def test_fault_at_sampled_steps_after_commit_is_a_success(name: str, tmp_path: Path) -> None:
    server, steps = _record_steps(tmp_path / "docs", CALLS[name])
    sampled_steps = steps[:: max(1, len(steps) // _SAMPLE_SIZE)]
    faults_raised = [
        _check_fault(server, CALLS[name], step, number) for number, step in enumerate(sampled_steps)
    ]
    assert sum(faults_raised) >= len(sampled_steps) // 2
    assert server.repo.fsck() == ""


@pytest.mark.soak  # about 300 steps of each of 12 calls, each step in a separate call
@pytest.mark.parametrize("name", CALLS)
def test_fault_at_each_step_after_commit_is_a_success(name: str, tmp_path: Path) -> None:
    server, steps = _record_steps(tmp_path / "docs", CALLS[name])
    faults_raised = [_check_fault(server, CALLS[name], step, number) for number, step in enumerate(steps)]
    assert sum(faults_raised) >= len(steps) // 2
    assert server.repo.fsck() == ""
