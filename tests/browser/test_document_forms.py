"""Pages that write, in a browser: documents, images and tasks; and the search field with its suggestions."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.browser.conftest import SignIn
from tests.browser.sample_site import SampleSite, serve_sample_site

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

pytestmark = pytest.mark.browser

# In one task, because on a busy machine the delay of a request can end between two presses.
TYPE_AND_ESCAPE_SCRIPT = """(field) => {
    field.value += "x";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[SampleSite]:
    """Yield a sample site that one test changes."""
    with serve_sample_site(tmp_path) as site:
        yield site


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def page(request: pytest.FixtureRequest, own_site: SampleSite, sign_in: SignIn) -> Page:
    """Return a page of Ana, with and without scripts."""
    return sign_in(own_site.server, own_site.ana_token, java_script_enabled=request.param)


def read(site: SampleSite, path: str) -> str:
    return site.server.repo.git("show", f"HEAD:{path}")


def make_png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (30, 20), "#1f6652").save(file, "PNG")
    return file.getvalue()


def test_document_is_created_moved_and_removed(own_site: SampleSite, page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    page.get_by_role("link", name="New document").click()
    page.get_by_label("Title", exact=True).fill("Opening hours")
    page.get_by_role("textbox", name="Folder").fill("operations")
    page.get_by_label("Text, in Markdown").fill("See [incidents](incidents.md).")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Opening hours"))
    assert page.url.endswith("/doc/operations/opening-hours.md")
    page.get_by_role("link", name="Move", exact=True).click()
    page.get_by_label("Path").fill("product/hours.md")
    page.get_by_role("button", name="Move").click()
    expect(page).to_have_url(re.compile("/doc/product/hours.md$"))
    assert "(../operations/incidents.md)" in read(own_site, "product/hours.md")
    page.goto("/remove/operations/incidents.md")
    expect(page.get_by_text("product/hours.md", exact=True)).to_be_visible()
    page.goto("/remove/product/hours.md")
    expect(page.get_by_text("No other document links")).to_be_visible()
    page.get_by_role("button", name="Remove hours.md").click()
    expect(page).to_have_url(re.compile("/folder/product$"))
    assert "hours.md" not in own_site.server.repo.git("ls-tree", "--name-only", "HEAD", "product/")


def test_task_is_completed_by_mouse_and_reopened_by_keyboard(own_site: SampleSite, page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/doc/product/roadmap.md")
    box = page.locator(".prose").get_by_role("checkbox", checked=False).first
    title = box.get_attribute("aria-label")
    assert title
    box.click()
    done_box = page.locator(".prose").get_by_role("checkbox", name=title, exact=True)
    expect(done_box).to_be_checked()
    assert "- [x]" in own_site.server.repo.git("show", "HEAD", "--", "product/roadmap.md")
    done_box.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".prose").get_by_role("checkbox", name=title, exact=True)).not_to_be_checked()
    page.goto("/tasks")
    board_box = page.get_by_role("checkbox", name=title, exact=True)
    board_box.click()
    expect(page.locator(".column.done").get_by_role("checkbox", name=title, exact=True)).to_be_checked()


def test_image_is_uploaded_and_shown(own_site: SampleSite, page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/edit/product/glossary.md?section=parcel")
    text = page.get_by_label("in Markdown")
    text.fill("A box.\n\nWith a label.")
    page.get_by_label("Title of the change").fill("Show a parcel")
    page.locator("summary", has_text="Add an image").click()
    svg = {"name": "x.png", "mimeType": "image/png", "buffer": b"<svg/>"}
    page.get_by_label("PNG, JPEG").set_input_files(svg)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("alert")).to_contain_text("SVG")
    expect(text).to_have_value("A box.\n\nWith a label.")
    page.locator("summary", has_text="Add an image").click()
    page.get_by_label("PNG, JPEG").set_input_files(
        {"name": "parcel.png", "mimeType": "image/png", "buffer": make_png()}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("The image is stored as")).to_be_visible()
    expect(text).to_have_value(re.compile(r"!\[parcel\]\(parcel\.png\)"))
    page.get_by_role("button", name="Preview").click()
    picture = page.get_by_role("img", name="parcel")
    expect(picture).to_be_visible()
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Show a parcel")


def test_pasted_image_is_inserted_at_the_cursor(own_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(own_site.server, own_site.ana_token)
    page.goto("/edit/product/glossary.md?section=parcel")
    text = page.get_by_label("in Markdown")
    text.fill("😀 before after")
    text.evaluate("field => field.setSelectionRange(10, 10)")  # after "😀 before ", in UTF-16 units
    text.evaluate(
        """(field, bytes) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], "p.png", { type: "image/png" }));
            const options = { clipboardData: transfer, bubbles: true, cancelable: true };
            field.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        list(make_png()),
    )
    expect(page.get_by_text("The image is stored as")).to_be_visible()
    expect(text).to_have_value("😀 before ![p](p.png)after")


def test_suggestions_follow_the_keyboard_and_stop_when_cancelled(
    sample_site: SampleSite, ana_page: Page
) -> None:
    from playwright.sync_api import expect

    requests: list[str] = []

    def record(request: Request) -> None:
        if "/suggest" in request.url:
            requests.append(request.url)

    ana_page.on("request", record)
    ana_page.goto("/")
    field = ana_page.get_by_role("combobox", name="Search")
    field.press_sequentially("tracking", delay=20)
    options = ana_page.get_by_role("option")
    expect(options.first).to_be_visible()
    assert len(requests) <= 3  # not one for each letter
    assert options.count() <= 8
    expect(field).to_have_attribute("aria-expanded", "true")
    field.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    active_id = field.get_attribute("aria-activedescendant")
    assert active_id == options.first.get_attribute("id")
    field.press("ArrowUp")
    field.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    field.press("Escape")
    expect(ana_page.get_by_role("listbox")).to_have_count(0)
    expect(field).to_be_focused()
    count = len(requests)
    field.evaluate(TYPE_AND_ESCAPE_SCRIPT)
    ana_page.wait_for_timeout(600)  # longer than the delay
    assert len(requests) == count
    field.fill("tracking")
    expect(options.first).to_be_visible()
    field.press("ArrowDown")
    url = options.first.get_attribute("data-url")
    assert url
    field.press("Enter")
    expect(ana_page).to_have_url(re.compile(re.escape(url.partition("#")[0])))


def test_enter_without_a_choice_opens_the_search_page(sample_site: SampleSite, ana_page: Page) -> None:
    from playwright.sync_api import expect

    ana_page.goto("/doc/product/vision.md")
    ana_page.keyboard.press("/")
    ana_page.keyboard.type("event")
    expect(ana_page.get_by_role("option").first).to_be_visible()
    ana_page.keyboard.press("Enter")
    expect(ana_page).to_have_url(re.compile(r"/search\?q=event"))


def test_tree_is_next_to_a_document_and_folds_without_scripts(
    sample_site: SampleSite, sign_in: SignIn
) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ana_token, java_script_enabled=False)
    page.goto("/doc/api/tracking.md")
    tree = page.get_by_role("navigation", name="Documents")
    current = tree.get_by_role("link", name="tracking", exact=True)
    expect(current).to_have_attribute("aria-current", "page")
    expect(current).to_be_visible()
    tree.locator("summary", has_text="api").click()
    expect(current).to_be_hidden()
    tree.get_by_role("link", name="product", exact=True).click()
    expect(page).to_have_url(re.compile("/folder/product$"))
