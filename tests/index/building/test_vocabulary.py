"""The vocabulary, which analyses each distinct raw token once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis.expansion import expand_raw_token, expand_raw_tokens
from index.analysis.words import BREAK, STOP_WORDS, split_raw_tokens
from index.building import vocabulary
from index.building.vocabulary import Vocabulary, get_shared_vocabulary

TEXTS = st.lists(st.text(st.sampled_from("ab A-._é使\0 \n")).map(str.encode), min_size=1)


def read_terms(
    tested_vocabulary: Vocabulary, raw_tokens: list[bytes], *, with_stop_words: bool
) -> list[list[str]]:
    """Return the terms of each raw token."""
    terms, counts = tested_vocabulary.look_up_terms(
        tested_vocabulary.number_raw_tokens(raw_tokens), with_stop_words=with_stop_words
    )
    keys = [
        key.removeprefix(b"\0").decode() for key in tested_vocabulary.look_up_keys(terms.astype(np.int64))
    ]
    ends = np.cumsum(counts).tolist()
    return [keys[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


@given(st.lists(TEXTS, max_size=4))
def test_raw_tokens_map_to_their_terms_repeatedly(batches: list[list[bytes]]) -> None:
    new_vocabulary = Vocabulary()
    for texts in batches:
        raw_tokens = split_raw_tokens(texts)
        expected = [expand_raw_token(raw_token) for raw_token in raw_tokens]
        without_stop_words = [[term for term in terms if term not in STOP_WORDS] for terms in expected]
        assert read_terms(new_vocabulary, raw_tokens, with_stop_words=False) == without_stop_words
        assert list(map(sorted, read_terms(new_vocabulary, raw_tokens, with_stop_words=True))) == list(
            map(sorted, expected)
        )


def test_raw_token_is_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed_tokens: list[bytes] = []

    def record_and_expand(raw_tokens: Sequence[bytes]) -> list[list[str]]:
        analysed_tokens.extend(raw_tokens)
        return expand_raw_tokens(raw_tokens)

    monkeypatch.setattr(vocabulary, "expand_raw_tokens", record_and_expand)
    new_vocabulary = Vocabulary()
    for _ in range(3):
        new_vocabulary.number_raw_tokens([b"retries", BREAK, b"Retry", b"retries"])
    assert analysed_tokens == [BREAK, b"retries", b"Retry"]


def test_break_token_has_number_0_and_no_terms() -> None:
    new_vocabulary = Vocabulary()
    assert new_vocabulary.number_raw_tokens([b"a", BREAK, b"b"]).tolist() == [1, 0, 2]
    assert read_terms(new_vocabulary, [BREAK], with_stop_words=True) == [[]]


def test_field_term_differs_from_equal_text_term() -> None:
    new_vocabulary = Vocabulary()
    tag, word = (
        new_vocabulary.add_term("tags", "sdk"),
        new_vocabulary.look_up_terms(new_vocabulary.number_raw_tokens([b"sdk"]), with_stop_words=False)[0],
    )
    assert new_vocabulary.look_up_keys(np.array([tag, *word])) == [b"tags\0sdk", b"\0sdk"]
    assert new_vocabulary.add_term("tags", "sdk") == tag


def test_concurrent_threads_get_correct_terms() -> None:
    new_vocabulary = Vocabulary()
    words = [[b"w%d" % (i * step % 500) for i in range(2000)] for step in range(1, 9)]
    with ThreadPoolExecutor(8) as threads:
        for raw_tokens, terms in zip(
            words,
            threads.map(
                lambda raw_tokens: read_terms(new_vocabulary, raw_tokens, with_stop_words=False), words
            ),
            strict=True,
        ):
            assert terms == [[raw_token.decode()] for raw_token in raw_tokens]


def test_full_vocabulary_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    full_vocabulary = Vocabulary(max_bytes=2000)
    monkeypatch.setattr(vocabulary, "_shared_vocabulary", full_vocabulary)
    assert get_shared_vocabulary() is full_vocabulary
    full_vocabulary.number_raw_tokens([b"word%d" % number for number in range(10)])
    assert full_vocabulary.is_full
    assert get_shared_vocabulary() is not full_vocabulary
    assert get_shared_vocabulary() is get_shared_vocabulary()
