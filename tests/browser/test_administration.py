"""The pages of administrators in a browser: accessible, without scripts, light and dark, wide and narrow."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from docyard.database.database import open_database
from docyard.database.schema import upgrade_schema
from docyard.identity.access_tokens import AccessTokens
from tests.acceptance.server import build_user_environment
from tests.browser.conftest import TIMEOUT_MS
from tests.browser.html_validator import validate_pages
from tests.browser.page_server import TIMEOUT_S
from tests.browser.test_axe import find_problems
from tests.docyard.organizations.organizations import add_two_organizations, namespace, rule, server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATHS = (
    "/admin",
    "/admin/acme",
    "/admin/acme/settings",
    "/admin/acme/servers/docs",
    "/admin/acme/namespaces",
    "/admin/acme/rules",
    "/admin/acme/rules/engineers%3Aapi-",
)


class AdministrationServer(NamedTuple):
    """A running server of organizations, and the secret of its operator."""

    url: str
    secret: str


@pytest.fixture(scope="module")
def administration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdministrationServer]:
    folder = tmp_path_factory.mktemp("administration")
    config = folder / "server.toml"
    config.write_text('[http]\nlisten = "127.0.0.1:0"\n[database]\nurl = "sqlite:///server.sqlite"\n')
    database = open_database("sqlite:///server.sqlite", folder)
    upgrade_schema(database)
    operator = add_two_organizations(database)
    operator.add(namespace("n" * 64), {"url": f"https://example.org/{'x' * 200}", "description": "y" * 300})
    operator.add(rule("engineers:api-"), {"role": "reader"})
    operator.change(server("docs"), {"name": "Documentation", "host": "docs.example.org"})
    secret = AccessTokens(database).add(None, "root", ("docs:read", "docs:write", "docs:admin"))
    database.close()
    with (folder / "log").open("w+b") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "docyard", "serve", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=build_user_environment(folder),
        )
        assert process.stdout is not None
        try:
            line = b""
            if select.select([process.stdout], [], [], TIMEOUT_S)[0]:
                line = process.stdout.readline()
            assert line, f"the server did not start:\n{(folder / 'log').read_text()}"
            yield AdministrationServer(line.decode().split("/")[2].strip(), secret)
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)
            process.stdout.close()


def open_page(browser: Browser, administration: AdministrationServer, **options: object) -> Page:
    context = browser.new_context(base_url=f"http://{administration.url}", **options)  # type: ignore[arg-type]
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto("/login?after=/admin")
    page.get_by_label("Token").fill(administration.secret)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Organizations").wait_for()
    return page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_pass_the_accessibility_checker(
    browser: Browser, administration: AdministrationServer, axe_script: str, scheme: str, width: int
) -> None:
    page = open_page(browser, administration, color_scheme=scheme, viewport={"width": width, "height": 844})
    problems_by_path = {}
    for path in PATHS:
        page.goto(path)
        problems = find_problems(page, axe_script)
        if page.evaluate("() => document.documentElement.scrollWidth - innerWidth") > 0:
            problems.append("the page is wider than the screen")
        if problems:
            problems_by_path[path] = problems
    page.context.close()
    assert problems_by_path == {}


def test_pages_are_valid_html(browser: Browser, administration: AdministrationServer, tmp_path: Path) -> None:
    page = open_page(browser, administration)
    pages = {path: page.request.get(path).body() for path in ("/", "/records", *PATHS)}
    page.context.close()
    assert validate_pages(pages, tmp_path) == []


def test_organization_is_added_and_removed_without_scripts(
    browser: Browser, administration: AdministrationServer
) -> None:
    page = open_page(browser, administration, java_script_enabled=False)
    page.get_by_label("Slug").fill("initech")
    page.get_by_label("Name").fill("Initech")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("heading", name="Initech").wait_for()
    page.get_by_role("link", name="Add to namespaces").click()
    page.get_by_label("Name").fill("api")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("alert").get_by_text("Must have exactly one of repo, artifact and url").wait_for()
    page.get_by_label("Repository").fill("/srv/api.git")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("heading", name="Namespace api").wait_for()
    page.get_by_role("navigation", name="Path").get_by_role("link", name="initech").click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="Organizations").wait_for()
    assert page.get_by_text("Initech").count() == 0
    page.context.close()
