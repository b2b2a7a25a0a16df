"""The pages of administrators: operators, administrators of one organization, and everyone else."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import Caller, Principal
from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.organizations.administration import Administration
from docyard.organizations.authority import Administrator, Places
from docyard.organizations.objects import ObjectKey, compute_version
from docyard.web.administration.pages import AdministrationAccess
from docyard.web.administration.routes import build_administration_routes
from tests.databases import *  # noqa: F403
from tests.docyard.organizations.organizations import (
    ACME,
    add_two_organizations,
    namespace,
    rule,
    server,
)

CSRF = "c" * 32
PATHS = (
    "/admin",
    "/admin/acme",
    "/admin/acme/settings",
    "/admin/acme/servers",
    "/admin/acme/servers/docs",
    "/admin/acme/namespaces/api",
    "/admin/acme/rules",
)


def find_administrator(caller: Caller, slug: str) -> Administrator | None:
    principal = caller.principal
    if principal is None or principal.key.startswith("address:"):
        return None
    return Administrator(principal, principal.organization) if principal.name != "reader" else None


class Authenticated:
    """Sets the caller that the header `x-user` names: an organization, `operator`, or none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = dict(scope.get("headers", [])).get(b"x-user", b"").decode()
        organization = None if user in ("operator", "reader") else user or None
        principal = Principal(f"token:{user}", user, organization) if user else None
        scope.setdefault("state", {})["caller"] = Caller(None, CSRF, True, True, principal)
        await self._app(scope, receive, send)


@pytest.fixture
def operator(database: Database) -> Administration:
    return add_two_organizations(database)


@pytest.fixture
def app(database: Database, operator: Administration, tmp_path: Path) -> Authenticated:
    access = AdministrationAccess(
        database, Places(tmp_path, url_hosts=("github.com/{organization}",)), find_administrator
    )
    return Authenticated(Starlette(routes=build_administration_routes(access)))


class Browser:
    """A browser of one user, which sends the hidden fields of the pages that it has opened."""

    def __init__(self, app: ASGIApp, user: str) -> None:
        self._client = TestClient(app, headers={"x-user": user}, follow_redirects=False)

    def get(self, path: str, status: int = 200) -> str:
        response = self._client.get(path)
        assert response.status_code == status, response.text
        return unescape(response.text)

    def send(self, method: str, path: str) -> tuple[int, str, dict[str, str]]:
        response = self._client.request(method, path)
        return response.status_code, response.text, dict(response.headers)

    def post(self, path: str, status: int = 303, **fields: Any) -> str:
        response = self._client.post(path, data={"csrf": CSRF, **fields})
        assert response.status_code == status, response.text
        return response.headers["location"] if status == 303 else unescape(response.text)

    def read_version(self, path: str) -> str:
        match = re.search('name="version" value="([0-9a-f]+)"', self.get(path))
        assert match is not None
        return match[1]


@pytest.fixture
def browser(app: ASGIApp) -> Browser:
    return Browser(app, "operator")


def test_operator_adds_changes_renames_and_removes(browser: Browser, operator: Administration) -> None:
    assert browser.post("/admin", slug="initech", name="Initech & Co") == "/admin/initech"
    assert "Initech & Co" in browser.get("/admin")
    assert browser.post("/admin/initech/namespaces", slug="a.b", repo="/srv/x") == (
        "/admin/initech/namespaces/a.b"
    )
    fields = {"slug": "docs", "host": "docs.example.org", "contextual_search": "on", "namespaces:a.b": "on"}
    path = browser.post("/admin/initech/servers", **fields)
    assert operator.find(server("docs", "initech")) == {
        "host": "docs.example.org",
        "contextual_search": True,
        "namespaces": ["a.b"],
    }
    page = browser.get(path)
    assert page.count(" checked") == 2
    version = browser.read_version(path)
    assert browser.post(path, version=version, act="save", max_tokens="900") == path
    assert operator.find(server("docs", "initech")) == {"max_tokens": 900}
    version = browser.read_version(path)
    path = browser.post(path, version=version, act="rename", new_name="manual")
    assert path == "/admin/initech/servers/manual"
    version = browser.read_version(path)
    page = browser.post(path, 400, version=version, act="remove")
    assert "The removal is not confirmed" in page
    assert browser.post(path, version=version, act="remove", confirmed="on") == "/admin/initech"
    assert "server.remove" in browser.get("/admin/initech")


def test_organization_without_a_name_is_shown_by_its_slug(app: ASGIApp, browser: Browser) -> None:
    path = "/admin/acme/settings"
    Browser(app, "acme").post(path, version=browser.read_version(path), act="save", name="")
    assert ">acme</a>" in browser.get("/admin")
    assert "<h1>acme</h1>" in browser.get("/admin/acme")


def test_rule_of_any_group_has_a_page(browser: Browser, operator: Administration) -> None:
    path = browser.post("/admin/acme/rules", group="/teams/a:b é?", namespace_prefix="api", role="reader")
    assert operator.find(rule("/teams/a:b é?:api")) == {"role": "reader"}
    assert "selected>reader" in browser.get(path)
    version = browser.read_version(path)
    browser.post(path, version=version, act="save", role="writer")
    assert operator.find(rule("/teams/a:b é?:api")) == {"role": "writer"}


