"""Unsent text is preserved and sent once; a comment quotes the selected text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Request

pytestmark = pytest.mark.browser


def test_unsent_text_survives_sign_in(sample_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.server.token)
    page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    page.keyboard.press("c")
    page.get_by_label("Your comment").fill("Half a thou")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.get_by_role("link", name="Sign in with your own token").click()
    page.get_by_label("Token").fill(sample_site.ana_token)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/proposals/{sample_site.proposal_ids['retries']}#\[approve\]$"))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport()
    expect(page.get_by_label("Your comment")).to_have_value("Half a thou")
    expect(page.get_by_text("Ana Li", exact=True)).to_be_visible()


def test_key_focuses_the_form_that_a_login_has_opened(sample_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.server.token)
    page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    page.keyboard.press("a")
    page.get_by_role("link", name="Sign in with your own token").click()
    page.get_by_label("Token").fill(sample_site.ana_token)
    page.keyboard.press("Enter")
    approve_button = page.get_by_role("button", name="Approve", exact=True)
    expect(approve_button).to_be_in_viewport()
    page.keyboard.press("a")
    expect(page.get_by_label("Comment (optional)")).to_be_focused()
    expect(approve_button).to_be_visible()
    # From within the section, the key closes it.
    page.locator("summary", has_text="Approve").focus()
    page.keyboard.press("a")
    expect(approve_button).to_be_hidden()


def test_leaving_a_page_with_unsent_text_needs_confirmation(sample_site: SampleSite, ana_page: Page) -> None:
    dialogs: list[str] = []

    def dismiss_dialog(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        dialog.dismiss()

    ana_page.on("dialog", dismiss_dialog)
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    ana_page.keyboard.press("c")
    ana_page.keyboard.type("Half a thou")
    with ana_page.expect_event("dialog"):
        ana_page.close(run_before_unload=True)
    assert dialogs == ["beforeunload"]
    assert ana_page.get_by_label("Your comment").input_value() == "Half a thou"


def test_selected_text_is_quoted_and_sent_once(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    post_urls: list[str] = []

    def record_post(request: Request) -> None:
        if request.method == "POST":
            post_urls.append(request.url)

    ana_page.on("request", record_post)
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes?view=inline")
    ana_page.locator("ins").first.select_text()
    # The browser reports a selection in a later task.
    ana_page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    ana_page.keyboard.press("c")
    form = ana_page.locator("details[open] form")
    expect(form.get_by_label("Quoted text")).to_have_value("waits a second before it comes back")
    ana_page.locator("pre.both").first.select_text()  # with removed text, which is not quoted
    form.get_by_label("Your comment").fill("Which second?")
    form.evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")
    expect(ana_page.get_by_text("Which second?")).to_be_visible()
    expect(ana_page.locator("blockquote")).to_have_text("waits a second before it comes back")
    assert len(post_urls) == 1


def test_key_opens_the_form_of_the_selected_section(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    sections = ana_page.locator(".changed-section")
    ana_page.keyboard.press("j")
    expect(sections.first).to_have_attribute("data-chosen", "")
    wait = sections.filter(has=ana_page.get_by_role("heading", name="Being told to wait"))
    wait.locator("pre", has_text="Retry-After").first.select_text()
    ana_page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    ana_page.keyboard.press("c")
    expect(ana_page.locator("details[open] form")).to_have_count(1)
    expect(wait.get_by_label("Quoted text")).to_have_value(re.compile("^When an answer carries"))
    expect(wait.get_by_label("Your comment")).to_be_focused()


def test_lines_of_both_columns_are_quoted_once(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    with sample_site.server.connect_agent() as agent:
        proposal_id = agent.call("create_proposal", title="Say which key is wrong", description="Why.")[
            "proposal"
        ]
        agent.call(
            "edit_document",
            proposal=proposal_id,
            file="api/tracking.md",
            operation="replace_text",
            old="It is never told which.",
            new="The answer says which.",
        )
    ana_page.goto(f"/proposals/{proposal_id}/changes")
    section = ana_page.locator(".changed-section").first
    section.locator(".rows-of").first.select_text()
    ana_page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    ana_page.keyboard.press("c")
    quote = section.get_by_label("Quoted text")
    expect(quote).to_have_value(re.compile("The answer says which"))
    lines = quote.input_value().splitlines()
    assert len(lines) == len(set(lines)) > 1
    section.get_by_label("Your comment").fill("All of this?")
    section.get_by_role("button", name="Comment", exact=True).click()
    expect(ana_page.get_by_text("All of this?")).to_be_visible()


def test_shortcut_submits_an_edit(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/edit/product/glossary.md?section=event")
    ana_page.get_by_label("Title of the change").fill("Say what an event is")
    ana_page.get_by_label("in Markdown").fill("Something that happened.\n")
    ana_page.keyboard.press("Control+Enter")
    expect(ana_page.get_by_role("heading", level=1)).to_have_text("Say what an event is")
