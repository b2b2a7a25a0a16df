"""The search page: hits with filters, hints if there are no hits, and the next page.

Snippets are shown without Markdown markup, with code as code and with the query's terms marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from index.analysis import TOKEN
from index.fences import find_fences
from workspace.errors import WorkspaceError
from workspace.markdown.lines import LIST_MARKER
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from index.hints import Hint
    from index.matches import Matcher
    from index.service import SearchPage

# Markup that is removed from snippets. Each repetition is bounded, so that long lines are fast.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|~~")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)", re.MULTILINE)

# Entries of a list and cells of a table are joined on one line, separated by a dot.
_LIST_ENTRY = re.compile(rf"^[ \t]*{LIST_MARKER}[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|.{1,2000}$", re.MULTILINE)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_SEPARATOR = " · "
_TABLE_RULE = re.compile(r"^[ \t|:-]{3,300}$", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_CODE = re.compile(r"`([^`\n]{1,300})`")


class SnippetRun(NamedTuple):
    """A run of a snippet: `is_word` is true for a term of the query, `is_code` for text in backticks."""

    text: str
    is_word: bool = False
    is_code: bool = False


class SnippetBlock(NamedTuple):
    """A paragraph of a snippet, or a part of a code block."""

    is_code: bool
    runs: tuple[SnippetRun, ...]


def parse_snippet(snippet: str, matcher: Matcher) -> list[SnippetBlock]:
    """Return the blocks of a snippet of `index.snippets`, in order."""
    blocks: list[SnippetBlock] = []
    position = 0
    for fence in find_fences(snippet, 0, len(snippet)):
        blocks += _parse_prose(snippet[position : fence.start], matcher)
        code = snippet[fence.body : fence.end].rstrip("\n")
        if code.strip():
            blocks.append(SnippetBlock(True, tuple(_split_runs(code, matcher, is_code=False))))
        position = fence.close
    return [*blocks, *_parse_prose(snippet[position:], matcher)]


def _parse_prose(text: str, matcher: Matcher) -> Iterator[SnippetBlock]:
    text = _TABLE_RULE.sub("", _LINE_MARKS.sub("", text))
    text = _LIST_ENTRY.sub(_SEPARATOR, _TABLE_ROW.sub(_join_cells, text))
    parts = _CODE.split(_LINK.sub(r"\1", text).strip().removeprefix(_SEPARATOR.strip()).strip())
    runs: list[SnippetRun] = []
    for index, part in enumerate(parts):
        is_code = index % 2 == 1
        plain_text = part if is_code else _SPACE.sub(" ", _EMPHASIS.sub("", part))
        runs += _split_runs(plain_text, matcher, is_code=is_code)
    if runs:
        yield SnippetBlock(False, tuple(runs))


def _join_cells(row: re.Match[str]) -> str:
    """Return a table row as text, with a separator before each cell."""
    cells = (cell.strip() for cell in _CELL_BORDER.split(row[0]))
    return _SEPARATOR + _SEPARATOR.join(cell for cell in cells if cell)


def _split_runs(text: str, matcher: Matcher, *, is_code: bool) -> Iterator[SnippetRun]:
    position = 0
    for start, _ in matcher.find_matches(text):
        word = TOKEN.match(text, start)
        if start < position or word is None:
            continue
        if position < start:
            yield SnippetRun(text[position:start], False, is_code)
        yield SnippetRun(word[0], True, is_code)
        position = word.end()
    if position < len(text):
        yield SnippetRun(text[position:], False, is_code)


HITS_PER_PAGE = 20
"""The number of hits on one page."""

_QUERY_FIELD = "q"
_RESERVED_KEYS = (_QUERY_FIELD, "path", "ref", "cursor")
_MAX_VALUE_CHARS = 500  # of a filter's value on the page
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
        results=_build_results(page) if page else (),
        error=error,
        suggestions=_suggest_from_hint(request, fields, page.hint)
        if page and page.hint
        else _suggest_from_error(request, fields, filters, error)
        if error
        else (),
        hint=_format_hint(page.hint) if page and page.hint else "",
        is_first=not request.query.get("cursor"),
        first_page=request.urls.search(**fields),
        next_page=request.urls.search(**fields, cursor=page.next_cursor)
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
            values_by_key = dict.fromkeys(request.index.keys(), ())
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


def _build_results(page: SearchPage) -> list[SearchResult]:
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
    """Return a hint for people; the suggestions, which clients get as data, are links on the page."""
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
    """Return other searches: with a valid value, or the first page if a cursor is outdated."""
    if error.code in ("STALE_CURSOR", "INVALID_CURSOR"):
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
