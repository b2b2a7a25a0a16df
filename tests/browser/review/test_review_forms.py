"""The forms of a review: their buttons stay in place, Escape closes a form, and selected text is quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.sample_site import SampleSite

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
