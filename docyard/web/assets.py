"""The files that pages are dressed with: their addresses change with them, so browsers keep them for long."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, PlainTextResponse, Response

from docyard.web.templates import STATIC

if TYPE_CHECKING:
    from starlette.requests import Request

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def _names() -> frozenset[str]:
    """What there is: a name is looked up, and never joined to a path as it came."""
    return frozenset(path.name for path in STATIC.iterdir() if path.is_file())


async def static_file(request: Request) -> Response:
    """A file of `static/`."""
    name = request.path_params["name"]
    path = STATIC / name
    if name not in _names() or path.suffix not in _KINDS:
        return PlainTextResponse("not found\n", 404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)
