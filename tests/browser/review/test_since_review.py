"""The changes since a review, in both views, in light and dark, at two widths."""

from __future__ import annotations

import pytest

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite, add_review, answer_review
from tests.browser.test_axe import find_problems

pytestmark = pytest.mark.browser


def test_changes_since_review_are_a_choice_that_is_accessible_and_fits(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str
) -> None:
    from playwright.sync_api import expect

    add_review(sample_site)
    answer_review(sample_site)
    for scheme in ("light", "dark"):
        page = sign_in(sample_site.server, sample_site.ana_token, color_scheme=scheme)
        page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes?view=rendered")
        expect(page.locator(".changed-section")).to_have_count(2)
        page.get_by_role("link", name="Since your review (1 section)").click()
        expect(page.locator(".changed-section")).to_have_count(1)
        expect(page.locator("ins.word")).to_contain_text("then two, then four")
        expect(page.get_by_text("Changes since your review of")).to_be_visible()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
            assert find_problems(page, axe_script) == []
        page.get_by_role("link", name="Side by side").click()
        expect(page.locator(".changed-section")).to_have_count(1)
        page.get_by_role("link", name="All changes").click()
        expect(page.locator(".changed-section")).to_have_count(2)
