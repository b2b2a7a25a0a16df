"""A review without a mouse: with the page's shortcut keys, and with Tab, Space and Enter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.review.test_review import OWN_TEXT, WAITS_TEXT, check_merged
from tests.browser.sample_site import SampleSite, answer_review

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

_MAX_TABS = 80


def focus_by_tab(page: Page, element: Locator) -> None:
    """Press Tab until an element has the focus. The element must then be visible."""
    from playwright.sync_api import expect

    expect(element.first).to_be_visible()
    page.wait_for_load_state()  # a script may move the focus
    for _ in range(_MAX_TABS):
        if element.first.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(element.first).to_be_focused()
    expect(element.first).to_be_in_viewport()


def press_keys(page: Page, *keys: str) -> None:
    """Press keys when the page is loaded: its headings are visible before its script handles keys."""
    page.wait_for_load_state()
    for key in keys:
        page.keyboard.press(key)


def test_review_works_with_the_keyboard_alone(
    sample_site: SampleSite, ana_page: Page, sign_in: SignIn
) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/")
    press_keys(ana_page, "/")
    ana_page.keyboard.type("request that fails is tried again backoff")
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_role("link", name="Backoff", exact=True)).to_be_visible()
    focus_by_tab(ana_page, ana_page.get_by_role("link", name="Backoff", exact=True))
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_role("heading", level=1)).to_have_text(re.compile("Retries"))
    focus_by_tab(ana_page, ana_page.get_by_role("link", name="History", exact=True))
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_role("link", name="Begin the workspace")).to_be_visible()
    open_proposal(ana_page, "Say how retries back off")
    press_keys(ana_page, "v")
    backoff = ana_page.locator("[data-entry]").filter(has=ana_page.get_by_role("heading", name="Backoff"))
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    press_keys(ana_page, "j")
    focus_by_tab(ana_page, backoff.locator("summary", has_text="Comment"))
    press_keys(ana_page, "Enter")
    focus_by_tab(ana_page, backoff.get_by_label("Your comment"))
    ana_page.keyboard.type("Always the *same* second?")
    press_keys(ana_page, "Control+Enter")
    expect(ana_page.get_by_text("Always the same second?")).to_be_visible()
    open_proposal(ana_page, "Say how retries back off")
    press_keys(ana_page, "r")
    focus_by_tab(ana_page, ana_page.get_by_label("What should change"))
    ana_page.keyboard.type("Say how the wait grows.")
    focus_by_tab(ana_page, ana_page.get_by_role("button", name="Request changes"))
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_text("Changes requested").first).to_be_visible()
    answer_review(sample_site)
    expect(ana_page.locator(".conversation").get_by_text("It doubles now.")).to_be_visible()
    approve_proposal(ana_page)
    merge_proposal(ana_page)

    open_proposal(ana_page, "Raise the rate limit to 20")
    conflicted_url = ana_page.url
    focus_by_tab(ana_page, ana_page.get_by_role("link", name="Resolve 1 conflict"))
    press_keys(ana_page, "Enter")
    # Tab reaches the radio buttons as one element; the arrow keys select a button.
    focus_by_tab(ana_page, ana_page.get_by_role("radio", name="The proposal"))
    press_keys(ana_page, "Space", "ArrowDown", "ArrowDown", "ArrowDown")
    expect(ana_page.get_by_role("radio", name="Your own text")).to_be_checked()
    focus_by_tab(ana_page, ana_page.get_by_role("textbox", name="Your own text"))
    press_keys(ana_page, "Control+a")
    ana_page.keyboard.type(OWN_TEXT)
    focus_by_tab(ana_page, ana_page.locator("summary", has_text="Resolve 1 conflict"))
    press_keys(ana_page, "Enter")
    focus_by_tab(ana_page, ana_page.get_by_role("button", name="Resolve, and become an author"))
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_role("link", name="Resolve 1 conflict")).to_have_count(0)
    ben_page = sign_in(sample_site.server, sample_site.ben_token)
    ben_page.goto(conflicted_url)
    approve_proposal(ben_page)
    open_proposal(ana_page, "Raise the rate limit to 20")
    merge_proposal(ana_page)
    assert WAITS_TEXT in (sample_site.server.repo.path / "api/retries.md").read_text("utf-8")
    check_merged(sample_site)


def open_proposal(page: Page, title: str) -> None:
    """Open the list of proposals with its shortcut keys, and then a proposal."""
    from playwright.sync_api import expect

    press_keys(page, "Escape", "g", "p")
    expect(page.get_by_role("heading", name="Proposals", level=1)).to_be_visible()
    focus_by_tab(page, page.get_by_role("link", name=title))
    press_keys(page, "Enter")
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()


def approve_proposal(page: Page) -> None:
    from playwright.sync_api import expect

    press_keys(page, "Escape", "a")
    focus_by_tab(page, page.get_by_role("button", name="Approve", exact=True))
    press_keys(page, "Enter")
    expect(page.get_by_text("approved this")).to_be_visible()
    expect(page.get_by_text("Ready to merge")).to_be_visible()


def merge_proposal(page: Page) -> None:
    from playwright.sync_api import expect

    press_keys(page, "Escape", "m")
    focus_by_tab(page, page.get_by_role("button", name="Merge into main"))
    press_keys(page, "Enter")
    expect(page.get_by_text("Merged as")).to_be_visible()
