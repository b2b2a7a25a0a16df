"""An accessibility checker finds nothing serious on any page, light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import SignIn
from tests.browser.places import places
from tests.browser.story import Story

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SERIOUS = ("serious", "critical")


def wrong(page: Page, axe: str) -> list[str]:
    """What the checker finds serious in a page, each with where it is."""
    # Evaluated by the browser's debugger, which the page's own policy does not bind.
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_on_any_page(
    story: Story, sign_in: SignIn, axe: str, scheme: str, width: int
) -> None:
    page = sign_in(story.served, story.ana, color_scheme=scheme, viewport={"width": width, "height": 844})
    found = {}
    for name, path in places(story).items():
        page.goto(path)
        # What is folded is looked at too.
        page.evaluate("() => document.querySelectorAll('main details').forEach(one => { one.open = true })")
        problems = wrong(page, axe)
        # A page never scrolls sideways, however narrow the screen.
        too_wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        if too_wide > 0:
            problems.append(f"the page is {too_wide} pixels wider than the screen")
        if problems:
            found[name] = problems
    assert found == {}


def test_the_keys_are_shown_in_a_dialog(ana: Page, axe: str) -> None:
    ana.goto("/")
    ana.keyboard.press("?")
    ana.get_by_role("dialog").wait_for()
    assert wrong(ana, axe) == []
    ana.keyboard.press("Escape")
    assert ana.get_by_role("dialog").count() == 0
