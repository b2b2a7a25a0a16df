"""The routes of the library, of search, and of what every page listens to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.library.library import library
from docyard.web.library.search import search
from docyard.web.live import listening
from docyard.web.request import getting

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def library_routes(site: Site) -> list[BaseRoute]:
    """The routes."""
    return [
        Route("/", getting(site, library)),
        Route("/folder/{path:path}", getting(site, library)),
        Route("/search", getting(site, search)),
        Route("/events", listening(site)),
    ]
