"""Fixtures: applications that serve one repository, and clients that act as a browser or a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.http.authentication import FailedLoginThrottle
from docyard.http.server import AppComponents, build_app, build_reading_endpoint
from docyard.http.settings import build_http_settings
from docyard.identity.identity import NO_IDENTITY, Identity
from docyard.mcp_server.http import serve_http
from docyard.service import build_repository_service
from docyard.web.site import Site
from tests.repositories import Repo, create_repository
from tools.toolsets import TOOLSETS
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

PORT = 8000
BASE_URL = f"http://127.0.0.1:{PORT}"
REQUEST_TIMEOUT_S = 20.0  # long enough for a busy machine
FILES = {
    "docyard.toml": '[[protect]]\npaths = ["specs/**"]\nchecks = []\n',
    "guide.md": "# Guide\n\nHow to begin.\n\n## Tasks\n\n- [ ] Try\n",
    "specs/api.md": "# API\n\n## Calls\n\nSome.\n",
}


class RunningApp(NamedTuple):
    """A running application: a function that creates clients, its token, its repository, people's tokens."""

    new_client: Callable[[], TestClient]
    token: str
    repo: Repo
    person_tokens: Tokens

    def sign_in(self, token: str | None = None) -> TestClient:
        """Return a browser with a session."""
        browser = self.new_client()
        assert browser.get("/", params={"token": token or self.token}).status_code == 303
        return browser


def _limit_duration(app: ASGIApp) -> ASGIApp:
    """Limit the duration of a request, because the test client would read an endless stream forever."""

    async def app_with_timeout(scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.fail_after(None if scope["type"] == "lifespan" else REQUEST_TIMEOUT_S):
            await app(scope, receive, send)

    return app_with_timeout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("served") / "docs", FILES)


@pytest.fixture(scope="module")
def start_app(
    repository: Repo, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., RunningApp]]:
    """Yield a function that starts an application with options. All applications stop after the module."""
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, str(home))

        def start(
            *,
            allow: Sequence[str] = (),
            no_token: bool = False,
            read_only: bool = False,
            has_pages: bool = True,
            build_identity: Callable[[Tokens], Identity] = lambda tokens: NO_IDENTITY,
        ) -> RunningApp:
            workspace = Workspace.open(repository.path, read_only=read_only, durable=False)
            service = build_repository_service(workspace, TOOLSETS, read_only=read_only, syncs=False)
            stack.callback(service.close)
            person_tokens = service.get_tokens()
            assert person_tokens is not None
            settings = build_http_settings(
                f"127.0.0.1:{PORT}", allow, None, no_token=no_token, read_only=read_only
            )
            endpoint = partial(
                serve_http,
                service.dispatcher,
                version="0",
                load=service.load,
                warm=service.warm,
            )
            site = Site(service.get_index, read_only, notify_write=service.notify_write)
            components = AppComponents(
                site if has_pages else None,
                person_tokens,
                endpoint,
                open_reading_endpoint=build_reading_endpoint(service),
            )
            identity = build_identity(person_tokens)
            app = build_app(components, settings, PORT, FailedLoginThrottle(delay_s=0), identity=identity)
            app = _limit_duration(app)
            first_client = stack.enter_context(TestClient(app, base_url=BASE_URL))

            def new_client() -> TestClient:
                client = TestClient(app, base_url=BASE_URL, follow_redirects=False)
                client.portal = first_client.portal  # all requests run on one event loop
                return client

            return RunningApp(new_client, settings.token or "", repository, person_tokens)

        yield start


@pytest.fixture(scope="module")
def token_app(start_app: Callable[..., RunningApp]) -> RunningApp:
    """Return an application that requires a token."""
    return start_app()


@pytest.fixture(scope="module")
def app_without_tokens(start_app: Callable[..., RunningApp]) -> RunningApp:
    """Return an application that requires no token."""
    return start_app(no_token=True)


@pytest.fixture(scope="module")
def proxied_app(start_app: Callable[..., RunningApp]) -> RunningApp:
    """Return an application that also accepts the host name of a proxy."""
    return start_app(allow=["docs.example.org"])


@pytest.fixture(scope="module")
def read_only_app(start_app: Callable[..., RunningApp]) -> RunningApp:
    """Return a read-only application."""
    return start_app(read_only=True)
