"""Each page is valid HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.html_validator import validate_pages
from tests.browser.page_paths import build_page_paths
from tests.browser.sample_site import SampleSite, add_review, answer_review

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_every_page_is_valid_html(sample_site: SampleSite, ana_page: Page, tmp_path: Path) -> None:
    add_review(sample_site)
    answer_review(sample_site)
    paths = build_page_paths(sample_site)
    paths |= {f"{name}-earlier": f"{paths[name]}?ref=main" for name in ("library", "document", "tasks")}
    paths |= {"statistics-days": "/statistics?period=month", "search-empty": "/search?q=zzzz"}
    pages = {}
    for name, path in paths.items():
        response = ana_page.request.get(path)
        assert response.status == (404 if name == "not-found" else 200), name
        pages[name] = response.body()
    assert validate_pages(pages, tmp_path) == []


def test_invalid_html_is_found(tmp_path: Path) -> None:
    page = b'<!doctype html><html lang="en"><head><title>x</title></head><body><p><div></p></body></html>'
    assert validate_pages({"page": page}, tmp_path)[0].startswith("page:1 ")
