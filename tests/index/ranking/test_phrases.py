"""Exact phrases: their matches, and their required terms, which preselect sections."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis.terms import count_heading_terms, count_text_terms
from index.analysis.words import STOP_WORDS
from index.documents import SectionRecord
from index.phrases import (
    Phrases,
    _pad_words,
    can_be_scored,
    find_required_terms,
    make_phrase_filter,
    make_phrase_weigher,
    split_phrase_words,
)
from tests.example_counts import scale_examples
from tests.loops import loop_over


def phrase_occurs(phrase: str, text: str, heading: str = "") -> bool:
    return Phrases.of([split_phrase_words(phrase)]).occur_in(heading, text.encode())


@loop_over(
    ("phrase", "text"),
    [
        ("exponential backoff", "The SDK uses exponential backoff."),
        ("exponential backoff", "Exponential\nBACKOFF, always"),
        ("exponential backoff", "an *exponential* **backoff**"),
        ("exponential backoff", "an _exponential_ `backoff`"),
        ("exponential backoff", "[exponential](https://example.org/a_(b)) backoff"),
        ("exponential backoff", "exponential <!-- not linear --> backoff"),
        ("exponential backoff", "- exponential\n- backoff"),
        ("rate limit", "a rate-limit"),
        ("rate-limit", "the rate limit"),
        ("the end of it", "This is the end of it."),
        ("cafe society", "Café  société? No, café Society."),
        ("Straße", "STRASSE"),
        ("don't panic", "Don\u2019t panic"),
        ("RateLimitError", "raise errors.RateLimitError(3)"),
        ("ratelimiterror", "raise RateLimitError"),
        ("snake_case", "__snake_case__"),
        ("std::vector", "a `std::vector<int>`"),
        ("C++ templates", "C++ templates"),
        ("the C#", "Learn the C#."),
        ("容器", "使用docker容器网络"),
        ("docker容器", "使用 Docker 容器"),
        ("ที่นี่", "อยู่ที่นี่แล้ว"),
        ("hard wrapped", "> hard\n> wrapped"),
    ],
)
def test_phrase_matches_across_markup_case_and_line_breaks(phrase: str, text: str) -> None:
    assert phrase_occurs(phrase, text)


@loop_over(
    ("phrase", "text"),
    [
        ("retries", "retry, retrying, retried"),
        ("exponential backoff", "backoff, exponential"),
        ("exponential backoff", "exponential and backoff"),
        ("exponential backoff", "non-exponential back off"),
        ("end of", "the send offer"),
        ("snake", "snake_case"),
        ("rate limit", "RateLimit"),
        ("C templates", "C++ templates"),
        ("limit error", "RateLimitError"),
        ("backoff https", "[backoff](https://example.org)"),
        ("hidden", "<!-- hidden -->"),
        ("数据", "数 据"[::-1]),
        ("a b", ""),
    ],
)
def test_other_forms_and_partial_tokens_do_not_match_phrase(phrase: str, text: str) -> None:
    assert not phrase_occurs(phrase, text)


def test_phrase_does_not_span_heading_and_text() -> None:
    assert phrase_occurs("rate limits", "Ten a second.", heading="Rate limits")
    assert not phrase_occurs("rate limits", "limits", heading="Rate")


def test_all_phrases_must_occur() -> None:
    phrases = Phrases.of([("one", "two"), ("three",)])
    assert phrases.occur_in("Three", b"one two")
    assert not phrases.occur_in("", b"one two")


def test_phrase_of_combining_marks_matches_any_text() -> None:
    assert Phrases.of([split_phrase_words("\u0301")]).occur_in("", b"text")


def test_invalid_utf8_separates_words_of_phrase() -> None:
    assert Phrases.of([("one", "two")]).occur_in("", b"one \xff two")
    assert not Phrases.of([("onetwo",)]).occur_in("", b"one\xfftwo")


def test_phrase_filter_reads_section_of_record() -> None:
    record = SectionRecord("a.md", "h", "0" * 40, 0, 0, 5, 20, 1, 3, "Heading", ("Heading",), {}, 1, 1)
    read_records: list[SectionRecord] = []

    def read(record_to_read: SectionRecord) -> bytes:
        read_records.append(record_to_read)
        return b"the text below"

    assert make_phrase_filter([("the", "text")], read)(record)
    assert make_phrase_filter([("heading",)], read)(record)
    assert not make_phrase_filter([("no", "text")], read)(record)
    assert read_records == [record] * 3


@loop_over(
    ("phrase", "text", "weight"),
    [
        ("alpha beta", "alpha beta", 1),
        ("alpha beta", "Alpha **beta** alpha-beta alpha beta", 3),
        ("alpha alpha", "alpha alpha alpha", 1),
        ("alpha", "alpha alpha alpha", 3),
        ("alpha", "alphas", 0),
        ("head line", "line", 2),
        ("line", "line", 3),
        ("alpha", "alpha " * 300, 255),
    ],
)
def test_phrase_weight_counts_occurrences_and_doubles_the_heading(
    phrase: str, text: str, weight: int
) -> None:
    record = SectionRecord("a.md", "h", "0" * 40, 0, 0, 5, 20, 1, 3, "Head line", ("Head line",), {}, 1, 1)
    assert make_phrase_weigher(split_phrase_words(phrase), lambda _: text.encode())(record) == weight


@loop_over(
    ("phrase", "expected"),
    [
        ("retries", True),
        ("replica sets", True),
        ("std::vector", True),
        ("of retries", True),
        ("replica sets again", False),
        ("node.js.org", False),
        ("how to", False),
        ("容器", True),
        ("容器网", False),
    ],
)
def test_only_short_phrases_with_a_word_other_than_stop_words_can_be_scored(
    phrase: str, expected: bool
) -> None:
    assert can_be_scored(split_phrase_words(phrase)) is expected


@loop_over(
    ("phrase", "terms"),
    [
        ("the retries of", ("retri",)),
        ("to be or not to be", ()),
        ("RateLimitError", ("rate", "limit", "error")),
        ("snake_case", ("snake", "case")),
        ("C++", ("c",)),
        ("don't", ()),
        ("server's", ("server",)),
        ("isOn", ()),
        ("容器网络", ("容器", "器网", "网络")),
        ("x", ()),
    ],
)
def test_phrase_requires_terms_of_its_complete_words(phrase: str, terms: tuple[str, ...]) -> None:
    assert find_required_terms(split_phrase_words(phrase)) == terms


USUAL_WORDS = [
    "the",
    "retries",
    "RateLimitError",
    "snake_case",
    "isOn",
    "HTTPServer2",
    "x",
    "C++",
    "C#",
    "v1",
    "2",
]
UNUSUAL_WORDS = [
    "café",
    "don't",
    "APIs",
    "server's",
    "O'Reilly",
    "E0308",
    "_strong_",
    "Größe",
    "не",
    "готово",
    "容器网络",
]
WORDS = st.sampled_from(USUAL_WORDS + UNUSUAL_WORDS)
SEPARATORS = st.sampled_from(
    [" ", "\n", ", ", ".", "/", "::", "-", "@", " **", "` `", ". ", "(", "](u) ", " <!-- a --> "]
)


@st.composite
def texts_with_phrase(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text, and a phrase that occurs in it."""
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    separators = draw(st.lists(SEPARATORS, min_size=len(words), max_size=len(words)))
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first + 1, len(words)))
    pieces = [piece for pair in zip(words, separators, strict=True) for piece in pair]
    return "".join(pieces), "".join(pieces[2 * first : 2 * last - 1])


