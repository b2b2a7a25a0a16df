"""The accessibility checker reports no serious problem on any page, light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import build_page_paths
from tests.browser.sample_site import SampleSite

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SERIOUS_IMPACTS = ("serious", "critical")

# Opens folded elements, so that they are checked too, and waits until the page has measured their widths.
OPEN_FOLDS_SCRIPT = """() => {
    document.querySelectorAll('main details').forEach(fold => { fold.open = true });
    return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
}"""


def find_problems(page: Page, axe_script: str) -> list[str]:
    """Return the serious findings of the checker in a page, with their elements."""
    # The browser's debugger evaluates the script, which the page's policy would block.
    page.evaluate(axe_script)
    report: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in report["violations"]
        if rule["impact"] in SERIOUS_IMPACTS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_passes_the_accessibility_checker(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str, scheme: str, width: int
) -> None:
    page = sign_in(
        sample_site.server,
        sample_site.ana_token,
        color_scheme=scheme,
        viewport={"width": width, "height": 844},
    )
    problems_by_page = {}
    for name, path in build_page_paths(sample_site).items():
        page.goto(path)
        page.evaluate(OPEN_FOLDS_SCRIPT)
        problems = find_problems(page, axe_script)
        # A page must not scroll sideways, even on a narrow screen.
        excess_px = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        if excess_px > 0:
            problems.append(f"the page is {excess_px} pixels wider than the screen")
        if problems:
            problems_by_page[name] = problems
    assert problems_by_page == {}


def test_keyboard_shortcuts_dialog_is_accessible(ana_page: Page, axe_script: str) -> None:
    ana_page.goto("/")
    ana_page.keyboard.press("?")
    ana_page.get_by_role("dialog").wait_for()
    assert find_problems(ana_page, axe_script) == []
    ana_page.keyboard.press("Escape")
    assert ana_page.get_by_role("dialog").count() == 0
