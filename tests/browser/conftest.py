"""Fixtures: a browser, the served sample site, and a page of the reviewer Ana."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.page_server import PageServer
from tests.browser.sample_site import SampleSite, serve_sample_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MS = 30_000  # for an expected element, on a busy machine too

SignIn = Callable[..., "Page"]


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Yield a browser of the Chromium on the PATH, without a download."""
    from playwright.sync_api import expect, sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert executable, f"no Chromium is on the PATH: install one of {', '.join(BROWSERS)}"
    # The sandbox is not available to root, which runs the tests in a container.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        expect.set_options(timeout=TIMEOUT_MS)
        browser = playwright.chromium.launch(executable_path=executable, args=options, timeout=4 * TIMEOUT_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield one browser for all tests of a worker."""
    with start_chromium() as chromium_browser:
        yield chromium_browser


@pytest.fixture(scope="module")
def sample_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleSite]:
    """Yield the served sample site, which the tests of a module share."""
    with serve_sample_site(tmp_path_factory.mktemp("sample_site")) as served_site:
        yield served_site


def create_context(browser: Browser, server: PageServer, secret: str, **options: Any) -> BrowserContext:
    """Return a browser context that is signed in with a token, with a timeout for waits."""
    context = browser.new_context(base_url=server.url, reduced_motion="reduce", **options)
    context.set_default_timeout(TIMEOUT_MS)
    response = context.request.get(f"{server.url}/?token={secret}")
    assert response.ok, response.status
    return context


@pytest.fixture
def sign_in(browser: Browser) -> Iterator[SignIn]:
    """Yield a function that opens a page for a token; its options are those of a browser context."""
    contexts: list[BrowserContext] = []

    def open_page(server: PageServer, secret: str, **options: Any) -> Page:
        contexts.append(create_context(browser, server, secret, **options))
        return contexts[-1].new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def ana_page(sign_in: SignIn, sample_site: SampleSite) -> Page:
    """Return a page of Ana, the reviewer."""
    return sign_in(sample_site.server, sample_site.ana_token)


@pytest.fixture(scope="session")
def axe_script() -> str:
    """Return the script of the accessibility checker."""
    script = Path(__file__).parents[2] / ".venv-node/browser/node_modules/axe-core/axe.min.js"
    assert script.exists(), "the accessibility checker is not installed: run make browser"
    return script.read_text("utf-8")
