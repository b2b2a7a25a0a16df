"""Pages in each medium: dark or light by the system or the reader, and text only on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.places import places
from tests.browser.story import Story

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

DARK = """() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return red + green + blue < 200;
}"""

# A colour of the light theme, independent of the screen's theme.
INK = "() => getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
INK_ON_PAPER = "#1d2321"


def test_printed_page_has_text_without_buttons(story: Story, ana: Page) -> None:
    shown = {}
    ana.goto("/")
    ana.keyboard.press("t")  # the dark theme, which printing ignores
    for name, path in places(story).items():
        ana.goto(path)
        assert ana.evaluate(DARK), name
        ana.emulate_media(media="print")
        assert ana.locator("h1").first.is_visible(), name
        assert ana.evaluate(INK) == INK_ON_PAPER, name
        shown[name] = [part for part in ("header.bar", ".acts-quiet", "button") if is_shown(ana, part)]
        ana.emulate_media(media="screen")
    assert {name: parts for name, parts in shown.items() if parts} == {}
    ana.goto(places(story)["conflicts"])
    ana.emulate_media(media="print")
    assert ana.locator(".side").first.is_visible()


def is_shown(page: Page, part: str) -> bool:
    """Return True if an element of a selector is visible."""
    return any(item.is_visible() for item in page.locator(part).all())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_until_it_is_chosen(story: Story, sign_in: SignIn, scheme: str) -> None:
    page = sign_in(story.server, story.ana, color_scheme=scheme)
    page.goto("/")
    assert page.evaluate(DARK) is (scheme == "dark")
    page.keyboard.press("t")
    assert page.evaluate(DARK) is (scheme == "light")
    page.goto("/proposals")  # the choice is stored, and applied before the first paint
    assert page.evaluate(DARK) is (scheme == "light")
