"""Live updates: a page shows new commits without a reload, and unsent text is preserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

VERSIONS_TEXT = "# Versions\n\nA version lives for {} years.\n"


def commit_versions(sample_site: SampleSite, years: int) -> None:
    sample_site.server.repo.commit({"api/versions.md": VERSIONS_TEXT.format(years)}, f"{years} years")


def test_document_page_updates_after_a_commit(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/doc/api/versions.md")
    for years in (3, 4):
        commit_versions(sample_site, years)
        expect(ana_page.get_by_text(f"A version lives for {years} years.")).to_be_visible()


def test_library_updates_after_a_task_is_completed(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/folder/product")
    row = ana_page.get_by_role("row").filter(has_text="roadmap.md")
    expect(row).to_contain_text("2 of 7")
    with sample_site.server.connect_agent() as agent:
        agent.call("complete_task", file="product/roadmap.md", slug="this-quarter[3]")
    expect(row).to_contain_text("3 of 7")


def add_agent_comment(sample_site: SampleSite, page: Page, text: str) -> None:
    """Add an agent's comment to the proposal of a page, and wait for the page's notice."""
    from playwright.sync_api import expect

    with sample_site.server.connect_agent() as agent:
        proposal_id = sample_site.proposal_ids["retries"]
        agent.call("update_proposal", proposal=proposal_id, action="comment", text=text)
    expect(page.get_by_text("This page has changed.")).to_be_visible()


def test_live_update_preserves_unsent_text(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    ana_page.keyboard.press("c")
    ana_page.get_by_label("Your comment").fill("Half a thou")
    add_agent_comment(sample_site, ana_page, "A word in between.")
    expect(ana_page.get_by_label("Your comment")).to_have_value("Half a thou")


def test_live_update_preserves_the_reviewed_commit(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    ana_page.keyboard.press("a")
    reviewed_commit = ana_page.locator('form[action$="/approve"] input[name="commit"]').input_value()
    with sample_site.server.connect_agent() as agent:
        agent.call(
            "edit_document",
            proposal=sample_site.proposal_ids["retries"],
            file="api/retries.md",
            operation="append_content",
            slug="backoff",
            content="No reviewer has read this sentence.",
        )
    expect(ana_page.get_by_text("This page has changed.")).to_be_visible()
    expect(ana_page.locator('form[action$="/approve"] input[name="commit"]')).to_have_value(reviewed_commit)


def test_live_update_preserves_an_edited_title(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto(f"/proposals/{sample_site.proposal_ids['retries']}")
    ana_page.get_by_text("Edit title and description").click()
    ana_page.get_by_label("Title").fill("Half a tit")
    ana_page.get_by_label("Title").blur()
    add_agent_comment(sample_site, ana_page, "Another word in between.")
    expect(ana_page.get_by_label("Title")).to_have_value("Half a tit")


def test_merge_in_two_windows_makes_one_merge_commit(
    sample_site: SampleSite, ana_page: Page, sign_in: SignIn
) -> None:
    """Press the merge button in both windows: the second window shows the first merge."""
    from playwright.sync_api import expect

    with sample_site.server.connect_agent() as agent:
        proposal_id = str(agent.call("create_proposal", title="An aside", description="Why not.")["proposal"])
        agent.call(
            "edit_document",
            proposal=proposal_id,
            operation="append_content",
            file="product/glossary.md",
            slug="event",
            content="Nothing is forgotten.",
        )
        agent.call("update_proposal", proposal=proposal_id, action="submit")
    other_page = sign_in(sample_site.server, sample_site.ben_token, java_script_enabled=False)
    for page in (ana_page, other_page):
        page.goto(f"/proposals/{proposal_id}")
        page.locator("summary", has_text="Merge").click()
    ana_page.get_by_role("button", name="Merge into main").click()
    expect(ana_page.get_by_text("Merged as")).to_be_visible()
    other_page.get_by_role("button", name="Merge into main").click()
    expect(other_page.get_by_text("Merged as")).to_be_visible()
    repo = sample_site.server.repo
    assert len(repo.git("log", "--merges", "--format=%H", "--grep", proposal_id).split()) == 1


def test_unrelated_commit_causes_no_notice(sample_site: SampleSite, ana_page: Page) -> None:
    """Check that elements which the page's scripts have changed do not count as a change of the page."""
    from playwright.sync_api import expect

    ana_page.goto("/doc/api/tracking.md#rate-limits")
    expect(ana_page.locator(".outline a[aria-current]")).to_have_count(1)
    version = ana_page.locator("html").get_attribute("data-version")
    commit_versions(sample_site, 5)
    expect(ana_page.locator("html")).not_to_have_attribute("data-version", version or "")
    expect(ana_page.locator("[data-news]")).to_have_text("")


def test_late_colours_of_code_are_added_without_a_notice(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/doc/api/tracking.md")
    colours = ana_page.locator("pre > code > span")
    ana_page.evaluate(
        "document.querySelectorAll('pre > code').forEach((code) => code.replaceChildren(code.textContent))"
    )
    expect(colours).to_have_count(0)
    commit_versions(sample_site, 6)
    expect(colours).not_to_have_count(0)
    expect(ana_page.locator("[data-news]")).to_have_text("")
