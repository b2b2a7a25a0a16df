"""The page of proposals in a browser: filters while typing, keys, unread marks, and hostile titles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite
from tests.browser.test_axe import find_problems
from tests.browser.test_keyboard import focus_by_tab, press_keys

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

HOSTILE_TITLE = (
    "<script>window.docyardPwned=1</script>\u202e" + "<img src=x onerror=alert(1)>" * 3 + "W" * 120
)


def find_entries(page: Page) -> Locator:
    return page.locator("main [data-entry]")


def test_filters_apply_while_typing_and_entries_open_with_keys(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/proposals")
    expect(find_entries(ana_page)).to_have_count(2)
    expect(ana_page.locator(".unread")).to_have_count(2)
    limits = find_entries(ana_page).filter(has_text="Raise the rate limit to 20")
    expect(limits).to_contain_text("Conflicts with main")
    press_keys(ana_page, "f")
    ana_page.keyboard.type("retry-after")
    expect(find_entries(ana_page)).to_have_count(1)
    expect(ana_page).to_have_url(re.compile("search=retry-after"))
    press_keys(ana_page, "Escape", "j", "Enter")
    expect(ana_page.get_by_role("heading", level=1)).to_have_text("Say how retries back off")
    ana_page.go_back()
    expect(find_entries(ana_page)).to_have_count(1)
    ana_page.reload()
    expect(ana_page.locator(".unread")).to_have_count(0)
    expect(ana_page.get_by_role("searchbox", name="Words")).to_have_value("retry-after")
    ana_page.get_by_role("link", name="Show all open proposals").click()
    expect(ana_page.locator(".unread")).to_have_count(1)


def test_filters_apply_with_tab_and_space_after_an_update_of_the_page(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/proposals?state=all")
    title = "A draft without reviewers"
    with sample_site.server.connect_agent() as agent:
        agent.call("create_proposal", title=title, description="Later.")
    expect(find_entries(ana_page).filter(has_text=title)).to_have_count(1)
    focus_by_tab(ana_page, ana_page.get_by_role("checkbox", name="Needs me"))
    press_keys(ana_page, "Space")
    expect(find_entries(ana_page).filter(has_text=title)).to_have_count(0)
    expect(find_entries(ana_page).filter(has_text="Waits for your review")).to_have_count(2)
    expect(ana_page).to_have_url(re.compile("needs=me"))
    ana_page.get_by_role("combobox", name="State").select_option("merged")
    expect(ana_page.get_by_role("heading", name="No proposal matches")).to_be_visible()


def test_filters_work_without_a_script(sample_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ana_token, java_script_enabled=False)
    page.goto("/proposals")
    page.get_by_role("textbox", name="Document or folder").fill("api/tracking.md")
    page.get_by_role("checkbox", name="Needs me").check()
    page.get_by_role("button", name="Show").click()
    expect(find_entries(page)).to_have_count(1)
    expect(find_entries(page)).to_contain_text("Raise the rate limit to 20")
    expect(page.get_by_role("checkbox", name="Needs me")).to_be_checked()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_entries_with_hostile_titles_are_accessible_and_fit(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str, scheme: str, width: int
) -> None:
    from playwright.sync_api import expect

    with sample_site.server.connect_agent() as agent:
        for number in range(30):
            agent.call("create_proposal", title=f"{number} {HOSTILE_TITLE}"[:250], description="Why.")
    page = sign_in(
        sample_site.server,
        sample_site.ana_token,
        color_scheme=scheme,
        viewport={"width": width, "height": 844},
    )
    page.goto("/proposals")
    expect(find_entries(page)).to_have_count(25)
    assert page.evaluate("window.docyardPwned") is None
    assert page.locator("main img").count() == 0
    assert find_problems(page, axe_script) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    press_keys(page, "n")
    expect(page).to_have_url(re.compile("page=2"))
    page.goto("/proposals?state=nonsense&author=nobody")
    expect(page.get_by_text("There is no state “nonsense”")).to_be_visible()
    assert find_problems(page, axe_script) == []
