"""Hostile documents in a browser: none of their scripts runs, and no other host is requested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.browser.conftest import context_of
from tests.browser.hostile_documents import hostile_documents
from tests.browser.page_server import PageServer, start_page_server
from tests.repositories import normal
from workspace.policy.tokens import Tokens

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

pytestmark = pytest.mark.browser

# Use every element by pointer and keyboard, because handlers also run on these events.
TOUCH = """() => {
  for (const one of document.querySelectorAll('main details')) one.open = true;
  for (const one of document.querySelectorAll('main *')) {
    for (const type of ['mouseover', 'focus', 'toggle', 'pointerenter', 'animationstart', 'load', 'error'])
      one.dispatchEvent(new Event(type));
  }
}"""
# An anchor of that name is not an own property of the window, but a value set by a script is.
RAN = "() => Object.hasOwn(window, 'docyardPwned')"
LINKS = """() => [...document.querySelectorAll('main a[href], main area[href], main form[action]')]
  .map(one => new URL(one.getAttribute('href') ?? one.getAttribute('action'), location.href).protocol)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageServer, str]]:
    """Yield a server of hostile documents, and a reader's token."""
    folder = tmp_path_factory.mktemp("hostile")
    repo = normal(folder / "docs", hostile_documents())
    token = Tokens(repo.path / ".git").add("ana", "Ana Li", "ana@harbor.example")
    with start_page_server(repo, folder / "home") as started:
        yield started, token


class Watch:
    """Forbidden events of a page: dialogs, other windows, requests to other hosts, and scripts that run."""

    def __init__(self, page: Page, origin: str) -> None:
        self.wrong: list[str] = []
        self.origin = origin
        page.on("dialog", lambda dialog: (self.wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda popup: self.wrong.append(f"a window: {popup.url}"))
        page.on("request", self._request)
        page.on("pageerror", lambda error: self.wrong.append(f"an error of a script: {error}"))

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "about:")):
            self.wrong.append(f"a request: {request.url[:200]}")


def test_hostile_document_runs_no_script(browser: Browser, server: tuple[PageServer, str]) -> None:
    server, token = server
    context = context_of(browser, server, token)
    page = context.new_page()
    watch = Watch(page, server.url)
    documents = hostile_documents()
    places = ["/", *(f"/doc/{quote(path)}" for path in documents)]
    some = list(documents)[:: max(1, len(documents) // 12)]
    for kind in ("history", "blame", "edit", "raw"):
        places += [f"/{kind}/{quote(path)}" for path in some]
    places += ["/search?q=script", "/search?q=onerror", f"/commit/{server.repo.head()}"]
    problems_by_url = {}
    for place in places:
        answer = page.goto(place)
        assert answer is not None
        assert answer.status in (200, 404), place
        page.evaluate(TOUCH)
        page.wait_for_timeout(10)
        problems = [*watch.wrong]
        watch.wrong.clear()
        if page.evaluate(RAN):
            problems.append("a script of the document ran")
        schemes = set(page.evaluate(LINKS)) - {"http:", "https:", "mailto:"}
        if schemes:
            problems.append(f"links to {sorted(schemes)}")
        if not page.url.startswith(f"{server.url}{place.partition('?')[0][:5]}"):
            problems.append(f"it went to {page.url}")
        if problems:
            problems_by_url[place] = problems
    context.close()
    assert problems_by_url == {}


def test_watch_detects_an_unprotected_page(browser: Browser, tmp_path: Path) -> None:
    """Check the watch itself with an unprotected page that does all of this."""
    page = browser.new_page()
    watch = Watch(page, "http://127.0.0.1:1")
    page.set_content(
        "<img src='http://attacker.invalid/x.png' onerror='window.docyardPwned=1'>"
        "<a href='javascript:1'>x</a><script>alert(1); throw Error('seen')</script>"
    )
    page.wait_for_function(RAN)
    assert {item.partition(":")[0] for item in watch.wrong} == {
        "a dialog",
        "a request",
        "an error of a script",
    }
    page.close()