@given(texts_with_phrase())
def test_text_with_phrase_contains_its_required_terms(text_and_phrase: tuple[str, str]) -> None:
    text, phrase = text_and_phrase
    words = split_phrase_words(phrase.replace("](u)", " ").replace("<!-- a -->", " "))
    assert Phrases.of([words]).occur_in("", text.encode())
    assert set(find_required_terms(words)) <= count_text_terms(text).keys()


@given(st.text(max_size=40), st.text(max_size=40))
def test_heading_matches_each_phrase_of_itself(first_text: str, second_text: str) -> None:
    words = split_phrase_words(second_text)
    text = f"{first_text} {' '.join(words)} {first_text}"
    assert Phrases.of([words]).occur_in(text, b"")
    if all(word.isascii() for word in words):
        assert set(find_required_terms(words)) <= count_heading_terms(text).keys() - STOP_WORDS


TEXT_PARTS = (
    *("rate", "Rate", "limit", "limits", "rate_limit", "C++", "C#", "don't", "x", "é", "容器", "1"),
    *(" ", " ", "\n", "\n> ", ", ", "_", "-", "--", "/", "::", ".", "'", "#", "*", "\u00ad"),
)


@settings(max_examples=scale_examples(300), deadline=None)
@given(
    words=st.lists(st.sampled_from(["rate", "limit", "C++", "don't", "x", "容器"]), min_size=1, max_size=12),
    text=st.lists(st.sampled_from(TEXT_PARTS), max_size=40).map("".join),
    heading=st.lists(st.sampled_from(TEXT_PARTS), max_size=6).map("".join),
)
def test_phrase_occurs_where_splitting_the_full_text_finds_it(
    words: list[str], text: str, heading: str
) -> None:
    phrase = " ".join(words)
    phrase_words = split_phrase_words(phrase)
    for body in (text, f"{text}\n{phrase}", f"x{phrase}, {text} {phrase}\n{text}"):
        expected = _pad_words(" ".join(phrase_words)) in _pad_words(body) or _pad_words(
            " ".join(phrase_words)
        ) in _pad_words(heading)
        assert Phrases.of([phrase_words]).occur_in(heading, body.encode()) == expected
