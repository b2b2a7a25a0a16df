"""Words: what a text is found by."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import MAX_TOKEN, expand, terms_of_heading, terms_of_query, terms_of_text


@pytest.mark.parametrize(
    ("token", "terms"),
    [
        ("running", ("run",)),
        ("RateLimitError", ("ratelimiterror", "rate", "limit", "error")),
        ("snake_case", ("snake_case", "snake", "case")),
        ("APIs", ("api",)),
        ("HTTPServer2", ("httpserver2", "http", "server2")),
        ("token4", ("token4",)),
        ("C++", ("c++", "c")),
        ("node.js", ("node.js", "node", "js")),
        ("don't", ("don't",)),
        ("server\u2019s", ("server",)),
        ("café", ("cafe",)),
        ("使用docker容器", ("使用", "docker", "容器")),
    ],
)
def test_a_token_stands_for_its_terms(token: str, terms: tuple[str, ...]) -> None:
    assert expand(token) == terms


@pytest.mark.parametrize(
    "text",
    [
        "[word](zebra.md)",
        '![word](<zebra crossing.png> "zebra")',
        "[word][word]\n\n[word]: http://zebra.example",
        "word {#zebra}",
        "word {#zebra .class}",
        "word <#zebra>",
        '<a id="zebra"></a> word',
        "word <!-- zebra -->",
        "word <!-- zebra",
        "word &zebra;",
    ],
)
def test_what_readers_do_not_see_is_not_indexed(text: str) -> None:
    assert set(terms_of_text(text)) == {"word"}


def test_code_is_indexed() -> None:
    assert {"vector", "int", "foo", "name"} <= set(
        terms_of_text('`vector<int>`\n\n```toml\nname = "foo"\n```\n')
    )


def test_stop_words_count_in_headings_and_when_nothing_else_is_asked() -> None:
    assert terms_of_text("this is the end") == {"end": 1}
    assert terms_of_heading("Why not?") == {"why": 1, "not": 1}
    assert terms_of_query("why not") == {"why": 1, "not": 1}
    assert terms_of_query("why not retry retries") == {"retri": 2}


@given(st.text())
def test_text_and_query_agree_on_words(text: str) -> None:
    indexed = terms_of_heading(text)
    assert set(terms_of_query(text)) <= set(indexed)
    assert all(0 < len(part) <= 4 * MAX_TOKEN for part in indexed)
    "".join(indexed).encode()


@pytest.mark.parametrize(
    "bomb",
    [
        "<!--",
        "](",
        "](a",
        '](a "',
        "{#a",
        "<#a",
        "<a ",
        "[",
        "&a",
        "\n[a",
        "](a(b",
        "] (<",
        "_" * 3,
        "a.",
        "é'",
    ],
)
def test_hostile_markup_takes_linear_time(bomb: str) -> None:
    def seconds(count: int) -> float:
        best = 9.0
        for _ in range(3):
            start = time.perf_counter()
            terms_of_text(bomb * count)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(40_000) < 6 * seconds(10_000) + 0.05
