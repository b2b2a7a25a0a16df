"""Paragraphs are split into sentences, and no letter is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.texts.summaries.passages import split_sentences


@loop_over(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Use a cache, e.g. Redis, or none. Then go.", ["Use a cache, e.g. Redis, or none.", "Then go."]),
        ("See Fig. 3 and Dr. Who. Done.", ["See Fig. 3 and Dr. Who.", "Done."]),
        ("By J. R. Smith. Next.", ["By J. R. Smith.", "Next."]),
        ("Version 2.1.0 is out. Get v3.", ["Version 2.1.0 is out.", "Get v3."]),
        ("Call `a. B. C` now. Then `x`.", ["Call `a. B. C` now.", "Then `x`."]),
        ("Call ``a` . B`` now. Yes.", ["Call ``a` . B`` now.", "Yes."]),
        ("It ends (so they say.) Really.", ["It ends (so they say.)", "Really."]),
        ("**Bold ends here.** Plain.", ["**Bold ends here.**", "Plain."]),
        ("1. First things first.", ["1. First things first."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("它很快。它很小！好吗？", ["它很快。", "它很小！", "好吗？"]),  # noqa: RUF001
        ("", []),
        ("   ", []),
    ],
)
def test_sentences_are_split_as_expected(paragraph: str, sentences: list[str]) -> None:
    assert list(split_sentences(paragraph)) == sentences


@given(st.text(st.sampled_from("aB1 .!?`\"')*\n。")))
def test_sentences_join_to_the_paragraph(paragraph: str) -> None:
    sentences = list(split_sentences(paragraph))
    assert "".join("".join(sentences).split()) == "".join(paragraph.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
