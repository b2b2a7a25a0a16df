"""Suggestions while a query is typed: a few escaped hits, and nothing for a query that cannot be searched."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from docyard.web.library.suggestions import MAX_SNIPPET_CHARS, MAX_SUGGESTIONS
from tests.docyard.web.page_server import PageServer, ParsedPage, serve_pages
from tests.loops import loop_over
from tests.repositories import create_repository

FILES = {
    "a.md": "# Retries\n\n## Backoff & <more>\n\nA client waits & waits, `code` <script>alert(1)</script>.\n",
    "b c/d#.md": "# Odd\n\nA client " + "waits and waits " * 100 + "\n",
    **{f"many/{number}.md": f"# Number {number}\n\nA parcel is tracked.\n" for number in range(12)},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    with serve_pages(create_repository(tmp_path_factory.mktemp("suggest") / "r", FILES).path) as pages:
        pages.site.index().update_to_tip()
        yield pages


def test_hits_are_options_with_address_and_snippet(server: PageServer) -> None:
    html = server.get("/suggest?q=client+waits")
    assert "<html" not in html
    options = ParsedPage(html).find_all("li")
    assert len(options) == 2
    assert "/doc/b%20c/d%23.md" in {option["data-url"] for option in options}
    assert all(option["role"] == "option" and option["id"] for option in options)
    assert "<mark>client</mark>" in html
    assert "<strong>Backoff &amp;" in html
    assert "<script" not in html
    texts = re.findall(r'<span class="words">(.*?)</span>', html)
    assert all(len(re.sub("<[^>]*>", "", text)) <= MAX_SNIPPET_CHARS + 20 for text in texts)


def test_at_most_a_few_hits_are_suggested_for_an_unfinished_word(server: PageServer) -> None:
    for query in ("parcel", "parc"):
        html = server.get(f"/suggest?q={query}")
        assert html.count('role="option"') == MAX_SUGGESTIONS
        assert len(html) < 6_000


@loop_over(
    "query", ["", "q=", "q=a", "q=%00%01", "q=%22", "q=-", "q=" + "x" * 5_000, "q=zebra&ref=none", "q=(AND"]
)
def test_other_queries_have_no_suggestions(server: PageServer, query: str) -> None:
    assert server.get(f"/suggest?{query}").strip() == ""


def test_suggestions_keep_the_ref(server: PageServer) -> None:
    assert 'data-url="/doc/a.md?ref=HEAD#' in server.get("/suggest?q=client&ref=HEAD")
