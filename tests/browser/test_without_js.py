"""Pages and forms work without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import page_paths
from tests.browser.story import Story

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture
def plain(sign_in: SignIn, story: Story) -> Page:
    """Return a page of Ana in a browser without scripts."""
    return sign_in(story.server, story.ana, java_script_enabled=False)


def test_every_page_renders_without_scripts(story: Story, plain: Page) -> None:
    for name, path in page_paths(story).items():
        answer = plain.goto(path)
        assert answer is not None
        assert answer.status == (404 if name == "not-found" else 200), name
        assert plain.get_by_role("heading", level=1).inner_text(), name


def test_edit_comment_and_search_work_without_scripts(story: Story, plain: Page) -> None:
    from playwright.sync_api import expect

    plain.goto("/")
    plain.get_by_role("searchbox").fill("event")
    plain.get_by_role("searchbox").press("Enter")
    expect(plain.get_by_role("link", name="Event", exact=True)).to_be_visible()
    plain.goto("/edit/product/glossary.md?section=parcel")
    plain.get_by_label("in Markdown").fill("Anything with one label, and nothing without.\n")
    plain.get_by_label("Title of the change").fill("No label, no parcel")
    plain.get_by_role("button", name="Propose").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text("No label, no parcel")
    expect(plain.get_by_text("Open", exact=True)).to_be_visible()
    plain.locator("summary", has_text="Comment").click()
    plain.get_by_label("Your comment").fill("Is that so?")
    plain.get_by_role("button", name="Comment").click()
    expect(plain.get_by_text("Is that so?")).to_be_visible()
    assert "nothing without" not in (story.server.repo.path / "product/glossary.md").read_text("utf-8")


def test_sign_in_and_out_work_without_scripts(story: Story, browser: object, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(story.server, story.ben, java_script_enabled=False)
    page.goto("/")
    expect(page.get_by_text("Ben Ode")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    answer = page.goto("/doc/product/vision.md")
    assert answer is not None
    assert answer.status in (200, 401)
    expect(page.get_by_text("A parcel should never be a mystery")).to_have_count(0)
    page.goto("/login")
    page.get_by_label("Token").fill(story.ben)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Ben Ode")).to_be_visible()
