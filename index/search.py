"""A question is answered: from the branch as it is, which is followed first, or from another commit.

An empty list is explained by asking again, at the same generation.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from index.cursors import StaleCursor, stale_cursor
from index.port import GenerationGone, NotIndexed
from index.storage.manifest import IndexDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from index.explaining import Asked
    from index.hints import Hint
    from index.live import Followed, LiveIndex
    from index.overlays import Overlays
    from index.port import Progress, Query, Results
    from workspace.snapshot.snapshot import Snapshot

_TRIES = 2
"""How often a question is asked of an index that others change all the time."""


class Question(NamedTuple):
    """What is asked: its words, what was read from them, and which stretch of the list.

    `generation` is the one that the stretch must belong to; None for the first page.
    """

    words: str
    query: Query
    offset: int
    limit: int
    generation: str | None


class Answer(NamedTuple):
    """A stretch of a list; the hint explains one that is empty. Stale means older than the branch."""

    results: Results
    hint: Hint | None
    is_stale: bool = False


def from_branch(live: LiveIndex, question: Question, progress: Progress | None = None) -> Answer:
    """Answer from the tip of the branch. Raises StaleCursor, and what following and filters raise."""
    for left in reversed(range(_TRIES)):
        followed = live.follow(progress)
        try:
            results = _asked(live, question, followed, progress)
        except NotIndexed:  # its files are gone since, or the branch was switched to one without an index
            if left:
                continue
            raise
        is_stale = followed.is_stale
        if results.state.commit != followed.state.commit:
            # Another thread followed further meanwhile, or went back to what is left where files are gone.
            is_stale = live.is_behind(results.state)
            if is_stale and not followed.is_stale:
                continue
        if results.hits or question.offset:
            return Answer(results, None, is_stale)
        if hint := _explained(live, question, results):
            return Answer(results, hint, is_stale)
    from index.explaining import UNEXPLAINED

    return Answer(results, None if results.hits else UNEXPLAINED, is_stale)


def from_commit(
    overlays: Overlays, question: Question, snapshot: Snapshot, progress: Progress | None = None
) -> Answer:
    """Answer from one commit, wherever the branch is. Raises StaleCursor, and what making it raises."""
    if snapshot.commit == overlays.workspace.tip():
        with suppress(StaleCursor):  # that of an older tip, where the branch moves on just now
            answer = from_branch(overlays.live, question, progress)
            if answer.results.state.commit == snapshot.commit:
                return answer._replace(is_stale=False)
    overlay = overlays.at(snapshot, progress)
    try:
        _check(question.query, overlay.values)
        results = overlay.search(question.query, question.offset, question.limit, question.generation)
    except GenerationGone as gone:
        raise stale_cursor(question.generation, gone, other_ref=True) from gone
    if results.hits or question.offset:
        return Answer(results, None)
    return Answer(results, _explained(overlay, question, results))


def _asked(live: LiveIndex, question: Question, followed: Followed, progress: Progress | None) -> Results:
    query, offset, limit, generation = question[1:]
    try:
        try:
            _check(query, lambda: live.values(followed.state))
            return live.search(query, offset, limit, generation)
        except IndexDamaged:
            live.replace(followed.state, progress)
            return live.search(query, offset, limit, generation)
    except GenerationGone as gone:
        raise stale_cursor(generation, gone) from gone


def _check(query: Query, values: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
    """Hold filters against the values that there are, which are not counted where there is no filter."""
    if query.filters:
        from index.filters import check_filters

        check_filters(query.filters, values())


def _explained(asked: Asked, question: Question, results: Results) -> Hint | None:
    from index.explaining import explained

    return explained(asked, question.words, question.query, results.generation)
