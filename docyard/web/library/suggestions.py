"""The suggestions while a query is typed: the first hits as a part of HTML, without a page around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from docyard.web.library.search import build_results
from docyard.web.templates import render_template
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.web.page_request import PageRequest

MAX_SUGGESTIONS = 8
"""The maximum number of suggested hits."""

MAX_SNIPPET_CHARS = 140
_MAX_QUERY_CHARS = 200
_MIN_QUERY_CHARS = 2


def render_suggestions(request: PageRequest) -> Response:
    """Return the first hits of a query as options of a listbox; no options for an invalid query.

    The last word may be unfinished: if its letters alone have no hits, words that begin with them are found.
    """
    query = request.query.get("q", "").strip()
    results = []
    if _MIN_QUERY_CHARS <= len(query) <= _MAX_QUERY_CHARS:
        try:
            page = request.index.search(query, limit=MAX_SUGGESTIONS, ref=request.ref)
            if not page.hits and query[-1].isalnum():
                page = request.index.search(f"{query}*", limit=MAX_SUGGESTIONS, ref=request.ref)
            results = build_results(page)
        except WorkspaceError:  # the page of the search shows the error
            pass
    values = {
        "request": request,
        "urls": request.urls,
        "query": query,
        "results": results[:MAX_SUGGESTIONS],
        "max_chars": MAX_SNIPPET_CHARS,
    }
    return HTMLResponse(render_template("suggestions.html", values).encode("utf-8", "replace"))
