"""The page for an unknown URL: similar documents, or the new location of a moved document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from docyard.web.endpoints import run_in_thread
from docyard.web.errors import render_error_page
from docyard.web.page_request import PageRequest
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.paths import MAX_PATH_BYTES, UNPRINTABLE_CHARACTER

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from docyard.web.site import Site
    from workspace.snapshot.snapshot import Snapshot


class PageNotFound(WorkspaceError):
    """No page has this URL."""

    code: ClassVar[str] = "PAGE_NOT_FOUND"


class SimilarPage(NamedTuple):
    """A page that the URL may mean."""

    label: str
    url: str


def build_not_found_handler(site: Site) -> Callable[[Request, Exception], Any]:
    """Return the handler of requests whose path or method has no route."""

    async def handle(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        page_request = PageRequest(
            site, request.state.caller, {"path": request.scope["path"].strip("/")}, request.query_params
        )
        return await run_in_thread(partial(_render, page_request, status))

    return handle


def _render(page_request: PageRequest, status: int) -> Response:
    if status != 404:
        error = PageNotFound("the URL does not accept this method", fix="Open it from a page.")
        return page_request.page("error.html", status=status, error=error, reference=None, nearest=())
    path = page_request.path_params["path"]
    try:
        similar_pages = _find_similar_pages(page_request, page_request.snapshot, path)
    except WorkspaceError as error:
        return render_error_page(page_request, error)
    fix = "Similar pages:" if similar_pages else "The library lists all documents."
    not_found_error = PageNotFound("the page does not exist", fix=fix)
    return page_request.page(
        "error.html", status=404, error=not_found_error, reference=None, nearest=similar_pages
    )


def _find_similar_pages(page_request: PageRequest, snapshot: Snapshot, path: str) -> Sequence[SimilarPage]:
    """Return the page of the document with this path, or of its new location, or of similar paths."""
    if not path or len(path) > MAX_PATH_BYTES or UNPRINTABLE_CHARACTER.search(path):
        return ()
    if path in snapshot.documents:
        return (SimilarPage(path, page_request.urls.document(path)),)
    move = page_request.workspace.moves().find(snapshot, path)
    if move is not None:
        return (SimilarPage(f"{move.path} (moved there)", page_request.urls.document(move.path)),)
    return [
        SimilarPage(similar_path, page_request.urls.document(similar_path))
        for similar_path in find_nearest(path, snapshot.documents)
    ]
