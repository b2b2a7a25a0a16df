"""Search: a query answered at the tip of the branch, which is followed first, or at another commit.

An empty result is explained by further searches at the same generation. Filters are checked against the keys
of the taxonomy and the values that some section has.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from index.cursors import StaleCursor, stale_cursor
from index.hints import Hint, explain_empty, suggest_queries
from index.port import GenerationGone, NotIndexed, Query, Results
from index.storage.manifest import IndexDamaged
from index.storage.metadata import is_listable
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from index.hints import Hint
    from index.live import FollowResult, LiveIndex
    from index.overlays import Overlays
    from index.page import SectionRecord
    from index.port import Progress, Query, Results
    from workspace.snapshot.snapshot import Snapshot

_TRIES = 2
"""How often a question is asked of an index that others change all the time."""


class Question(NamedTuple):
    """A search: its words, the parsed query, and the range of results.

    `generation` is the one that the range must belong to; None for the first page.
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


def search_branch(live: LiveIndex, question: Question, progress: Progress | None = None) -> Answer:
    """Answer from the tip of the branch. Raises StaleCursor, and what following and filters raise."""
    for left in reversed(range(_TRIES)):
        followed = live.follow(progress)
        try:
            results = _search(live, question, followed, progress)
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
        if hint := _with_hint(live, question, results):
            return Answer(results, hint, is_stale)

    return Answer(results, None if results.hits else UNEXPLAINED, is_stale)


def search_commit(
    overlays: Overlays, question: Question, snapshot: Snapshot, progress: Progress | None = None
) -> Answer:
    """Answer from one commit, wherever the branch is. Raises StaleCursor, and what making it raises."""
    if snapshot.commit == overlays.workspace.tip():
        with suppress(StaleCursor):  # that of an older tip, where the branch moves on just now
            answer = search_branch(overlays.live, question, progress)
            if answer.results.state.commit == snapshot.commit:
                return answer._replace(is_stale=False)
    overlay = overlays.at(snapshot, progress)
    try:
        _check_filter_values(question.query, overlay.values)
        results = overlay.search(question.query, question.offset, question.limit, question.generation)
    except GenerationGone as gone:
        raise stale_cursor(question.generation, gone, other_ref=True) from gone
    if results.hits or question.offset:
        return Answer(results, None)
    return Answer(results, _with_hint(overlay, question, results))


def _search(
    live: LiveIndex, question: Question, followed: FollowResult, progress: Progress | None
) -> Results:
    query, offset, limit, generation = question[1:]
    try:
        try:
            _check_filter_values(query, lambda: live.values(followed.state))
            return live.search(query, offset, limit, generation)
        except IndexDamaged:
            live.replace(followed.state, progress)
            return live.search(query, offset, limit, generation)
    except GenerationGone as gone:
        raise stale_cursor(generation, gone) from gone


def _check_filter_values(query: Query, values: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
    """Check filters against the existing values, which are not counted if there is no filter."""
    if query.filters:
        check_filters(query.filters, values())


def _with_hint(asked: SearchTarget, question: Question, results: Results) -> Hint | None:

    return explain(asked, question.words, question.query, results.generation)


UNEXPLAINED = Hint("0 results found: the documents are changing just now. Search again in a moment.", {})
"""Said where the documents changed each time before an empty list was explained."""


class SearchTarget(Protocol):
    """A searchable index of one commit, or of the branch as it is."""

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Return a stretch of a list. Raises GenerationGone."""

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Return at most so many terms that a folded word may have meant."""

    def text(self, record: SectionRecord) -> str:
        """Return what a section says beside its heading."""


def explain(asked: SearchTarget, query: str, question: Query, generation: str) -> Hint | None:
    """Explain why a question, parsed from `query`, finds nothing; return None if its index is gone."""

    def ask(other: Query, most: int) -> list[SectionRecord]:
        return [scored.record for scored in asked.search(other, 0, most, generation).hits]

    def spelled() -> tuple[str, ...]:
        return suggest_queries(query, question, ask, asked.similar, asked.text)

    try:
        return explain_empty(question, ask, spelled)
    except (GenerationGone, NotIndexed, IndexDamaged):
        return None


_LISTED = 50
_COMPARED = 20_000
"""Characters of values, the commonest first, among which the nearest are looked for."""


class UnknownFilter(WorkspaceError):
    """A filter by a key that the taxonomy does not have."""

    code: ClassVar[str] = "UNKNOWN_FILTER"


class UnknownFilterValue(WorkspaceError):
    """A filter value that no document has; `details` has the nearest, and up to 50 of the known ones."""

    code: ClassVar[str] = "UNKNOWN_FILTER_VALUE"


def check_filters(filters: Mapping[str, str], values: Mapping[str, Mapping[str, int]]) -> None:
    """Check filters against the values of each key and their counts.

    Raises UnknownFilter, UnknownFilterValue.
    """
    for key, value in filters.items():
        if key not in values:
            raise UnknownFilter(
                f"there is no filter '{_plain(key)}'",
                fix=f"Filter by {' or '.join(values)}.",
                nearest=difflib.get_close_matches(_plain(key), values, n=1),
                known=list(values),
            )
        if value not in values[key]:
            raise _unknown_value(key, value, values[key])


def _unknown_value(key: str, value: str, known: Mapping[str, int]) -> UnknownFilterValue:
    shown = [name for name in sorted(known, key=lambda name: (-known[name], name)) if is_listable(name)]
    within = bisect_right(list(accumulate(map(len, shown))), _COMPARED)
    folded = {name.casefold(): name for name in shown[:within]}
    close = difflib.get_close_matches(_plain(value).casefold(), folded, n=5, cutoff=0.5)
    near = [folded[name] for name in close]
    if shown:
        fix = "Did you mean " + " or ".join(f"'{name}'" for name in near or shown[:5]) + "?"
    else:
        fix = f"No document has {key}: leave this filter out."
    return UnknownFilterValue(
        f"no document has {key} '{_plain(value)}'",
        fix=fix,
        nearest=near,
        known=shown[:_LISTED],
        known_total=len(shown),
    )


def _plain(text: str) -> str:
    """Shorten a caller's text for a message, without characters that cannot be encoded."""
    return text[:100].encode("utf-8", "replace").decode()
