"""The comparison of one branch's index in two storages: lists of sample questions, with exact scores."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from index.analysis.words import STOP_WORDS
from index.query import parse_query
from index.storage.locking import IndexBusy

if TYPE_CHECKING:
    from index.live import LiveIndex
    from index.port import Progress, State
    from index.segments.generation import SegmentReader

LIST_LENGTH = 50
"""The number of compared sections of a question."""

_MAX_ATTEMPTS = 20
"""Attempts to update both indexes to one commit."""

_DRAWS_PER_QUESTION = 20
_MAX_HEADING_WORDS = 8
_MIN_TEXT_WORDS, _MAX_TEXT_WORDS = 2, 5
_WORD = re.compile(r"\w{3,}")

ScoredAddress = tuple[str, float]


class ListDifference(NamedTuple):
    """A question, and the first place at which its lists differ: the entry of each list, None after its end.

    `rank` counts from 1.
    """

    question: str
    rank: int
    before: ScoredAddress | None
    after: ScoredAddress | None


class Comparison(NamedTuple):
    """The lists of two storages at one commit. The lists are equal if there are no `differences`."""

    commit: str | None
    document_count: int
    section_count: int
    question_count: int
    differences: tuple[ListDifference, ...]


def compare_indexes(
    before: LiveIndex, after: LiveIndex, question_count: int, progress: Progress | None = None
) -> Comparison:
    """Update two indexes of a branch, and compare their lists of questions that are drawn from `before`.

    Raises the errors of `LiveIndex.update_to_tip`, and IndexBusy if the branch changes all the time.
    """
    state = _update_both(before, after, progress)
    generation = before.engine.generation()
    readers = generation.segment_readers if generation is not None else ()
    questions = draw_questions(before, readers, question_count)
    differences: list[ListDifference] = []
    for number, question in enumerate(questions, 1):
        difference = _compare_lists(
            question, _list_sections(before, question), _list_sections(after, question)
        )
        if difference is not None:
            differences.append(difference)
        if progress:
            progress(number, len(questions), "Comparing lists")
    return Comparison(state.commit, state.files, state.chunks, len(questions), tuple(differences))


def _update_both(before: LiveIndex, after: LiveIndex, progress: Progress | None) -> State:
    for _ in range(_MAX_ATTEMPTS):
        states = [index.update_to_tip(progress).state for index in (before, after)]
        if states[0].commit == states[1].commit:
            return states[0]
    raise IndexBusy("the branch changes faster than both indexes can follow it", fix="Try again in a moment.")


def draw_questions(index: LiveIndex, readers: Sequence[SegmentReader], count: int) -> list[str]:
    """Return at most `count` different questions, always the same for an index.

    They are headings, and words of texts, in turn.
    """
    questions: dict[str, None] = {}
    for number, question in enumerate(_draw_questions(index, readers)):
        if len(questions) == count or number == count * _DRAWS_PER_QUESTION:
            break
        if question:
            questions[question] = None
    return list(questions)


def _draw_questions(index: LiveIndex, readers: Sequence[SegmentReader]) -> Iterator[str]:
    sizes = [reader.segment.size for reader in readers]
    if not any(reader.size for reader in readers):
        return
    source, is_heading = random.Random(0), True
    while True:
        [reader] = source.choices(readers, sizes)
        record = reader.segment.record(source.randrange(reader.segment.size))
        is_heading = not is_heading
        if reader.find(record.path) is None:
            yield ""  # the document has changed since the segment was written
        elif is_heading:
            yield " ".join(_list_words(record.heading)[:_MAX_HEADING_WORDS])
        else:
            words = sorted(set(_list_words(index.text(record))))
            size = min(len(words), source.randint(_MIN_TEXT_WORDS, _MAX_TEXT_WORDS))
            yield " ".join(source.sample(words, size))


def _list_words(text: str) -> list[str]:
    """Return the words of a text in lower case, because AND, OR and NOT are operators."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def _list_sections(index: LiveIndex, question: str) -> list[ScoredAddress]:
    hits = index.search(parse_query(question), 0, LIST_LENGTH).hits
    return [(hit.record.chunk_id, hit.score) for hit in hits]


def _compare_lists(
    question: str, before: list[ScoredAddress], after: list[ScoredAddress]
) -> ListDifference | None:
    if before == after:
        return None
    length = max(len(before), len(after))
    pairs = zip(before + [None] * length, after + [None] * length, strict=False)
    rank, (left, right) = next((rank, pair) for rank, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return ListDifference(question, rank, left, right)
