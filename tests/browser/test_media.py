"""Pages on a screen, in the theme of the system or of the reader, and in print; long words fit the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_paths import build_page_paths
from tests.browser.page_server import start_page_server
from tests.browser.sample_site import RULES, SampleSite
from tests.browser.test_axe import OPEN_FOLDS_SCRIPT
from tests.repositories import create_repository
from workspace.policy.tokens import Tokens

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

IS_DARK_SCRIPT = """() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return red + green + blue < 200;
}"""

# The colour of text in the current theme, and its value in the light theme.
INK_COLOUR_SCRIPT = "() => getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
LIGHT_INK_COLOUR = "#1d2321"


def test_printed_page_has_text_without_buttons(sample_site: SampleSite, ana_page: Page) -> None:
    visible_selectors = {}
    ana_page.goto("/")
    ana_page.keyboard.press("t")  # selects the dark theme, which print ignores
    for name, path in build_page_paths(sample_site).items():
        ana_page.goto(path)
        assert ana_page.evaluate(IS_DARK_SCRIPT), name
        ana_page.emulate_media(media="print")
        assert ana_page.locator("h1").first.is_visible(), name
        assert ana_page.evaluate(INK_COLOUR_SCRIPT) == LIGHT_INK_COLOUR, name
        visible_selectors[name] = [
            selector for selector in ("header.bar", ".acts-quiet", "button") if is_visible(ana_page, selector)
        ]
        ana_page.emulate_media(media="screen")
    assert {name: selectors for name, selectors in visible_selectors.items() if selectors} == {}
    ana_page.goto(build_page_paths(sample_site)["conflicts"])
    ana_page.emulate_media(media="print")
    assert ana_page.locator(".side").first.is_visible()


def is_visible(page: Page, selector: str) -> bool:
    """Return True if any element of a selector is visible."""
    return any(element.is_visible() for element in page.locator(selector).all())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_until_it_is_chosen(
    sample_site: SampleSite, sign_in: SignIn, scheme: str
) -> None:
    page = sign_in(sample_site.server, sample_site.ana_token, color_scheme=scheme)
    page.goto("/")
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "dark")
    page.keyboard.press("t")
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "light")
    page.goto("/proposals")  # the choice is stored, and applied before the first paint
    assert page.evaluate(IS_DARK_SCRIPT) is (scheme == "light")


MAX_BAR_HEIGHT = 110  # pixels: two rows


def test_bar_without_a_person_has_two_rows_at_most(sample_site: SampleSite, sign_in: SignIn) -> None:
    page = sign_in(sample_site.server, sample_site.server.token)
    problems = []
    for width in (390, 740, 820, 960, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        for path in ("/proposals", "/search?q=window"):
            page.goto(path)
            assert page.locator(".bar").get_by_role("link", name="Sign in").is_visible(), width
            excess_px = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            height = page.locator(".bar").evaluate("bar => bar.offsetHeight")
            if excess_px > 0 or height > MAX_BAR_HEIGHT:
                problems.append((width, path, excess_px, height))
    assert problems == []


def test_hints_of_keys_are_hidden_on_touch_screens(sample_site: SampleSite, sign_in: SignIn) -> None:
    proposal_url = build_page_paths(sample_site)["proposal"]
    hints = ["kbd[aria-hidden]", "[data-keys-switch]"]
    page = sign_in(sample_site.server, sample_site.ana_token)
    page.goto(proposal_url)
    assert all(is_visible(page, hint) for hint in hints)
    page = sign_in(sample_site.server, sample_site.ana_token, has_touch=True, is_mobile=True)
    page.goto(proposal_url)
    assert not any(is_visible(page, hint) for hint in hints)
    page.wait_for_load_state()
    page.keyboard.press("?")  # a keyboard may be connected
    assert page.get_by_role("dialog").get_by_text("Request changes").is_visible()


NAME = "donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft"
LONG = NAME * 3
README = f"""# {LONG}

{LONG} `{LONG}`

| {NAME} | b |
|---|---|
| {LONG} | c |

- [ ] {LONG} {{#first}}
  - Assignee: {NAME}
- [ ] Second
  - Depends on: #first
"""
DOCUMENT = f"""---
type: plan
tags: [{NAME}, {NAME}-b]
---
# {LONG}

## REQ-1 {LONG} {{#{NAME}}}

- Covers: `src/{NAME}/**`

[{LONG}](nowhere.md)

- [ ] {LONG} REQ-1
"""
FILES = {"README.md": README, f"{NAME}/{NAME}.md": DOCUMENT, f"src/{NAME}.py": "1\n", "docyard.toml": RULES}
WIDTH_SCRIPT = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.mark.parametrize("width", [1280, 390])
def test_long_words_fit_the_screen(sign_in: SignIn, tmp_path: Path, width: int) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    repo.commit({f"src/{NAME}/{NAME}.py": "2\n"}, LONG)
    token = Tokens(repo.path / ".git").add("ana", NAME, "ana@harbor.example")
    with start_page_server(repo, tmp_path / "home") as server:
        with server.connect_agent() as agent:
            title = LONG[:200]
            id = str(agent.call("create_proposal", title=title, description=f"{LONG} `{LONG}`")["proposal"])
            operation = {"operation": "replace_text", "file": "README.md", "old": "Second", "new": LONG}
            section = {"operation": "add_section", "file": "README.md", "title": NAME, "content": LONG}
            agent.call("edit_document", proposal=id, operations=[operation, section])
            agent.call("update_proposal", proposal=id, action="comment", text=f"{LONG}\n\n    {LONG}")
            agent.call("update_proposal", proposal=id, action="submit")
        path = f"{NAME}/{NAME}.md"
        urls = [
            "/",
            "/library",
            "/tasks",
            "/tasks?view=list",
            "/drift",
            "/statistics",
            "/trace",
            "/trace/REQ-1",
        ]
        urls += [
            f"/folder/{NAME}",
            f"/search?q={quote(LONG)}",
            f"/doc/{LONG}.md",
            "/proposals",
            "/doc/README.md",
        ]
        urls += [f"/{kind}/{path}" for kind in ("doc", "history", "blame", "edit", "move", "remove")]
        urls += [f"/new?folder={NAME}", f"/commit/{repo.head()}", f"/proposals/{id}"]
        urls += [f"/proposals/{id}/changes?view={view}" for view in ("side", "inline", "rendered")]
        page = sign_in(server, token, viewport={"width": width, "height": 844})
        excess_px_by_url = {}
        for url in urls:
            page.goto(url)
            page.evaluate(OPEN_FOLDS_SCRIPT)
            excess_px = page.evaluate(WIDTH_SCRIPT)
            if excess_px > 0:
                excess_px_by_url[url] = excess_px
    assert excess_px_by_url == {}
