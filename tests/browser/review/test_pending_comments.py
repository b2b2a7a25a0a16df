"""Comments are collected in the browser, and sent with a decision as one request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite
from tests.browser.test_axe import find_problems
from tests.browser.test_keyboard import focus_by_tab, press_keys

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

DISCUSSION = "docyard/discussion"


def find_section(page: Page, heading: str) -> Locator:
    return page.locator(".changed-section").filter(has=page.get_by_role("heading", name=heading))


def add_pending(page: Page, heading: str, text: str) -> None:
    """Add a comment on a section to the review."""
    section = find_section(page, heading)
    section.locator("details.say > summary", has_text="Comment").click()
    section.get_by_label("Your comment").last.fill(text)
    section.get_by_role("button", name="Add to the review").click()


def count_commits(sample_site: SampleSite) -> int:
    return int(sample_site.server.repo.git("rev-list", "--count", DISCUSSION))


def open_changes(sample_site: SampleSite, page: Page) -> str:
    url = f"/proposals/{sample_site.proposal_ids['retries']}"
    page.goto(f"{url}/changes")
    return url


def test_pending_comments_survive_edits_and_a_reload(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    count = count_commits(sample_site)
    url = open_changes(sample_site, ana_page)
    add_pending(ana_page, "Backoff", "Which <b>second</b>?")
    add_pending(ana_page, "Being told to wait", "Both of them?")
    expect(ana_page.get_by_text("2 pending comments are sent with")).to_be_visible()
    backoff = find_section(ana_page, "Backoff")
    backoff.get_by_role("button", name="Edit").click()
    backoff.locator(".pending textarea").fill("Which second?")
    ana_page.keyboard.press("Control+Enter")
    expect(backoff.locator(".pending")).to_contain_text("Which second?")
    ana_page.reload()
    expect(backoff.locator(".pending")).to_contain_text("Which second?")
    expect(find_section(ana_page, "Being told to wait").locator(".pending")).to_contain_text("Both of them?")
    find_section(ana_page, "Being told to wait").get_by_role("button", name="Remove").click()
    expect(ana_page.locator(".pending")).to_have_count(1)
    ana_page.goto(url)  # the conversation has no place for it, and lists it in the review
    expect(ana_page.locator(".decide .pending")).to_contain_text("api/retries.md#backoff")
    expect(ana_page.get_by_text("1 pending comment is sent with")).to_be_visible()
    assert count_commits(sample_site) == count
    ana_page.locator(".decide .pending").get_by_role("button", name="Remove").click()
    expect(ana_page.locator(".pending")).to_have_count(0)


def test_refused_review_keeps_pending_comments_and_is_sent_once(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    url = open_changes(sample_site, ana_page)
    add_pending(ana_page, "Backoff", "Say how it grows.")
    add_pending(ana_page, "Being told to wait", "And without the header?")
    ana_page.evaluate(
        "for (const input of document.querySelectorAll('input[name=commit]')) input.value = '0'.repeat(40)"
    )
    ana_page.locator("summary", has_text="Request changes").click()
    ana_page.get_by_role("button", name="Request changes").click()
    expect(ana_page.get_by_text("The proposal has changed since you opened the page")).to_be_visible()
    expect(ana_page.get_by_text("2 pending comments of your review are not sent yet")).to_be_visible()
    expect(ana_page.get_by_text("And without the header?")).to_be_visible()
    open_changes(sample_site, ana_page)
    expect(ana_page.locator(".pending")).to_have_count(2)
    count = count_commits(sample_site)
    ana_page.locator("summary", has_text="Request changes").click()
    ana_page.get_by_role("button", name="Request changes").click()
    expect(ana_page).to_have_url(re.compile(rf"{url}#said-[0-9a-f]+$"))
    expect(ana_page.locator(".conversation").get_by_text("Say how it grows.")).to_be_visible()
    expect(ana_page.locator(".conversation").get_by_text("And without the header?")).to_be_visible()
    expect(ana_page.get_by_text("requested changes, as of")).to_be_visible()
    expect(ana_page.locator(".pending")).to_have_count(0)
    assert count_commits(sample_site) == count + 1
    assert ana_page.evaluate("Object.keys(localStorage).filter((key) => key.includes('review')).length") == 0


def test_lost_answer_does_not_send_comments_twice(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    url = open_changes(sample_site, ana_page)
    add_pending(ana_page, "Backoff", "Sent once.")
    count = count_commits(sample_site)
    # The server commits the review, but its answer does not arrive.
    ana_page.route("**/comment", lambda route: (route.fetch(max_redirects=0), route.abort())[-1])
    ana_page.locator("summary", has_text="Comment on the proposal").click()
    with ana_page.expect_event("requestfailed", lambda request: request.url.endswith("/comment")):
        ana_page.locator(".decide").get_by_role("button", name="Comment", exact=True).click()
    ana_page.unroute("**/comment")
    assert count_commits(sample_site) == count + 1
    open_changes(sample_site, ana_page)
    expect(ana_page.locator(".pending")).to_contain_text("Sent once.")
    add_pending(ana_page, "Being told to wait", "Another one.")
    ana_page.locator("summary", has_text="Comment on the proposal").click()
    ana_page.locator(".decide").get_by_role("button", name="Comment", exact=True).click()
    expect(ana_page.get_by_text("This form was already sent with another text")).to_be_visible()
    ana_page.wait_for_load_state()  # a script removes the comments that were sent
    ana_page.goto(f"{url}/changes")
    expect(ana_page.locator(".pending")).to_have_count(1)
    expect(ana_page.locator(".pending")).to_contain_text("Another one.")
    ana_page.locator("summary", has_text="Comment on the proposal").click()
    ana_page.locator(".decide").get_by_role("button", name="Comment", exact=True).click()
    expect(ana_page.locator(".conversation").get_by_text("Another one.")).to_be_visible()
    expect(ana_page.locator(".pending")).to_have_count(0)
    assert count_commits(sample_site) == count + 2


def test_browser_without_storage_sends_comments_at_once(sample_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ben_token)
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    open_changes(sample_site, page)
    section = find_section(page, "Backoff")
    section.locator("details.say > summary", has_text="Comment").last.click()
    section.get_by_label("Your comment").fill("At once.")
    section.get_by_role("button", name="Add to the review").click()
    expect(page.get_by_text("This browser cannot store the comment")).to_be_visible()
    expect(section.get_by_label("Your comment")).to_have_value("At once.")
    section.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".words", has_text="At once.")).to_be_visible()


def test_suggestion_is_sent_and_applied_with_the_keyboard(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str
) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ben_token)
    url = open_changes(sample_site, page)
    backoff = find_section(page, "Backoff")
    backoff.locator("ins").first.select_text()
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    press_keys(page, "c")
    focus_by_tab(page, backoff.get_by_role("button", name="Suggest a change"))
    press_keys(page, "Enter")
    expect(backoff.get_by_label("Your comment")).to_have_value(re.compile("^```suggestion\n"))
    page.keyboard.type("waits a second, then two")  # the quoted words are selected
    focus_by_tab(page, backoff.get_by_role("button", name="Add to the review"))
    press_keys(page, "Enter")
    pending = backoff.locator(".pending")
    expect(pending).to_be_focused()
    expect(pending.locator("del")).to_have_text("second before it comes back.")
    expect(pending.locator("ins")).to_have_text("second, then two.")
    expect(pending).not_to_contain_text("suggestion\n")
    assert find_problems(page, axe_script) == []
    focus_by_tab(page, pending.get_by_role("button", name="Edit"))
    press_keys(page, "Enter")
    expect(pending.locator("textarea")).to_have_value(re.compile("^```suggestion\n"))
    press_keys(page, "Escape")
    expect(pending).to_be_focused()
    press_keys(page, "Escape", "r")
    focus_by_tab(page, page.get_by_role("button", name="Request changes"))
    press_keys(page, "Enter")
    expect(page).to_have_url(re.compile(rf"{url}#said-[0-9a-f]+$"))
    assert find_problems(page, axe_script) == []
    focus_by_tab(page, page.locator("summary", has_text="Apply the suggestion"))
    press_keys(page, "Enter")
    focus_by_tab(page, page.get_by_role("button", name="Apply it as my commit"))
    press_keys(page, "Enter")
    expect(page.get_by_text("Resolved by Ben Ode")).to_be_visible()
    branch = f"refs/heads/proposals/{sample_site.proposal_ids['retries']}-say-how-retries-back-off"
    text = sample_site.server.repo.git("show", f"{branch}:api/retries.md")
    assert "A client waits a second, then two." in text
