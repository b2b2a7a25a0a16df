"""The provider `hash`: its vectors depend on the words of a text alone."""

from __future__ import annotations

import numpy as np
import pytest

from index.vectors.embedder import Vectors
from index.vectors.hash_embedder import HashEmbedder


def embed(*texts: str) -> Vectors:
    return HashEmbedder().embed_documents(texts)


@pytest.mark.parametrize("other", ["  Retry, the\nCALL!", "call (retry) the", "the/call\n\n- retry"])
def test_order_case_and_separators_of_words_do_not_matter(other: str) -> None:
    np.testing.assert_array_equal(*embed("retry the call", other))


def test_vector_of_text_does_not_depend_on_its_batch() -> None:
    texts = ["", "one", "... ", "two words", "größer ünder", "x" * 100 + " end", "\ud800 lone", "last one"]
    batch = embed(*texts)
    for text, vector in zip(texts, batch, strict=True):
        np.testing.assert_array_equal(embed(text)[0], vector)
        np.testing.assert_array_equal(HashEmbedder().embed_query(text)[0], vector)


def test_text_without_words_has_vector_of_zeros() -> None:
    assert not embed("", " ,.-\n").any()
    assert embed().shape == (0, 256)


def test_each_word_adds_one_to_one_dimension() -> None:
    [word, twice, both] = embed("lock", "lock lock", "lock release")
    assert np.abs(word).sum() == 1
    np.testing.assert_array_equal(2 * word, twice)
    np.testing.assert_array_equal(word + embed("release")[0], both)


def test_hashes_of_many_words_are_spread_over_dimensions_and_signs() -> None:
    vectors = embed(*(f"word{number}" for number in range(10_000)))
    counts = np.abs(vectors).sum(axis=0)
    assert counts.min() > 10
    assert counts.max() < 90
    assert abs(vectors.sum()) < 500


def test_anagrams_and_long_words_have_hashes_of_their_own() -> None:
    long = "a" * 40
    vectors = embed("listen", "silent", "enlist", long, long + "b", long + "c")
    assert len({vector.tobytes() for vector in vectors}) == 6
