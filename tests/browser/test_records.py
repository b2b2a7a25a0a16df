"""The accessibility checker reports no serious problem on the page of records, which needs no script."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.routing import Route

from docyard.records.problem_reports import add_report
from docyard.web.templates import serve_static_file
from tests.browser.html_validator import validate_pages
from tests.browser.test_axe import OPEN_FOLDS_SCRIPT, find_problems
from tests.docyard.web.records.conftest import *  # noqa: F403

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Route as BrowserRoute
    from starlette.testclient import TestClient

    from docyard.database.database import Database

pytestmark = pytest.mark.browser

PICTURES_VARIABLE = "RECORDS_PICTURES"
"""The folder in which pictures of the page are written; unset for none."""


def answer_from(client: TestClient) -> Callable[[BrowserRoute], None]:
    """Return a handler that answers the requests of a browser from an application."""

    def answer(route: BrowserRoute) -> None:
        response = client.get(route.request.url.removeprefix("http://records.test"))
        route.fulfill(status=response.status_code, headers=dict(response.headers), body=response.content)

    return answer


@pytest.mark.usefixtures("recorded_searches")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_page_passes_the_accessibility_checker(
    browser: Browser,
    open_pages: Callable[..., TestClient],
    database: Database,
    axe_script: str,
    scheme: str,
    width: int,
) -> None:
    with database.begin() as connection:
        add_report(
            connection,
            organization_id="org_acme",
            namespace_id="ns_acme_api",
            sender="address:192.0.2.7",
            address="errors.md#retries",
            problem="The longest wait is missing, and " + "averylongword" * 20,
            suggestion="Say 30 s.",
        )
    client = open_pages(extra_routes=[Route("/static/{name}", serve_static_file)])
    context = browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 844},
        java_script_enabled=True,
    )
    page = context.new_page()
    page.route("**/*", answer_from(client))
    for path in ("/records", "/records?period=day", "/records?period=quarter&namespace=ns_acme_guides"):
        page.goto(f"http://records.test{path}")
        page.evaluate(OPEN_FOLDS_SCRIPT)
        assert find_problems(page, axe_script) == []
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        if folder := os.environ.get(PICTURES_VARIABLE):
            name = f"{scheme}-{width}-{path.partition('=')[2][:3] or 'week'}.png"
            page.screenshot(path=Path(folder) / name, full_page=True)
    context.close()


@pytest.mark.usefixtures("recorded_searches")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_page_is_valid_html(open_pages: Callable[..., TestClient], tmp_path: Path) -> None:
    client = open_pages()
    paths = ("/records", "/records?period=day", "/records?period=quarter&namespace=ns_acme_guides")
    assert validate_pages({path: client.get(path).content for path in paths}, tmp_path) == []
