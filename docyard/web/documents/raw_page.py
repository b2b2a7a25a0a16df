"""A file as it is, in a way that no browser runs anything of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import path_of, redirection
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from docyard.web.request import Asked


def raw_page(asked: Asked) -> Response:
    """The bytes of a file, unless the browser has them. Raises DocumentNotFound, LimitExceeded."""
    from workspace.rendering.raw import raw

    try:
        file = raw(asked.snapshot, path_of(asked))
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
