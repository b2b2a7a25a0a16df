"""The routes of these pages.

A file as it is, in a way that no browser runs anything of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from docyard.web.documents.lookup import find_redirect_url, get_path
from docyard.web.request import answer_get, answer_post
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.asked import PageRequest
    from docyard.web.request import Answer
    from docyard.web.site import Site


def build_document_routes(site: Site) -> list[BaseRoute]:
    """Return the routes. Each page's module is imported when it is first asked for."""
    from docyard.web.documents.sidebar import DocumentContext

    context = DocumentContext()

    def document(asked: PageRequest) -> Response:
        from docyard.web.documents.document import render_document_page

        return render_document_page(asked, context)

    def raw_file(asked: PageRequest) -> Response:

        return render_raw_page(asked)

    def history(asked: PageRequest) -> Response:
        from docyard.web.documents.history import render_history_page

        return render_history_page(asked)

    def blame(asked: PageRequest) -> Response:
        from docyard.web.documents.history import render_blame_page

        return render_blame_page(asked)

    def commit(asked: PageRequest) -> Response:
        from docyard.web.documents.history import render_commit_page

        return render_commit_page(asked, context)

    def frame(asked: PageRequest) -> Response:
        from docyard.web.documents.diagrams import render_frame_page

        return render_frame_page(asked)

    def edit(asked: PageRequest) -> Response:
        from docyard.web.documents.edit import render_edit_page

        return render_edit_page(asked)

    def edited(asked: PageRequest) -> Response:
        from docyard.web.documents.edit import handle_edit_form

        return handle_edit_form(asked)

    read: dict[str, Answer] = {
        "/doc/{path:path}": document,
        "/raw/{path:path}": raw_file,
        "/history/{path:path}": history,
        "/blame/{path:path}": blame,
        "/commit/{id}": commit,
        "/diagram/{name}": frame,
        "/edit/{path:path}": edit,
    }
    return [
        *(Route(path, answer_get(site, answer), methods=["GET"]) for path, answer in read.items()),
        Route("/edit/{path:path}", answer_post(site, edited), methods=["POST"]),
    ]


def render_raw_page(asked: PageRequest) -> Response:
    """Return the bytes of a file, unless the browser has them. Raises DocumentNotFound, LimitExceeded."""
    from workspace.rendering.raw import read_raw_file

    try:
        file = read_raw_file(asked.snapshot, get_path(asked))
    except DocumentNotFound as error:
        url = find_redirect_url(asked, error, "raw")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    headers = {
        **file.headers,
        "Content-Type": file.content_type,
        "Content-Disposition": file.disposition,
        "X-Content-Type-Options": "nosniff",
        # Kept, and asked for again each time: who may read it can be another by then.
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.blob}"',
    }
    if headers["ETag"] in (tag.strip().removeprefix("W/") for tag in asked.known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.data, headers=headers)
