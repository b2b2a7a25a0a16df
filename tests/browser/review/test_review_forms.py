"""The forms of a review: their buttons stay in place, Escape closes a form, and selected text is quoted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.sample_site import SampleSite
from tests.browser.test_axe import find_problems
from tests.browser.test_keyboard import focus_by_tab, press_keys

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

WIDTHS = (1280, 390)


def measure_position(element: Locator) -> list[float]:
    """Return the position of an element on the page, which does not depend on scrolling."""
    position: list[float] = element.evaluate(
        "element => [element.getBoundingClientRect()].flatMap(({ x, y }) => [x + scrollX, y + scrollY])"
    )
    return position


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("part", ["", "/changes"])
def test_opened_form_does_not_move_the_buttons(
    sample_site: SampleSite, ana_page: Page, part: str, width: int
) -> None:
    from playwright.sync_api import expect

    ana_page.set_viewport_size({"width": width, "height": 800})
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}{part}")
    buttons = ana_page.locator(".decide > .say > summary")
    expect(buttons).to_have_count(4)
    positions = [measure_position(button) for button in buttons.all()]
    for button in buttons.all():
        button.click()
        assert [measure_position(item) for item in buttons.all()] == positions
        form = ana_page.locator(".decide > .say[open] form")
        expect(form).to_be_visible()
        assert measure_position(form)[1] > max(y for _, y in positions)


@pytest.mark.parametrize("text", ["", "Half a thou"])
@pytest.mark.parametrize("key", ["c", "a", "r"])
def test_escape_closes_a_form_and_keeps_its_text(
    sample_site: SampleSite, ana_page: Page, key: str, text: str
) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    press_keys(ana_page, key)
    area = ana_page.locator(".decide > .say[open] textarea")
    expect(area).to_be_focused()
    ana_page.keyboard.type(text)
    press_keys(ana_page, "Escape")
    expect(ana_page.locator(".decide > .say[open]")).to_have_count(0)
    expect(ana_page.locator(f".decide summary[data-key={key}]")).to_be_focused()
    press_keys(ana_page, "Enter")
    expect(area).to_have_value(text)


def select_words(page: Page, element: Locator) -> Locator:
    """Select the text of an element, and return the button next to the selection."""
    element.scroll_into_view_if_needed()
    element.select_text()
    return page.get_by_role("button", name="Comment on selection")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", ["side", "inline", "rendered"])
def test_button_next_to_a_selection_quotes_it(
    sample_site: SampleSite, ana_page: Page, axe_script: str, view: str, width: int
) -> None:
    from playwright.sync_api import expect

    ana_page.set_viewport_size({"width": width, "height": 800})
    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes?view={view}")
    section = ana_page.locator(".changed-section").filter(
        has=ana_page.get_by_role("heading", name="Being told to wait")
    )
    words = section.locator(".prose p" if view == "rendered" else ".new", has_text="Retry-After").first
    button = select_words(ana_page, words)
    expect(button).to_be_in_viewport(ratio=1)
    assert find_problems(ana_page, axe_script) == []
    button.click()
    expect(section.get_by_label("Your comment")).to_be_focused()
    expect(section.get_by_label("Quoted text")).to_have_value(re.compile("When an answer carries"))
    expect(button).to_have_count(0)
    # The end of the selection removes the button.
    button = select_words(ana_page, words)
    expect(button).to_be_visible()
    ana_page.locator("h1").click()
    expect(button).to_have_count(0)


def test_lines_are_quoted_with_the_keyboard(sample_site: SampleSite, ana_page: Page, axe_script: str) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    section = ana_page.locator(".changed-section").filter(
        has=ana_page.get_by_role("heading", name="Being told to wait")
    )
    focus_by_tab(ana_page, section.locator("summary", has_text="Comment"))
    press_keys(ana_page, "Enter")
    focus_by_tab(ana_page, section.get_by_label("First line"))
    ana_page.keyboard.type("| `429`")
    focus_by_tab(ana_page, section.get_by_label("Last line"))
    ana_page.keyboard.type("| `503`")
    assert find_problems(ana_page, axe_script) == []
    lines = "| `429` | What it says |\n| `503` | What it says |"
    expect(section.get_by_label("Quoted text")).to_have_value(lines)
    section.get_by_label("Your comment").fill("Both of them?")
    press_keys(ana_page, "Control+Enter")
    expect(section.locator("blockquote", has_text="503")).to_have_text(lines)


def test_selection_button_is_the_next_element_after_the_text(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    ana_page.locator(".changed-section h3 a").first.focus()
    button = select_words(ana_page, ana_page.locator(".changed-section ins").first)
    expect(button).to_be_visible()
    focus_by_tab(ana_page, button)
    press_keys(ana_page, "Enter")
    expect(ana_page.locator(".changed-section").first.get_by_label("Quoted text")).to_have_value(
        "waits a second before it comes back"
    )


def test_changes_lead_to_the_merge_with_a_key(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    with sample_site.server.connect_agent() as agent:
        proposal_id = agent.call("create_proposal", title="Say what a stop is", description="Why.")[
            "proposal"
        ]
        agent.call(
            "edit_document",
            proposal=proposal_id,
            file="product/glossary.md",
            operation="append_content",
            slug="event",
            content="It happened.",
        )
    ana_page.goto(f"/proposals/{proposal_id}/changes")
    press_keys(ana_page, "m")
    expect(ana_page).to_have_url(re.compile(rf"/proposals/{proposal_id}#\[merge\]$"))
    merge_button = ana_page.get_by_role("button", name="Merge into main")
    expect(merge_button).to_be_in_viewport()
    focus_by_tab(ana_page, merge_button)
    press_keys(ana_page, "Enter")
    expect(ana_page.get_by_text("Merged as")).to_be_visible()
