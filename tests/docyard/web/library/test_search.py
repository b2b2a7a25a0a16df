"""Search on its page: hits, filters, pages, and what is said where nothing is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from docyard.web.library.search import SnippetBlock, SnippetRun, parse_snippet
from index.matches import Matcher
from tests.docyard.web.serving import Served, serving
from tests.loops import loop_over
from tests.repositories import Repo, normal

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
    many = {f"many/{number:02}.md": f"# Harvest {number}\n\nApples and pears.\n" for number in range(45)}
    files = {
        "guides/retries.md": RETRIES,
        "specs/a.md": "---\ntype: spec\n---\n# Alpha\n\nOmega <i>.\n",
        **many,
    }
    return normal(tmp_path_factory.mktemp("search") / "r", files)


@pytest.fixture(scope="module")
def served(repo: Repo) -> Iterator[Served]:
    with serving(repo.path) as served:
        served.site.index().follow()
        yield served


def test_a_hit_links_its_section_and_marks_the_words(served: Served, repo: Repo) -> None:
    page = served.get("/search?q=RateLimitError")
    assert 'href="/doc/guides/retries.md#backoff-strategy">Backoff strategy</a>' in page
    assert "<code><mark>RateLimitError</mark></code>" in page
    assert '<pre class="snippet"><code>raise <mark>RateLimitError</mark>(&#34;&lt;b&gt;&#34;)' in page
    assert repo.head()[:8] in page
    assert 'value="RateLimitError"' in page


def test_a_hit_tells_the_headings_above(served: Served) -> None:
    assert '<span class="step">Backoff strategy</span>' in served.get("/search?q=five+tries")


def test_filters_are_lists_of_what_there_is(served: Served) -> None:
    page = served.get("/search?q=retry&type=guide")
    assert re.search(r"<option\s+selected\s*>guide</option>", page)
    assert re.search(r"<option\s*>spec</option>", page)
    assert "Backoff strategy" in page


def test_more_leads_to_the_next_page_and_back(served: Served) -> None:
    first = served.get("/search?q=apples&path=many")
    assert first.count('class="hit"') == 20
    found = re.search(r'rel="next"[^>]*href="([^"]+)"', first)
    assert found
    second = served.get(unescape(found[1]))
    assert second.count('class="hit"') == 20
    assert "First page" in second
    assert "path=many" in found[1]


def test_another_query_with_the_old_cursor_is_said_on_the_page(served: Served) -> None:
    found = re.search(r"cursor=([^\"&]+)", served.get("/search?q=apples"))
    assert found
    page = served.get(f"/search?q=pears&cursor={found[1]}")
    assert "cursor" in page
    assert "From the beginning" in page


def test_a_misspelt_word_is_asked_for_as_it_was_meant(served: Served) -> None:
    page = served.get("/search?q=bakoff")
    assert "Nothing found" in page
    assert 'href="/search?q=Backoff"' in page
    assert "0 results" not in page


def test_a_filter_that_empties_the_list_can_be_left_out(served: Served) -> None:
    page = served.get("/search?q=omega&type=guide")
    assert "Nothing found" in page
    assert "suggested_filters" not in page
    assert 'href="/search?q=omega&amp;type=spec"' in page
    assert 'href="/search?q=omega"' in page


def test_a_value_that_is_not_there_leads_to_the_nearest(served: Served) -> None:
    page = served.get("/search?q=omega&type=spex")
    assert 'href="/search?q=omega&amp;type=spec"' in page


def test_a_key_may_have_any_name(tmp_path: Path) -> None:
    keys = ("url", "self", "method", "values")
    files = {
        "docyard.toml": "".join(f"[taxonomy.{key}]\n" for key in keys),
        "a.md": "---\n" + "".join(f"{key}: one\n" for key in keys) + "---\n# A\n\nquartz\n",
    }
    with serving(normal(tmp_path / "r", files).path) as served:
        for key in keys:
            assert 'href="/doc/a.md"' in served.get(f"/search?q=quartz&{key}=one")
            assert f"{key}=one" in served.get(f"/search?q=quartc&{key}=one")


@loop_over(
    ("query", "said"),
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
def test_no_query_is_an_error_page(served: Served, query: str, said: str) -> None:
    response = served.client.get("/search", params={"q": query})
    assert response.status_code == 200
    assert said in response.text
    assert "<script>alert" not in response.text


def test_the_past_is_searched(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r", {"a.md": "# A\n\nquartz\n"})
    repo.commit({"a.md": "# A\n\nfeldspar\n"})
    with serving(repo.path) as served:
        page = served.get("/search?q=quartz&ref=HEAD~1")
        assert 'href="/doc/a.md?ref=HEAD~1"' in page
        assert '<input type="hidden" name="ref" value="HEAD~1">' in page
        assert "Nothing found" in served.get("/search?q=quartz")
        assert "nowhere" in served.get("/search?q=quartz&ref=nowhere")


@loop_over(
    ("snippet", "expected"),
    [
        ("One two.", [SnippetBlock(False, (SnippetRun("One "), SnippetRun("two", True), SnippetRun(".")))]),
        (
            "- [ ] **Two** [two](x.md)",
            [SnippetBlock(False, (SnippetRun("Two", True), SnippetRun(" "), SnippetRun("two", True)))],
        ),
        (
            "a `two` b",
            [SnippetBlock(False, (SnippetRun("a "), SnippetRun("two", True, True), SnippetRun(" b")))],
        ),
        ("```\na\n  two\n```", [SnippetBlock(True, (SnippetRun("a\n  "), SnippetRun("two", True)))]),
        (
            "a\n```sh\nb\n```\nc",
            [
                SnippetBlock(False, (SnippetRun("a"),)),
                SnippetBlock(True, (SnippetRun("b"),)),
                SnippetBlock(False, (SnippetRun("c"),)),
            ],
        ),
        (
            "| a | two |\n|---|---|\n| b \\| c | |",
            [SnippetBlock(False, (SnippetRun("a · "), SnippetRun("two", True), SnippetRun(" · b \\| c")))],
        ),
        ("a\n- b\n2. [ ] c", [SnippetBlock(False, (SnippetRun("a · b · c"),))]),
        ("", []),
    ],
    ids=["words", "markup", "code", "fence", "mixed", "table", "list", "empty"],
)
def test_snippets_show_words_and_code(snippet: str, expected: list[SnippetBlock]) -> None:
    assert parse_snippet(snippet, Matcher({"two"})) == expected
