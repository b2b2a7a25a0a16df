"""Each kind of page has at most 60 kB of HTML in a large workspace: lists have pages, and long texts are cut.

The text of a document, its source, and the text of its changes are shown as long as they are, so these pages
have a document, or changes, of an ordinary length here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping

import pytest
from starlette.routing import Route

from docyard.web.proposals.conversation import ENTRIES_PER_PAGE
from docyard.web.routes import build_routes
from index.service import SearchIndex
from tests.docyard.web.page_server import PageServer, serve_index
from tests.repositories import create_repository
from workspace.edits.text import UpdateContent
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

MAX_BYTES = 60_000
BOT = Actor(Author("Writing Agent", "agent@example.org", IdentitySource.CLIENT, "agent"), "tool", "agent")
FOLDER = "guides/operations"
DOCUMENT_COUNT, PROPOSAL_COUNT, SECTION_COUNT = 120, 100, 50
DOCUMENT, LONG_DOCUMENT = f"{FOLDER}/configuration-of-the-message-broker-007.md", "long.md"


def make_document(number: int) -> str:
    links = "".join(
        f"See [part {other}](configuration-of-the-message-broker-{other % DOCUMENT_COUNT:03}.md).\n\n"
        for other in range(number + 1, number + 4)
    )
    tasks = "".join(
        f"- [ ] Report each stop of the tour to the depot, and say why (REQ-{number}) {{#task-{task}}}\n"
        f"  - Assignee: Mira\n" + (f"  - Depends on: #task-{task - 1}\n" if task else "")
        for task in range(3)
    )
    return (
        "---\ntype: plan\ntags: [operations, message-broker, regional, deployment]\n---\n"
        f"# Configuration of the message broker for regional deployments, part {number}\n\n{links}"
        f"[The long one](../../{LONG_DOCUMENT}#part-7)\n\n"
        f"## REQ-{number} Windows of the tour {{#windows}}\n\nThe window is computed from the last stop.\n\n"
        f"- Covers: `src/{number % 40}/**`\n\n{tasks}"
    )


def make_files() -> dict[str, str]:
    sections = "".join(
        f"## Part {number} of the long handbook\n\nOnce there were {number} herons in the north.\n\n"
        for number in range(SECTION_COUNT)
    )
    return {
        **{
            f"{FOLDER}/configuration-of-the-message-broker-{number:03}.md": make_document(number)
            for number in range(DOCUMENT_COUNT)
        },
        LONG_DOCUMENT: f"# A long handbook\n\n{sections}",
        "tests/test_windows.py": "".join(
            f"def test_req_{number}_is_met(): ...\n" for number in range(DOCUMENT_COUNT)
        ),
    }


def write_sections(workspace: Workspace, numbers: range, text: str) -> None:
    """Replace the texts of sections of the long document; `{}` in `text` is the number of the section."""
    result = workspace.write(
        [
            UpdateContent(
                file=LONG_DOCUMENT, slug=f"part-{number}-of-the-long-handbook", content=text.format(number)
            )
            for number in numbers
        ],
        mode=BatchMode.ALL,
        tool="test",
        client="test",
        base_commit=workspace.snapshot().commit,
    )
    assert result.is_committed


@pytest.fixture(scope="module")
def large_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageServer, Mapping[str, str]]]:
    """Yield the pages of a large workspace, and the values of the parameters of their paths."""
    files = make_files()
    repo = create_repository(tmp_path_factory.mktemp("large") / "repo", files)
    first_commit = repo.head()
    for number in range(40):
        repo.commit(
            {
                f"src/{number}/windows.py": f"{number}\n",
                LONG_DOCUMENT: f"{files[LONG_DOCUMENT]}\nStep {number}, and why it was taken.\n",
            },
            f"Change number {number} of the computation of the windows, and say why",
        )
    workspace = Workspace.open(repo.path, durable=False)
    actions = workspace.proposal_actions()
    ids = [
        actions.open(
            f"Say how the retries of the message broker back off, part {number}",
            "Clients **must not** come back all at once. " * 5,
            BOT,
            submit=number > 0,
        ).id
        for number in range(PROPOSAL_COUNT)
    ]
    write_sections(
        actions.open_branch(ids[0]), range(SECTION_COUNT), "Now there are {} herons, and as many storks."
    )
    for number in range(ENTRIES_PER_PAGE + 5):
        actions.comment(ids[0], BOT, f"A remark number {number}, with a *reason* and a `name` in it.")
    actions.submit(ids[0], BOT)
    write_sections(workspace, range(5), "Seven cranes, and {} more.")
    with serve_index(SearchIndex(workspace)) as server:
        yield server, {"proposal": ids[0], "commit": repo.head(), "first_commit": first_commit}


PATHS = {
    "/": ["/"],
    "/library": ["/library"],
    "/folder/{path:path}": [
        f"/folder/{FOLDER}",
        f"/folder/{FOLDER}?page=2",
        f"/folder/{FOLDER}?tasks=open",
    ],
    "/search": ["/search?q=window+of+the+tour", "/search?q=zzz"],
    "/suggest": ["/suggest?q=window"],
    "/doc/{path:path}": [f"/doc/{DOCUMENT}", f"/doc/{LONG_DOCUMENT}"],
    "/history/{path:path}": [f"/history/{LONG_DOCUMENT}"],
    "/blame/{path:path}": [f"/blame/{DOCUMENT}", f"/blame/{LONG_DOCUMENT}"],
    "/commit/{id}": ["/commit/{commit}", "/commit/{first_commit}"],
    "/edit/{path:path}": [f"/edit/{DOCUMENT}"],
    "/new": [f"/new?folder={FOLDER}"],
    "/move/{path:path}": [f"/move/{DOCUMENT}"],
    "/remove/{path:path}": [f"/remove/{DOCUMENT}", f"/remove/{LONG_DOCUMENT}"],
    "/proposals": ["/proposals", "/proposals?page=2"],
    "/proposals/{id}": ["/proposals/{proposal}", "/proposals/{proposal}?from=0"],
    "/proposals/{id}/changes": [
        f"/proposals/{{proposal}}/changes?view={view}" for view in ("side", "inline", "rendered")
    ],
    "/proposals/{id}/conflicts": ["/proposals/{proposal}/conflicts"],
    "/tasks": ["/tasks", "/tasks?view=list"],
    "/drift": ["/drift"],
    "/statistics": ["/statistics", "/statistics?period=month", "/statistics?period=all"],
    "/trace": ["/trace"],
    "/trace/{id}": ["/trace/REQ-2"],
}
"""The pages of each route; a value in braces is one of the large site."""

OTHER_ROUTES = {
    "/static/{name}",
    "/feeds/proposals.atom",
    "/feeds/changes.atom",
    "/events",
    "/raw/{path:path}",
    "/diagram/{name}",
    "/proposals/{id}/suggested-lines",  # the source lines of a selected text
    "/proposals/{id}/{act}",  # shows the form of the action again after an error
}
"""The routes of GET requests that the test leaves out: their answers are no pages."""

TIMEOUT_S = 60


def test_each_route_of_a_page_is_measured(large_site: tuple[PageServer, Mapping[str, str]]) -> None:
    server, _ = large_site
    routes = build_routes(server.site)
    paths = {route.path for route in routes if isinstance(route, Route) and "GET" in (route.methods or ())}
    assert paths == PATHS.keys() | OTHER_ROUTES


@pytest.mark.parametrize("route", PATHS)
def test_page_of_a_large_workspace_is_small(
    large_site: tuple[PageServer, Mapping[str, str]], route: str
) -> None:
    server, values = large_site
    for path in PATHS[route]:
        page = get_finished_page(server, path.format(**values))
        assert len(page.encode()) <= MAX_BYTES, path


def get_finished_page(server: PageServer, url: str) -> str:
    """Return a page whose parts that are read in the background are complete."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        server.site.versions.invalidate()
        response = server.client.get(url)
        assert response.status_code == 200, url
        if "refresh" not in response.headers and "being read" not in response.text:
            return response.text
        assert time.monotonic() < deadline, url
        time.sleep(0.05)


def test_pages_of_lists_are_full(large_site: tuple[PageServer, Mapping[str, str]]) -> None:
    """Check that the lists of the sample have more entries than one page shows."""
    server, values = large_site
    for url, link in {
        f"/folder/{FOLDER}": "?page=2",
        "/proposals": "page=2",
        "/tasks?view=list": "page=2",
        "/drift": "page=2",
        "/trace": "page=2",
        f"/history/{LONG_DOCUMENT}": "after=",
        f"/proposals/{values['proposal']}": "from=",
        f"/proposals/{values['proposal']}/changes?view=side": "offset=",
        f"/commit/{values['first_commit']}": "offset=",
    }.items():
        assert re.search(f'href="[^"]*{re.escape(link)}', server.get(url)), url
