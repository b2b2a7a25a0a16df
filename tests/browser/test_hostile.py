"""Hostile documents in a browser: no script runs, and no other host is requested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.browser.conftest import create_context
from tests.browser.hostile_documents import make_hostile_documents
from tests.browser.page_server import PageServer, start_page_server
from tests.repositories import create_repository
from workspace.policy.tokens import Tokens

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

pytestmark = pytest.mark.browser

# Sends pointer and keyboard events to every element, because event handlers may contain hostile scripts.
# A frame would draw its diagram again.
SEND_EVENTS_SCRIPT = """() => {
  for (const fold of document.querySelectorAll('main details')) fold.open = true;
  for (const element of document.querySelectorAll('main *:not(iframe)')) {
    for (const type of ['mouseover', 'focus', 'toggle', 'pointerenter', 'animationstart', 'load', 'error'])
      element.dispatchEvent(new Event(type));
  }
}"""
# A value that a script sets is an own property of the window; an anchor with this name is not.
HAS_RUN_SCRIPT = "() => Object.hasOwn(window, 'docyardPwned')"
LINK_SCHEMES_SCRIPT = """() => [
  ...document.querySelectorAll('main a[href], main area[href], main form[action]')]
  .map(link => new URL(link.getAttribute('href') ?? link.getAttribute('action'), location.href).protocol)"""

_SAMPLED_PATH_COUNT = 12
"""The approximate number of documents whose other pages are opened."""
_WAIT_MS = 10
"""The time that the scripts of a page get to run."""


@pytest.fixture(scope="module")
def server_and_token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageServer, str]]:
    """Yield a server of hostile documents, and the token of a reader."""
    folder = tmp_path_factory.mktemp("hostile")
    repo = create_repository(folder / "docs", make_hostile_documents())
    token = Tokens(repo.path / ".git").add("ana", "Ana Li", "ana@harbor.example")
    with start_page_server(repo, folder / "home") as page_server:
        yield page_server, token


class ForbiddenEventRecorder:
    """A record of forbidden events of a page: dialogs, windows, requests to other hosts, script errors."""

    def __init__(self, page: Page, origin: str) -> None:
        self.events: list[str] = []
        self.origin = origin
        page.on(
            "dialog", lambda dialog: (self.events.append(f"a dialog: {dialog.message}"), dialog.dismiss())
        )
        page.on("popup", lambda popup: self.events.append(f"a window: {popup.url}"))
        page.on("request", self._record_request)
        page.on("pageerror", lambda error: self.events.append(f"an error of a script: {error}"))

    def _record_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "about:")):
            self.events.append(f"a request: {request.url[:200]}")


@pytest.mark.parametrize("bypass_csp", [False, True], ids=["with content policy", "without content policy"])
def test_hostile_document_runs_no_script(
    browser: Browser, server_and_token: tuple[PageServer, str], bypass_csp: bool
) -> None:
    server, token = server_and_token
    context = create_context(browser, server, token, bypass_csp=bypass_csp)
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, server.url)
    documents = make_hostile_documents()
    urls = ["/", *(f"/doc/{quote(path)}" for path in documents)]
    sampled_paths = list(documents)[:: max(1, len(documents) // _SAMPLED_PATH_COUNT)]
    for page_kind in ("history", "blame", "edit", "raw"):
        urls += [f"/{page_kind}/{quote(path)}" for path in sampled_paths]
    urls += ["/search?q=script", "/search?q=onerror", f"/commit/{server.repo.head()}"]
    problems_by_url = {}
    for url in urls:
        response = page.goto(url)
        assert response is not None
        assert response.status in (200, 404), url
        page.evaluate(SEND_EVENTS_SCRIPT)
        page.wait_for_timeout(_WAIT_MS)
        problems = [*recorder.events]
        recorder.events.clear()
        if page.evaluate(HAS_RUN_SCRIPT):
            problems.append("a script of the document ran")
        schemes = set(page.evaluate(LINK_SCHEMES_SCRIPT)) - {"http:", "https:", "mailto:"}
        if schemes:
            problems.append(f"links to {sorted(schemes)}")
        if not page.url.startswith(f"{server.url}{url.partition('?')[0][:5]}"):
            problems.append(f"the page went to {page.url}")
        if problems:
            problems_by_url[url] = problems
    context.close()
    assert problems_by_url == {}


def test_recorder_detects_events_of_an_unprotected_page(browser: Browser, tmp_path: Path) -> None:
    """Check that the recorder detects a dialog, a request and a script error on an unprotected page."""
    page = browser.new_page()
    recorder = ForbiddenEventRecorder(page, "http://127.0.0.1:1")
    page.set_content(
        "<img src='http://attacker.invalid/x.png' onerror='window.docyardPwned=1'>"
        "<a href='javascript:1'>x</a><script>alert(1); throw Error('seen')</script>"
    )
    page.wait_for_function(HAS_RUN_SCRIPT)
    assert {event.partition(":")[0] for event in recorder.events} == {
        "a dialog",
        "a request",
        "an error of a script",
    }
    page.close()
