"""A reviewer handles an agent's proposal, from the search for a document to the merge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.story import Story, answer_review

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

WAITS = "A client waits a second, then two, then four."
OWN = "A key may ask 15 times a second. Beyond it the answer is `429`."


def test_review_from_search_to_merge_succeeds(story: Story, ana: Page, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    # She finds a document,
    ana.goto("/")
    ana.get_by_role("searchbox").fill("request that fails is tried again backoff")
    ana.get_by_role("searchbox").press("Enter")
    ana.get_by_role("link", name="Backoff", exact=True).click()
    expect(ana.get_by_role("heading", level=1)).to_have_text(re.compile("Retries"))
    expect(ana.locator("#backoff")).to_be_in_viewport()
    # reads its history,
    ana.get_by_role("link", name="History", exact=True).first.click()
    expect(ana.get_by_role("link", name="Begin the workspace")).to_be_visible()
    # and opens the proposal that changes it.
    ana.get_by_role("navigation", name="Main").get_by_role("link", name="Proposals").click()
    ana.get_by_role("link", name="Say how retries back off").click()
    expect(ana.get_by_text("via writing-agent").first).to_be_visible()
    proposal_url = ana.url
    ana.get_by_role("link", name="See the changes").click()
    backoff = ana.locator("[data-entry]").filter(has=ana.get_by_role("heading", name="Backoff"))
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    ana.get_by_role("link", name="In one column").click()
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    # She comments on a section,
    backoff.locator("summary", has_text="Comment").click()
    backoff.get_by_label("Your comment").fill("Always the *same* second?")
    backoff.get_by_role("button", name="Comment").click()
    expect(ana.get_by_text("Always the same second?")).to_be_visible()
    # and requests changes.
    ana.goto(proposal_url)
    ana.locator("summary", has_text="Request changes").click()
    ana.get_by_label("What should change").fill("Say how the wait grows.")
    ana.get_by_role("button", name="Request changes").click()
    expect(ana.get_by_text("Changes requested").first).to_be_visible()
    # The agent's answer appears on her open page.
    answer_review(story)
    expect(ana.get_by_text("It doubles now.")).to_be_visible()
    # She approves the current version, and merges it.
    approve(ana)
    merge(ana)
    ana.goto("/doc/api/retries.md")
    expect(ana.get_by_text(WAITS)).to_be_visible()

    # The other proposal conflicts with a colleague's commit; she resolves it on the page.
    ana.goto("/proposals")
    ana.get_by_role("link", name="Raise the rate limit to 20").click()
    expect(ana.get_by_role("heading", name="Raise the rate limit to 20", level=1)).to_be_visible()
    conflicted_url = ana.url
    ana.get_by_role("link", name="Resolve 1 conflict").click()
    ana.get_by_role("radio", name="Your own text").check()
    ana.get_by_role("textbox", name="Your own text").fill(OWN)
    ana.get_by_role("button", name="Resolve 1 conflict").click()
    expect(ana).to_have_url(conflicted_url)
    # The author of a resolution cannot approve it, so a second reviewer does; then she merges.
    expect(ana.get_by_role("link", name="Resolve 1 conflict")).to_have_count(0)
    ben = sign_in(story.server, story.ben)
    ben.goto(conflicted_url)
    approve(ben)
    merge(ana)
    assert_merged(story)


def approve(page: Page) -> None:
    from playwright.sync_api import expect

    page.locator("summary", has_text="Approve").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Ready to merge")).to_be_visible()


def merge(page: Page) -> None:
    """Merge a proposal after the page shows another reviewer's approval."""
    from playwright.sync_api import expect

    page.locator("summary", has_text="Merge").click()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("Merged as")).to_be_visible()


def assert_merged(story: Story) -> None:
    """Check that both proposals are merged to the branch by Ana."""
    repo = story.server.repo
    assert WAITS in (repo.path / "api/retries.md").read_text("utf-8")
    assert OWN in (repo.path / "api/tracking.md").read_text("utf-8")
    merges = repo.git("log", "--first-parent", "--merges", "-2", "--format=%an <%ae>").split("\n")
    assert merges[:2] == ["Ana Li <ana@harbor.example>"] * 2
    assert repo.status() == repo.fsck() == ""
