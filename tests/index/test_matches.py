"""The matcher, which finds the same tokens as a check of every token."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis.terms import extract_token_terms, weigh_query_terms
from index.analysis.words import TOKEN, normalize
from index.matches import Match, Matcher, SearchableText, _find_terms
from tests.example_counts import scale_examples

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


def find_matches(text: str, terms: frozenset[str]) -> list[Match]:
    return Matcher(terms).find_matches(text)


def match_all_tokens(text: str, terms: frozenset[str]) -> list[Match]:
    all_matches = [
        (token.start(), frozenset(term for term in extract_token_terms(token[0]) if term in terms))
        for token in TOKEN.finditer(text)
    ]
    return [match for match in all_matches if match[1]]


@settings(max_examples=scale_examples(150), deadline=None)
@given(
    text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60),
    query=st.sampled_from(QUERIES) | st.text(max_size=20),
)
def test_matcher_equals_check_of_every_token(text: str, query: str) -> None:
    terms = frozenset(weigh_query_terms(TOKEN.findall(normalize(query))))
    assert find_matches(text, terms) == match_all_tokens(text, terms)


def test_match_positions_count_characters() -> None:
    text = "é — Retry, retry;検索 RETRIES"
    terms = frozenset(extract_token_terms("retries"))
    assert [text[position : position + 5].lower() for position, _ in find_matches(text, terms)] == [
        "retry",
        "retry",
        "retri",
    ]


def test_adjacent_equal_words_are_all_matched() -> None:
    assert [position for position, _ in find_matches("go go gone go", frozenset({"go"}))] == [0, 3, 11]


def test_matcher_is_reusable_for_another_text() -> None:
    matcher = Matcher({"retri", "limit"})
    for text in ("retry the limit", "limits, retried"):
        assert matcher.find_matches(text) == match_all_tokens(text, frozenset({"retri", "limit"}))


def test_long_word_is_matched_by_tokens_and_not_cached() -> None:
    short_word = "é "
    text = short_word + "没有空格。" * 100 + "检索引擎。" * 2 + "a/" * 200 + "," + "-" * 200 + "retry"
    terms = frozenset({"检索", "retri"})
    Matcher(terms).find_words(SearchableText(short_word))
    cache_size = _find_terms.cache_info().currsize
    offsets, terms_of_words = Matcher(terms).find_words(SearchableText(text))
    assert [*zip(offsets, terms_of_words, strict=True)] == match_all_tokens(text, terms)
    assert _find_terms.cache_info().currsize == cache_size


def test_long_word_takes_linear_time() -> None:
    start = time.process_time()
    for text in ("é " + "a" * 300_000 + " x", "-" * 300_000 + " é"):
        assert find_matches(text, frozenset({"y"})) == []
    assert time.process_time() - start < 5  # quadratic growth would take minutes


def test_no_terms_give_no_matches() -> None:
    assert find_matches("some text", frozenset()) == []
