"""Pages on a screen, in the theme of the system or of the reader, and in print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import build_page_paths
from tests.browser.sample_site import SampleSite

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

IS_DARK_SCRIPT = """() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return red + green + blue < 200;
}"""

# The colour of text in the current theme, and its value in the light theme.
INK_COLOUR_SCRIPT = "() => getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
LIGHT_INK_COLOUR = "#1d2321"


def test_printed_page_has_text_without_buttons(sample_site: SampleSite, ana_page: Page) -> None:
    visible_selectors = {}
    ana_page.goto("/")
    ana_page.keyboard.press("t")  # selects the dark theme, which print ignores
    for name, path in build_page_paths(sample_site).items():
        ana_page.goto(path)
        assert ana_page.evaluate(IS_DARK_SCRIPT), name
        ana_page.emulate_media(media="print")
        assert ana_page.locator("h1").first.is_visible(), name
        assert ana_page.evaluate(INK_COLOUR_SCRIPT) == LIGHT_INK_COLOUR, name
        visible_selectors[name] = [
            selector for selector in ("header.bar", ".acts-quiet", "button") if is_visible(ana_page, selector)
        ]
        ana_page.emulate_media(media="screen")
    assert {name: selectors for name, selectors in visible_selectors.items() if selectors} == {}
    ana_page.goto(build_page_paths(sample_site)["conflicts"])
    ana_page.emulate_media(media="print")
    assert ana_page.locator(".side").first.is_visible()


def is_visible(page: Page, selector: str) -> bool:
    """Return True if any element of a selector is visible."""
    return any(element.is_visible() for element in page.locator(selector).all())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_until_it_is_chosen(
    sample_site: SampleSite, sign_in: SignIn, scheme: str
) -> None:
    page = sign_in(sample_site.server, sample_site.ana_token, color_scheme=scheme)
    page.goto("/")
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "dark")
    page.keyboard.press("t")
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "light")
    page.goto("/proposals")  # the choice is stored, and applied before the first paint
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "light")
