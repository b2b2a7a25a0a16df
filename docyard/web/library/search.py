"""The search page: hits with filters, hints if there are no hits, and the next page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.library.snippets import SnippetBlock, parse_snippet
from workspace.errors import WorkspaceError
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from index.hints import Hint
    from index.service import SearchPage

HITS_PER_PAGE = 20
"""The number of hits on one page."""

_QUERY_FIELD = "q"
_RESERVED_KEYS = (_QUERY_FIELD, "path", "ref", "cursor")
_MAX_VALUE_CHARS = 500  # a longer value of a filter is truncated on the page
_MAX_FACETS = 4
_NO_HITS_PREFIX = "0 results found: "
_CLIENT_SUFFIX = ", or use one of suggested_filters"


class SearchFilter(NamedTuple):
    """A key to filter by. `values` is empty if there are too many to list; the user then types a value."""

    key: str
    label: str
    values: Sequence[str]
    selected_value: str


class SearchResult(NamedTuple):
    """A hit on the page: its document, the headings above its section, and its snippet."""

    path: str
    section: str
    heading: str
    parent_headings: tuple[str, ...]
    blocks: Sequence[SnippetBlock]
    facets: tuple[str, ...]


class SuggestedSearch(NamedTuple):
    """Another search that has hits: the label and URL of its link."""

    label: str
    url: str


def render_search(request: PageRequest) -> Response:
    """Return the page of a search. It shows an error of the query, with the form as it was sent."""
    query = request.query.get(_QUERY_FIELD, "")
    path = request.query.get("path", "").strip()
    filters = _build_filters(request)
    selected_filters = {
        search_filter.key: search_filter.selected_value
        for search_filter in filters
        if search_filter.selected_value
    }
    fields = {_QUERY_FIELD: query, "path": path, **selected_filters}
    page: SearchPage | None = None
    error: WorkspaceError | None = None
    if query.strip():
        try:
            page = request.index.search(
                query,
                limit=HITS_PER_PAGE,
                cursor=request.query.get("cursor") or None,
                filters=selected_filters,
                path=path or None,
                ref=request.ref,
            )
        except WorkspaceError as search_error:
            error = search_error
    return request.page(
        "search.html",
        query=query[:_MAX_VALUE_CHARS] if error else query,
        path=path[:_MAX_VALUE_CHARS],
        filters=filters,
        is_filtered=bool(path or selected_filters),
        search_page=page,
        results=build_results(page) if page else (),
        error=error,
        suggestions=_suggest_from_hint(request, fields, page.hint)
        if page and page.hint
        else _suggest_from_error(request, fields, filters, error)
        if error
        else (),
        hint=_format_hint(page.hint) if page and page.hint else "",
        is_first=not request.query.get("cursor"),
        first_page_url=request.urls.search(**fields),
        next_page_url=request.urls.search(**fields, cursor=page.next_cursor)
        if page and page.next_cursor
        else None,
    )


def _build_filters(request: PageRequest) -> list[SearchFilter]:
    """Return the keys of the taxonomy with their indexed values, and the selected values."""
    metadata = request.index.metadata()
    values_by_key: Mapping[str, Sequence[str]]
    if metadata is not None:
        values_by_key = {key: facet.listed_values for key, facet in metadata.taxonomy.items()}
    else:
        try:
            values_by_key = dict.fromkeys(request.index.taxonomy_keys(), ())
        except WorkspaceError:  # a search shows the error
            values_by_key = {}
    return [
        SearchFilter(key, key[:1].upper() + key[1:].replace("_", " "), values, selected_value)
        for key, values in values_by_key.items()
        if key not in _RESERVED_KEYS
        and (
            (selected_value := request.query.get(key, "").strip()[:_MAX_VALUE_CHARS])
            or values
            or metadata is None
        )
    ]


def build_results(page: SearchPage) -> list[SearchResult]:
    """Return the hits of a page of a search, as a page shows them."""
    from index.matches import Matcher

    matcher = Matcher(page.terms)
    return [
        SearchResult(
            hit.filepath,
            # A document opens at its beginning without a section.
            "" if (section := hit.address[len(hit.filepath) + 1 :]) == PREAMBLE else section,
            hit.heading,
            tuple(hit.breadcrumb.split(" > ")[:-1]) if hit.breadcrumb else (),
            parse_snippet(hit.snippet, matcher) if hit.snippet != hit.heading else (),
            tuple(value for text in hit.metadata.values() for value in text.split(", "))[:_MAX_FACETS],
        )
        for hit in page.hits
    ]


def _format_hint(hint: Hint) -> str:
    """Return the message of a hint without the parts that are only for clients.

    The page shows the suggestions of the hint as links.
    """
    text = hint.message.removeprefix(_NO_HITS_PREFIX).replace(_CLIENT_SUFFIX, "")
    return text[:1].upper() + text[1:]


def _suggest_from_hint(request: PageRequest, fields: Mapping[str, str], hint: Hint) -> list[SuggestedSearch]:
    suggestions = [
        SuggestedSearch(query, request.urls.search(**{**fields, _QUERY_FIELD: query}))
        for query in hint.suggested_queries
    ]
    for key, values in hint.suggested_filters.items():
        suggestions += [
            SuggestedSearch(f"{key}: {value}", request.urls.search(**{**fields, key: value}))
            for value in values
        ]
    return [*suggestions, *_suggest_without_filters(request, fields)]


def _suggest_from_error(
    request: PageRequest, fields: Mapping[str, str], filters: Sequence[SearchFilter], error: WorkspaceError
) -> list[SuggestedSearch]:
    """Return other searches: with a valid value of a filter, or the first page if the cursor is outdated."""
    if error.code in ("CURSOR_STALE", "INVALID_CURSOR"):
        return [SuggestedSearch("From the beginning", request.urls.search(**fields))]
    nearest = error.details.get("nearest")
    invalid_keys = [
        search_filter.key
        for search_filter in filters
        if search_filter.selected_value and search_filter.selected_value not in search_filter.values
    ]
    suggestions = []
    if error.code == "UNKNOWN_FILTER_VALUE" and isinstance(nearest, list) and len(invalid_keys) == 1:
        key = invalid_keys[0]
        suggestions = [
            SuggestedSearch(f"{key}: {value}", request.urls.search(**{**fields, key: value}))
            for value in nearest
        ]
    return [*suggestions, *_suggest_without_filters(request, fields)]


def _suggest_without_filters(request: PageRequest, fields: Mapping[str, str]) -> list[SuggestedSearch]:
    if not any(value for key, value in fields.items() if key != _QUERY_FIELD):
        return []
    return [SuggestedSearch("Without filters", request.urls.search(**{_QUERY_FIELD: fields[_QUERY_FIELD]}))]
