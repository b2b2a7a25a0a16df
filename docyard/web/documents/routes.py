"""The routes of these pages.

A file as it is, in a way that no browser runs anything of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from docyard.web.documents.lookup import path_of, redirection
from docyard.web.request import getting, posting
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.asked import Asked
    from docyard.web.request import Answer
    from docyard.web.site import Site


def document_routes(site: Site) -> list[BaseRoute]:
    """Return the routes. Each page's module is imported when it is first asked for."""
    from docyard.web.documents.sidebar import Surroundings

    surroundings = Surroundings()

    def document(asked: Asked) -> Response:
        from docyard.web.documents.document import document_page

        return document_page(asked, surroundings)

    def raw_file(asked: Asked) -> Response:

        return raw_page(asked)

    def history(asked: Asked) -> Response:
        from docyard.web.documents.history import history_page

        return history_page(asked)

    def blame(asked: Asked) -> Response:
        from docyard.web.documents.history import blame_page

        return blame_page(asked)

    def commit(asked: Asked) -> Response:
        from docyard.web.documents.history import commit_page

        return commit_page(asked, surroundings)

    def frame(asked: Asked) -> Response:
        from docyard.web.documents.diagrams import frame_page

        return frame_page(asked)

    def edit(asked: Asked) -> Response:
        from docyard.web.documents.edit import edit_page

        return edit_page(asked)

    def edited(asked: Asked) -> Response:
        from docyard.web.documents.edit import edited_page

        return edited_page(asked)

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
        *(Route(path, getting(site, answer), methods=["GET"]) for path, answer in read.items()),
        Route("/edit/{path:path}", posting(site, edited), methods=["POST"]),
    ]


def raw_page(asked: Asked) -> Response:
    """Return the bytes of a file, unless the browser has them. Raises DocumentNotFound, LimitExceeded."""
    from workspace.rendering.raw import read_raw_file

    try:
        file = read_raw_file(asked.snapshot, path_of(asked))
    except DocumentNotFound as error:
        url = redirection(asked, error, "raw")
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
