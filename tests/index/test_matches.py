"""Every token that stands for a term is found, where a plain look at all tokens finds it."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis import TOKEN, expand, weigh
from index.analysis.words import normalize
from index.matches import Match, Matcher, Searchable, _terms_in
from tests.examples import examples

PIECES = [
    *(
        "retry",
        "Retries",
        "RETRYING",
        "re",
        "RateLimitError",
        "rate_limit",
        "--dry-run",
        "/v1/search",
        "E0308",
    ),
    *("C++", "C#", "std::vector", "foo.bar()", "user@example.org", "don't", "v1.2.3", "x", "use", "used"),
    *(
        "café",
        "Éclair",
        "ﬁle",
        "検索",
        "検索エンジン",
        "ประเทศไทย",
        "—",
        "\u2019s",
        "\u00ad",
        "🎉",
        "\0",
        "Straße",
    ),
    *(" ", "\n", ", ", ".", "-", "'", "#", "+", ":", "/", "(", "`", "**"),
]
QUERIES = [
    "retry",
    "rate limit error",
    "RateLimitError use",
    "café éclair",
    "検索",
    "x c++ C#",
    "/v1/search 1.2.3",
    "don't --dry-run E0308 std::vector",
    "user@example.org foo.bar use rate_limit",
]


def matches(text: str, terms: frozenset[str]) -> list[Match]:
    return Matcher(terms).matches(text)


def plainly(text: str, terms: frozenset[str]) -> list[Match]:
    found = [
        (token.start(), frozenset(term for term in expand(token[0]) if term in terms))
        for token in TOKEN.finditer(text)
    ]
    return [match for match in found if match[1]]


@settings(max_examples=examples(150), deadline=None)
@given(
    text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60),
    query=st.sampled_from(QUERIES) | st.text(max_size=20),
)
def test_it_finds_what_a_look_at_every_token_finds(text: str, query: str) -> None:
    terms = frozenset(weigh(TOKEN.findall(normalize(query))))
    assert matches(text, terms) == plainly(text, terms)


def test_positions_count_characters() -> None:
    text = "é — Retry, retry;検索 RETRIES"
    terms = frozenset(expand("retries"))
    assert [text[position : position + 5].lower() for position, _ in matches(text, terms)] == [
        "retry",
        "retry",
        "retri",
    ]


def test_neighbours_that_are_equal_are_found_each() -> None:
    assert [position for position, _ in matches("go go gone go", frozenset({"go"}))] == [0, 3, 11]


def test_the_next_text_is_searched_as_the_first_was() -> None:
    matcher = Matcher({"retri", "limit"})
    for text in ("retry the limit", "limits, retried"):
        assert matcher.matches(text) == plainly(text, frozenset({"retri", "limit"}))


def test_a_long_word_is_looked_at_by_its_tokens_and_not_remembered() -> None:
    text = "é " + "没有空格。" * 100 + "检索引擎。" * 2 + "a/" * 200 + "," + "-" * 200 + "retry"
    terms = frozenset({"检索", "retri"})
    remembered = _terms_in.cache_info().currsize
    places, held = Matcher(terms).words(Searchable(text))
    assert [*zip(places, held, strict=True)] == plainly(text, terms)
    assert _terms_in.cache_info().currsize == remembered


def test_a_long_word_takes_time_that_grows_with_its_length() -> None:
    started = time.process_time()
    for text in ("é " + "a" * 300_000 + " x", "-" * 300_000 + " é"):
        assert matches(text, frozenset({"y"})) == []
    assert time.process_time() - started < 5  # it were minutes if it grew with the square


def test_nothing_is_asked_for() -> None:
    assert matches("some text", frozenset()) == []
