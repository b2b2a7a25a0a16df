"""search_docs: the blobs of the found files, and the next step of a search without hits."""

from __future__ import annotations

from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call


def test_blobs_are_those_of_files_with_hits(call_tool: CallTool, repo: Repo) -> None:
    text = "# Odd\n\n## One\n\nA heron.\n\n## Two\n\nA heron.\n"
    repo.commit({"b/ü q.md": text, "c.md": "# C\n\nA heron.\n"})
    data = call_tool("search_docs", query="heron").data
    assert len(data["hits"]) == 3
    assert data["blobs"] == {
        path: repo.git("rev-parse", f"HEAD:{path}").strip() for path in ("b/ü q.md", "c.md")
    }
    assert data["commit"] == repo.head()
    for hit in data["hits"]:
        assert hit["filepath"] in data["blobs"]
        assert not {"blob", "source_commit", "commit"} & hit.keys()
    assert "next_step" not in data


def test_blobs_of_page_are_those_of_its_hits(call_tool: CallTool, repo: Repo) -> None:
    paths = [f"page-{number}.md" for number in range(3)]
    repo.commit({path: f"# Page {path}\n\nA heron.\n" for path in paths})
    found_paths: list[str] = []
    cursor = None
    while True:
        data = call_tool("search_docs", query="heron", limit=1, cursor=cursor).data
        [hit] = data["hits"]
        assert list(data["blobs"]) == [hit["filepath"]]
        found_paths.append(hit["filepath"])
        cursor = data["next_cursor"]
        if cursor is None:
            break
    assert sorted(found_paths) == paths


def test_blobs_at_ref_belong_to_that_commit(call_tool: CallTool, repo: Repo) -> None:
    old_commit = repo.head()
    repo.commit({"api.md": "# API\n\nFinds other things.\n"})
    for ref in (None, old_commit):
        data = call_tool("search_docs", query="finds", ref=ref).data
        commit = ref or repo.head()
        assert data["commit"] == commit
        assert data["blobs"] == {"api.md": repo.git("rev-parse", f"{commit}:api.md").strip()}


def test_search_without_hits_has_no_blobs_but_next_step(call_tool: CallTool) -> None:
    answer = call_tool("search_docs", query="endpoinds")
    assert (answer.data["hits"], answer.data["next_cursor"], "blobs" in answer.data) == ([], None, False)
    tool, fields = parse_next_call(answer)
    assert tool == "search_docs"
    assert call_tool(tool, **fields).data["hits"]
    assert call_tool("search_docs", query="zzzzzz").data["next_step"]
