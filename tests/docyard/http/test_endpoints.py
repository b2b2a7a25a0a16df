"""The endpoints of a server of organizations while organizations change, and if one of them fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from docyard.caller import READ_SCOPE
from docyard.database.schema import upgrade_schema
from docyard.database.tables import NAMESPACES, SERVERS
from docyard.hosting.service import OrganizationsService
from docyard.http.endpoints import Endpoints
from docyard.http.operations import Operations
from docyard.http.organizations_server import build_organizations_app
from docyard.http.settings import build_http_settings
from docyard.identity.access_tokens import AccessTokens
from docyard.mcp_server.notifications import ListAnnouncers
from docyard.settings.file import read_server_file
from tests.docyard.http.conftest import BASE_URL, PORT
from tests.docyard.http.test_authentication import PING
from tests.organizations import create_organization, mark_change
from tests.repositories import create_repository

HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[OrganizationsService]:
    """Return a service with the organizations acme and globex, which everyone may read."""
    config = tmp_path / "server.toml"
    config.write_text('[database]\nurl = "sqlite:///server.sqlite"\n')
    create_repository(tmp_path / "docs", {"guide.md": "# Guide\n\nHow to begin.\n"})
    service = OrganizationsService(read_server_file(config), tmp_path)
    upgrade_schema(service.database)
    for slug in ("acme", "globex"):
        create_organization(
            service.database, slug, {"docs": {"repo": "docs"}}, {"docs": ["docs"]}, [("*", "", "reader")]
        )
    service.hosting.reload()
    yield service
    service.close()


@pytest.fixture
def client(service: OrganizationsService) -> Iterator[TestClient]:
    settings = build_http_settings(f"127.0.0.1:{PORT}", (), None, no_token=True, read_only=True)
    with TestClient(build_organizations_app(service, settings, PORT), base_url=BASE_URL) as client:
        yield client


def ping(client: TestClient, organization: str) -> int:
    response = client.post(f"/o/{organization}/docs/mcp", content=json.dumps(PING), headers=HEADERS)
    status: int = response.status_code
    return status


def test_changes_at_any_moment_cause_no_error(service: OrganizationsService, client: TestClient) -> None:
    stop_event = threading.Event()
    change_count = 0

    def change() -> None:
        nonlocal change_count
        while not stop_event.is_set():
            change_count += 1
            settings = {"repo": "docs", "description": f"Change {change_count}"}
            with service.database.begin() as connection:
                statement = update(NAMESPACES).where(NAMESPACES.c.organization_id == "org_acme")
                connection.execute(statement.values(settings=settings))
            mark_change(service.database)
            service.hosting.reload()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        statuses = set()
        while change_count < 20 and thread.is_alive():
            statuses |= {ping(client, organization) for organization in ("acme", "globex")}
    finally:
        stop_event.set()
        thread.join()
    assert change_count >= 20
    assert statuses <= {200, 503}
    assert ping(client, "acme") == 200


def test_failed_endpoint_ends_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert ping(client, "globex") == 200
    failed_event = threading.Event()

    async def fail(announcers: ListAnnouncers) -> None:
        await anyio.sleep(0.01)
        failed_event.set()
        raise RuntimeError("a bug")

    with monkeypatch.context() as failing:
        failing.setattr(ListAnnouncers, "run", fail)
        ping(client, "acme")
        assert failed_event.wait(10)
    assert ping(client, "globex") == 200
    assert ping(client, "acme") == 200
    assert "an endpoint of the organization 'acme' has ended" in caplog.text


@pytest.mark.parametrize(("address", "is_secure"), [("127.0.0.1", True), ("192.0.2.1", False)])
def test_cookie_of_a_server_with_a_host_is_secure_behind_a_trusted_proxy(
    service: OrganizationsService, address: str, is_secure: bool
) -> None:
    with service.database.begin() as connection:
        connection.execute(
            update(SERVERS).values(host="docs.acme.example").where(SERVERS.c.id.like("%acme%"))
        )
    mark_change(service.database)
    service.hosting.reload()
    secret = AccessTokens(service.database).add("acme", "ci", [READ_SCOPE])
    settings = build_http_settings(f"127.0.0.1:{PORT}", (), None, no_token=True, read_only=True)
    operations = Operations(trusted_proxies=("127.0.0.1",))
    app = build_organizations_app(service, settings, PORT, operations=operations)
    headers = {"X-Forwarded-Proto": "https"}
    with TestClient(app, base_url="http://docs.acme.example", client=(address, 1)) as client:
        response = client.post("/login", data={"token": secret}, headers=headers, follow_redirects=False)
    assert response.status_code == 303
    assert ("; Secure" in response.headers["set-cookie"]) is is_secure


def test_organization_with_many_servers_ends_its_own_endpoints(
    service: OrganizationsService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docyard.http.endpoints.MAX_ENDPOINTS", 3)
    servers = {f"s{number}": ["docs"] for number in range(5)}
    create_organization(
        service.database, "initech", {"docs": {"repo": "docs"}}, servers, [("*", "", "reader")]
    )
    service.hosting.reload()

    async def start_all() -> list[str]:
        endpoints = Endpoints(service.hosting)
        async with endpoints.run():
            for organization, server in [("acme", "docs"), *(("initech", name) for name in servers)]:
                view = service.hosting.find_view(organization, server, None)
                assert view is not None
                await endpoints._find_or_start(view)
            return [
                f"{entry.view.organization.slug}/{entry.view.server.slug}"
                for entry in endpoints._running.values()
            ]

    assert anyio.run(start_all) == ["acme/docs", "initech/s3", "initech/s4"]
