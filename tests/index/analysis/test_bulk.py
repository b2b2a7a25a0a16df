"""The bulk expansion of raw tokens, which equals the expansion of each token."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from index.analysis.expansion import MAX_TERM_LENGTH, expand_raw_token, expand_raw_tokens
from index.analysis.words import STOP_WORDS, split_raw_tokens
from tests.loops import loop_over

NAMES = st.text("abzsABZS019_.-/@:'+#", min_size=1, max_size=14)
WORDS = st.sampled_from(
    ["the", "The", "APIs", "APIsX", "HTTPServer2", "std::", "--flag", "-x", "don't", "it's"]
)
UNUSUAL_TEXTS = st.text("aA.\u00e9\u2019\u00ad\u4f7f\ufb01\ud800", max_size=6)
RAW_TEXTS = st.lists(st.lists(NAMES | WORDS | UNUSUAL_TEXTS, min_size=1, max_size=3).map("".join))


def expand_individually(raw_tokens: list[bytes]) -> list[list[str]]:
    return [expand_raw_token(raw_token) for raw_token in raw_tokens]


@given(RAW_TEXTS)
@example(["APIsX", "aPIs", "ABs", "ABsC", "ABS", "4Ab", "A4Ab", "a4A", "AAs.B", "As_b", "ABs_", "ABs"])
@example(["and/or", "std::vector", "a/the/B", "Foo/foo", "a@b.c", "x::y::", "::x", "a//b", "a:b", "the-the"])
@example(
    ["_", "__init__", "_.-", "a_", "-", "--", "-a", "--a", ".-a", "-.a", "a-", "a--b", "'a'", "a'", "'s"]
)
@example(
    ["C++", "C#", "#a", "a#1", "a+", "node.js", "node.js.", "1.2.3", "v1/search", "dOes", "WASN'T", "oNce"]
)
def test_bulk_expansion_equals_expansion_of_each_token(texts: list[str]) -> None:
    raw_tokens = split_raw_tokens([text.encode("utf-8", "surrogatepass") for text in texts])
    assert expand_raw_tokens(raw_tokens) == expand_individually(raw_tokens)


def test_bulk_expansion_of_invalid_utf8_equals_expansion_of_each_token() -> None:
    raw_tokens = [b"a\xc3", b"b", b"\xe2\x82", b"\x80c", b"\xff.d", b"e\x00f", b"\xf0\x9f\x94"]
    assert expand_raw_tokens(raw_tokens) == expand_individually(raw_tokens)


@loop_over("length", [MAX_TERM_LENGTH - 1, MAX_TERM_LENGTH, MAX_TERM_LENGTH + 1, 5000])
@loop_over("piece", ["a", "aB", "a.", "_", "a/"])
def test_long_tokens_are_truncated_at_the_same_length(piece: str, length: int) -> None:
    raw_tokens = [(piece * length)[:length].encode()]
    assert expand_raw_tokens(raw_tokens) == expand_individually(raw_tokens)


def test_bulk_expansion_of_stop_words_equals_expansion_of_each_token() -> None:
    raw_tokens = [
        form.encode()
        for word in sorted(STOP_WORDS)
        for form in (word, word.title(), f"{word}/a", f"x-{word}")
    ]
    assert expand_raw_tokens(raw_tokens) == expand_individually(raw_tokens)


def test_no_tokens_give_no_terms() -> None:
    assert expand_raw_tokens([]) == []
