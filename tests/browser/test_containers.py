"""Admonitions and tabs: a script shows one tab at a time; without it, each is below its title."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_server import PageServer, start_page_server
from tests.browser.test_axe import find_problems
from tests.repositories import create_repository

pytestmark = pytest.mark.browser

TEXT = """# Clients

!!! warning "Mind *this*"
    The key is **yours**.

??? tip
    Folded.

=== "Python"

    ```python
    print("one")
    ```

=== "Shell"

    ### In a shell

    Text of the second tab.

=== "`<b>` Third"
    Text of the third tab.

[Link](#in-a-shell)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("containers")
    files = {"clients.md": TEXT, "docyard.toml": '[links]\ndialect = "mkdocs"\n'}
    with start_page_server(create_repository(folder / "docs", files), folder / "home") as page_server:
        yield page_server


def test_tabs_are_used_by_mouse_and_keyboard(server: PageServer, sign_in: SignIn, axe_script: str) -> None:
    from playwright.sync_api import expect

    page = sign_in(server, server.token)
    page.goto("/doc/clients.md")
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text(["Python", "Shell", "<b> Third"])
    expect(page.get_by_text('print("one")')).to_be_visible()
    expect(page.get_by_text("Text of the second tab.")).to_be_hidden()
    page.get_by_role("tab", name="Shell").click()
    expect(page.get_by_text("Text of the second tab.")).to_be_visible()
    expect(page.get_by_text('print("one")')).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Third")).to_be_focused()
    expect(page.get_by_text("Text of the third tab.")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Python")).to_have_attribute("aria-selected", "true")
    page.get_by_text("Tip").click()
    expect(page.get_by_text("Folded.")).to_be_visible()
    assert find_problems(page, axe_script) == []


def test_tabs_without_scripts_are_headed_blocks(server: PageServer, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(server, server.token, java_script_enabled=False)
    page.goto("/doc/clients.md")
    expect(page.locator(".tab-title")).to_have_text(["Python", "Shell", "<b> Third"])
    for text in ('print("one")', "Text of the second tab.", "Text of the third tab.", "Mind this"):
        expect(page.get_by_text(text)).to_be_visible()
