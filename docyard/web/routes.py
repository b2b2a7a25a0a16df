"""Which address is answered by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.templates import static_file

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    """Return the routes of all pages."""
    from docyard.web.documents.routes import document_routes
    from docyard.web.library.library import library_routes
    from docyard.web.proposals.routes import proposal_routes

    return [
        Route("/static/{name}", static_file),
        *library_routes(site),
        *document_routes(site),
        *proposal_routes(site),
    ]
