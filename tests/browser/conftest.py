"""A browser, the served story, and pages of Ana's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.served import Served
from tests.browser.story import Story, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30_000  # milliseconds in which what must appear has appeared, on a busy machine too

SignIn = Callable[..., "Page"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium that is found on the PATH; none is ever fetched."""
    from playwright.sync_api import expect, sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, f"no Chromium is on the PATH: install one of {', '.join(BROWSERS)}"
    # The sandbox cannot be had by root, who runs the tests in a container.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=found, args=options, timeout=4 * PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a worker."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The story, served; the tests of a module share it."""
    with told(tmp_path_factory.mktemp("story")) as served:
        yield served


def context_of(browser: Browser, served: Served, secret: str, **options: Any) -> BrowserContext:
    """A browser's window of somebody who signed in with a token, in which every wait is bounded."""
    context = browser.new_context(base_url=served.url, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE)
    signed_in = context.request.get(f"{served.url}/?token={secret}")
    assert signed_in.ok, signed_in.status
    return context


@pytest.fixture
def sign_in(browser: Browser) -> Iterator[SignIn]:
    """Gives a page of whoever has a token; options are those of a browser's context."""
    opened: list[BrowserContext] = []

    def page(served: Served, secret: str, **options: Any) -> Page:
        opened.append(context_of(browser, served, secret, **options))
        return opened[-1].new_page()

    yield page
    for context in opened:
        context.close()


@pytest.fixture
def ana(sign_in: SignIn, story: Story) -> Page:
    """A page of Ana's, who reviews."""
    return sign_in(story.served, story.ana)


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of the accessibility checker."""
    script = Path(__file__).parents[2] / ".venv-node/browser/node_modules/axe-core/axe.min.js"
    assert script.exists(), "the accessibility checker is not installed: run make browser"
    return script.read_text("utf-8")