def test_invalid_form_is_shown_again_with_its_values(browser: Browser) -> None:
    page = browser.post("/admin/acme/servers", 400, slug="new", max_tokens="10", name='<b>"New"')
    assert "Max_tokens: " in page
    assert 'value="<b>"New""' in page
    page = browser.post("/admin/acme/servers", 409, slug="docs")
    assert "The server 'docs' exists" in page


def test_form_of_an_older_version_is_a_conflict(browser: Browser, operator: Administration) -> None:
    path = "/admin/acme/servers/docs"
    version = browser.read_version(path)
    operator.change(server("docs"), {"name": "First"})
    page = browser.post(path, 409, version=version, act="save", name="Second")
    assert "The current values: name: First; namespaces: api." in page
    assert 'value="Second"' in page
    version = compute_version(operator.find(server("docs")))
    assert f'value="{version}"' in page
    browser.post(path, version=version, act="save", name="Second")
    assert operator.find(server("docs")) == {"name": "Second"}


def test_form_without_version_or_token_changes_nothing(browser: Browser, operator: Administration) -> None:
    state = operator.read_state()
    assert "has been changed" in browser.post("/admin/acme/servers/docs", 409, act="save", name="x")
    assert "another session" in browser.post("/admin/acme/servers/docs", 403, csrf="x", act="save")
    assert operator.read_state() == state


@pytest.mark.parametrize("is_renamed", [False, True])
def test_changes_of_an_earlier_organization_with_the_slug_are_not_shown(
    app: ASGIApp, operator: Administration, is_renamed: bool
) -> None:
    operator.add(namespace("secret-plan"), {"repo": "/srv/x"})
    assert "secret-plan" in Browser(app, "acme").get("/admin/acme")
    operator.remove(ACME)
    if is_renamed:
        operator.rename(ObjectKey("globex"), "acme")
    else:
        operator.add(ACME, {})
    operator.add(namespace("new"), {"repo": "/srv/x"})
    page = Browser(app, "acme").get("/admin/acme")
    assert "acme/new" in page
    assert "secret-plan" not in page


def test_administrator_sees_only_their_organization(app: ASGIApp, operator: Administration) -> None:
    browser = Browser(app, "acme")
    assert browser.send("GET", "/admin")[0] == 303
    page = browser.get("/admin/acme")
    assert "globex" not in page.lower()
    for path in PATHS[1:]:
        browser.get(path)
        assert browser.send("GET", path.replace("acme", "globex")) == browser.send(
            "GET", path.replace("acme", "glabex")
        )
    for path in ("/admin/globex/servers/docs", "/admin/globex/settings", "/admin/globex/servers"):
        version = compute_version(operator.find(server("docs", "globex")))
        assert browser.post(path, 404, version=version, act="save", slug="x") == browser.post(
            path.replace("globex", "glabex"), 404, version=version, act="save", slug="x"
        )
    browser.post("/admin/acme/namespaces", slug="new", url="https://github.com/acme/new")
    page = browser.post("/admin/acme/namespaces", 403, slug="more", url="https://github.com/globex/x")
    assert "must have a host and a path that the operator listed" in page
    assert "only the operator may add organizations" in browser.post("/admin", 403, slug="x").lower()
    assert browser.post(
        "/admin/acme/servers/docs",
        version=browser.read_version("/admin/acme/servers/docs"),
        act="save",
        host="evil.example",
    )
    assert "host" not in operator.find(server("docs"))
    assert namespace("new") in operator.read_state()
    assert operator.find(ACME) == {"name": "Acme"}


@pytest.mark.parametrize("user", ["", "reader"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "OPTIONS"])
def test_pages_of_others_answer_like_unknown_pages(app: ASGIApp, user: str, method: str) -> None:
    browser = Browser(app, user)
    unknown = browser.send(method, "/unknown")
    assert unknown[0] == 404
    for path in PATHS:
        assert browser.send(method, path) == unknown


def test_unknown_pages_are_not_found(browser: Browser) -> None:
    for path in ("/admin/", "/admin/acme/", "/admin/none", "/admin/acme/tokens", "/admin/acme/servers/none"):
        browser.get(path, 404)


def test_unavailable_database_is_explained(
    app: ASGIApp, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise DatabaseUnavailable("down", "the database cannot be reached", "Start the database.")

    monkeypatch.setattr(Administration, "read_state", fail)
    page = browser.get("/admin/acme", 503)
    assert "The database cannot be reached" in page


def test_organization_is_removed_by_its_form(browser: Browser, operator: Administration) -> None:
    version = browser.read_version("/admin/acme/settings")
    assert browser.post("/admin/acme/settings", version=version, act="rename", new_name="acme-2") == (
        "/admin/acme-2"
    )
    version = browser.read_version("/admin/acme-2/settings")
    assert browser.post("/admin/acme-2/settings", version=version, act="remove", confirmed="on") == "/admin"
    assert {key.organization for key in operator.read_state()} == {"globex"}
    assert ObjectKey("acme-2") not in operator.read_state()
