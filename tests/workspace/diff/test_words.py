"""Word edits between two texts: they give the new text, and a small change gives a small edit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.adversarial_documents import ADVERSARIAL_BUILDERS
from tests.workspace.documents import document_sources
from workspace.diff.text import TextEdit, decode_trimmed, diff_texts, diff_words, split_tokens, split_units

WORDS = st.sampled_from(
    ["the", "search", "`a b`", "``", "-", "- ", "1.", "|", "\n", "\n\n", " ", "数据", "e\u0301", "```", "~~~"]
)
TEXTS = st.one_of(
    document_sources().map(decode_trimmed),
    st.lists(WORDS, max_size=40).map(" ".join),
    st.lists(WORDS, max_size=40).map("".join),
)


def apply_edits(old: str, new: str, edits: tuple[TextEdit, ...]) -> str:
    """Return the old text after the edits, applied from last to first."""
    text = old
    for edit in reversed(edits):
        text = text[: edit.start] + new[edit.new_start : edit.new_end] + text[edit.end :]
    return text


@given(TEXTS, TEXTS)
def test_edits_applied_to_the_old_text_give_the_new_text(old: str, new: str) -> None:
    edits = diff_texts(old, new)
    assert apply_edits(old, new, edits) == new
    assert (not edits) == (old == new)
    bounds = [bound for edit in edits for bound in edit[:2]]
    assert bounds == sorted(bounds)


@given(TEXTS, st.data())
def test_edits_of_one_inserted_word_give_the_new_text(old: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(old)))
    new = old[:offset] + "unheardof" + old[offset:]
    assert apply_edits(old, new, diff_texts(old, new)) == new


@given(TEXTS)
def test_joined_units_and_joined_tokens_equal_the_text(text: str) -> None:
    assert "".join(split_tokens(text)) == text
    assert "".join(text[unit.start : unit.end] for unit in split_units(text)) == text


@loop_over(
    ("old", "new", "expected"),
    [
        ("ten results", "twenty results", [("ten", "twenty")]),
        ("a `b c` d", "a `b d` d", [("`b c`", "`b d`")]),
        ("one two three", "one three", [("two ", "")]),
        ("it is (not) so", "it is so", [("(not) ", "")]),
        ("数据導入", "数据輸入", [("導", "輸")]),
        ("some old words", "entirely different phrase", [("some old words", "entirely different phrase")]),
    ],
)
def test_edits_are_as_small_as_expected(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    edits = diff_words(old, new)
    assert [(old[a:b], new[c:d]) for a, b, c, d in edits] == expected


def test_long_paragraph_has_one_edit_between_its_equal_ends() -> None:
    old = "begin " + "x y " * 3000 + "end"
    new = "begin " + "y x " * 3000 + "end"
    edits = diff_words(old, new)
    assert len(edits) == 1
    assert apply_edits(old, new, edits) == new


@loop_over("name", ADVERSARIAL_BUILDERS)
def test_adversarial_texts_are_compared_exactly(name: str) -> None:
    old, new = (
        decode_trimmed(ADVERSARIAL_BUILDERS[name](150)),
        decode_trimmed(ADVERSARIAL_BUILDERS[name](170)).replace("a", "c", 40),
    )
    assert apply_edits(old, new, diff_texts(old, new)) == new


TABLE = (
    "| Call | Limit |\n|---|---|\n"
    "| `track` | 10 a second |\n| `cancel` | 5 a second |\n| `report` | 1 a minute |\n"
)


def list_edits(old: str, new: str) -> list[tuple[str, str]]:
    """Return the removed and the added text of each edit."""
    return [(old[edit.start : edit.end], new[edit.new_start : edit.new_end]) for edit in diff_texts(old, new)]


@loop_over(
    ("new", "expected"),
    [
        (TABLE.replace("10", "20"), [("10", "20")]),
        (
            TABLE.replace("| `cancel` | 5 a second |\n", "").replace("a minute", "an hour"),
            [("| `cancel` | 5 a second |\n", ""), ("a minute", "an hour")],
        ),
        (
            TABLE.replace("| `report`", "| `watch` | 5 a tour |\n| `report`"),
            [("", "| `watch` | 5 a tour |\n")],
        ),
        (TABLE.replace("|---|---|", "|---|--:|"), [("|---|---|\n", "|---|--:|\n")]),
    ],
    ids=["changed cell", "removed row", "added row", "alignment"],
)
def test_rows_of_tables_are_compared_word_by_word(new: str, expected: list[tuple[str, str]]) -> None:
    assert list_edits(TABLE, new) == expected


def test_rows_without_words_of_their_own_match_by_position() -> None:
    old = "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n| 2 | 3 | 1 |\n"
    assert list_edits(
        old, old.replace("| 1 | 2 | 3 |", "| 1 | 2 | 4 |").replace("| 2 | 3 | 1", "| 2 | 3 | 4")
    ) == [
        ("3", "4"),
        ("1", "4"),
    ]


def test_most_similar_rows_match_if_matches_are_in_different_orders() -> None:
    old = "| `end` | 5 a second | The end of one stop |\n| `report` | 1 a day | The report of a day |\n"
    new = "| `report` | 1 an hour | The report of a day |\n| `see` | 5 a second | Changes of a tour |\n"
    edits = list_edits(old, new)
    assert ("a day", "an hour") in edits
    assert (old.splitlines(keepends=True)[0], "") in edits


def test_row_of_a_table_does_not_match_a_paragraph() -> None:
    old, new = "The limit of calls is ten.\n", "| The limit of calls | ten |\n"
    assert list_edits(old, new) == [(old, new)]
