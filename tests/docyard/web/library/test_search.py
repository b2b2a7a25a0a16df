"""The search page: hits, filters, paging, and suggestions for a query without hits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.docyard.web.page_server import PageServer, serve_pages
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

RETRIES = """---
type: guide
tags: [http]
---
# Retries

## Backoff strategy

Wait, **then** retry; see [timeouts](timeouts.md) and `RateLimitError`.

```python
raise RateLimitError("<b>")
```

### Limits

At most five tries.
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    numbered_files = {
        f"many/{number:02}.md": f"# Harvest {number}\n\nApples and pears.\n" for number in range(45)
    }
    files = {
        "guides/retries.md": RETRIES,
        "specs/a.md": "---\ntype: spec\n---\n# Alpha\n\nOmega <i>.\n",
        **numbered_files,
    }
    return create_repository(tmp_path_factory.mktemp("search") / "r", files)


@pytest.fixture(scope="module")
def server(repo: Repo) -> Iterator[PageServer]:
    with serve_pages(repo.path) as server:
        server.site.index().update_to_tip()
        yield server


def test_hit_links_to_section_and_marks_terms(server: PageServer, repo: Repo) -> None:
    page = server.get("/search?q=RateLimitError")
    assert 'href="/doc/guides/retries.md#backoff-strategy">Backoff strategy</a>' in page
    assert "<code><mark>RateLimitError</mark></code>" in page
    assert '<pre class="snippet"><code>raise <mark>RateLimitError</mark>(&#34;&lt;b&gt;&#34;)' in page
    assert repo.head()[:8] in page
    assert 'value="RateLimitError"' in page


def test_hit_shows_its_parent_headings(server: PageServer) -> None:
    assert '<span class="step">Backoff strategy</span>' in server.get("/search?q=five+tries")


def test_filters_list_existing_values(server: PageServer) -> None:
    page = server.get("/search?q=retry&type=guide")
    assert re.search(r"<option\s+selected\s*>guide</option>", page)
    assert re.search(r"<option\s*>spec</option>", page)
    assert "Backoff strategy" in page


def test_search_links_to_next_and_first_page(server: PageServer) -> None:
    first_page = server.get("/search?q=apples&path=many")
    assert first_page.count('class="hit"') == 20
    match = re.search(r'rel="next"[^>]*href="([^"]+)"', first_page)
    assert match
    second_page = server.get(unescape(match[1]))
    assert second_page.count('class="hit"') == 20
    assert "First page" in second_page
    assert "path=many" in match[1]


def test_cursor_of_another_query_is_reported(server: PageServer) -> None:
    match = re.search(r"cursor=([^\"&]+)", server.get("/search?q=apples"))
    assert match
    page = server.get(f"/search?q=pears&cursor={match[1]}")
    assert "cursor" in page
    assert "From the beginning" in page


def test_outdated_cursor_links_to_the_beginning(tmp_path: Path) -> None:
    files = {f"{number:02}.md": f"# Harvest {number}\n\nApples.\n" for number in range(25)}
    repo = create_repository(tmp_path / "docs", files)
    with serve_pages(repo.path) as server:
        match = re.search(r"cursor=([^\"&]+)", server.get("/search?q=apples"))
        assert match
        repo.commit({"new.md": "# New\n\nApples.\n"})
        assert "From the beginning" in server.get(f"/search?q=apples&cursor={match[1]}")


def test_misspelt_word_has_a_suggestion(server: PageServer) -> None:
    page = server.get("/search?q=bakoff")
    assert "Nothing found" in page
    assert 'href="/search?q=Backoff"' in page
    assert "0 results" not in page


def test_empty_filtered_result_suggests_other_filters(server: PageServer) -> None:
    page = server.get("/search?q=omega&type=guide")
    assert "Nothing found" in page
    assert "suggested_filters" not in page
    assert 'href="/search?q=omega&amp;type=spec"' in page
    assert 'href="/search?q=omega"' in page


def test_unknown_filter_value_suggests_the_nearest(server: PageServer) -> None:
    page = server.get("/search?q=omega&type=spex")
    assert 'href="/search?q=omega&amp;type=spec"' in page


def test_taxonomy_key_of_any_name_is_a_filter(tmp_path: Path) -> None:
    keys = ("url", "self", "method", "values")
    files = {
        "docyard.toml": "".join(f"[taxonomy.{key}]\n" for key in keys),
        "a.md": "---\n" + "".join(f"{key}: one\n" for key in keys) + "---\n# A\n\nquartz\n",
    }
    with serve_pages(create_repository(tmp_path / "r", files).path) as server:
        for key in keys:
            assert 'href="/doc/a.md"' in server.get(f"/search?q=quartz&{key}=one")
            assert f"{key}=one" in server.get(f"/search?q=quartc&{key}=one")


@loop_over(
    ("query", "message"),
    [
        ("", "Use the words"),
        ("   ", "Use the words"),
        (" ".join(f"word{number}" for number in range(400)), "few most important words"),
        ("x" * 20_000, "few most important words"),
        ("???", "Nothing found"),
        ("<script>alert(zebra)</script>", "Nothing found"),
        ("\x00\ud7ff", "Nothing found"),
    ],
    ids=["empty", "blank", "many-words", "long", "marks", "markup", "odd"],
)
def test_every_query_renders_a_page(server: PageServer, query: str, message: str) -> None:
    response = server.client.get("/search", params={"q": query})
    assert response.status_code == 200
    assert message in response.text
    assert "<script>alert" not in response.text


def test_search_at_a_ref_finds_old_text(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r", {"a.md": "# A\n\nquartz\n"})
    repo.commit({"a.md": "# A\n\nfeldspar\n"})
    with serve_pages(repo.path) as server:
        page = server.get("/search?q=quartz&ref=HEAD~1")
        assert 'href="/doc/a.md?ref=HEAD~1"' in page
        assert '<input type="hidden" name="ref" value="HEAD~1">' in page
        assert "Nothing found" in server.get("/search?q=quartz")
        assert "nowhere" in server.get("/search?q=quartz&ref=nowhere")
