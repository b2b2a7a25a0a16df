"""The accessibility checker reports no serious problem on any page, light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import page_paths
from tests.browser.story import Story

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SERIOUS = ("serious", "critical")

# Opens folded elements, so that they are checked too, and waits until the page has measured their widths.
OPEN_FOLDS = """() => {
    document.querySelectorAll('main details').forEach(one => { one.open = true });
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())));
}"""


def find_problems(page: Page, axe: str) -> list[str]:
    """Return the serious findings of the checker in a page, with their elements."""
    # The browser's debugger evaluates the script, which the page's policy would block.
    page.evaluate(axe)
    report: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in report["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_passes_the_accessibility_checker(
    story: Story, sign_in: SignIn, axe: str, scheme: str, width: int
) -> None:
    page = sign_in(story.server, story.ana, color_scheme=scheme, viewport={"width": width, "height": 844})
    problems_by_page = {}
    for name, path in page_paths(story).items():
        page.goto(path)
        page.evaluate(OPEN_FOLDS)
        problems = find_problems(page, axe)
        # A page must not scroll sideways, even on a narrow screen.
        too_wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        if too_wide > 0:
            problems.append(f"the page is {too_wide} pixels wider than the screen")
        if problems:
            problems_by_page[name] = problems
    assert problems_by_page == {}


def test_keys_are_shown_in_a_dialog(ana: Page, axe: str) -> None:
    ana.goto("/")
    ana.keyboard.press("?")
    ana.get_by_role("dialog").wait_for()
    assert find_problems(ana, axe) == []
    ana.keyboard.press("Escape")
    assert ana.get_by_role("dialog").count() == 0
