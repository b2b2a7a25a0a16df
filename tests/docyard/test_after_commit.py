"""A failure after a commit: the tool, page or command still reports success, with the commit."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.mcp_server import calls
from docyard.mcp_server.calls import ToolCalls, Workers
from docyard.web.page_request import PageRequest
from docyard.web.proposals import actions
from index.service import SearchIndex
from tests.docyard.conftest import Git
from tests.docyard.web.proposals.pages import create_pages
from tests.stdio_client import RawClient
from tools.dispatcher import ToolDispatcher
from workspace.proposals.actions.repository import ProposalRepository
from workspace.workspace import Workspace

EDIT_FIELDS = {"operation": "add_section", "file": "guide.md", "title": "Bounds", "content": "Of zebras."}

# Start a server in which `index.live` cannot be imported while the marker file exists, and every
# notification fails.
BROKEN_SERVER_SCRIPT = """
import os, sys
from docyard.mcp_server.notifications import ListAnnouncer

marker = sys.argv.pop(1)

class BrokenImporter:
    def find_spec(self, name, path=None, target=None):
        if name == "index.live" and os.path.exists(marker):
            raise ImportError("no module " + name, path="/secret/place")

def fail(self):
    raise RuntimeError("no notification")

sys.meta_path.insert(0, BrokenImporter())
ListAnnouncer.schedule = fail
from docyard.cli.main import main
sys.exit(main())
"""


def raise_disk_full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret/place")


@pytest.mark.process
def test_write_succeeds_when_server_cannot_import_index(repo: Path, git: Git, tmp_path: Path) -> None:
    marker = tmp_path / "broken"
    marker.touch()
    server = RawClient([sys.executable, "-c", BROKEN_SERVER_SCRIPT, str(marker), "serve", "-C", str(repo)])

    def call(number: int, tool: str, arguments: dict[str, object]) -> dict[str, Any]:
        result = server.call(number, tool, arguments)["result"]
        assert not result["isError"], result
        data: dict[str, Any] = result["structuredContent"]
        return data

    arguments = {**EDIT_FIELDS, "idempotency_key": "once"}
    first_response = call(1, "edit_document", arguments)
    head = git("rev-parse", "HEAD")
    assert first_response["commit"] == head
    [hint] = [hint for hint in first_response["hints"] if "not searchable yet" in hint]
    assert "could not be loaded" in hint
    assert "/secret" not in str(first_response)
    repeated_response = call(2, "edit_document", arguments)
    assert (repeated_response["commit"], repeated_response["repeated"]) == (head, True)
    assert git("rev-list", "--count", "HEAD") == "2"
    marker.unlink()
    response = call(3, "search_docs", {"query": "zebras"})
    assert [hit["filepath"] for hit in response["hits"]] == ["guide.md"]
    assert "Traceback" in server.close()


@pytest.mark.anyio
async def test_unencodable_response_of_write_is_success_with_commit(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.open(repo, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, False)
    real_build_result, pending_errors = calls.build_result, [MemoryError()]

    def fail_once(response: Any) -> dict[str, Any]:
        if pending_errors:
            raise pending_errors.pop()
        return real_build_result(response)

    monkeypatch.setattr(calls, "build_result", fail_once)
    async with Workers(1) as workers:
        result = await ToolCalls(dispatcher, workers).call("edit_document", EDIT_FIELDS, "tests", None)
    assert not result["isError"]
    data = result["structuredContent"]
    assert data["commit"] == git("rev-parse", "HEAD")
    assert "there was not enough memory" in data["hints"][0]
    assert "do not send this call again" in data["next_step"]


@pytest.mark.parametrize("function_name", ["_get_comment_url", "read_latest"])
def test_page_that_fails_after_commit_reports_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function_name: str
) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    key = "0" * 32
    event_count = len(pages.setup.proposal_actions.list_events(proposal))
    if function_name == "_get_comment_url":
        monkeypatch.setattr(actions, function_name, raise_disk_full)
    else:
        monkeypatch.setattr(ProposalRepository, function_name, raise_disk_full)
    response = pages.post(proposal, "comment", key=key, text="Why?")
    assert response.status_code == 200
    assert "Your change is committed" in response.text
    assert "no space left on device" in response.text
    assert "/secret" not in response.text
    monkeypatch.undo()
    assert pages.post(proposal, "comment", key=key, text="Why?").status_code == 303
    assert len(pages.setup.proposal_actions.list_events(proposal)) == event_count + 1


def test_failed_error_page_after_commit_returns_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    monkeypatch.setattr(actions, "_get_comment_url", raise_disk_full)
    monkeypatch.setattr(PageRequest, "page", raise_disk_full)
    response = pages.post(proposal, "comment", key="0" * 32, text="Why?")
    assert response.status_code == 200
    assert response.text.startswith("Your change is committed as ")


def test_page_is_returned_when_notification_fails(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    object.__setattr__(pages.site, "notify_write", raise_disk_full)
    pages.send_form(proposal, "comment", text="Why?")


def test_command_that_cannot_print_after_commit_succeeds(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "doc.md").write_text("# Doc\n\n- [] one\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    monkeypatch.setattr("docyard.commands.fix._print_outcome", raise_disk_full)
    assert main(["fix", "-C", str(repo)]) == 0
    output = capsys.readouterr().err
    assert f"note: Committed as {git('rev-parse', 'HEAD')}, but a later step failed" in output
    assert "/secret" not in output


def test_comment_is_stored_once_when_command_fails_after_commit(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proposal_actions = Workspace.open(repo).proposal_actions()
    assert main(["proposals", "create", "Say more", "-C", str(repo)]) == 0
    [proposal] = proposal_actions.list_all()
    monkeypatch.setattr("docyard.cli.proposals.actions.print_action_result", raise_disk_full)
    assert main(["proposals", "comment", proposal.id, "-m", "Why?", "-C", str(repo)]) == 0
    assert "note: Committed as " in capsys.readouterr().err
    assert len(proposal_actions.find(proposal.id).content.threads) == 1


def test_command_that_fails_before_commit_returns_error(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proposals", "comment", "k7m2q9xa", "-m", "Why?", "-C", str(repo)]) == 3
    assert "note:" not in capsys.readouterr().err
