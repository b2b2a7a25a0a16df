"""Every tool that reads takes a proposal's id as `ref`; search finds there what it adds."""

from __future__ import annotations

from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of
from tests.tools.proposals.conftest import done, followed
from tools.registry import Toolbox, UnknownTool
from tools.resources.contents import read_resource
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace

NEW = {
    "operation": "add_section",
    "file": "api.md",
    "title": "Quotas",
    "content": "A leaky bucket of tokens.",
}
READS: dict[str, dict[str, Any]] = {
    "list_documents": {"path": "api.md"},
    "view_document": {"file": "api.md", "slug": "quotas"},
    "search_documents": {"query": "leaky bucket"},
    "search_docs": {"query": "leaky bucket"},
    "get_doc": {"chunk_id": "api.md#quotas"},
    "smart_read": {"file_path": "api.md"},
    "read_section": {"file_path": "api.md", "section_heading": "Quotas"},
    "list_sections": {"file_path": "api.md"},
    "view_history": {"file": "api.md", "slug": "quotas"},
}


def test_each_reads_what_the_proposal_adds(ask: Ask, proposal: str) -> None:
    assert set(READS) == {tool.name for tool in all_tools() if not tool.writes} - {"view_proposal"}
    tip = done(ask("edit_document", **NEW, proposal=proposal))["commit"]
    for tool, fields in READS.items():
        answer = ask(tool, **fields, ref=proposal)
        assert not answer.is_error, (tool, answer.data)
        assert answer.data["commit"] == tip
        assert "quotas" in str(answer.data)


def test_search_finds_it_there_and_not_on_the_target(ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **NEW, proposal=proposal))
    assert ask("search_docs", query="leaky bucket").data["hits"] == []
    found = ask("search_docs", query="leaky bucket", ref=proposal)
    assert [hit["chunk_id"] for hit in found.data["hits"]] == ["api.md#quotas"]
    read = followed(ask, found)
    assert read.data["commit"] == found.data["commit"]
    [match] = ask("search_documents", query="leaky bucket", ref=proposal).data["matches"]
    assert (match["file"], match["slug"]) == ("api.md", "quotas")


def test_the_next_step_there_may_write_and_does_so_there(ask: Ask, repo: Repo, proposal: str) -> None:
    before = repo.head()
    view = ask("view_document", file="api.md", slug="tasks[1]", ref=proposal)
    finished = followed(ask, view)
    assert (finished.data["completed"], finished.data["proposal"]) == (True, proposal)
    assert repo.head() == before
    done(ask("update_proposal", proposal=proposal, action="close"))
    closed = ask("view_document", file="api.md", slug="tasks[1]", ref=proposal)
    assert "complete_task" not in closed.data["next_step"]


def test_a_resource_is_read_there_too(toolbox: Toolbox, ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **NEW, proposal=proposal))
    assert "leaky" in str(read_resource(toolbox.context(), f"doc:///api.md?ref={proposal}"))


def test_a_merged_one_is_read_as_it_was_also_without_its_branch(ask: Ask, repo: Repo, proposal: str) -> None:
    tip = done(ask("edit_document", **NEW, proposal=proposal))["commit"]
    done(ask("update_proposal", proposal=proposal, action="merge"))
    repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    answer = ask("view_document", file="api.md", slug="quotas", ref=proposal)
    assert answer.data["commit"] == tip
    assert "edit_document" not in answer.data["next_step"]
    assert done(ask("view_proposal", proposal=proposal))["changes"]["total"] == 1


def _names(toolbox: Toolbox) -> list[str]:
    return [tool["name"] for tool in toolbox.definitions()]


PROPOSALS = ["create_proposal", "view_proposal", "update_proposal"]


def test_the_defaults_hold_proposals_where_the_policy_asks_for_review(repo: Repo) -> None:
    def serve(toolsets: tuple[str, ...] | None, read_only: bool = False) -> Toolbox:
        workspace = Workspace.open(repo.path, durable=False, read_only=read_only)
        return Toolbox(workspace, SearchIndex(workspace), toolsets, read_only)

    assert _names(serve(None))[-3:] == PROPOSALS
    assert not set(PROPOSALS) & set(_names(serve(DEFAULT_TOOLSETS)))
    assert not set(PROPOSALS) & set(_names(serve(None, read_only=True)))
    viewer = serve(("proposals",), read_only=True)
    assert _names(viewer) == ["view_proposal"]
    assert not viewer.call("view_proposal", {}, client="x").is_error
    repo.commit({"docyard.toml": ""})
    toolbox = serve(None)
    assert not set(PROPOSALS) & set(_names(toolbox))
    with pytest.raises(UnknownTool):
        client_of(toolbox)("view_proposal")
    repo.commit({"docyard.toml": '[[protect]]\npaths = ["specs/**"]\n'})
    assert not client_of(toolbox)("view_proposal").is_error  # also before the list is asked for again
    assert _names(toolbox)[-3:] == PROPOSALS
    repo.commit({"docyard.toml": ""})
    assert _names(toolbox)[-3:] == PROPOSALS


def test_a_viewer_without_writers_reads_a_proposal(ask: Ask, repo: Repo, proposal: str) -> None:
    done(ask("edit_document", **NEW, proposal=proposal))
    workspace = Workspace.open(repo.path, durable=False, read_only=True)
    viewer = client_of(Toolbox(workspace, SearchIndex(workspace), ("proposals", "documents"), True))
    answer = viewer("view_proposal", proposal=proposal)
    assert [one["path"] for one in done(answer)["changes"]["documents"]] == ["api.md"]
    followed(viewer, answer)
    assert not viewer("view_document", file="api.md", slug="quotas", ref=proposal).is_error
