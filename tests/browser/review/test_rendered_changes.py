"""The rendered view of changes: both versions in two columns, or in one on a narrow screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SignIn, create_context
from tests.browser.hostile_documents import make_hostile_documents
from tests.browser.page_server import PageServer, start_page_server
from tests.browser.sample_site import SampleSite
from tests.browser.test_axe import find_problems
from tests.browser.test_hostile import HAS_RUN_SCRIPT, SEND_EVENTS_SCRIPT, ForbiddenEventRecorder
from tests.repositories import create_repository

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_versions_are_side_by_side_or_stacked(
    sample_site: SampleSite, sign_in: SignIn, axe_script: str, scheme: str
) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ana_token, color_scheme=scheme)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes")
    for view in ("inline", "rendered"):
        page.keyboard.press("v")
        page.wait_for_url(f"**view={view}")
    backoff = page.locator("[data-entry]").filter(has=page.get_by_role("heading", name="Backoff", level=3))
    old, new = backoff.locator(".version").all()
    expect(new.locator(".blocks-added")).to_contain_text("waits a second before it comes back")
    expect(old.locator(".blocks-removed")).to_contain_text("comes back at once")
    old_box, new_box = old.bounding_box(), new.bounding_box()
    assert old_box is not None
    assert new_box is not None
    assert old_box["y"] == new_box["y"]
    assert old_box["x"] + old_box["width"] < new_box["x"]
    assert find_problems(page, axe_script) == []
    page.set_viewport_size({"width": 390, "height": 844})
    old_box, new_box = old.bounding_box(), new.bounding_box()
    assert old_box is not None
    assert new_box is not None
    assert old_box["x"] == new_box["x"]
    assert old_box["y"] + old_box["height"] < new_box["y"]
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert find_problems(page, axe_script) == []


def test_selected_rendered_text_is_quoted_as_its_source(sample_site: SampleSite, sign_in: SignIn) -> None:
    from playwright.sync_api import expect

    page = sign_in(sample_site.server, sample_site.ana_token)
    page.goto(f"/proposals/{sample_site.proposal_ids['retries']}/changes?view=rendered")
    section = page.locator(".changed-section").filter(has=page.get_by_text("When an answer carries"))
    section.locator(".version p", has_text="When an answer carries").select_text()
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    page.keyboard.press("c")
    quote = "When an answer carries Retry-After, the client waits that long."
    expect(section.get_by_label("Quoted text")).to_have_value(quote)
    page.keyboard.type("How long at most?")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("How long at most?")).to_be_visible()
    expect(page.locator(".quote")).to_have_text(
        "When an answer carries `Retry-After`, the client waits that long"
    )


@pytest.mark.parametrize(
    ("start", "end", "source"),
    [
        ("When the", "see Retries", "When the server is busy, see [Retries](retries.md#backoff)."),
        ("Code", "busy", "| Code | Meaning |\n|---|---|\n| `429` | busy |"),
        ("429", "busy", "| `429` | busy |"),
    ],
    ids=["link", "table", "row"],
)
def test_suggestion_for_rendered_text_changes_its_source(
    sample_site: SampleSite, sign_in: SignIn, start: str, end: str, source: str
) -> None:
    from playwright.sync_api import expect

    text = "When the server is busy, see [Retries](retries.md#backoff).\n\n"
    text += "| Code | Meaning |\n|---|---|\n| `429` | busy |\n| `500` | an error |\n"
    with sample_site.server.connect_agent() as agent:
        proposal_id = agent.call("create_proposal", title="Say when", description="Why.")["proposal"]
        agent.call(
            "edit_document",
            proposal=proposal_id,
            operations=[
                {"operation": "add_section", "file": "api/versions.md", "title": "Busy", "content": text}
            ],
        )
    page = sign_in(sample_site.server, sample_site.ana_token)
    page.goto(f"/proposals/{proposal_id}/changes?view=rendered")
    section = page.locator(".changed-section").filter(has=page.get_by_text("When the server"))
    section.locator(".version .prose").last.evaluate(
        """(prose, [start, end]) => {
          const texts = [], walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) texts.push(walker.currentNode);
          const first = texts.find((node) => node.data.includes(start));
          const last = texts.findLast((node) => node.data.includes(end.split(" ").at(-1)));
          getSelection().setBaseAndExtent(first, first.data.indexOf(start), last, last.data.length);
        }""",
        [start, end],
    )
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    page.keyboard.press("c")
    section.get_by_role("button", name="Suggest a change").click()
    area = section.get_by_label("Your comment")
    expect(area).to_have_value(f"```suggestion\n{source}\n```")
    expect(section.get_by_label("Quoted text")).to_have_value(source)
    area.fill(f"```suggestion\n{source.replace('busy', 'overloaded')}\n```")
    section.get_by_role("button", name="Comment", exact=True).click()
    suggestion = page.locator(".suggestion")
    expect(suggestion.locator("del")).to_have_text(re.compile("busy"))
    suggestion.locator("summary", has_text="Apply the suggestion").click()
    suggestion.get_by_role("button", name="Apply it as my commit").click()
    expect(page.get_by_text("Resolved by Ana Li")).to_be_visible()
    branch = sample_site.server.repo.git(
        "for-each-ref", "--format=%(refname)", f"refs/heads/proposals/{proposal_id}*"
    ).strip()
    expected = text.replace(source, source.replace("busy", "overloaded"))
    assert expected.strip() in sample_site.server.repo.git("show", f"{branch}:api/versions.md")


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Yield a server whose last three commits change every hostile document."""
    folder = tmp_path_factory.mktemp("hostile_changes")
    documents = make_hostile_documents()
    settings = '[links]\ndialect = "mkdocs"\n'
    repo = create_repository(folder / "docs", {**documents, "docyard.toml": settings})
    paths = list(documents)
    # A page compares at most 100 documents.
    for changed_paths in (paths[:100], paths[100:200], paths[200:]):
        repo.commit({path: documents[path].replace("The end.", "Another end.") for path in changed_paths})
    with start_page_server(repo, folder / "home") as page_server:
        yield page_server


def test_hostile_changes_run_no_script_without_content_policy(
    browser: Browser, hostile_server: PageServer
) -> None:
    context = create_context(browser, hostile_server, hostile_server.token, bypass_csp=True)
    page = context.new_page()
    recorder = ForbiddenEventRecorder(page, hostile_server.url)
    page_count = 0
    for commit in ("HEAD", "HEAD~1", "HEAD~2"):
        address: str | None = f"/commit/{commit}?view=rendered"
        while address is not None:
            response = page.goto(address)
            assert response is not None
            assert response.status == 200
            assert page.locator(".version").count() > 0
            page.evaluate(SEND_EVENTS_SCRIPT)
            page.wait_for_timeout(50)
            assert recorder.events == []
            assert not page.evaluate(HAS_RUN_SCRIPT)
            page_count += 1
            next_link = page.locator("a[rel=next]")
            address = next_link.get_attribute("href") if next_link.count() else None
    assert page_count > 10
    context.close()
