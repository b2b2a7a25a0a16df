"""Edit distances, which equal the results of a simple recursion, and the stems of all single edits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from index.analysis.words import stem
from index.spelling import can_check_spelling, compute_edit_distances, compute_max_edits, stem_all_edits
from tests.index.reference import count_edits_between

WORDS = st.text("abé", max_size=6)
LATIN = st.text("abcdxyz", min_size=1, max_size=8)


@given(WORDS, st.lists(WORDS, max_size=8))
def test_edit_distances_equal_plain_recursion(word: str, terms: list[str]) -> None:
    assert compute_edit_distances(word, terms).tolist() == [count_edits_between(word, term) for term in terms]


def test_edit_distances_of_known_words() -> None:
    assert compute_edit_distances("retyr", ["retry", "retri", "retyr", "", "rye"]).tolist() == [1, 2, 0, 5, 3]
    assert compute_edit_distances("ca", ["abc"]).tolist() == [3]  # no letter is edited twice
    assert compute_edit_distances("", []).tolist() == []


@given(LATIN, st.data())
def test_stems_of_all_words_one_edit_away_are_generated(word: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(word)))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    head, tail = word[:position], word[position:]
    edited_words = {
        head + letter + tail,
        head + letter + tail[1:],
        head + tail[1:],
        head + tail[1::-1] + tail[2:],
    }
    assert {stem(edited_word) for edited_word in edited_words - {word, ""}} <= stem_all_edits(word)


def test_stems_of_edits_include_stem_of_correct_word() -> None:
    assert "pagin" in stem_all_edits("paginaton")
    assert "straß" in stem_all_edits("straß" + "x")


def test_is_word_accepts_letters_without_digits_or_marks() -> None:
    assert [
        word for word in ("retry", "é", "検索", "", "v2", "a_b", "c++", "x" * 33) if can_check_spelling(word)
    ] == [
        "retry",
        "é",
        "検索",
    ]
    assert [compute_max_edits("a" * size) for size in (5, 6)] == [1, 2]
