"""Search at the tip of the branch, after an update of the index, or at another commit.

An empty result is explained by further searches at the same generation. Filters are checked against the keys
of the taxonomy, and against the values that sections have.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from index.cursors import StaleCursor, make_stale_cursor_error
from index.hints import Hint, build_hint, suggest_queries
from index.operators import NO_FIELDS, QueryFields
from index.port import GenerationGone, NotIndexed, Query, QueryTooBroad, Results
from index.storage.manifest import IndexDamaged
from index.storage.metadata import is_listable
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from index.documents import SectionRecord
    from index.hints import Hint
    from index.live import LiveIndex, UpdateResult
    from index.overlays import Overlays
    from index.port import Progress, Query, Results
    from workspace.snapshot.snapshot import Snapshot

_MAX_ATTEMPTS = 2
"""Attempts to search an index that other processes change at the same time."""


class SearchRequest(NamedTuple):
    """A search: the query text, the parsed query, its fields, and the range of results.

    `generation` is the required generation of the index; None for the first page.
    """

    text: str
    query: Query
    fields: QueryFields
    offset: int
    limit: int
    generation: str | None


class SearchResponse(NamedTuple):
    """A range of results, and a hint if the range is empty.

    `is_stale` is True if the results are older than the tip of the branch.
    """

    results: Results
    hint: Hint | None
    is_stale: bool = False


def search_branch(
    live: LiveIndex, request: SearchRequest, progress: Progress | None = None
) -> SearchResponse:
    """Search the tip of the branch.

    Raises StaleCursor, and the errors of `LiveIndex.update_to_tip` and `check_filters`.
    """
    for attempts_left in reversed(range(_MAX_ATTEMPTS)):
        update_result = live.update_to_tip(progress)
        try:
            results = _search_live(live, request, update_result, progress)
        except NotIndexed:  # the files were removed, or the branch was switched to one without an index
            if attempts_left:
                continue
            raise
        is_stale = update_result.is_stale
        if results.state.commit != update_result.state.commit:
            # Another thread has updated the index, or uses an older one because files were removed.
            is_stale = live.is_behind(results.state)
            if is_stale and not update_result.is_stale:
                continue
        if results.hits or request.offset:
            return SearchResponse(results, None, is_stale)
        if hint := _make_hint(live, request, results):
            return SearchResponse(results, hint, is_stale)

    return SearchResponse(results, None if results.hits else UNEXPLAINED_HINT, is_stale)


def search_commit(
    overlays: Overlays, request: SearchRequest, snapshot: Snapshot, progress: Progress | None = None
) -> SearchResponse:
    """Search one commit, at the tip or elsewhere.

    Raises StaleCursor, and the errors of `Overlays.get_or_create` and `check_filters`.
    """
    if snapshot.commit == overlays.workspace.tip():
        with suppress(StaleCursor):  # the branch has just changed, and the cursor belongs to the previous tip
            response = search_branch(overlays.live, request, progress)
            if response.results.state.commit == snapshot.commit:
                return response._replace(is_stale=False)
    overlay = overlays.get_or_create(snapshot, progress)
    try:
        _check_filter_values(request.query, overlay.count_values)
        results = overlay.search(request.query, request.offset, request.limit, request.generation)
    except GenerationGone as error:
        raise make_stale_cursor_error(request.generation, error, is_other_ref=True) from error
    if results.hits or request.offset:
        return SearchResponse(results, None)
    return SearchResponse(results, _make_hint(overlay, request, results))


def _search_live(
    live: LiveIndex, request: SearchRequest, update_result: UpdateResult, progress: Progress | None
) -> Results:
    query, _, offset, limit, generation = request[1:]
    try:
        try:
            _check_filter_values(query, lambda: live.count_values(update_result.state))
            return live.search(query, offset, limit, generation)
        except IndexDamaged:
            live.replace_damaged(update_result.state, progress)
            return live.search(query, offset, limit, generation)
    except GenerationGone as error:
        raise make_stale_cursor_error(generation, error) from error


def _check_filter_values(query: Query, values: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
    """Check filters against the existing values, which are counted only if there is a filter."""
    if query.filters:
        check_filters(query.filters, values())


def _make_hint(target: SearchTarget, request: SearchRequest, results: Results) -> Hint | None:
    return explain_empty_results(target, request.text, request.query, results.generation, request.fields)


UNEXPLAINED_HINT = Hint("0 results found: the documents are changing just now. Search again in a moment.", {})
"""The hint if the documents changed during each attempt to explain an empty result."""


TOO_SLOW_HINT = Hint("0 results found: the operators of the query exclude everything. Leave some out.", {})
"""The hint if a search without a part of the query takes too long."""


class SearchTarget(Protocol):
    """A searchable index of one commit or of the branch."""

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Return a range of results. Raises GenerationGone."""

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms that a folded word may mean."""

    def text(self, record: SectionRecord) -> str:
        """Return the text of a section without its heading."""


def explain_empty_results(
    target: SearchTarget, text: str, query: Query, generation: str, fields: QueryFields = NO_FIELDS
) -> Hint | None:
    """Return a hint on the empty result of a query, parsed from `text`.

    Returns None if the index was replaced, removed or damaged.
    """

    def search(relaxed_query: Query, limit: int) -> list[SectionRecord]:
        return [scored.record for scored in target.search(relaxed_query, 0, limit, generation).hits]

    def suggest() -> tuple[str, ...]:
        return suggest_queries(text, query, search, target.find_similar_terms, target.text, fields)

    try:
        return build_hint(query, search, suggest)
    except QueryTooBroad:  # a search for the hint took too long
        return TOO_SLOW_HINT
    except (GenerationGone, NotIndexed, IndexDamaged):
        return None


_MAX_LISTED_VALUES = 50
_MAX_COMPARED_CHARACTERS = 20_000
"""The largest number of characters of the most common values that are compared with an unknown value."""


class UnknownFilter(WorkspaceError):
    """A filter by a key that the taxonomy does not have."""

    code: ClassVar[str] = "UNKNOWN_FILTER"


class UnknownFilterValue(WorkspaceError):
    """A filter value that no document has; `details` has the nearest values, and up to 50 known values."""

    code: ClassVar[str] = "UNKNOWN_FILTER_VALUE"


def check_filters(filters: Mapping[str, str], values: Mapping[str, Mapping[str, int]]) -> None:
    """Check filters against the values of each key, which are given with their counts.

    Raises UnknownFilter, UnknownFilterValue.
    """
    for key, value in filters.items():
        if key not in values:
            raise UnknownFilter(
                f"filter '{_shorten(key)}' does not exist",
                fix=f"Filter by {' or '.join(values)}.",
                nearest=difflib.get_close_matches(_shorten(key), values, n=1),
                known=list(values),
            )
        if value not in values[key]:
            raise _make_unknown_value_error(key, value, values[key])


def _make_unknown_value_error(key: str, value: str, counts: Mapping[str, int]) -> UnknownFilterValue:
    listable_values = [
        name for name in sorted(counts, key=lambda name: (-counts[name], name)) if is_listable(name)
    ]
    compared_count = bisect_right(list(accumulate(map(len, listable_values))), _MAX_COMPARED_CHARACTERS)
    values_by_folded_text = {name.casefold(): name for name in listable_values[:compared_count]}
    close_matches = difflib.get_close_matches(
        _shorten(value).casefold(), values_by_folded_text, n=5, cutoff=0.5
    )
    nearest = [values_by_folded_text[name] for name in close_matches]
    if listable_values:
        names = [f"'{name}'" for name in nearest or listable_values[:5]]
        fix = (
            f"Did you mean {' or '.join(names)}?"
            if nearest
            else f"Use another value, such as {', '.join(names)}."
        )
    else:
        fix = f"Leave this filter out: no document has {key}."
    return UnknownFilterValue(
        f"no document has {key} '{_shorten(value)}'",
        fix=fix,
        nearest=nearest,
        known=listable_values[:_MAX_LISTED_VALUES],
        known_total=len(listable_values),
    )


def _shorten(text: str) -> str:
    """Shorten a caller's text for a message, without characters that cannot be encoded."""
    return text[:100].encode("utf-8", "replace").decode()
