"""Applications over one repository, as a browser or a program meets them."""

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
from docyard.http.server import AppParts, build_app
from docyard.http.settings import build_http_settings
from docyard.mcp_server.http import serve_http
from docyard.service import build_repository_service
from docyard.web.site import Site
from tests.repositories import Repo, normal
from tools.toolsets import TOOLSETS
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

PORT = 8000
BASE = f"http://127.0.0.1:{PORT}"
PATIENCE = 20.0  # seconds in which an answer has come, on a busy machine too
FILES = {
    "docyard.toml": '[[protect]]\npaths = ["specs/**"]\nchecks = []\n',
    "guide.md": "# Guide\n\nHow to begin.\n\n## Tasks\n\n- [ ] Try\n",
    "specs/api.md": "# API\n\n## Calls\n\nSome.\n",
}


class Running(NamedTuple):
    """An application that runs: how to meet it, its own token, its repository, and the tokens of people."""

    meet: Callable[[], TestClient]
    token: str
    repo: Repo
    people: Tokens

    def signed_in(self, token: str | None = None) -> TestClient:
        """A browser with a session."""
        browser = self.meet()
        assert browser.get("/", params={"token": token or self.token}).status_code == 303
        return browser


def _bounded(app: ASGIApp) -> ASGIApp:
    """End a stream that no test expects: the client of the tests would read it for ever."""

    async def bounded(scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.fail_after(None if scope["type"] == "lifespan" else PATIENCE):
            await app(scope, receive, send)

    return bounded


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return normal(tmp_path_factory.mktemp("served") / "docs", FILES)


@pytest.fixture(scope="module")
def start(repository: Repo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Running]]:
    """Start an application with these options; all end with the module."""
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            environment.setenv(name, str(home))

        def starting(
            *, allow: Sequence[str] = (), no_token: bool = False, read_only: bool = False
        ) -> Running:
            workspace = Workspace.open(repository.path, read_only=read_only, durable=False)
            served = build_repository_service(workspace, TOOLSETS, read_only=read_only, syncs=False)
            stack.callback(served.close)
            people = served.people()
            assert people is not None
            settings = build_http_settings(
                f"127.0.0.1:{PORT}", allow, None, no_token=no_token, read_only=read_only
            )
            endpoint = partial(
                serve_http,
                served.toolbox,
                version="0",
                load=served.load,
                warm=served.warm,
            )
            site = Site(served.index, read_only, notify_write=served.notify_write)
            app = build_app(AppParts(site, people, endpoint), settings, PORT, FailedLoginThrottle(pause=0))
            app = _bounded(app)
            first = stack.enter_context(TestClient(app, base_url=BASE))

            def meet() -> TestClient:
                client = TestClient(app, base_url=BASE, follow_redirects=False)
                client.portal = first.portal  # all requests are answered on the one event loop
                return client

            return Running(meet, settings.token or "", repository, people)

        yield starting


@pytest.fixture(scope="module")
def running(start: Callable[..., Running]) -> Running:
    """One that asks for a token."""
    return start()


@pytest.fixture(scope="module")
def open_one(start: Callable[..., Running]) -> Running:
    """One that asks for none."""
    return start(no_token=True)


@pytest.fixture(scope="module")
def proxied(start: Callable[..., Running]) -> Running:
    """One that is reached by a proxy's name too."""
    return start(allow=["docs.example.org"])


@pytest.fixture(scope="module")
def reading(start: Callable[..., Running]) -> Running:
    """One that only reads."""
    return start(read_only=True)
