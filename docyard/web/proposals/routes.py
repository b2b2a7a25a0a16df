"""The routes of the pages of proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.endpoints import build_get_endpoint, build_post_endpoint
from docyard.web.proposals.actions import handle_action, redirect_to_proposal
from docyard.web.proposals.changes import render_changes_page
from docyard.web.proposals.conflicts import render_conflicts_page
from docyard.web.proposals.list import handle_read_form, render_proposals_page
from docyard.web.proposals.suggested_lines import send_suggested_lines
from docyard.web.proposals.view import render_proposal_page

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.proposals.attention_checks import AttentionChecks
    from docyard.web.site import Site


def build_proposal_routes(site: Site, checks: AttentionChecks) -> list[BaseRoute]:
    """Return the routes of the pages of proposals; `checks` are shared with the home page."""
    return [
        Route("/proposals", build_get_endpoint(site, lambda request: render_proposals_page(request, checks))),
        Route(
            "/proposals/read", build_post_endpoint(site, handle_read_form, is_write=False), methods=["POST"]
        ),
        Route("/proposals/{id}", build_get_endpoint(site, render_proposal_page)),
        Route("/proposals/{id}/changes", build_get_endpoint(site, render_changes_page)),
        Route("/proposals/{id}/suggested-lines", build_get_endpoint(site, send_suggested_lines)),
        Route("/proposals/{id}/conflicts", build_get_endpoint(site, render_conflicts_page)),
        Route("/proposals/{id}/{act}", build_post_endpoint(site, handle_action), methods=["POST"]),
        Route("/proposals/{id}/{act}", build_get_endpoint(site, redirect_to_proposal)),
    ]
