"""The routes of all pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.endpoints import build_get_endpoint
from docyard.web.templates import serve_static_file

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def build_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of all pages."""
    from docyard.web.documents.routes import build_document_routes
    from docyard.web.feeds import build_feed_routes
    from docyard.web.home import HomeContext, render_home
    from docyard.web.library.library import build_library_routes
    from docyard.web.planning.routes import build_planning_routes
    from docyard.web.proposals.attention_checks import AttentionChecks
    from docyard.web.proposals.routes import build_proposal_routes

    checks = AttentionChecks()
    home_context = HomeContext(checks)

    return [
        Route("/", build_get_endpoint(site, lambda request: render_home(request, home_context))),
        Route("/static/{name}", serve_static_file),
        *build_feed_routes(site),
        *build_library_routes(site),
        *build_document_routes(site),
        *build_planning_routes(site),
        *build_proposal_routes(site, checks),
    ]
