"""Exact phrases: consecutive words in the text or the heading of a section.

An index has no positions of words. The sections with all words of a phrase, up to a limit, are therefore
read, and their words are searched for the phrase. Case and accents are ignored; word endings are not. All
other characters (punctuation, line breaks, the marks of emphasis and code) only separate words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from index.analysis.terms import HEADING_WEIGHT, MAX_WEIGHT, extract_token_terms
from index.analysis.words import STOP_WORDS, TOKEN, fold, get_script_runs_pattern, normalize, strip_markup
from index.documents import SectionRecord

_JOINERS = "./@:-"  # an underscore or an apostrophe does not split a word


def split_phrase_words(text: str) -> tuple[str, ...]:
    """Return the words of normalised text as written; in scripts without spaces, runs of characters.

    `snake_case`, `don't` and `C++` are words, `node.js` and `std::vector` are two.
    """
    words = " ".join(TOKEN.findall(text))
    for joiner in _JOINERS:
        words = words.replace(joiner, " ")
    if "_" in words:
        return tuple(stripped_word for word in words.split() if (stripped_word := word.strip("_")))
    return tuple(words.split())


def find_required_terms(phrase: Iterable[str]) -> tuple[str, ...]:
    """Return the index terms that every section with this phrase has, without stop words.

    The result is empty for a phrase of stop words. The other terms of the query then select the sections.
    """
    words = (word for word in phrase if fold(word) not in STOP_WORDS)
    return tuple(dict.fromkeys(term for word in words for term in _find_terms_inside_names(word)))


def _find_terms_inside_names(word: str) -> Iterable[str]:
    """Return the index terms that a word has both alone and as part of a longer name."""
    return (term for term in extract_token_terms(f"x.{word}")[1:] if term != "x")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that must all occur.

    `runs` has the folded words of each phrase, with a space on both sides of each word. `patterns` has the
    rough pattern of each phrase.
    """

    runs: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, phrases: Iterable[Iterable[str]]) -> Phrases:
        """Return the phrases of a query, each given as its words."""
        runs = [run for run in (_pad_words(" ".join(phrase)) for phrase in phrases) if not run.isspace()]
        return cls(tuple(runs), tuple(map(_compile_rough_pattern, runs)))

    def occur_in(self, heading: str, text: bytes) -> bool:
        """Return True if each phrase occurs in a section's heading or in its Markdown.

        Takes time linear in the text.
        """
        body = strip_markup(text).decode("utf-8", "replace")
        return all(
            _occurs(run, pattern, body) or _occurs(run, pattern, heading)
            for run, pattern in zip(self.runs, self.patterns, strict=True)
        )


def _occurs(run: str, pattern: re.Pattern[str], text: str) -> bool:
    """Return True if a phrase occurs in a text.

    Splitting a text into words takes ten times as long as a search for the pattern. So an ASCII text without
    a match is not split. With a match, its lines are split first. If the phrase is not in these lines, the
    full text is split.
    """
    if text.isascii():
        lower_text = text.lower()
        match = pattern.search(lower_text)
        if match is None:
            return False
        start, end = lower_text.rfind("\n", 0, match.start()) + 1, lower_text.find("\n", match.end())
        if run in _pad_words(lower_text[start : end if end >= 0 else None]):
            return True
    return run in _pad_words(text)


_MAX_PATTERN_WORDS = 8  # so that the search takes linear time for a phrase of any length


def _compile_rough_pattern(run: str) -> re.Pattern[str]:
    """Return a pattern that matches every lower-case ASCII text with this phrase, but also some others."""
    return re.compile("[^a-z0-9]*+".join(map(re.escape, run.split()[:_MAX_PATTERN_WORDS])))


def make_phrase_filter(
    phrases: Iterable[Iterable[str]], read: Callable[[SectionRecord], bytes]
) -> Callable[[SectionRecord], bool]:
    """Return a function that returns True if a section contains all the phrases.

    `read` returns the Markdown under the heading of a section.
    """
    required_phrases = Phrases.of(phrases)
    return lambda record: required_phrases.occur_in(record.heading, read(record))


MAX_SCORED_WORDS = 2
"""The largest number of words of a phrase that counts as a term if the query has other words."""


def can_be_scored(phrase: Iterable[str]) -> bool:
    """Return True if a phrase is short and has a word that is not a stop word.

    The sections that contain a phrase of stop words cannot be listed.
    """
    phrase = tuple(phrase)
    return len(_pad_words(" ".join(phrase)).split()) <= MAX_SCORED_WORDS and bool(find_required_terms(phrase))


def make_phrase_weigher(
    phrase: Iterable[str], read: Callable[[SectionRecord], bytes]
) -> Callable[[SectionRecord], int]:
    """Return a function that returns the weight of a phrase in a section, 0 if it does not occur there.

    The weight is computed as for a term: an occurrence in the heading counts twice, and headings above do not
    count.
    """
    run = _pad_words(" ".join(phrase))
    pattern = _compile_rough_pattern(run)
    # With two spaces between words, neighbouring occurrences share no character.
    spaced_run = run.replace(" ", "  ")[1:-1]

    def count_occurrences(text: str) -> int:
        if text.isascii() and pattern.search(text.lower()) is None:
            return 0
        return _pad_words(text).replace(" ", "  ").count(spaced_run)

    def weigh_phrase(record: SectionRecord) -> int:
        body = strip_markup(read(record)).decode("utf-8", "replace")
        return min(count_occurrences(body) + HEADING_WEIGHT * count_occurrences(record.heading), MAX_WEIGHT)

    return weigh_phrase


def _pad_words(text: str) -> str:
    """Return the folded words of a text with a space on both sides of each.

    In scripts without spaces each character counts as a word.
    """
    words = " ".join(split_phrase_words(fold(normalize(text))))
    if not words.isascii():
        words = " ".join(get_script_runs_pattern().sub(_separate_spaceless, words).split())
    return f" {words} "


def _separate_spaceless(run: re.Match[str]) -> str:
    return f" {' '.join(run[1])} " if run[1] else run[0]
