"""A reviewer handles an agent's proposal, from the search for a document to the merge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite, answer_review

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

WAITS_TEXT = "A client waits a second, then two, then four."
OWN_TEXT = "A key may ask 15 times a second. Beyond it the answer is `429`."


def test_review_from_search_to_merge_succeeds(
    sample_site: SampleSite, ana_page: Page, sign_in: SignIn
) -> None:
    from playwright.sync_api import expect

    # Find a document.
    ana_page.goto("/")
    ana_page.get_by_role("combobox", name="Search").fill("request that fails is tried again backoff")
    ana_page.get_by_role("combobox", name="Search").press("Enter")
    ana_page.get_by_role("link", name="Backoff", exact=True).click()
    expect(ana_page.get_by_role("heading", level=1)).to_have_text(re.compile("Retries"))
    expect(ana_page.locator("#backoff")).to_be_in_viewport()
    # Read its history.
    ana_page.get_by_role("link", name="History", exact=True).first.click()
    expect(ana_page.get_by_role("link", name="Begin the workspace")).to_be_visible()
    # Open the proposal that changes it.
    ana_page.get_by_role("navigation", name="Main").get_by_role("link", name="Proposals").click()
    ana_page.get_by_role("link", name="Say how retries back off").click()
    expect(ana_page.get_by_text("writing-agent for").first).to_be_visible()
    proposal_url = ana_page.url
    ana_page.get_by_role("link", name="See the changes").click()
    backoff = ana_page.locator("[data-entry]").filter(has=ana_page.get_by_role("heading", name="Backoff"))
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    ana_page.get_by_role("link", name="In one column").click()
    expect(backoff.locator("ins")).to_have_text("waits a second before it comes back")
    # Comment on a section.
    backoff.locator("summary", has_text="Comment").click()
    backoff.get_by_label("Your comment").fill("Always the *same* second?")
    backoff.get_by_role("button", name="Comment").click()
    expect(ana_page.get_by_text("Always the same second?")).to_be_visible()
    # Request changes.
    ana_page.goto(proposal_url)
    ana_page.locator("summary", has_text="Request changes").click()
    ana_page.get_by_label("What should change").fill("Say how the wait grows.")
    ana_page.get_by_role("button", name="Request changes").click()
    expect(ana_page.get_by_text("Changes requested").first).to_be_visible()
    # The agent's answer appears on the open page.
    answer_review(sample_site)
    expect(ana_page.locator(".conversation").get_by_text("It doubles now.")).to_be_visible()
    # Approve the current version, and merge it.
    approve_proposal(ana_page)
    merge_proposal(ana_page)
    ana_page.goto("/doc/api/retries.md")
    expect(ana_page.get_by_text(WAITS_TEXT)).to_be_visible()

    # The other proposal conflicts with a colleague's commit; resolve the conflict on the page.
    ana_page.goto("/proposals")
    ana_page.get_by_role("link", name="Raise the rate limit to 20").click()
    expect(ana_page.get_by_role("heading", name="Raise the rate limit to 20", level=1)).to_be_visible()
    conflicted_url = ana_page.url
    ana_page.get_by_role("link", name="Resolve 1 conflict").click()
    ana_page.get_by_role("radio", name="Your own text").check()
    ana_page.get_by_role("textbox", name="Your own text").fill(OWN_TEXT)
    ana_page.locator("summary", has_text="Resolve 1 conflict").click()
    ana_page.get_by_role("button", name="Resolve, and become an author").click()
    expect(ana_page).to_have_url(conflicted_url)
    # The author of a resolution cannot approve it, so a second reviewer approves; then Ana merges.
    expect(ana_page.get_by_role("link", name="Resolve 1 conflict")).to_have_count(0)
    ben_page = sign_in(sample_site.server, sample_site.ben_token)
    ben_page.goto(conflicted_url)
    approve_proposal(ben_page)
    merge_proposal(ana_page)
    check_merged(sample_site)


def approve_proposal(page: Page) -> None:
    from playwright.sync_api import expect

    page.locator("summary", has_text="Approve").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Ready to merge")).to_be_visible()


def merge_proposal(page: Page) -> None:
    """Merge the proposal of a page; the page updates itself after another reviewer's approval."""
    from playwright.sync_api import expect

    page.locator("summary", has_text="Merge").click()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("Merged as")).to_be_visible()


def check_merged(sample_site: SampleSite) -> None:
    """Check that both proposals are merged to the branch by Ana."""
    repo = sample_site.server.repo
    assert WAITS_TEXT in (repo.path / "api/retries.md").read_text("utf-8")
    assert OWN_TEXT in (repo.path / "api/tracking.md").read_text("utf-8")
    merges = repo.git("log", "--first-parent", "--merges", "-2", "--format=%an <%ae>").split("\n")
    assert merges[:2] == ["Ana Li <ana@harbor.example>"] * 2
    assert repo.status() == repo.fsck() == ""
