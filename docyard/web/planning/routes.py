"""The routes of the pages of tasks, drift, traces and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from docyard.web.documents.task_boxes import handle_task_form
from docyard.web.endpoints import build_get_endpoint, build_post_endpoint
from docyard.web.planning.drift import render_drift_page
from docyard.web.planning.tasks import render_tasks_page
from docyard.web.planning.traces import render_matrix_page, render_trace_page
from docyard.web.statistics.page import render_statistics_page

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.web.site import Site


def build_planning_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the pages of tasks, drift, traces and statistics."""
    return [
        Route("/tasks", build_get_endpoint(site, render_tasks_page), methods=["GET"]),
        Route("/tasks", build_post_endpoint(site, handle_task_form), methods=["POST"]),
        Route("/drift", build_get_endpoint(site, render_drift_page)),
        Route("/statistics", build_get_endpoint(site, render_statistics_page)),
        Route("/trace", build_get_endpoint(site, render_matrix_page)),
        Route("/trace/{id}", build_get_endpoint(site, render_trace_page)),
    ]
