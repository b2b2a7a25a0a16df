"""The routes of these pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.proposals.actions import act, back
from docyard.web.proposals.changes import changes_page
from docyard.web.proposals.conflicts import conflicts_page
from docyard.web.proposals.list import proposals_page
from docyard.web.proposals.view import proposal_page
from docyard.web.request import getting, posting

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def proposal_routes(site: Site) -> list[BaseRoute]:
    """Return the routes."""
    return [
        Route("/proposals", getting(site, proposals_page)),
        Route("/proposals/{id}", getting(site, proposal_page)),
        Route("/proposals/{id}/changes", getting(site, changes_page)),
        Route("/proposals/{id}/conflicts", getting(site, conflicts_page)),
        Route("/proposals/{id}/{act}", posting(site, act), methods=["POST"]),
        Route("/proposals/{id}/{act}", getting(site, back)),
    ]
