"""The routes of these pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.request import getting, posting

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.request import Answer, Asked
    from docyard.web.site import Site


def document_routes(site: Site) -> list[BaseRoute]:
    """The routes. Each page's module is imported when it is first asked for."""
    from docyard.web.documents.sidebar import Surroundings

    surroundings = Surroundings()

    def document(asked: Asked) -> Response:
        from docyard.web.documents.document import document_page

        return document_page(asked, surroundings)

    def raw_file(asked: Asked) -> Response:
        from docyard.web.documents.raw_page import raw_page

        return raw_page(asked)

    def history(asked: Asked) -> Response:
        from docyard.web.documents.history import history_page

        return history_page(asked)

    def blame(asked: Asked) -> Response:
        from docyard.web.documents.blame_page import blame_page

        return blame_page(asked)

    def commit(asked: Asked) -> Response:
        from docyard.web.documents.commit_page import commit_page

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
