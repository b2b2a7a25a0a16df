"""The home page: the README, what needs the caller, the last changes and open tasks; each part is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.web import home
from tests.docyard.web.page_server import PageServer, serve_pages
from tests.docyard.web.test_background import wait_until_idle
from tests.repositories import Repo, create_empty_repository, create_repository
from workspace.git import trees
from workspace.policy.tokens import Person
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource

MAX_PAGE_BYTES = 60_000
README = """# The *handbook*

See [setup](guides/setup.md) and [below](#below).

- [ ] Not a button

## Below

Text.
"""
SETUP = """# Setup

- [ ] Install & <b>run</b>
- [x] Done
- [ ] Later
  - Depends on: #none
"""
FILES = {
    "README.md": README,
    "guides/setup.md": SETUP,
}
CID = Person("cid", "Cid", "cid@example.org")
BOT = Author("Bot", "bot@example.org", IdentitySource.CLIENT, "a-client")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "handbook", FILES)


def open_proposal(server: PageServer, title: str) -> str:
    actions = server.workspace.proposal_actions()
    return actions.open(title, "", Actor(BOT, "tool", "a-client"), submit=True).id


def test_home_shows_each_part(repo: Repo) -> None:
    repo.commit({"guides/new.md": "# New\n"}, "Add <a> page")
    repo.commit({"code.py": "x = 1\n"}, "Only code")
    with serve_pages(repo.path, person=CID) as server:
        id = open_proposal(server, "Say <more>")
        server.site.versions.invalidate()
        page = server.get("/")
    assert "<h2>The <em>handbook</em>" in page
    assert page.count("<h1") == 1
    assert 'href="/doc/guides/setup.md"' in page
    assert 'href="/doc/README.md#below"' in page
    assert f'href="/proposals/{id}">Say &lt;more&gt;</a>' in page
    assert "Waits for your review" in page
    assert "Add &lt;a&gt; page" in page
    assert "Only code" not in page
    assert 'value="guides/setup.md#_preamble[0]"' in page
    assert "Later" not in page  # it waits for an unknown task
    assert 'name="return" value="home"' in page
    assert page.count('class="tick"') == 2  # README and setup; the README itself has no buttons


def test_tick_on_home_returns_to_it(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        page = server.get("/")
        form = page[page.index('<form id="[tasks]"') :].partition("</form>")[0]
        fields = {
            name: form.partition(f'name="{name}" value="')[2].partition('"')[0]
            for name in ("csrf", "key", "base", "return")
        }
        response = server.client.post(
            "/tasks", data={**fields, "complete": "guides/setup.md#_preamble[0]"}, follow_redirects=False
        )
        assert response.headers["location"] == "/"
        assert "- [x] Install" in server.workspace.snapshot().read("guides/setup.md").decode()
        assert "Install" not in server.get("/")


def test_fields_of_the_library_and_an_empty_workspace_show_the_library(repo: Repo, tmp_path: Path) -> None:
    with serve_pages(repo.path) as server:
        for url in ("/?tasks=open", "/?page=1", "/?ref=HEAD"):
            assert 'data-page="library"' in server.get(url)
        server.get("/?ref=none", 404)
    with serve_pages(create_empty_repository(tmp_path / "empty").path) as server:
        assert "There is no document yet" in server.get("/")


def test_read_only_server_shows_no_inbox_and_no_button(repo: Repo) -> None:
    with serve_pages(repo.path, read_only=True) as server:
        page = server.get("/")
    assert "Needs you" not in page
    assert 'class="tick"' not in page
    assert "New document" not in page
    assert "Install &amp; " in page


@pytest.mark.parametrize(
    "text",
    [
        "# Long\n\n" + "Words of a paragraph.\n\n" * 5_000,
        "# One line\n\n" + "x" * 500_000,
        "# Links\n\n" + "[a](b) " * 20_000,
        "---\ntype: x\n---\n" + "## Section\n\n- [ ] Task\n\n" * 3_000,
        "\ufeff# Table\n\n|a|b|\n|-|-|\n" + "|||\n" * 3_000,
        "<h1>Raw</h1><script>alert(1)</script>\n\n" + "*" * 10_000,
    ],
    ids=["paragraphs", "line", "links", "sections", "table", "raw"],
)
def test_long_readme_is_cut(tmp_path: Path, text: str) -> None:
    repo = create_repository(tmp_path / "r", {"readme.markdown": text, "index.md": "# Index\n"})
    with serve_pages(repo.path) as server:
        page = server.get("/")
    assert len(page.encode()) <= MAX_PAGE_BYTES
    assert 'href="/doc/readme.markdown"' in page
    assert page.count("<h1") == 1
    assert "<script>alert" not in page


def test_many_entries_are_bounded(tmp_path: Path) -> None:
    tasks = "".join(f"- [ ] Task {number} {'long ' * 30}\n" for number in range(60))
    repo = create_repository(tmp_path / "r", {"a.md": f"# A\n\n{tasks}"})
    for number in range(12):
        repo.commit(
            {"a.md": f"# A {number}\n\n{tasks}", f"d{number}.md": "# D\n"}, f"Change {number} {'x' * 500}"
        )
    with serve_pages(repo.path, person=CID) as server:
        for number in range(11):
            open_proposal(server, f"Proposal {number} {'y' * 200}")
        server.site.versions.invalidate()
        page = server.get("/")
    assert page.count('class="tick"') == home.MAX_TASKS
    assert "All 60</a>" in page
    assert page.count("Waits for your review") == home.MAX_PROPOSALS
    assert "3 more proposals" in page
    assert "Change 11" in page
    assert "Change 3 " not in page
    assert len(page.encode()) <= MAX_PAGE_BYTES


def test_tasks_of_a_large_workspace_are_read_in_the_background(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "_MAX_SMALL_WORKSPACE_DOCUMENTS", 0)
    monkeypatch.setattr(home, "_MAX_TASK_READ_S", -1.0)
    with serve_pages(repo.path) as server:
        page = server.get("/")
        assert "The tasks are being read" in page
        assert '~"' in page.partition(">")[2].partition(">")[0]  # the version of an unfinished page
        assert "The tasks are being read" in server.get("/")  # the background has not finished
        monkeypatch.setattr(home, "_MAX_TASK_READ_S", 60.0)
        wait_until_idle(server.site.background)
        assert "Install &amp; " in server.get("/")


def test_page_after_a_new_commit_compares_that_commit_only(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        repo.commit({f"d{number}.md": "# D\n"}, f"Change {number}")
    compared_trees = []
    diff_trees = trees.diff_trees

    def record_comparison(
        source: trees.TreeSource, old: str | None, new: str | None
    ) -> Iterator[trees.TreeChange]:
        compared_trees.append(new)
        return diff_trees(source, old, new)

    monkeypatch.setattr(trees, "diff_trees", record_comparison)
    with serve_pages(repo.path) as server:
        server.get("/")
        assert len(compared_trees) == 6
        (repo.path / "d0.md").unlink()
        repo.commit({"d9.md": "# D\n"}, "Replace one")
        compared_trees.clear()
        server.site.versions.invalidate()
        page = server.get("/")
        assert len(set(compared_trees)) == 1
        assert "and 1 more document<" in page
        assert ">1 removed document<" in page  # of the commit that created it
        # Other settings decide anew which files are documents.
        repo.commit({"docyard.toml": 'exclude = ["d*.md"]\n'}, "Exclude documents")
        server.site.versions.invalidate()
        assert "Replace one" not in server.get("/")


def test_workspace_without_readme_has_the_other_parts(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r", {"a/README.md": "# Inner\n", "b.md": "# B\n"})
    with serve_pages(repo.path) as server:
        page = server.get("/")
        assert "no-readme" in page
        assert "Last changes" in page
    repo.commit({"README.md": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"})
    with serve_pages(repo.path) as server:
        assert "no-readme" in server.get("/")
