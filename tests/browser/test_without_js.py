"""Pages and forms work without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import build_page_paths
from tests.browser.sample_site import SampleSite

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture
def page_without_scripts(sign_in: SignIn, sample_site: SampleSite) -> Page:
    """Return a page of Ana in a browser without scripts."""
    return sign_in(sample_site.server, sample_site.ana_token, java_script_enabled=False)


def test_every_page_renders_without_scripts(sample_site: SampleSite, page_without_scripts: Page) -> None:
    for name, path in build_page_paths(sample_site).items():
        response = page_without_scripts.goto(path)
        assert response is not None
        assert response.status == (404 if name == "not-found" else 200), name
        assert page_without_scripts.get_by_role("heading", level=1).inner_text(), name


def test_edit_comment_and_search_work_without_scripts(
    sample_site: SampleSite, page_without_scripts: Page
) -> None:
    from playwright.sync_api import expect

    page_without_scripts.goto("/")
    page_without_scripts.get_by_role("searchbox").fill("event")
    page_without_scripts.get_by_role("searchbox").press("Enter")
    expect(page_without_scripts.get_by_role("link", name="Event", exact=True)).to_be_visible()
    page_without_scripts.goto("/edit/product/glossary.md?section=parcel")
    page_without_scripts.get_by_label("in Markdown").fill("Anything with one label, and nothing without.\n")
    page_without_scripts.get_by_label("Title of the change").fill("No label, no parcel")
    page_without_scripts.get_by_role("button", name="Propose").click()
    expect(page_without_scripts.get_by_role("heading", level=1)).to_have_text("No label, no parcel")
    expect(page_without_scripts.get_by_text("Waiting for review", exact=True)).to_be_visible()
    page_without_scripts.locator("summary", has_text="Comment").click()
    page_without_scripts.get_by_label("Your comment").fill("Is that so?")
    page_without_scripts.get_by_role("button", name="Comment").click()
    expect(page_without_scripts.locator(".conversation").get_by_text("Is that so?")).to_be_visible()
    assert "nothing without" not in (sample_site.server.repo.path / "product/glossary.md").read_text("utf-8")


def test_sign_in_and_out_work_without_scripts(
    sample_site: SampleSite, browser: object, sign_in: SignIn
) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ben_token, java_script_enabled=False)
    page.goto("/")
    expect(page.get_by_text("Ben Ode")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    response = page.goto("/doc/product/vision.md")
    assert response is not None
    assert response.status in (200, 401)
    expect(page.get_by_text("A parcel should never be a mystery")).to_have_count(0)
    page.goto("/login")
    page.get_by_label("Token").fill(sample_site.ben_token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Ben Ode")).to_be_visible()
