"""Adversarial queries and texts are parsed or refused in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from index.phrases import Phrases, split_phrase_words
from index.port import QueryTooBroad
from index.query import MAX_CHARACTERS, EmptyQuery, parse_query
from tests.index.adversarial_queries import ADVERSARIAL_QUERIES
from tests.loops import loop_over

loop_over_queries = loop_over("make_query", ADVERSARIAL_QUERIES.values(), ids=ADVERSARIAL_QUERIES.keys())


def measure_seconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call, the best of three."""

    def measure_once() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return min(measure_once() for _ in range(3))


def is_linear(long_call: Callable[[], object], short_call: Callable[[], object]) -> bool:
    """Return True if a call with four times the input takes about four times as long.

    The factor 6 and 50 ms allow for inexact clocks.
    """
    return measure_seconds(long_call) < 6 * measure_seconds(short_call) + 0.05


def parse_text(text: str) -> None:
    with suppress(EmptyQuery, QueryTooBroad):
        parse_query(text)


@pytest.mark.growth
@loop_over_queries
def test_parsing_an_adversarial_query_takes_linear_time(make_query: Callable[[int], str]) -> None:
    long = make_query(MAX_CHARACTERS)[: MAX_CHARACTERS - 1]
    short = long[: len(long) // 4]
    assert is_linear(lambda: parse_text(long), lambda: parse_text(short))


@pytest.mark.growth
@loop_over_queries
def test_parsing_an_adversarial_query_takes_at_most_40_times_as_long_as_parsing_words(
    make_query: Callable[[int], str],
) -> None:
    text = make_query(MAX_CHARACTERS)[:MAX_CHARACTERS]
    words = " ".join(f"word{number}" for number in range(MAX_CHARACTERS))[:MAX_CHARACTERS]
    parse_text(text)
    assert measure_seconds(lambda: parse_text(text)) < 40 * measure_seconds(lambda: parse_text(words))


@pytest.mark.growth
@loop_over_queries
def test_query_over_the_limit_is_refused_without_parsing(make_query: Callable[[int], str]) -> None:
    refused_text, longest_text = make_query(1_000_000), "w" * MAX_CHARACTERS
    assert is_linear(lambda: parse_text(refused_text), lambda: parse_text(longest_text))


@pytest.mark.growth
@loop_over_queries
def test_phrase_search_in_adversarial_text_takes_linear_time(make_query: Callable[[int], str]) -> None:
    phrase = Phrases.of([split_phrase_words("a b"), split_phrase_words("word other word")])

    def search(size: int) -> Callable[[], object]:
        text = make_query(size).encode("utf-8", "replace")
        return lambda: phrase.occur_in("a b", text)

    assert is_linear(search(20_000), search(5_000))


@pytest.mark.growth
def test_phrase_that_almost_matches_everywhere_takes_linear_time() -> None:
    def search(size: int) -> Callable[[], object]:
        phrase = Phrases.of([("a",) * (size // 2) + ("b",)])
        text = b"a " * size
        return lambda: phrase.occur_in("", text)

    assert is_linear(search(80_000), search(20_000))
