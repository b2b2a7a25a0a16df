"""Search: the sections that answer a query, with filters, hints where there are none, and the next page.

A hit's snippet as a page shows it: code as code, the words that were asked for marked, and no markup.
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

    from docyard.web.asked import PageRequest
    from index.hints import Hint
    from index.matches import Matcher
    from index.service import Hit, SearchPage

# What people read of Markdown; each repetition is bounded, or a long line would take long.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|~~")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)", re.MULTILINE)

# What stood on lines of its own, as entries of a list or cells of a row, is kept apart by a dot.
_ENTRY = re.compile(rf"^[ \t]*{LIST_MARKER}[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_CELLS = re.compile(r"^[ \t]*\|.{1,2000}$", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_APART = " · "
_RULE = re.compile(r"^[ \t|:-]{3,300}$", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_CODE = re.compile(r"`([^`\n]{1,300})`")


class SnippetRun(NamedTuple):
    """A stretch of a snippet: `is_word` is one that was asked for, `is_code` stood between backticks."""

    text: str
    is_word: bool = False
    is_code: bool = False


class SnippetBlock(NamedTuple):
    """A paragraph of a snippet, or a part of a block of code."""

    is_code: bool
    runs: tuple[SnippetRun, ...]


def parse_snippet(snippet: str, matcher: Matcher) -> list[SnippetBlock]:
    """Return the blocks of a snippet (`index.snippets` made it), in order."""
    found: list[SnippetBlock] = []
    at = 0
    for fence in find_fences(snippet, 0, len(snippet)):
        found += _prose(snippet[at : fence.start], matcher)
        code = snippet[fence.body : fence.end].rstrip("\n")
        if code.strip():
            found.append(SnippetBlock(True, tuple(_runs(code, matcher, is_code=False))))
        at = fence.close
    return [*found, *_prose(snippet[at:], matcher)]


def _prose(text: str, matcher: Matcher) -> Iterator[SnippetBlock]:
    text = _RULE.sub("", _LINE_MARKS.sub("", text))
    text = _ENTRY.sub(_APART, _CELLS.sub(_cells, text))
    parts = _CODE.split(_LINK.sub(r"\1", text).strip().removeprefix(_APART.strip()).strip())
    runs: list[SnippetRun] = []
    for place, part in enumerate(parts):
        is_code = place % 2 == 1
        plain = part if is_code else _SPACE.sub(" ", _EMPHASIS.sub("", part))
        runs += _runs(plain, matcher, is_code=is_code)
    if runs:
        yield SnippetBlock(False, tuple(runs))


def _cells(row: re.Match[str]) -> str:
    """Return a row of a table: its cells, each apart from what stands before it."""
    cells = (cell.strip() for cell in _BAR.split(row[0]))
    return _APART + _APART.join(cell for cell in cells if cell)


def _runs(text: str, matcher: Matcher, *, is_code: bool) -> Iterator[SnippetRun]:
    at = 0
    for start, _ in matcher.matches(text):
        word = TOKEN.match(text, start)
        if start < at or word is None:
            continue
        if at < start:
            yield SnippetRun(text[at:start], False, is_code)
        yield SnippetRun(word[0], True, is_code)
        at = word.end()
    if at < len(text):
        yield SnippetRun(text[at:], False, is_code)


MAX_HITS = 20
"""Hits on one page."""

_QUERY = "q"
_OWN = (_QUERY, "path", "ref", "cursor")
_LONGEST = 500  # characters of a filter's value that a page repeats
_FACETS = 4
_NOTHING = "0 results found: "
_FOR_CLIENTS = ", or use one of suggested_filters"


class SearchFilter(NamedTuple):
    """A key to filter by: its values are listed, or none where there are too many, and then it is typed."""

    key: str
    label: str
    values: Sequence[str]
    chosen: str


class SearchResult(NamedTuple):
    """A hit as the page shows it: its document, the headings down to its section, and its words."""

    path: str
    section: str
    heading: str
    above: tuple[str, ...]
    blocks: Sequence[SnippetBlock]
    facets: tuple[str, ...]


class SuggestedSearch(NamedTuple):
    """Another search, which finds something: what its link says, and where it leads."""

    label: str
    url: str


def render_search(asked: PageRequest) -> Response:
    """Return the page of a search; a problem with the query is shown on it, with the form as sent."""
    query = asked.query.get(_QUERY, "")
    path = asked.query.get("path", "").strip()
    filters = _filters(asked)
    chosen = {one.key: one.chosen for one in filters if one.chosen}
    fields = {_QUERY: query, "path": path, **chosen}
    page: SearchPage | None = None
    error: WorkspaceError | None = None
    if query.strip():
        try:
            page = asked.index.search(
                query,
                limit=MAX_HITS,
                cursor=asked.query.get("cursor") or None,
                filters=chosen,
                path=path or None,
                ref=asked.ref,
            )
        except WorkspaceError as raised:
            error = raised
    return asked.page(
        "search.html",
        query=query[:_LONGEST] if error else query,
        path=path[:_LONGEST],
        filters=filters,
        is_filtered=bool(path or chosen),
        result=page,
        found=_build_results(query, page.hits) if page else (),
        error=error,
        tries=_tries_of_hint(asked, fields, page.hint)
        if page and page.hint
        else _tries_of_error(asked, fields, filters, error)
        if error
        else (),
        hint=_format_hint(page.hint) if page and page.hint else "",
        is_first=not asked.query.get("cursor"),
        first_page=asked.urls.search(**fields),
        next_page=asked.urls.search(**fields, cursor=page.next_cursor) if page and page.next_cursor else None,
    )


def _filters(asked: PageRequest) -> list[SearchFilter]:
    """Return the keys of the taxonomy with the values that were indexed last, and what was chosen of them."""
    metadata = asked.index.metadata()
    known: Mapping[str, Sequence[str]]
    if metadata is not None:
        known = {key: facet.listed for key, facet in metadata.taxonomy.items()}
    else:
        try:
            known = dict.fromkeys(asked.index.keys(), ())
        except WorkspaceError:  # whoever searches is told
            known = {}
    return [
        SearchFilter(key, key[:1].upper() + key[1:].replace("_", " "), values, chosen)
        for key, values in known.items()
        if key not in _OWN
        and ((chosen := asked.query.get(key, "").strip()[:_LONGEST]) or values or metadata is None)
    ]


def _build_results(query: str, hits: Sequence[Hit]) -> list[SearchResult]:
    from index.matches import Matcher
    from index.query import parse

    matcher = Matcher(parse(query).terms)
    return [
        SearchResult(
            hit.filepath,
            # A document's beginning is where it opens by itself.
            "" if (section := hit.address[len(hit.filepath) + 1 :]) == PREAMBLE else section,
            hit.heading,
            tuple(hit.breadcrumb.split(" > ")[:-1]) if hit.breadcrumb else (),
            parse_snippet(hit.snippet, matcher) if hit.snippet != hit.heading else (),
            tuple(value for text in hit.metadata.values() for value in text.split(", "))[:_FACETS],
        )
        for hit in hits
    ]


def _format_hint(hint: Hint) -> str:
    """Return a hint for people: what clients are given as data stands below it as links."""
    text = hint.message.removeprefix(_NOTHING).replace(_FOR_CLIENTS, "")
    return text[:1].upper() + text[1:]


def _tries_of_hint(asked: PageRequest, fields: Mapping[str, str], hint: Hint) -> list[SuggestedSearch]:
    tries = [
        SuggestedSearch(query, asked.urls.search(**{**fields, _QUERY: query}))
        for query in hint.suggested_queries
    ]
    for key, values in hint.suggested_filters.items():
        tries += [
            SuggestedSearch(f"{key}: {value}", asked.urls.search(**{**fields, key: value}))
            for value in values
        ]
    return [*tries, *_without_filters(asked, fields)]


def _tries_of_error(
    asked: PageRequest, fields: Mapping[str, str], filters: Sequence[SearchFilter], error: WorkspaceError
) -> list[SuggestedSearch]:
    """Return other searches: with a valid value, or the first page if a cursor is outdated."""
    if error.code in ("STALE_CURSOR", "INVALID_CURSOR"):
        return [SuggestedSearch("From the beginning", asked.urls.search(**fields))]
    near = error.details.get("nearest")
    wrong = [one.key for one in filters if one.chosen and one.chosen not in one.values]
    tries = []
    if error.code == "UNKNOWN_FILTER_VALUE" and isinstance(near, list) and len(wrong) == 1:
        key = wrong[0]
        tries = [
            SuggestedSearch(f"{key}: {value}", asked.urls.search(**{**fields, key: value})) for value in near
        ]
    return [*tries, *_without_filters(asked, fields)]


def _without_filters(asked: PageRequest, fields: Mapping[str, str]) -> list[SuggestedSearch]:
    if not any(value for key, value in fields.items() if key != _QUERY):
        return []
    return [SuggestedSearch("Without filters", asked.urls.search(**{_QUERY: fields[_QUERY]}))]
