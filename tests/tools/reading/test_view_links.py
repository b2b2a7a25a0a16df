"""view_document shows the links and backlinks of a document or section."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool

FILES = {
    "api.md": "# API\n\nSee [setup](guides/setup.md#install).\n\n"
    "## Limits\n\nMore [there](guides/setup.md), [lost](gone.md#x) and [web](https://example.org/).\n\n"
    "### Daily\n\n![plot](plot.svg) [up](#limits) [no](#nowhere)\n",
    "guides/setup.md": "# Setup\n\n## Install\n\nBack to [limits][l] and <a href='../api.md'>all</a>.\n\n"
    "[l]: ../api.md#limits 'Limits'\n",
    "other.md": "# Other\n\n[daily](api.md#daily)\n",
    "alone.md": "# Alone\n",
    "plot.svg": "<svg/>",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


def view_links(call_tool: CallTool, **arguments: Any) -> dict[str, Any]:
    answer = call_tool("view_document", **arguments)
    assert not answer.is_error, answer.data
    links_field: dict[str, Any] = answer.data["links"]
    return links_field


def test_document_has_links_and_backlinks(call_tool: CallTool) -> None:
    assert view_links(call_tool, file="api.md") == {
        "outgoing": [
            {"to": "guides/setup.md#install", "line": 3, "kind": "inline"},
            {"to": "guides/setup.md", "line": 7, "kind": "inline"},
            {"to": "gone.md#x", "line": 7, "kind": "inline", "broken": True},
            {"to": "https://example.org/", "line": 7, "kind": "inline"},
            {"to": "plot.svg", "line": 11, "kind": "inline", "image": True},
            {"to": "api.md#limits", "line": 11, "kind": "inline"},
            {"to": "#nowhere", "line": 11, "kind": "inline", "broken": True},
        ],
        "outgoing_total": 7,
        "backlinks": [
            {"from": "api.md#limits/daily", "line": 11},
            {"from": "guides/setup.md#install", "line": 5},
            {"from": "guides/setup.md#install", "line": 5},
            {"from": "other.md#_preamble", "line": 3},
        ],
        "backlinks_total": 4,
    }


def test_section_has_own_links_or_also_links_of_subsections(call_tool: CallTool) -> None:
    own_links = view_links(call_tool, file="api.md", slug="limits")
    assert [link["line"] for link in own_links["outgoing"]] == [7, 7, 7]
    assert [link["from"] for link in own_links["backlinks"]] == [
        "api.md#limits/daily",
        "guides/setup.md#install",
    ]
    all_links = view_links(call_tool, file="api.md", slug="limits", include_subsections=True)
    assert (all_links["outgoing_total"], all_links["backlinks_total"]) == (6, 3)


def test_links_to_document_count_for_preamble(call_tool: CallTool) -> None:
    assert [
        link["from"] for link in view_links(call_tool, file="guides/setup.md", slug="_preamble")["backlinks"]
    ] == ["api.md#limits"]


def test_document_without_links_has_no_links_field(call_tool: CallTool) -> None:
    data = call_tool("view_document", file="alone.md").data
    assert "links" not in data
    assert "hints" not in data


def test_link_just_written_is_listed(call_tool: CallTool) -> None:
    assert "links" not in call_tool("view_document", file="alone.md").data
    call_tool(
        "edit_document",
        operation="append_content",
        file="other.md",
        slug="_preamble",
        content="[a](alone.md)",
    )
    assert view_links(call_tool, file="alone.md") == {
        "backlinks": [{"from": "other.md#_preamble", "line": 5}],
        "backlinks_total": 1,
    }


def test_first_of_many_links_are_shown(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"many.md": "# Many\n\n" + "[x](alone.md)\n" * 10_000})
    data = call_tool("view_document", file="alone.md").data
    assert len(data["links"]["backlinks"]) == 20
    assert data["links"]["backlinks_total"] == 10_000
    assert any("the first 20 of 10,000 backlinks" in hint for hint in data["hints"])


def test_unfinished_link_graph_is_reported(call_tool: CallTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.outline._GRAPH_TIMEOUT_S", 0.0)
    monkeypatch.setattr("index.link_graph.graph.LinkGraph.update_to", lambda *_, **__: None)
    data = call_tool("view_document", file="api.md").data
    assert "backlinks" not in data["links"]
    assert any("not indexed yet" in hint for hint in data["hints"])
