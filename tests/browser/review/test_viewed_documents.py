"""Documents of a proposal are marked as viewed in the tree beside the changes, until they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite
from tests.browser.test_axe import find_problems
from tests.browser.test_keyboard import focus_by_tab, press_keys

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def edit(sample_site: SampleSite, proposal_id: str, file: str, old: str, new: str) -> None:
    """Replace text on the branch of a proposal, as the agent."""
    with sample_site.server.connect_agent() as agent:
        agent.call(
            "edit_document", proposal=proposal_id, file=file, operation="replace_text", old=old, new=new
        )


def open_large_proposal(sample_site: SampleSite) -> str:
    with sample_site.server.connect_agent() as agent:
        proposal = agent.call("create_proposal", title="Two documents", description="Both.")["proposal"]
    edit(sample_site, proposal, "api/tracking.md", "It is never told which.", "It is told which.")
    edit(sample_site, proposal, "api/retries.md", "comes back at once", "comes back later")
    return str(proposal)


def test_mark_is_set_with_the_keyboard_and_falls_with_a_change(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    proposal = open_large_proposal(sample_site)
    ana_page.goto(f"/proposals/{proposal}/changes")
    tree = ana_page.get_by_role("navigation", name="Changed documents")
    expect(tree.get_by_role("link", name="retries.md")).to_be_visible()
    retries, tracking = ana_page.locator("article.changed").all()
    press_keys(ana_page, "j", "x")
    expect(tree).to_contain_text("2 documents, 1 viewed")
    expect(retries.locator(".changed-section")).to_be_hidden()
    expect(tracking.locator(".changed-section")).to_have_attribute("data-chosen", "")
    focus_by_tab(ana_page, tracking.get_by_role("checkbox", name="Viewed"))
    press_keys(ana_page, "Space")
    expect(tree).to_contain_text("2 documents, 2 viewed")
    ana_page.reload()
    expect(tree).to_contain_text("2 documents, 2 viewed")
    edit(sample_site, proposal, "api/retries.md", "comes back later", "comes back much later")
    expect(tree).to_contain_text("2 documents, 1 viewed")
    expect(retries.locator(".changed-section")).to_be_visible()
    expect(tracking.locator(".changed-section")).to_be_hidden()
    ana_page.goto(f"/proposals/{proposal}/changes#{tracking.locator('section').get_attribute('id')}")
    expect(tracking.locator(".changed-section")).to_be_visible()


def test_tree_stays_in_view_and_fits_narrow_screens(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str
) -> None:
    from playwright.sync_api import expect

    url = f"/proposals/{open_large_proposal(sample_site)}/changes"
    page = sign_in(sample_site.server, sample_site.ana_token, viewport={"width": 1280, "height": 400})
    page.goto(url)
    press_keys(page, "x")
    assert find_problems(page, axe_script) == []
    page.keyboard.press("End")
    expect(page.get_by_role("link", name="tracking.md", exact=True).first).to_be_in_viewport()
    narrow = sign_in(sample_site.server, sample_site.ana_token, viewport={"width": 390, "height": 700})
    narrow.goto(url)
    expect(narrow.get_by_role("link", name="tracking.md", exact=True)).to_be_hidden()
    narrow.locator(".tree summary").click()
    narrow.get_by_role("link", name="tracking.md", exact=True).click()
    expect(narrow.locator("article.changed").nth(1)).to_be_in_viewport()
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390
