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


@pytest.mark.parametrize("summary", ["Comment", "Approve", "Request changes", "Close", "Edit title"])
def test_typed_text_survives_a_reload(sample_site: SampleSite, ana_page: Page, summary: str) -> None:
    from playwright.sync_api import expect

    ana_page.on("dialog", lambda dialog: dialog.accept())
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    ana_page.locator("details.say > summary", has_text=summary).first.click()
    form = ana_page.locator("details.say[open] form")
    area = form.locator("textarea")
    expect(area).to_be_focused()
    ana_page.keyboard.press("End")
    ana_page.keyboard.type("amxc Half a thou")
    # Typed text is stored after a pause.
    ana_page.wait_for_function("() => sessionStorage.getItem('docyard-draft')?.includes('Half a thou')")
    text = area.input_value()
    ana_page.reload()
    expect(area).to_have_value(text)
    expect(area).to_be_visible()
    form.get_by_role("button", name="Cancel").click()
    expect(area).to_be_hidden()
    ana_page.reload()
    expect(form).to_have_count(0)


def test_own_text_of_a_conflict_is_chosen_and_survives_a_reload(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['limits']}/conflicts")
    ana_page.get_by_role("radio", name="The proposal").check()
    area = ana_page.locator(".own textarea")
    area.press("End")
    area.type("About 15.")
    own = ana_page.get_by_role("radio", name="Your own text")
    expect(own).to_be_checked()
    ana_page.evaluate("document.dispatchEvent(new CustomEvent('docyard:leaving'))")
    text = area.input_value()
    ana_page.reload()
    expect(area).to_have_value(text)
    expect(own).to_be_checked()
    # Ana could approve the proposal, and not as its author: no key resolves it before she reads this.
    resolve = ana_page.get_by_role("button", name="Resolve, and become an author")
    expect(resolve).to_be_hidden()
    own.press("Enter")
    expect(resolve).to_be_visible()
    ana_page.wait_for_load_state()  # keys need the scripts of the page that the key has opened
    expect(own).to_be_checked()
    resolve.press("Escape")
    expect(resolve).to_be_hidden()
    area.press("Control+Enter")
    expect(resolve).to_be_focused()
    expect(ana_page.get_by_text("You become an author of this proposal.").last).to_be_visible()


def test_edited_text_survives_a_reload(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/edit/product/glossary.md?section=event")
    base = ana_page.locator('input[name="base"]').input_value()
    ana_page.get_by_label("Title of the change").fill("Say what an event is")
    ana_page.get_by_label("in Markdown").fill("Half a thou")
    ana_page.evaluate("document.dispatchEvent(new CustomEvent('docyard:leaving'))")
    ana_page.reload()
    expect(ana_page.get_by_label("in Markdown")).to_have_value("Half a thou")
    expect(ana_page.get_by_label("Title of the change")).to_have_value("Say what an event is")
    assert ana_page.locator('input[name="base"]').input_value() == base


def test_key_of_the_merge_leads_to_its_focus_on_a_narrow_screen(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    ana_page.set_viewport_size({"width": 390, "height": 700})
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    ana_page.locator("summary", has_text="Request changes").click()
    area = ana_page.get_by_label("What should change")
    expect(area).to_be_focused()
    expect(ana_page.get_by_role("button", name="Request changes")).to_be_in_viewport()
    ana_page.keyboard.press("Escape")
    ana_page.keyboard.press("m")
    ana_page.wait_for_url(re.compile(r"#\[merge\]$"))
    target = ana_page.locator("[id='[merge]']")
    expect(target).to_be_focused()
    top, bar_height = target.evaluate(
        "(element) => [element.getBoundingClientRect().top, document.querySelector('.bar').offsetHeight]"
    )
    assert top >= bar_height


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


def test_opened_form_has_the_focus_before_the_next_key(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    summary = ana_page.locator(".changed-section details.say > summary").first
    area = ana_page.locator(".changed-section details.say[open] textarea").first
    # In the same task: a key that follows the click would otherwise be a shortcut.
    assert summary.evaluate("(summary) => { summary.click(); return document.activeElement.name; }") == "text"
    summary.click()
    expect(area).to_be_hidden()
    for key in ("Enter", " "):
        summary.press(key)
        expect(area).to_be_focused()
        expect(area).to_have_value("")
        ana_page.keyboard.press("Escape")
        expect(area).to_be_hidden()


def test_shortcut_submits_an_edit(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/edit/product/glossary.md?section=event")
    ana_page.get_by_label("Title of the change").fill("Say what an event is")
    ana_page.get_by_label("in Markdown").fill("Something that happened.\n")
    ana_page.keyboard.press("Control+Enter")
    expect(ana_page.get_by_role("heading", level=1)).to_have_text("Say what an event is")


def test_typed_text_of_a_section_survives_a_reload_and_is_sent_once(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    section = ana_page.locator(".changed-section").first
    section.locator("ins, .new").first.select_text()
    ana_page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    ana_page.keyboard.press("c")
    quote = section.get_by_label("Quoted text").input_value()
    expect(section.get_by_label("First line")).to_be_hidden()
    ana_page.keyboard.type("Why a second?")
    # The notice of a changed page leads to a reload that asks nothing.
    ana_page.evaluate("document.dispatchEvent(new CustomEvent('docyard:leaving'))")
    ana_page.reload()
    expect(section.get_by_label("Your comment")).to_have_value("Why a second?")
    expect(section.get_by_label("Quoted text")).to_have_value(quote)
    section.get_by_role("button", name="Comment", exact=True).click()
    expect(section.locator(".thread", has_text="Why a second?")).to_be_visible()
    ana_page.wait_for_load_state()  # keys need the scripts of the page that follows
    expect(ana_page.locator("details.say[open]")).to_have_count(0)
    assert ana_page.evaluate("sessionStorage.getItem('docyard-draft')") is None
    section.locator("summary", has_text="Reply").first.click()
    ana_page.keyboard.type("Because.")
    ana_page.evaluate("document.dispatchEvent(new CustomEvent('docyard:leaving'))")
    ana_page.reload()
    expect(section.get_by_label("Your reply").first).to_have_value("Because.")
