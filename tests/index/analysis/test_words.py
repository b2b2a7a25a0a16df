"""The analysis of words: the terms of texts and queries."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from index.analysis.expansion import MAX_TERM_LENGTH, expand_raw_token
from index.analysis.terms import (
    MAX_WEIGHT,
    count_heading_terms,
    count_text_terms,
    extract_token_terms,
    weigh_query_terms,
    weigh_section_terms,
)
from index.analysis.words import BREAK, TOKEN, normalize, split_raw_tokens
from index.documents import IndexedDocument
from index.query import parse_query
from tests.loops import loop_over
from workspace.document.document import Document

SEPARATORS = [".", ". ", ".\n", "::", ":", "/", "'", "-", "--", "++", "#", "@", "_", "\u2019", "\0", "\u00ad"]
WORDS = ["std", "Foo", "HTTPServer2", "the", "café", "使用", "ไทย", "हिन्दी", "שָׁלוֹם", "ﬁ", "\u0301", "C"]
PIECES = st.one_of(st.text(max_size=8), st.sampled_from(SEPARATORS), st.sampled_from(WORDS))


@loop_over(
    ("token", "terms"),
    [
        ("running", ("run",)),
        ("RateLimitError", ("ratelimiterror", "rate", "limit", "error")),
        ("snake_case", ("snake_case", "snake", "case")),
        ("kebab-case", ("kebab-case", "kebab", "case")),
        ("std::vector", ("std::vector", "std", "vector")),
        ("v1/search", ("v1/search", "v1", "search")),
        ("v1.2.3", ("v1.2.3", "v1", "2", "3")),
        ("user@example.org", ("user@example.org", "user", "example.org", "exampl", "org")),
        ("__init__", ("__init__", "init")),
        ("--labels", ("--labels", "label")),
        ("--dry-run", ("--dry-run", "dry-run", "dri", "run")),
        ("APIs", ("api",)),
        ("parseURLs", ("parseurl", "pars", "url")),
        ("HTTPServer2", ("httpserver2", "http", "server2")),
        ("Base64Encoder", ("base64encod", "base64", "encod")),
        ("token4", ("token4",)),
        ("sha256", ("sha256",)),
        ("E0308", ("e0308",)),
        ("C++", ("c++", "c")),
        ("C#", ("c#", "c")),
        ("node.js", ("node.js", "node", "js")),
        ("and/or", ("and/or",)),
        ("don't", ("don't",)),
        ("server\u2019s", ("server",)),
        ("café", ("cafe",)),
        ("Ёлка", ("елка",)),
        ("Ὀδυσσεύς", ("οδυσσευσ",)),
        ("שָׁלוֹם", ("שלום",)),
        ("اَلْعَرَبِيَّة", ("العربية",)),
        ("हिन्दी", ("हिन्दी",)),
        ("ﬁle", ("file",)),
        ("soft\u00adware", ("softwar",)),
        ("使用docker容器", ("使用", "docker", "容器")),
        ("字", ("字",)),
        ("ภาษา", ("ภา", "าษ", "ษา")),
        ("___", ()),
    ],
)
def test_token_expands_to_its_terms(token: str, terms: tuple[str, ...]) -> None:
    assert extract_token_terms(token) == terms


@loop_over(
    ("text", "query"),
    [
        ("raises `RateLimitError`.", "ratelimiterror"),
        ("raises RateLimitError, then", "rate limits"),
        ("the RATE_LIMIT, in seconds", "rate_limit"),
        ("pass --dry-run: nothing happens", "--dry-run"),
        ("pass --dry-run", "dry run"),
        ("pass --dry-run=client", "dry-run"),
        ("`--labels`", "label"),
        ("`GET /v1/search?q=a`", "/v1/search"),
        ("GET /v1/search.", "v1/search/"),
        ("error[E0308]: mismatched", "e0308"),
        ("in C++, C# and (F#)", "c++ f# c#"),
        ("a std::vector<int>&", "std::vector"),
        ("calls foo.bar() twice", "foo.bar"),
        ("calls foo.bar()", "FOO.bar()"),
        ("all RateLimits", "ratelimits"),
        ("on macOS", "macos"),
        ("see v1.2.3.", "v1.2.3"),
        ("mail <user@example.org>", "User@Example.org"),
        ("the *servers*' **names**", "server name"),
        ("\u2018quoted\u2019 \u2014 \u201cwords\u201d\u2026", "quoted words"),
        ("wide\u00a0spaces\u3000too", "wide spaces"),
        ("한국어를 씁니다", "한국어"),
    ],
)
def test_typed_words_match_whole_tokens_and_parts(text: str, query: str) -> None:
    assert parse_query(query).terms.keys() <= count_text_terms(text).keys()


def test_letters_and_digits_are_not_split() -> None:
    assert count_text_terms("token4").keys().isdisjoint(count_text_terms("token5 token 4 5"))


@loop_over(
    "text",
    [
        "[word](zebra.md)",
        '![word](<zebra crossing.png> "zebra")',
        "[word][word]\n\n[word]: http://zebra.example",
        "word {#zebra}",
        "word {#zebra .class}",
        "word { #zebra }",
        "word {: #zebra .class }",
        "word <#zebra>",
        '<a id="zebra"></a> word',
        "word <!-- zebra -->",
        "word <!-- zebra",
        "word &zebra;",
    ],
)
def test_invisible_markup_is_not_indexed(text: str) -> None:
    assert set(count_text_terms(text)) == {"word"}


def test_code_is_indexed() -> None:
    assert {"vector", "int", "foo", "name"} <= set(
        count_text_terms('`vector<int>`\n\n```toml\nname = "foo"\n```\n')
    )


def test_stop_words_count_in_headings_and_stop_word_queries() -> None:
    assert count_text_terms("this is the end") == {"end": 1}
    assert count_heading_terms("Why not?") == {"why": 1, "not": 1}
    assert parse_query("why not").terms == {"why": 1, "not": 1}
    assert parse_query("why not retry retries").terms == {"retri": 2}


def test_whole_name_outweighs_its_parts() -> None:
    assert parse_query("a RateLimitError").terms == {"ratelimiterror": 4, "rate": 1, "limit": 1, "error": 1}
    assert parse_query("C++ and --labels").terms == {"c++": 2, "c": 1, "--labels": 2, "label": 1}
    assert set(parse_query("使用容器").terms.values()) == {1}


def test_dashes_between_words_are_not_flags() -> None:
    assert count_text_terms("two--six, foo -- bar --- baz").keys() == {"two", "six", "foo", "bar", "baz"}


def test_long_token_is_truncated_and_expanded_to_all_parts() -> None:
    assert extract_token_terms("f" * 1000) == ("f" * MAX_TERM_LENGTH,)
    whole_term, *part_terms = extract_token_terms("/".join(f"part{i}" for i in range(100)))
    assert len(whole_term) == MAX_TERM_LENGTH
    assert part_terms == [f"part{i}" for i in range(100)]


def test_section_weights_include_text_heading_and_parent_headings() -> None:
    data = (
        b"# Retry guide\n\nIntro.\n\n## Retry\n\nA retry.\n\n### Limits\n\nA retry limit; " + b"word " * 300
    )
    document = IndexedDocument.of(Document.parse(data, "a.md"), "0" * 40)
    weights = [weigh_section_terms(document, section) for section in document.sections]
    assert weights == [
        {"retri": 2, "guid": 2, "intro": 1},
        {"retri": 1 + 2 + 1, "guid": 1},
        {"retri": 1 + 1 + 1, "guid": 1, "limit": 1 + 2, "word": MAX_WEIGHT},
    ]


@given(st.lists(PIECES).map("".join))
@example("a.\u0301b")
@example("ab\0cd")
def test_raw_tokens_and_whole_text_have_the_same_terms(text: str) -> None:
    raw_tokens = split_raw_tokens([text.encode("utf-8", "surrogatepass")])
    assert BREAK not in raw_tokens
    term_counts = Counter(term for raw_token in raw_tokens for term in expand_raw_token(raw_token))
    text_with_replacements = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert term_counts == Counter(
        term
        for token in TOKEN.findall(normalize(text_with_replacements))
        for term in extract_token_terms(token)
    )


@given(st.lists(st.binary(max_size=20).map(lambda text: text + b" "), min_size=1))
def test_texts_are_separated_by_one_break_each(texts: list[bytes]) -> None:
    tokens_by_text: list[list[bytes]] = [[]]
    for raw_token in split_raw_tokens(texts):
        if raw_token == BREAK:
            tokens_by_text.append([])
        else:
            tokens_by_text[-1].append(raw_token)
    assert tokens_by_text == [split_raw_tokens([text]) for text in texts]


@given(st.lists(PIECES).map("".join))
def test_query_terms_are_subset_of_indexed_terms(text: str) -> None:
    indexed_terms = count_heading_terms(text)
    assert set(weigh_query_terms(TOKEN.findall(normalize(text)))) <= set(indexed_terms)
    assert all(0 < len(part) <= MAX_TERM_LENGTH for part in indexed_terms)
    "".join(indexed_terms).encode()


@given(st.text(alphabet="abCD1_.-/:@+#'s", max_size=30))
def test_whole_term_does_not_depend_on_case(text: str) -> None:
    for token in TOKEN.findall(text):
        assert (
            extract_token_terms(token)[:1]
            == extract_token_terms(token.upper())[:1]
            == extract_token_terms(token.lower())[:1]
        )


@pytest.mark.growth
@loop_over(
    "markup",
    [
        "<!--",
        "](",
        "[](((",
        "](a",
        '](a "',
        "{#a",
        "{ ",
        "{: #a",
        "<#a",
        "<a ",
        "[",
        "&a",
        "\n[a",
        "](a(b",
        "] (<",
        "_" * 3,
        "a.",
        "a/",
        "a::",
        "aB",
        "x",
        "é'",
        "e\u0301\u0316",
        "\u0301\u0316",
        "字",
        "\0",
    ],
)
def test_hostile_markup_takes_linear_time(markup: str) -> None:
    def measure_seconds(count: int) -> float:
        shortest_time = float("inf")
        for _ in range(3):
            start = time.process_time()
            count_text_terms(markup * count)
            shortest_time = min(shortest_time, time.process_time() - start)
        return shortest_time

    # Four times the text should take four times as long; the factor 6 and 50 ms allow for inexact clocks.
    assert measure_seconds(20_000) < 6 * measure_seconds(5_000) + 0.05
