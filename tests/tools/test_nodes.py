"""Nodes that share an index: what a client takes from one to another, and commits that a clone lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.postgres.options import create_engine_options
from index.service import SearchIndex
from index.sources.settings import SourceSettings, SourcesFile
from index.sources.sources import SourceFolders, Sources
from index.storage.keys import _load_user_key
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer
from tests.repositories import Repo, clone_repository
from tools.dispatcher import ToolDispatcher
from tools.retrieval.dispatcher import SourcesDispatcher
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

WALKTHROUGH = "---\ntype: walkthrough\n---\n# Start\n\n## First step\n\nOne.\n\n## Second step\n\nTwo.\n"
OpenNode = Callable[..., Callable[..., dict[str, Any]]]


@pytest.fixture
def use_node(
    repo: Repo,
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> OpenNode:
    """Return a function that returns the calls of a node, whose user has a key of their own."""
    repo.commit({"start.md": WALKTHROUGH})
    engine = create_engine_options(postgres.create_database())._replace(repository="docs")

    def open_node(name: str, path: Path = repo.path) -> Callable[..., dict[str, Any]]:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name / "state"))
        _load_user_key.cache_clear()
        workspace = Workspace.open(path, durable=False)
        index = SearchIndex(workspace, location=tmp_path / name / "index", engine=engine)
        folders = SourceFolders(tmp_path, tmp_path / name / "clones", tmp_path / name / "indexes")
        sources = Sources(
            SourcesFile(sources={"docs": SourceSettings(repo=str(repo.path))}), folders, engine=engine
        )
        dispatchers = (
            ToolDispatcher(workspace, index, ("documents", "tasks", "search", "planning"), False),
            SourcesDispatcher(sources),
        )

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            dispatcher = next(item for item in dispatchers if item.find_tool(tool) is not None)
            return dispatcher.call(tool, arguments, client="tester").data

        return call

    return open_node


@pytest.mark.guarantee
def test_cursors_of_one_node_continue_on_another(use_node: OpenNode) -> None:
    first = use_node("first")
    documents = first("list_documents", limit=1)
    hits = first("search_docs", query="step introduction", limit=1)
    second = use_node("second")
    next_documents = second("list_documents", limit=1, cursor=documents["next_cursor"])
    assert next_documents["documents"] != documents["documents"]
    next_hits = second("search_docs", query="step introduction", limit=1, cursor=hits["next_cursor"])
    assert next_hits["hits"]
    assert next_hits["hits"] != hits["hits"]


@pytest.mark.guarantee
def test_handle_of_one_node_continues_on_another(use_node: OpenNode) -> None:
    handle = use_node("first")("start_walkthrough", walkthrough="start.md")["handle"]
    step = use_node("second")("get_next_step", handle=handle)
    assert step["step"]["title"] in ("First step", "Second step")


@pytest.mark.guarantee
def test_claim_of_one_node_is_renewed_on_another(use_node: OpenNode) -> None:
    first = use_node("first")
    claim = first("claim_task", file="api.md", slug="tasks[1]", name="Ana")
    second = use_node("second")
    fields = {"file": "api.md", "slug": claim["id"]}
    renewed = second("claim_task", **fields, action="renew", secret=claim["secret"], hours=100)
    assert renewed["claimed_by"].startswith("Ana until ")
    refused = second("claim_task", **fields, action="release", secret=claim["secret"])
    assert refused["code"] == "TASK_CLAIMED"
    assert second("claim_task", **fields, action="release", secret=renewed["secret"])["released"] is True


@pytest.mark.guarantee
def test_write_on_a_node_whose_clone_lacks_the_indexed_commit_has_no_damage(
    use_node: OpenNode, repo: Repo, tmp_path: Path
) -> None:
    """A node was stopped after its push, and another node has indexed a later commit meanwhile."""
    clone = clone_repository(repo, tmp_path / "clone")
    stopped, other = use_node("stopped", clone.path), use_node("other")
    stopped("search_docs", query="paths")
    repo.commit({"new.md": "# New\n\nAn okapi.\n"})
    other("search_docs", query="okapi")
    operation = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "A quagga."}
    written = stopped("edit_document", operations=[operation])
    assert written["commit"] == clone.head()
    assert written["hints"][0].endswith("another call or process is updating the search index")
    assert "missing or broken" not in str(written)
    assert [hit["filepath"] for hit in other("search_docs", query="okapi")["hits"]] == ["new.md"]
