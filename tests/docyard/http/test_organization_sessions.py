"""Sessions of two workers of a server of organizations, which share a database."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from docyard.caller import READ_SCOPE
from docyard.database.schema import upgrade_schema
from docyard.hosting.service import OrganizationsService
from docyard.http.authentication import FailedLoginThrottle
from docyard.http.organizations_server import build_organizations_app
from docyard.http.settings import build_http_settings
from docyard.identity.access_tokens import AccessTokens
from docyard.identity.identity import build_identity
from docyard.sessions import storage
from docyard.sessions.database import DatabaseSessions
from docyard.sessions.sessions import digest_value
from docyard.settings.file import read_server_file
from docyard.settings.settings import IdentitySection
from tests.docyard.http.conftest import BASE_URL, PORT
from tests.docyard.http.test_authentication import COOKIE_NAME, HTML_HEADERS
from tests.docyard.identity.provider_site import CLIENT_ID, CLIENT_SECRET, ISSUER, ProviderSite
from tests.organizations import create_organization


class TwoWorkers(NamedTuple):
    """Clients of two applications with one database, a token, and the folder of the database."""

    first: TestClient
    second: TestClient
    tokens: AccessTokens
    secret: str
    provider: ProviderSite
    folder: Path
    service: OrganizationsService

    def sign_in(self) -> str:
        """Sign in at the first worker; return the cookie."""
        response = self.first.post("/login", data={"token": self.secret})
        assert response.status_code == 303
        self.first.cookies.clear()
        return response.cookies[COOKIE_NAME]

    def authorize(self, url: str) -> dict[str, str]:
        """Sign a person in at the provider; return the parameters of the way back."""
        now = int(time.time())
        return self.provider.authorize(url, {"sub": "ana", "iat": now, "exp": now + 600})

    def sign_out(self, client: TestClient, cookie: str) -> str:
        """Sign out at a worker; return the target, which is `/login` if the session was valid."""
        csrf = DatabaseSessions(self.service.database).compute_csrf_token(digest_value(cookie))
        headers = {"Cookie": f"{COOKIE_NAME}={cookie}"}
        response = client.post("/logout", data={"csrf": csrf}, headers=headers)
        return response.headers.get("location", str(response.status_code))


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[TwoWorkers]:
    folder = tmp_path / "database"
    folder.mkdir()
    config = tmp_path / "server.toml"
    config.write_text('[database]\nurl = "sqlite:///database/server.sqlite"\n')
    provider = ProviderSite()
    section = IdentitySection(
        issuer=ISSUER, audience=BASE_URL, client_id=CLIENT_ID, client_secret=CLIENT_SECRET
    )
    settings = build_http_settings(f"127.0.0.1:{PORT}", (), None, no_token=True, read_only=True)
    with ExitStack() as stack:
        clients, services = [], []
        for _ in range(2):
            service = OrganizationsService(read_server_file(config), tmp_path)
            stack.callback(service.close)
            upgrade_schema(service.database)
            identity = build_identity(section, BASE_URL, None, has_rules=False, transport=provider.transport)
            app = build_organizations_app(
                service, settings, PORT, throttle=FailedLoginThrottle(0), identity=identity
            )
            clients.append(stack.enter_context(TestClient(app, base_url=BASE_URL, follow_redirects=False)))
            services.append(service)
        create_organization(services[0].database, "acme", {}, {}, [])
        tokens = AccessTokens(services[0].database)
        secret = tokens.add("acme", "ana", [READ_SCOPE])
        yield TwoWorkers(clients[0], clients[1], tokens, secret, provider, folder, services[0])


def test_session_of_one_worker_is_valid_and_ends_at_the_other(workers: TwoWorkers) -> None:
    cookie = workers.sign_in()
    assert workers.sign_out(workers.second, cookie[:-1]) == "/"
    assert workers.sign_out(workers.second, cookie) == "/login"
    for worker in (workers.first, workers.second):
        assert workers.sign_out(worker, cookie) == "/"


def test_sign_in_that_one_worker_begins_is_finished_by_the_other(workers: TwoWorkers) -> None:
    begin = workers.first.get("/login/provider")
    assert begin.status_code == 303
    answer = workers.authorize(begin.headers["location"])
    workers.second.cookies.update(begin.cookies)
    finish = workers.second.get("/login/callback", params=answer)
    assert finish.status_code == 303, finish.text
    assert workers.sign_out(workers.first, finish.cookies[COOKIE_NAME]) == "/login"


@pytest.mark.parametrize(("ahead_s", "status"), [(60, 303), (-60, 303), (700, 401), (-700, 401)])
def test_sign_in_is_finished_by_a_server_whose_clock_differs(
    workers: TwoWorkers, ahead_s: float, status: int
) -> None:
    begin = workers.first.get("/login/provider")
    answer = workers.authorize(begin.headers["location"])
    [(name, cookie)] = begin.cookies.items()
    started_at, *fields = json.loads(base64.urlsafe_b64decode(cookie.strip('"')[64:]))
    data = base64.urlsafe_b64encode(json.dumps([started_at + ahead_s, *fields]).encode())
    mac = DatabaseSessions(workers.service.database).compute_csrf_token(b"sign-in\n" + data)
    headers = {"Cookie": f"{name}={mac}{data.decode()}"}
    finish = workers.second.get("/login/callback", params=answer, headers=headers)
    assert finish.status_code == status, finish.text


def test_revoked_token_ends_its_sessions(workers: TwoWorkers) -> None:
    cookie = workers.sign_in()
    workers.tokens.revoke("acme", "ana")
    assert workers.sign_out(workers.second, cookie) == "/"


def test_outage_is_answered_with_503_and_ends_no_session(
    workers: TwoWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    cookie = workers.sign_in()
    for worker in (workers.first, workers.second):  # a wrong token for the form: both know the session
        headers = {"Cookie": f"{COOKIE_NAME}={cookie}"}
        assert worker.post("/logout", data={"csrf": "wrong"}, headers=headers).headers["location"] == "/"
    monkeypatch.setattr(storage, "CACHE_S", 0.0)
    moved = workers.folder.rename(workers.folder.with_name("moved"))
    workers.service.database.close()
    headers = {"Cookie": f"{COOKIE_NAME}={cookie}"}
    page = workers.first.get("/login", headers={**headers, **HTML_HEADERS})
    assert (page.status_code, page.headers["retry-after"]) == (503, "2")
    assert "Sessions cannot be read or changed now" in page.text
    text = workers.first.get("/", headers=headers)
    assert (text.status_code, text.headers["retry-after"]) == (503, "2")
    # No session is read: who has no cookie gets the page, but cannot sign in.
    workers.first.cookies.clear()
    assert workers.first.get("/login", headers=HTML_HEADERS).status_code == 200
    assert workers.first.post("/login", data={"token": f"docyard_at_{'0' * 48}"}).status_code == 503
    assert workers.sign_out(workers.first, cookie) == "503"
    moved.rename(workers.folder)
    assert workers.sign_out(workers.first, cookie) == "/login"


def test_sign_in_without_database_is_answered_with_503(workers: TwoWorkers) -> None:
    begin = workers.first.get("/login/provider")
    answer = workers.authorize(begin.headers["location"])
    moved = workers.folder.rename(workers.folder.with_name("moved"))
    workers.service.database.close()
    assert workers.first.get("/login/callback", params=answer, headers=HTML_HEADERS).status_code == 503
    moved.rename(workers.folder)
