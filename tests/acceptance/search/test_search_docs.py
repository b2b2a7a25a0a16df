"""The tool search_docs through a client, in both protocol versions: breadcrumbs, hints and description."""

from __future__ import annotations

from tests.acceptance.server import Server

FILES = {
    "guides/login.md": "# Authentication\n\n## OAuth\n\nTokens.\n\n### Login\n\nA quagga logs in.\n",
    "guides/untitled.md": "## Zebu\n\nA zebu has no title.\n",
    "okapi/spec.md": "---\ntype: api_spec\ntags: [sdk]\n---\n# Spec\n\nNothing.\n",
    "okapi/run.md": "---\ntype: runbook\ntags: [ops]\n---\n# Run\n\nAn okapi.\n",
}


def test_breadcrumb_begins_with_document_title(server: Server) -> None:
    [hit] = server.call("search_docs", query="quagga").data["hits"]
    assert hit["breadcrumb"] == "Authentication > OAuth > Login"
    [hit] = server.call("search_docs", query="zebu").data["hits"]
    assert hit["breadcrumb"] == "untitled > Zebu"
    breadcrumbs = {
        hit["chunk_id"]: hit["breadcrumb"]
        for hit in server.call("search_docs", query="authentication").data["hits"]
    }
    assert breadcrumbs["guides/login.md#_preamble"] == "Authentication"


def test_combined_filters_without_results_return_suggestions(server: Server) -> None:
    for filters in ({"type": "api_spec", "tags": "sdk"}, {"type": "api_spec", "path": "guides"}):
        data = server.call("search_docs", query="okapi", **filters).data
        assert data["hits"] == []
        assert set(data["hint"]["suggested_filters"]) == set(filters)
        for key, values in data["hint"]["suggested_filters"].items():
            assert values
            for value in values:
                assert server.call("search_docs", query="okapi", **{key: value}).data["hits"]


def test_corpus_without_description_is_described_by_repository_name(server: Server) -> None:
    description = server.list_tools()["search_docs"]["description"]
    assert description.startswith(
        "Search the documentation of docs. Use this to find relevant documentation,"
    )
