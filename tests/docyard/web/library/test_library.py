"""The library page: folders, documents, their tasks and last changes, and paging."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.web.library.library import ROWS_PER_PAGE
from docyard.web.summaries import LastChanges, Summaries
from tests.docyard.web.page_server import PageServer, serve_pages
from tests.loops import loop_over
from tests.repositories import Repo, create_empty_repository, create_repository

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"

FILES = {
    "README.md": "# The handbook\n\nText.\n",
    "plan.md": "---\ntype: spec\ntags: [a, b, c, d, e, f]\n---\n# Plan\n\n- [x] One\n- [ ] Two\n- [ ] Last\n",
    "done.md": "# Done\n\n- [x] All\n",
    "text.md": "# Text\n\nNo task: `a[ ]`.\n",
    "guides/setup.md": "# Set up & \\<run\\>\n",
    "guides/deep/only.md": "# Only\n\n- [ ] Deep\n",
    "lfs.md": LFS_POINTER,
    "a folder/50% #1?.md": "# Odd name\n",
    "image.png": "no document",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    new_repo = create_repository(tmp_path_factory.mktemp("library") / "handbook", FILES)
    new_repo.commit({"done.md": "# Done\n\n- [x] All\n- [x] More\n"}, "More")
    files = {f"many/{number:03}.md": f"# Number {number}\n" for number in range(205)}
    new_repo.commit(files, "Many")
    return new_repo


@pytest.fixture(scope="module")
def server(repo: Repo) -> Iterator[PageServer]:
    with serve_pages(repo.path) as server:
        yield server


def test_library_lists_folders_with_counts_and_titles(server: PageServer, repo: Repo) -> None:
    page = server.get("/library")
    assert 'href="/folder/guides">guides</a> <span class="quiet small">2 documents' in page
    assert 'href="/folder/many">many</a> <span class="quiet small">205 documents' in page
    assert 'href="/doc/README.md">The handbook</a>' in page
    assert page.index("The handbook") < page.index(">Done</a>")  # README and index come first
    assert "image.png" not in page
    assert repo.head()[:8] in page
    assert "<strong>main</strong>" in page


def test_small_workspace_is_listed_completely(tmp_path: Path) -> None:
    files = {f"a/{name}.md": f"# {name.title()}\n" for name in ("one", "two", "readme")}
    repo = create_repository(
        tmp_path / "r", {**files, "z.md": "# Last\n", "a/b/c/deep.md": "# Deep\n", "b/x.md": "# X\n"}
    )
    with serve_pages(repo.path) as server:
        page = server.get("/library")
        expected_order = [
            ">Last<",
            '/folder/a">a<',
            ">Readme<",
            ">One<",
            ">Two<",
            '/folder/a/b/c">a/b/c<',
            ">Deep<",
            ">X<",
        ]
        assert sorted(expected_order, key=page.index) == expected_order
        subfolder_page = server.get("/folder/a")
        assert '/folder/a/b/c">b/c<' in subfolder_page
        assert "next" not in subfolder_page
        repo.commit({f"many/{number}.md": "# M\n" for number in range(60)}, "Many")
        assert ">Deep<" not in server.get("/library")


def test_task_progress_is_shown_as_bar_and_text(server: PageServer) -> None:
    page = server.get("/library")
    assert '<progress value="1" max="3" aria-label="Tasks done"></progress>' in page
    assert "1 of 3 tasks" in page
    assert "2 of 2 tasks" in page


def test_tags_beyond_limit_are_counted(server: PageServer) -> None:
    page = server.get("/library")
    assert all(f'<span class="tag">{tag}</span>' in page for tag in ("spec", "a", "d"))
    assert '<span class="tag">e</span>' not in page
    assert "and 2 more" in page


def test_unreadable_document_is_listed_with_its_reason(server: PageServer) -> None:
    assert "is a pointer of Git LFS" in server.get("/library")


def test_title_is_escaped(server: PageServer) -> None:
    page = server.get("/folder/guides")
    assert "Set up &amp; &lt;run&gt;" in page
    assert "<run>" not in page


def test_special_characters_in_names_are_encoded_in_links(server: PageServer) -> None:
    page = server.get("/folder/a%20folder")
    assert 'href="/doc/a%20folder/50%25%20%231%3F.md"' in page
    assert ">handbook</a>" in page  # the link to the parent folder


def test_open_tasks_include_all_subfolders(server: PageServer) -> None:
    page = server.get("/?tasks=open")
    assert "/doc/plan.md" in page
    assert "/doc/guides/deep/only.md" in page
    assert "/doc/done.md" not in page
    assert "/doc/text.md" not in page
    subfolder_page = server.get("/folder/guides?tasks=open")
    assert "/doc/guides/deep/only.md" in subfolder_page
    assert "/doc/plan.md" not in subfolder_page.partition('<nav class="tree"')[0]


def test_folder_without_open_tasks_has_a_message(server: PageServer) -> None:
    assert "All tasks are completed" in server.get("/folder/many?tasks=open")


def test_large_folder_is_paged(server: PageServer) -> None:
    first_page, last_page = server.get("/folder/many"), server.get("/folder/many?page=5")
    assert 'href="/folder/many?page=2"' in first_page
    assert first_page.partition('<nav class="tree"')[0].count('href="/doc/') == ROWS_PER_PAGE
    assert "Previous" not in first_page
    assert last_page.partition('<nav class="tree"')[0].count('href="/doc/') == 5
    assert 'href="/folder/many?page=4"' in last_page
    assert "Next</a>" not in last_page
    assert "Nothing on this page" in server.get("/folder/many?page=9")


@loop_over("page", ["0", "-1", "x", "9" * 30, "²", ""])
def test_invalid_page_number_shows_the_first_page(server: PageServer, page: str) -> None:
    assert "Number 0<" in server.client.get("/folder/many", params={"page": page}).text


def test_library_at_a_ref_links_to_the_ref(server: PageServer) -> None:
    page = server.get("/?ref=HEAD~2")
    assert 'href="/doc/plan.md?ref=HEAD~2"' in page
    assert "many" not in page
    assert "1 of 1 task" in page
    assert "This is the state at" in page
    assert "data-version" not in page  # a past state has no live updates


def test_missing_ref_returns_error_page(server: PageServer) -> None:
    page = server.get("/?ref=nowhere", 404)
    assert "nowhere" in page
    assert "<h1>" in page


@loop_over(
    ("path", "status"),
    [("guide", 404), ("many/none", 404), ("%2e%2e/x", 400), ("a%00b", 400), ("x" * 5000, 400)],
    ids=["near", "unknown", "dots", "nul", "long"],
)
def test_missing_or_invalid_folder_is_an_error_that_suggests_a_similar_one(
    server: PageServer, path: str, status: int
) -> None:
    page = server.get(f"/folder/{path}", status)
    assert ('href="/folder/guides"' in page) == (path == "guide")


def test_last_change_has_author_and_commit(repo: Repo, server: PageServer) -> None:
    page = server.get("/library")
    assert '<span class="by">Ada</span>' in page
    last_changes = LastChanges().get(server.workspace.snapshot())
    assert last_changes["many/000.md"] == repo.head()
    assert last_changes["done.md"] == repo.git("rev-parse", "HEAD~1").strip()
    assert last_changes["plan.md"] == repo.git("rev-parse", "HEAD~2").strip()


def test_last_changes_update_with_the_branch(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r")
    with serve_pages(repo.path) as server:
        last_changes = LastChanges()
        old_changes = last_changes.get(server.workspace.snapshot())
        commit = repo.commit({"README.md": "# Example\n\nOther.\n"})
        new_changes = last_changes.get(server.workspace.snapshot())
        assert new_changes == {**old_changes, "README.md": commit}
        assert new_changes == LastChanges().get(server.workspace.snapshot())
        repo.git("reset", "-q", "--hard", "HEAD~1")
        assert last_changes.get(server.workspace.snapshot()) == old_changes


@loop_over("time", [0, 99_999_999_999_999], ids=["first", "past all dates"])
def test_commit_with_extreme_time_is_shown(tmp_path: Path, time: int) -> None:
    repo = create_repository(tmp_path / "r")
    repo.write({"late.md": "# Late\n"})
    repo.git("add", "late.md")
    tree, parent = repo.git("write-tree").strip(), repo.head()
    identity = f"A <a@example.org> {time} +0000"
    repo.write({"commit": f"tree {tree}\nparent {parent}\nauthor {identity}\ncommitter {identity}\n\nLate\n"})
    id = repo.git("hash-object", "-t", "commit", "-w", "--literally", "commit").strip()
    repo.git("update-ref", "refs/heads/main", id)
    with serve_pages(repo.path) as server:
        for url in ("/", "/library", "/doc/late.md", "/history/late.md", "/blame/late.md", "/commit/HEAD"):
            assert ("1 Jan 1970" if time == 0 else "31 Dec 9999") in server.get(url)


def test_empty_repository_shows_first_steps(tmp_path: Path) -> None:
    with serve_pages(create_empty_repository(tmp_path / "new").path) as server:
        page = server.get("/library")
        assert "There is no document yet" in page
        assert "git commit" in page


def test_repository_without_documents_shows_first_steps(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "new", {"a.txt": "text"}).path) as server:
        assert "There is no document yet" in server.get("/library")


def test_document_over_the_limit_is_listed(tmp_path: Path) -> None:
    files = {"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "# Big\n" + "x" * 2000}
    with serve_pages(create_repository(tmp_path / "r", files).path) as server:
        page = server.get("/library")
        assert "big.md" in page
        assert 'class="reason"' in page


def test_tasks_of_a_large_document_are_counted_by_lines(tmp_path: Path) -> None:
    tasks = "- [ ] One\n  1. [x] Two\n\nno [ ] task\n"
    files = {"big.md": "# Big\n\n" + tasks + "\n" + "word " * 200_001, "small.md": "# Small\n\n" + tasks}
    with serve_pages(create_repository(tmp_path / "r", files).path) as server:
        snapshot = server.workspace.snapshot()
        summarize = server.site.summaries.get
        for path in ("big.md", "small.md"):
            summary = summarize(snapshot, path)
            assert (summary.task_count, summary.completed_count) == (2, 1)


def test_summary_is_available_after_read_ahead_is_closed(repo: Repo) -> None:
    summaries = Summaries()
    with serve_pages(repo.path) as server:
        snapshot = server.workspace.snapshot()
        summaries.start_read_ahead(snapshot)
        summaries.close()
        assert summaries.get(snapshot, "plan.md").open_count == 2
