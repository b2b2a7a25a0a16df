"""Hostile names, texts and files run no script on any page, in feeds, in raw files and in exported pages.

The content policy of pages is switched off, so that a script that reaches a page runs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from docyard.web.urls import CHANGES_FEED, PROPOSALS_FEED
from tests.acceptance.server import build_user_environment
from tests.browser.conftest import create_context
from tests.browser.hostile.hostile_site import (
    DOCUSAURUS_TEXT,
    RAW_FILES,
    HostileSite,
    attack,
    attack_attribute,
    attack_element,
    make_documents,
    serve_hostile_site,
    write_html,
    write_svg,
)
from tests.browser.page_server import start_page_server
from tests.browser.test_hostile import LINK_SCHEMES_SCRIPT, SEND_EVENTS_SCRIPT, ForbiddenEventRecorder
from tests.loops import loop_over
from tests.repositories import create_repository
from workspace.policy.tokens import Tokens

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

# A value that a script sets is an own property of the window; an anchor with this name is not.
FIND_PLACE_SCRIPT = "() => Object.hasOwn(window, 'docyardPwned') ? String(window.docyardPwned) : null"
_WAIT_MS = 20
"""The time that the scripts of a page get to run."""


# Sends events to the elements of a diagram, and returns its links that are not addresses of pages.
FIND_DIAGRAM_LINKS_SCRIPT = """() => {
  const elements = [...document.querySelectorAll('body *')];
  for (const element of elements)
    for (const type of ['mouseover', 'click', 'load', 'error']) element.dispatchEvent(new Event(type));
  return elements.flatMap(element => [...element.attributes])
    .filter(({ name, value }) => /href|^on/.test(name) && !/^(#|https?:|about:blank)/.test(value))
    .map(({ name, value }) => `${name}=${value}`);
}"""
_MERMAID_SCRIPT = Path(__file__).parents[3] / ".venv-node/browser/node_modules/mermaid/dist/mermaid.min.js"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileSite]:
    assert _MERMAID_SCRIPT.exists(), "the script of diagrams is not installed: run make browser"
    options = ("--math", "--mermaid", str(_MERMAID_SCRIPT))
    with serve_hostile_site(tmp_path_factory.mktemp("site"), *options) as hostile_site:
        yield hostile_site


@pytest.fixture
def context(browser: Browser, site: HostileSite) -> Iterator[BrowserContext]:
    """Yield a browser context of the reader, without the content policy."""
    browser_context = create_context(browser, site.server, site.token, bypass_csp=True)
    yield browser_context
    browser_context.close()


def find_problems(page: Page, recorder: ForbiddenEventRecorder) -> list[str]:
    """Send events to all elements of a page; return what ran, or would run after a click."""
    page.evaluate(SEND_EVENTS_SCRIPT)
    page.wait_for_timeout(_WAIT_MS)
    problems = [*recorder.events]
    recorder.events.clear()
    problems += [f"ran: {place}" for frame in page.frames if (place := frame.evaluate(FIND_PLACE_SCRIPT))]
    schemes = set(page.evaluate(LINK_SCHEMES_SCRIPT)) - {"http:", "https:", "mailto:", "file:"}
    return problems + [f"links to {scheme}" for scheme in sorted(schemes)]


def visit(page: Page, recorder: ForbiddenEventRecorder, urls: list[str]) -> dict[str, list[str]]:
    """Open pages, and return the problems of each page with problems."""
    from playwright.sync_api import Error

    problems_by_url = {}
    for url in urls:
        try:
            page.goto(url)
        except Error as error:
            if "Download is starting" not in str(error):
                raise
            continue
        if problems := find_problems(page, recorder):
            problems_by_url[url] = problems
    return problems_by_url


def list_page_urls(site: HostileSite) -> list[str]:
    """Return the URLs of the pages on which a name or a text of the workspace is shown."""
    paths = list(make_documents())
    folders = sorted({path.rpartition("/")[0] for path in [*paths, *RAW_FILES] if "/" in path})
    proposal = f"/proposals/{site.proposal_id}"
    hostile_text = attack_element("a part of the address")
    hostile_parameters = ("ref", "q", "folder", "status", "tag", "owner", "view", "page", "next", "section")
    echo = urlencode(dict.fromkeys(hostile_parameters, hostile_text))
    urls = ["/", "/library", "/tasks", "/tasks?view=list", "/drift", "/trace", "/trace/REQ-7", "/statistics"]
    urls += [f"/folder/{quote(folder)}" for folder in folders]
    for path in paths:
        urls += [f"/{kind}/{quote(path)}" for kind in ("doc", "history", "blame", "edit", "raw")]
    urls += [f"/{kind}/{quote(paths[1])}" for kind in ("move", "remove")]
    urls += ["/proposals", "/proposals?state=all", proposal, f"{proposal}/conflicts"]
    urls += [f"{proposal}/changes{query}" for query in ("", "?view=inline", "?view=rendered")]
    urls += [f"/doc/people.md?ref={site.proposal_id}", f"/commit/{site.server.repo.head()}"]
    urls += [f"/commit/{site.server.repo.head()}?view=rendered", PROPOSALS_FEED, CHANGES_FEED]
    urls += [f"/search?{urlencode({'q': text})}" for text in ("hostilename", "wanted", "img", hostile_text)]
    urls += [f"/suggest?{urlencode({'q': text})}" for text in ("hostilename", "wanted", hostile_text)]
    urls += [
        f"{page}?{echo}" for page in ("/", "/library", "/search", "/tasks", "/new", "/proposals", "/login")
    ]
    urls += [
        f"/{kind}/{quote(hostile_text)}" for kind in ("doc", "folder", "raw", "commit", "trace", "proposals")
    ]
    return [*urls, f"/{quote(hostile_text)}"]


def test_hostile_pages_run_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    assert visit(page, recorder, list_page_urls(site)) == {}


def test_raw_files_run_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    assert visit(page, recorder, [f"/raw/{quote(path)}" for path in RAW_FILES]) == {}


def test_images_of_hostile_files_run_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    page.goto("/doc/media.md")
    # The first image is an SVG image, which is displayed.
    page.wait_for_function("() => document.querySelector('main img').naturalWidth === 90")
    assert find_problems(page, recorder) == []


def test_diagrams_run_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    page.goto("/doc/diagrams.md")
    diagram_count = 3
    for number in range(diagram_count):
        page.locator("iframe.diagram, pre.mermaid").nth(number).scroll_into_view_if_needed()
    page.wait_for_function(
        "count => document.querySelectorAll('iframe.diagram:not(.undrawn)').length === count",
        arg=diagram_count,
    )
    assert [frame.evaluate(FIND_DIAGRAM_LINKS_SCRIPT) for frame in page.frames[1:]] == [[]] * diagram_count
    assert find_problems(page, recorder) == []


def test_containers_of_docusaurus_run_no_script(browser: Browser, tmp_path: Path) -> None:
    settings = '[links]\ndialect = "docusaurus"\n'
    repo = create_repository(tmp_path / "docs", {"README.md": DOCUSAURUS_TEXT, "docyard.toml": settings})
    token = Tokens(repo.path / ".git").add("ana", "Ana Li", "ana@harbor.example")
    with start_page_server(repo, tmp_path / "home") as server:
        browser_context = create_context(browser, server, token, bypass_csp=True)
        page = browser_context.new_page()
        recorder = ForbiddenEventRecorder(page, server.url)
        assert visit(page, recorder, ["/", "/doc/README.md"]) == {}
        assert page.locator(".alert-title").count() == 2
        browser_context.close()


def test_results_while_typing_run_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    for text in ("hostilename", "hostilefront", "img src onerror"):
        page.goto("/library")
        page.get_by_role("combobox").type(text)
        page.get_by_role("option").first.wait_for()
        page.keyboard.press("ArrowDown")
        page.evaluate(
            "() => document.querySelector('main').append(document.querySelector('[data-suggestions]'))"
        )
        assert find_problems(page, recorder) == [], text


def test_preview_of_a_hostile_text_runs_no_script(context: BrowserContext, site: HostileSite) -> None:
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, site.server.url)
    page.goto("/edit/people.md")
    text = page.locator("textarea[name=text]").first
    text.fill("\n\n".join([*make_documents().values(), f"</textarea>{attack('a text in a form')}"]))
    page.get_by_role("button", name="Preview").first.click()
    page.locator(".prose").first.wait_for()
    assert find_problems(page, recorder) == []


def test_exported_pages_run_no_script(browser: Browser, site: HostileSite, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    environment = build_user_environment(tmp_path)
    command = [sys.executable, "-m", "docyard", "export", str(folder), "-C", str(site.server.repo.path)]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    files = sorted(file for file in folder.rglob("*") if file.is_file() and "/static/" not in str(file))
    assert len(files) > len(make_documents())
    browser_context = browser.new_context(bypass_csp=True)
    page = browser_context.new_page()
    recorder = ForbiddenEventRecorder(page, "file://")
    assert visit(page, recorder, [file.as_uri() for file in files]) == {}
    browser_context.close()


HTML_ATTACKS = {
    "text": f"<p>{attack('a place')}</p>",
    "attribute": f'<p title="{attack("a place")}"></p>',
    "attribute without angle brackets": f'<p title="{attack_attribute("a place")}"></p>',
    "attribute in single quotes": f"<p title='{attack('a place')}'></p>",
    "element": f"<p>{attack_element('a place')}</p>",
    "element in a title": f"<details><summary>{attack_element('a place')}</summary></details>",
    "element in a label of a tab": f"<div class=tab><p class=tab-title>{attack_element('a place')}</p></div>",
    "text area": f"<textarea></textarea>{attack('a place')}</textarea>",
    "table": f"<table><tr><td>x{attack('a place')}</td></table>",
    "formula": f"<math><mtext>{attack('a place')}</mtext></math>",
    "code": f'<pre><code class="language-{attack("a place")}">x</code></pre>',
    "page": write_html("a place"),
    "SVG image": write_svg("a place"),
}


@loop_over("name", list(HTML_ATTACKS))
def test_attack_is_detected_on_an_unprotected_page(browser: Browser, name: str) -> None:
    page = browser.new_page()
    recorder = ForbiddenEventRecorder(page, "about:")
    page.route(
        "http://unprotected.invalid/",
        lambda route: route.fulfill(
            content_type="text/html", body=f"<!doctype html><main>{HTML_ATTACKS[name]}</main>"
        ),
    )
    page.goto("http://unprotected.invalid/")
    assert [problem for problem in find_problems(page, recorder) if problem.startswith("ran: ")], name
    page.close()
