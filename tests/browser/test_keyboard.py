"""A review without a mouse: by the page's keys, and by Tab, Space and Enter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.story import Story, answer_review
from tests.browser.test_review import OWN, WAITS, assert_merged

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

_MAX_TABS = 80


def reach(page: Page, element: Locator) -> None:
    """Press Tab until an element has the focus. The element must then be visible."""
    from playwright.sync_api import expect

    expect(element.first).to_be_visible()
    for _ in range(_MAX_TABS):
        if element.first.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(element.first).to_be_focused()
    expect(element.first).to_be_in_viewport()


def press(page: Page, *keys: str) -> None:
    """Press keys of the page after its script is loaded, because a heading appears earlier."""
    page.wait_for_load_state()
    for key in keys:
        page.keyboard.press(key)


def test_review_works_with_the_keyboard_alone(story: Story, ana: Page, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    ana.goto("/")
    press(ana, "/")
    ana.keyboard.type("request that fails is tried again backoff")
    press(ana, "Enter")
    expect(ana.get_by_role("link", name="Backoff", exact=True)).to_be_visible()
    reach(ana, ana.get_by_role("link", name="Backoff", exact=True))
    press(ana, "Enter")
    expect(ana.get_by_role("heading", level=1)).to_have_text(re.compile("Retries"))
    reach(ana, ana.get_by_role("link", name="History", exact=True))
    press(ana, "Enter")
    expect(ana.get_by_role("link", name="Begin the workspace")).to_be_visible()
    open_proposal(ana, "Say how retries back off")
    press(ana, "v")
    backoff = ana.locator("[data-entry]").filter(has=ana.get_by_role("heading", name="Backoff"))
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    press(ana, "j")
    reach(ana, backoff.locator("summary", has_text="Comment"))
    press(ana, "Enter")
    reach(ana, backoff.get_by_label("Your comment"))
    ana.keyboard.type("Always the *same* second?")
    press(ana, "Control+Enter")
    expect(ana.get_by_text("Always the same second?")).to_be_visible()
    open_proposal(ana, "Say how retries back off")
    press(ana, "r")
    reach(ana, ana.get_by_label("What should change"))
    ana.keyboard.type("Say how the wait grows.")
    reach(ana, ana.get_by_role("button", name="Request changes"))
    press(ana, "Enter")
    expect(ana.get_by_text("Changes requested").first).to_be_visible()
    answer_review(story)
    expect(ana.get_by_text("It doubles now.")).to_be_visible()
    approve(ana)
    merge(ana)

    open_proposal(ana, "Raise the rate limit to 20")
    conflicted_url = ana.url
    reach(ana, ana.get_by_role("link", name="Resolve 1 conflict"))
    press(ana, "Enter")
    # Tab reaches the radio buttons as one element; the arrow keys select a button.
    reach(ana, ana.get_by_role("radio", name="The proposal"))
    press(ana, "Space", "ArrowDown", "ArrowDown")
    expect(ana.get_by_role("radio", name="Your own text")).to_be_checked()
    reach(ana, ana.get_by_role("textbox", name="Your own text"))
    press(ana, "Control+a")
    ana.keyboard.type(OWN)
    reach(ana, ana.get_by_role("button", name="Resolve 1 conflict"))
    press(ana, "Enter")
    expect(ana.get_by_role("link", name="Resolve 1 conflict")).to_have_count(0)
    ben = sign_in(story.server, story.ben)
    ben.goto(conflicted_url)
    approve(ben)
    open_proposal(ana, "Raise the rate limit to 20")
    merge(ana)
    assert WAITS in (story.server.repo.path / "api/retries.md").read_text("utf-8")
    assert_merged(story)


def open_proposal(page: Page, title: str) -> None:
    """Open the list of proposals with its key, and then a proposal."""
    from playwright.sync_api import expect

    press(page, "Escape", "g", "p")
    expect(page.get_by_role("heading", name="Proposals", level=1)).to_be_visible()
    reach(page, page.get_by_role("link", name=title))
    press(page, "Enter")
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()


def approve(page: Page) -> None:
    from playwright.sync_api import expect

    press(page, "Escape", "a")
    reach(page, page.get_by_role("button", name="Approve", exact=True))
    press(page, "Enter")
    expect(page.get_by_text("approved this")).to_be_visible()
    expect(page.get_by_text("Ready to merge")).to_be_visible()


def merge(page: Page) -> None:
    from playwright.sync_api import expect

    press(page, "Escape", "m")
    reach(page, page.get_by_role("button", name="Merge into main"))
    press(page, "Enter")
    expect(page.get_by_text("Merged as")).to_be_visible()
