"""Diagrams are drawn in isolated frames; without the script, they are text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_server import PageServer, start_page_server
from tests.repositories import create_repository

if TYPE_CHECKING:
    from playwright.sync_api import Response

pytestmark = pytest.mark.browser

# An operator's script that attempts each action that is forbidden in a frame, and draws the outcomes as text.
SCRIPT = """
const outcomes = [];
const attempt = (name, action) => {
  try { const value = action(); outcomes.push([name, value === undefined || value === null ? "no" : "yes"]); }
  catch { outcomes.push([name, "no"]); }
};
attempt("parent", () => parent.document.body.textContent);
attempt("cookie", () => document.cookie || null);
attempt("storage", () => localStorage.length);
attempt("window", () => open("/"));
attempt("eval", () => eval("1"));
attempt("dialog", () => { alert("x"); });
fetch("/").then(() => outcomes.push(["fetch", "yes"]), () => outcomes.push(["fetch", "no"]));
const image = new Image();
image.onload = () => outcomes.push(["image", "yes"]);
image.onerror = () => outcomes.push(["image", "no"]);
image.src = "https://attacker.invalid/x.png";
const waitForOutcomes = () => new Promise((resolve) => {
  const check = () => (outcomes.length === 8 ? resolve() : setTimeout(check, 20));
  check();
});
var mermaid = {
  initialize() {},
  async render(id, text) {
    if (!text.startsWith("graph")) throw Error("no diagram");
    await waitForOutcomes();
    const summary = outcomes.map(([name, outcome]) => `${name} ${outcome}`).sort().join(", ");
    const line = `<text y="20" class="outcomes">${summary}</text>`;
    return { svg: `<svg id="${id}" width="600" height="120">${line}</svg>` };
  },
};
"""
FLOW_TEXT = "# Flow\n\n```mermaid\ngraph TD; A-->B\n```\n\n## Wrong\n\n```mermaid\nno such thing\n```\n"
DENIED_ACTIONS = "cookie no, dialog no, eval no, fetch no, image no, parent no, storage no, window no"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("diagrams")
    script = folder / "mermaid.min.js"
    script.write_text(SCRIPT, "utf-8")
    repo = create_repository(folder / "docs", {"flow.md": FLOW_TEXT})
    with start_page_server(repo, folder / "home", "--mermaid", str(script)) as page_server:
        yield page_server


def test_diagram_is_drawn_in_an_isolated_frame(server: PageServer, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(server, server.token)
    requested_urls: list[str] = []

    def record_url(response: Response) -> None:
        requested_urls.append(response.url)

    page.on("response", record_url)
    page.goto("/doc/flow.md")
    frame = page.frame_locator("iframe[title=Diagram]:not(.undrawn)")
    expect(frame.locator(".outcomes")).to_have_text(DENIED_ACTIONS)
    expect(page.locator("iframe")).to_have_count(1)  # the second diagram is invalid and remains text
    expect(page.locator("iframe")).to_have_attribute("height", "120")
    expect(page.get_by_text("no such thing")).to_be_visible()
    expect(page.get_by_text("graph TD")).to_be_hidden()
    page.get_by_text("Diagram as text").click()
    expect(page.get_by_text("graph TD")).to_be_visible()
    assert [url for url in requested_urls if not url.startswith(server.url)] == []


def test_diagram_without_scripts_is_text(server: PageServer, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(server, server.token, java_script_enabled=False)
    page.goto("/doc/flow.md")
    expect(page.get_by_text("graph TD")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
