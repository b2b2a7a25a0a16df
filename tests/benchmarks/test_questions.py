"""Questions for first asks: the same for a corpus, of several kinds, and each in one list only."""

from __future__ import annotations

from benchmarks.corpus import Text
from benchmarks.search.questions import WARM_UP_COUNT, draw_questions

TEXTS = [
    Text(
        f"a{number}.md#b",
        f"Heading {number} of many",
        f"one two three `max_{number}_retries` four",
        "",
        "a.md",
        "",
    )
    for number in range(30)
]
WORDS = [f"word{number} other" for number in range(60)]


def test_questions_are_drawn_from_words_headings_identifiers_and_phrases() -> None:
    drawn = draw_questions(TEXTS, WORDS, 10)
    assert {question for question in drawn.questions if question in WORDS} == set(WORDS[:10])
    assert sum(question.startswith("Heading") for question in drawn.questions) == 10
    assert sum(question.startswith("max_") for question in drawn.questions) == 10
    assert drawn.phrases == ['"one two three"']
    assert len(drawn.warm_up) == WARM_UP_COUNT


def test_no_question_is_asked_twice() -> None:
    drawn = draw_questions(TEXTS, [*WORDS, WORDS[0]], 10)
    everything = [*drawn.questions, *drawn.phrases, *drawn.warm_up]
    assert len(set(everything)) == len(everything)


def test_the_same_corpus_gives_the_same_questions() -> None:
    assert draw_questions(TEXTS, WORDS, 10) == draw_questions(TEXTS, WORDS, 10)


def test_written_questions_are_asked_only_of_their_corpus() -> None:
    path = "vba/excel/Concepts/about-coauthoring-in-excel.md"
    assert any(
        "two people edit" in one for one in draw_questions([TEXTS[0]._replace(path=path)], []).questions
    )
    assert not any("two people edit" in one for one in draw_questions(TEXTS, []).questions)
