"""The routes of a document's pages, and of raw files, which no browser executes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from docyard.web.documents.lookup import find_redirect_url, get_path
from docyard.web.endpoints import build_get_endpoint, build_post_endpoint
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.endpoints import Handler
    from docyard.web.page_request import PageRequest
    from docyard.web.site import Site


def build_document_routes(site: Site) -> list[BaseRoute]:
    """Return the routes. The module of each page is imported at its first request."""
    from docyard.web.documents.sidebar import DocumentContext

    context = DocumentContext()

    def get_document(request: PageRequest) -> Response:
        from docyard.web.documents.document import render_document_page

        return render_document_page(request, context)

    def get_raw_file(request: PageRequest) -> Response:
        return render_raw_page(request)

    def get_history(request: PageRequest) -> Response:
        from docyard.web.documents.history import render_history_page

        return render_history_page(request)

    def get_blame(request: PageRequest) -> Response:
        from docyard.web.documents.history import render_blame_page

        return render_blame_page(request)

    def get_commit(request: PageRequest) -> Response:
        from docyard.web.documents.history import render_commit_page

        return render_commit_page(request, context)

    def get_frame(request: PageRequest) -> Response:
        from docyard.web.diagrams import render_frame_page

        return render_frame_page(request)

    def get_edit_form(request: PageRequest) -> Response:
        from docyard.web.documents.edit import render_edit_page

        return render_edit_page(request)

    def post_edit_form(request: PageRequest) -> Response:
        from docyard.web.documents.edit import handle_edit_form

        return handle_edit_form(request)

    def post_comment_form(request: PageRequest) -> Response:
        from docyard.web.documents.comments import handle_comment_form

        return handle_comment_form(request)

    def get_create_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import render_create_page

        return render_create_page(request)

    def post_create_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import handle_create_form

        return handle_create_form(request)

    def get_move_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import render_move_page

        return render_move_page(request)

    def post_move_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import handle_move_form

        return handle_move_form(request)

    def get_remove_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import render_remove_page

        return render_remove_page(request)

    def post_remove_form(request: PageRequest) -> Response:
        from docyard.web.documents.document_forms import handle_remove_form

        return handle_remove_form(request)

    handlers: dict[str, Handler] = {
        "/doc/{path:path}": get_document,
        "/raw/{path:path}": get_raw_file,
        "/history/{path:path}": get_history,
        "/blame/{path:path}": get_blame,
        "/commit/{id}": get_commit,
        "/diagram/{name}": get_frame,
        "/edit/{path:path}": get_edit_form,
        "/new": get_create_form,
        "/move/{path:path}": get_move_form,
        "/remove/{path:path}": get_remove_form,
    }
    form_handlers: dict[str, Handler] = {
        "/new": post_create_form,
        "/move/{path:path}": post_move_form,
        "/remove/{path:path}": post_remove_form,
        "/comments/{act}": post_comment_form,
    }
    return [
        *(
            Route(path, build_get_endpoint(site, handler), methods=["GET"])
            for path, handler in handlers.items()
        ),
        *(
            Route(path, build_post_endpoint(site, handler), methods=["POST"])
            for path, handler in form_handlers.items()
        ),
        Route(
            "/edit/{path:path}",
            build_post_endpoint(site, post_edit_form, accepts_files=True),
            methods=["POST"],
        ),
    ]


def render_raw_page(request: PageRequest) -> Response:
    """Return a response with the bytes of a file, or with status 304 if the browser has cached the file.

    Raises DocumentNotFound, LimitExceeded.
    """
    from workspace.rendering.raw import read_raw_file

    try:
        file = read_raw_file(request.snapshot, get_path(request))
    except DocumentNotFound as error:
        url = find_redirect_url(request, error, "raw")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    headers = {
        **file.headers,
        "Content-Type": file.content_type,
        "Content-Disposition": file.disposition,
        "X-Content-Type-Options": "nosniff",
        # Cached, but revalidated at each request, because the reader's permission may have changed.
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.blob}"',
    }
    if headers["ETag"] in (tag.strip().removeprefix("W/") for tag in request.known_etags.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.data, headers=headers)
