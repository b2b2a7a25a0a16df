"""The lines of the source that a suggestion replaces, for the form of a comment on selected text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from docyard.web.errors import get_status
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest


def send_suggested_lines(request: PageRequest) -> Response:
    """Return the lines of the source that contain a quote, as JSON; with a message if there are none."""
    query = request.query
    try:
        lines = request.workspace.proposal_actions().find_suggested_lines(
            request.path_params["id"],
            query.get("file", ""),
            query.get("slug") or None,
            query.get("quote", ""),
            seen_commit=query.get("commit") or None,
        )
    except WorkspaceError as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}. {error.fix}"
        return JSONResponse({"message": message}, get_status(error), {"Cache-Control": "no-store"})
    return JSONResponse({"lines": lines}, headers={"Cache-Control": "no-store"})
