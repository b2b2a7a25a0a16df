"""Unsent text is preserved, sent once, and quotes the selected text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.story import Story

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Request

pytestmark = pytest.mark.browser


def test_unsent_text_survives_sign_in(story: Story, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(story.server, story.server.token)
    page.goto(f"/proposals/{story.proposals['retries']}")
    page.keyboard.press("c")
    page.get_by_label("Your comment").fill("Half a thou")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.get_by_role("link", name="Sign in with your own token").click()
    page.get_by_label("Token").fill(story.ana)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/proposals/{story.proposals['retries']}#\[approve\]$"))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport()
    expect(page.get_by_label("Your comment")).to_have_value("Half a thou")
    expect(page.get_by_text("Ana Li")).to_be_visible()


def test_leaving_a_page_with_unsent_text_needs_confirmation(story: Story, ana: Page) -> None:
    dialogs: list[str] = []

    def answer(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        dialog.dismiss()

    ana.on("dialog", answer)
    ana.goto(f"/proposals/{story.proposals['retries']}")
    ana.keyboard.press("c")
    ana.keyboard.type("Half a thou")
    with ana.expect_event("dialog"):
        ana.close(run_before_unload=True)
    assert dialogs == ["beforeunload"]
    assert ana.get_by_label("Your comment").input_value() == "Half a thou"


def test_selected_text_is_quoted_and_sent_once(story: Story, ana: Page) -> None:
    from playwright.sync_api import expect

    sent: list[str] = []

    def count(request: Request) -> None:
        if request.method == "POST":
            sent.append(request.url)

    ana.on("request", count)
    ana.goto(f"/proposals/{story.proposals['retries']}/changes?view=inline")
    ana.locator("ins").first.select_text()
    ana.keyboard.press("c")
    form = ana.locator("details[open] form")
    expect(form.get_by_label("Quoted text")).to_have_value("waits a second before it comes back")
    ana.locator("pre.both").first.select_text()  # with removed text, which is not quoted
    ana.keyboard.press("Escape")
    form.get_by_label("Your comment").fill("Which second?")
    form.evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")
    expect(ana.get_by_text("Which second?")).to_be_visible()
    expect(ana.locator("blockquote")).to_have_text("waits a second before it comes back")
    assert len(sent) == 1


def test_shortcut_submits_an_edit(story: Story, ana: Page) -> None:
    from playwright.sync_api import expect

    ana.goto("/edit/product/glossary.md?section=event")
    ana.get_by_label("Title of the change").fill("Say what an event is")
    ana.get_by_label("in Markdown").fill("Something that happened.\n")
    ana.keyboard.press("Control+Enter")
    expect(ana.get_by_role("heading", level=1)).to_have_text("Say what an event is")
