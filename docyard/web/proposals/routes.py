"""The routes of the pages of proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.endpoints import answer_get, answer_post
from docyard.web.proposals.actions import handle_action, redirect_to_proposal
from docyard.web.proposals.changes import render_changes_page
from docyard.web.proposals.conflicts import render_conflicts_page
from docyard.web.proposals.list import render_proposals_page
from docyard.web.proposals.view import render_proposal_page

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def build_proposal_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the pages of proposals."""
    return [
        Route("/proposals", answer_get(site, render_proposals_page)),
        Route("/proposals/{id}", answer_get(site, render_proposal_page)),
        Route("/proposals/{id}/changes", answer_get(site, render_changes_page)),
        Route("/proposals/{id}/conflicts", answer_get(site, render_conflicts_page)),
        Route("/proposals/{id}/{act}", answer_post(site, handle_action), methods=["POST"]),
        Route("/proposals/{id}/{act}", answer_get(site, redirect_to_proposal)),
    ]
