"""The pages of tasks, drift and traces: their contents, filters, pages, and escaped texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.cli.main import main
from index.artifacts.artifact import open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from tests.docyard.web.page_server import PageServer, ParsedPage, serve_index, serve_pages
from tests.repositories import Repo, create_repository
from tests.workspace.test_trace import FILES as TRACE_FILES

HOSTILE = "<img src=x onerror=alert(1)>"
PLAN = f"""# Plan

- [ ] Parse {{#parse}}
  - Assignee: Ana
- [ ] Ship
  - Depends on: #parse, lost.md#gone
- [ ] Announce `{HOSTILE}`
  - Blocked: press {HOSTILE}
- [ ] Sign
  - Claimed by: Bo until 2099-01-01T12:00Z
- [x] Name
"""
CIRCLE = "# C\n\n- [ ] Egg {#egg}\n  - Depends on: #hen\n- [ ] Hen {#hen}\n  - Depends on: #egg\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    files = {**TRACE_FILES, "plans/plan.md": PLAN, "circle.md": CIRCLE}
    files["code.md"] = f"# Code\n\n## Web {{#web}}\n\n- Covers: `src/**`, `{HOSTILE}`\n"
    repo = create_repository(tmp_path_factory.mktemp("planning") / "repo", files)
    for number in range(7):
        repo.commit({f"src/{name}.py": f"{number}\n" for name in "abcdef"}, f"Change {number} {HOSTILE}")
    return repo


@pytest.fixture(scope="module")
def server(repo: Repo) -> Iterator[PageServer]:
    with serve_pages(repo.path) as server:
        yield server


def get(server: PageServer, url: str) -> str:
    """Return a page whose elements are nested correctly and whose texts are escaped."""
    page = server.get(url)
    assert ParsedPage(page).nesting_errors == []
    assert "<img" not in page
    return page


def test_board_has_a_column_for_each_state(server: PageServer) -> None:
    page = get(server, "/tasks")
    columns = {part.partition(" ")[0]: part for part in page.split('<div class="column ')[1:]}
    names = [name.rstrip('"') for name in columns]
    assert names == ["ready", "claimed", "waiting", "blocked", "done"]
    ready, claimed, waiting, blocked, done = columns.values()
    assert 'href="/doc/plans/plan.md#_preamble">Parse</a>' in ready
    assert "<strong>Ana</strong>" in ready
    assert "claimed by <strong>Bo</strong> until" in claimed
    assert "lost.md#gone (unknown)" in waiting
    assert "press &lt;img" in blocked
    assert ">Name</a>" in done


def test_circles_are_reported(server: PageServer) -> None:
    page = get(server, "/tasks")
    assert "These tasks wait for each other" in page
    assert ">Egg</a>" in page.partition("wait for each other")[2].partition("</p>")[0]


def test_circles_of_other_tasks_are_hidden(server: PageServer) -> None:
    for query in ("path=circle.md", "view=list&state=waiting"):
        assert "wait for each other" in get(server, f"/tasks?{query}")
    for query in ("owner=ana", "path=plans/", "view=list&state=ready"):
        assert "wait for each other" not in get(server, f"/tasks?{query}")


def test_dependency_on_itself_is_reported(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "# A\n\n- [ ] One {#one}\n  - Depends on: #one\n"})
    with serve_pages(repo.path) as server:
        assert "This task waits for itself: <a" in get(server, "/tasks")


def test_empty_titles_are_shown_as_addresses(tmp_path: Path) -> None:
    text = (
        "# <b></b>\n\n- Covers: src.py\n- [ ] <b></b> {#one}\n- [ ] Two\n  - Depends on: #one\n\n"
        "## <b></b> {#part}\n\n- Covers: src.py\n"
    )
    repo = create_repository(tmp_path / "repo", {"a.md": text, "src.py": "1\n"})
    repo.commit({"src.py": "2\n"})
    with serve_pages(repo.path) as server:
        board = get(server, "/tasks")
        assert board.count(">a.md#_preamble[0]</a>") == 2
        assert 'href="/doc/a.md#part">a.md#part</a>' in get(server, "/drift")


def test_list_is_filtered_by_state_owner_and_path(server: PageServer) -> None:
    assert ">Ship</a>" in get(server, "/tasks?view=list&state=waiting")
    assert ">Parse</a>" not in get(server, "/tasks?view=list&state=blocked")
    page = get(server, "/tasks?view=list&owner=ana")
    assert ">Parse</a>" in page
    assert ">Sign</a>" not in page
    assert 'card-title" href="/doc/circle.md' not in get(server, "/tasks?view=list&path=plans/")
    assert "No task matches" in get(server, "/tasks?view=list&owner=nobody")
    assert ">Name</a>" in get(server, "/tasks?view=list&state=done")
    assert 'value="&lt;img' in get(server, "/tasks?owner=%3Cimg%20src=x%3E")
    server.get("/tasks?path=lost", status=404)
    get(server, "/tasks?view=list&state=%3Cimg%3E&page=999999")


def test_done_tasks_are_filtered_by_owner(tmp_path: Path) -> None:
    tasks = "- [x] Old\n  - Assignee: Ana\n- [x] Other\n  - Assignee: Bo\n- [x] Free\n"
    repo = create_repository(tmp_path / "repo", {"a.md": f"# A\n\n{tasks}"})
    with serve_pages(repo.path) as server:
        for url in ("/tasks?owner=ana", "/tasks?view=list&state=done&owner=ana"):
            page = get(server, url)
            assert ">Old</a>" in page
            assert ">Other</a>" not in page
            assert ">Free</a>" not in page


def test_long_columns_and_lists_have_pages(tmp_path: Path) -> None:
    tasks = "".join(f"- [ ] Task {number}\n" for number in range(250))
    repo = create_repository(tmp_path / "repo", {"a.md": f"# A\n\n{tasks}"})
    with serve_pages(repo.path) as server:
        page = get(server, "/tasks")
        assert page.count('class="card-title"') == 30
        assert 'href="/tasks?view=list&amp;state=ready">All 250</a>' in page
        assert get(server, "/tasks?view=list").count('class="card-title"') == 50
        last = get(server, "/tasks?view=list&page=5")
        assert last.count('class="card-title"') == 50
        assert 'rel="prev"' in last
        assert 'rel="next"' not in last


def test_drift_lists_later_commits(server: PageServer, repo: Repo) -> None:
    page = get(server, "/drift")
    assert 'href="/doc/code.md#web">Web</a>' in page
    assert f'href="/commit/{repo.head()}">Change 6 &lt;img' in page
    assert "and 2 earlier commits" in page
    assert "and 2 more files" in page
    assert page.count('class="subject"') == 5
    assert "/commit/" in server.get(f"/drift?ref={repo.head()}")


def test_matrix_links_places_and_filters_by_stage(server: PageServer) -> None:
    page = get(server, "/trace")
    assert 'href="/trace/REQ-1">REQ-1</a> <span class="quiet">Sessions end</span>' in page
    assert "1 of 2" in page
    assert 'href="/raw/tests/test_auth.py"' in page
    page = get(server, "/trace?missing=tested")
    assert "/trace/REQ-3" in page
    assert "/trace/REQ-1" not in page
    assert "No identifier lacks this stage" in get(server, "/trace?missing=required")


def test_page_of_an_identifier_lists_all_places(server: PageServer) -> None:
    page = get(server, "/trace/req-2")
    assert "design/auth.md#sessions[1], line 10" in page
    assert "tests/test_auth.py, line 3" in page
    assert page.count(">missing<") == 1
    assert "REQ-9" in server.get("/trace/REQ-9", status=404)
    server.get("/trace/%3Cimg%3E", status=404)


def test_tests_are_unknown_in_an_artifact(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", TRACE_FILES)
    assert main(["build", str(repo.path), "--out", str(tmp_path / "site")]) == 0
    with serve_index(ArtifactSearchIndex(open_artifact(tmp_path / "site")), read_only=True) as server:
        page = get(server, "/trace")
        assert page.count('aria-label="unknown"') == 3
        assert "This server has no test files" in get(server, "/trace?missing=tested")
        page = get(server, "/trace/REQ-2")
        assert page.count(">missing<") == 1
        assert "This server has no test files" in page
        assert "Statistics" not in page


def test_pages_of_an_artifact_have_no_link_to_proposals(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "# A\n"})
    with serve_pages(repo.path) as server:
        assert 'href="/proposals"' in get(server, "/")
    assert main(["build", str(repo.path), "--out", str(tmp_path / "site")]) == 0
    with serve_index(ArtifactSearchIndex(open_artifact(tmp_path / "site")), read_only=True) as server:
        assert 'href="/proposals"' not in get(server, "/")
        assert 'href="/tasks"' in get(server, "/")


def test_artifact_has_no_statistics(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "# A\n"})
    assert main(["build", str(repo.path), "--out", str(tmp_path / "site")]) == 0
    with serve_index(ArtifactSearchIndex(open_artifact(tmp_path / "site")), read_only=True) as server:
        assert "NO_HISTORY" in server.get("/statistics", 404)


def test_empty_workspace_explains_how_to_begin(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "# A\n"})
    with serve_pages(repo.path) as server:
        assert "There is no task yet" in get(server, "/tasks")
        assert "No section names its code yet" in get(server, "/drift")
        assert "{#req-1}" in get(server, "/trace")


def test_drift_in_a_shallow_clone_is_unknown(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    with serve_pages(tmp_path / "clone") as server:
        page = get(server, "/drift")
        assert "this clone is shallow" in page
        assert "It is unknown whether" in page


def test_pages_of_a_detached_head_link_drift(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "# A\n\n- [ ] One\n"})
    repo.git("checkout", "-q", "--detach")
    with serve_pages(repo.path) as server:
        for url in ("/tasks", "/trace", "/drift"):
            assert 'href="/drift"' in get(server, url)


def test_pages_at_a_ref_keep_it(server: PageServer, repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD~7").strip()
    assert "No drift" in get(server, f"/drift?ref={before}")
    assert f"ref={before}" in get(server, f"/tasks?ref={before}")
    assert f"/trace/REQ-1?ref={before}" in get(server, f"/trace?ref={before}")
