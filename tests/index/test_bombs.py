"""Nasty queries and texts: each is read or refused, in time that grows no faster than they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from index.phrases import Phrases, split_words
from index.port import QueryTooBroad
from index.query import MAX_CHARACTERS, EmptyQuery, parse
from tests.index.bombs import BOMBS
from tests.loops import loop_over

FAMILIES = loop_over("bomb", BOMBS.values(), ids=BOMBS.keys())


def seconds(ask: Callable[[], object]) -> float:
    """Return the processor time of a call, the best of three."""

    def once() -> float:
        start = time.process_time()
        ask()
        return time.process_time() - start

    return min(once() for _ in range(3))


def ask(text: str) -> None:
    with suppress(EmptyQuery, QueryTooBroad):
        parse(text)


@pytest.mark.growth
@FAMILIES
def test_reading_a_query_takes_linear_time(bomb: Callable[[int], str]) -> None:
    long = bomb(MAX_CHARACTERS)[: MAX_CHARACTERS - 1]
    short = long[: len(long) // 4]
    assert seconds(lambda: ask(long)) < 6 * seconds(lambda: ask(short)) + 0.05


@pytest.mark.growth
@FAMILIES
def test_reading_a_query_takes_milliseconds(bomb: Callable[[int], str]) -> None:
    text = bomb(MAX_CHARACTERS)[:MAX_CHARACTERS]
    ask(text)
    assert seconds(lambda: ask(text)) < 0.05


@pytest.mark.growth
@FAMILIES
def test_what_is_over_the_limit_is_not_even_read(bomb: Callable[[int], str]) -> None:
    huge, long = bomb(1_000_000), "w" * MAX_CHARACTERS
    assert seconds(lambda: ask(huge)) < 6 * seconds(lambda: ask(long)) + 0.05


@pytest.mark.growth
@FAMILIES
def test_looking_for_a_phrase_takes_linear_time(bomb: Callable[[int], str]) -> None:
    phrase = Phrases.of([split_words("a b"), split_words("word other word")])

    def look(size: int) -> Callable[[], object]:
        text = bomb(size).encode("utf-8", "replace")
        return lambda: phrase.occur_in("a b", text)

    assert seconds(look(20_000)) < 6 * seconds(look(5_000)) + 0.05


@pytest.mark.growth
def test_a_phrase_that_almost_occurs_everywhere_takes_linear_time() -> None:
    def look(size: int) -> Callable[[], object]:
        phrase = Phrases.of([("a",) * (size // 2) + ("b",)])
        text = b"a " * size
        return lambda: phrase.occur_in("", text)

    assert seconds(look(80_000)) < 6 * seconds(look(20_000)) + 0.05
