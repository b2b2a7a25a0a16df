"""The page for an address that leads nowhere: what is most like it, or where it has moved to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from docyard.web.asked import PageRequest
from docyard.web.errors import render_error_page
from docyard.web.request import run_in_thread
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.paths import CONTROL, MAX_PATH

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from docyard.web.site import Site
    from workspace.snapshot.snapshot import Snapshot


class PageNotFound(WorkspaceError):
    """No page has this address."""

    code: ClassVar[str] = "PAGE_NOT_FOUND"


class SimilarPage(NamedTuple):
    """A page that may have been meant."""

    label: str
    url: str


def build_not_found_handler(site: Site) -> Callable[[Request, Exception], Any]:
    """Return what answers a request for which there is no route, or none for its method."""

    async def answer(request: Request, raised: Exception) -> Response:
        status = getattr(raised, "status_code", 404)
        asked = PageRequest(
            site, request.state.caller, {"path": request.scope["path"].strip("/")}, request.query_params
        )
        return await run_in_thread(partial(_answered, asked, status))

    return answer


def _answered(asked: PageRequest, status: int) -> Response:
    if status != 404:
        refused = PageNotFound("this address is not asked for in this way", fix="Open it from a page.")
        return asked.page("error.html", status=status, error=refused, reference=None, nearest=())
    path = asked.path["path"]
    try:
        near = _find_similar(asked, asked.snapshot, path)
    except WorkspaceError as error:
        return render_error_page(asked, error)
    fix = "Perhaps one of these was meant:" if near else "The library shows what there is."
    none = PageNotFound("there is no such page", fix=fix)
    return asked.page("error.html", status=404, error=none, reference=None, nearest=near)


def _find_similar(asked: PageRequest, snapshot: Snapshot, path: str) -> Sequence[SimilarPage]:
    """Return documents of such a path: the very one, where it has moved to, else those most like it."""
    if not path or len(path) > MAX_PATH or CONTROL.search(path):
        return ()
    if path in snapshot.documents:
        return (SimilarPage(path, asked.urls.document(path)),)
    move = asked.workspace.moves().find(snapshot, path)
    if move is not None:
        return (SimilarPage(f"{move.path}, where it has moved to", asked.urls.document(move.path)),)
    return [SimilarPage(one, asked.urls.document(one)) for one in find_nearest(path, snapshot.documents)]
