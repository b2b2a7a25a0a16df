"""The library: folders, documents, their tasks and last changes, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.web.live import LiveUpdates
from docyard.web.summaries import LastChanges, Summaries
from tests.docyard.web.serving import Served, serving
from tests.loops import loop_over
from tests.repositories import Repo, normal, unborn

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"

FILES = {
    "README.md": "# The handbook\n\nText.\n",
    "plan.md": "---\ntype: spec\ntags: [a, b, c, d, e, f]\n---\n# Plan\n\n- [x] One\n- [ ] Two\n- [ ] Last\n",
    "done.md": "# Done\n\n- [x] All\n",
    "text.md": "# Text\n\nNo task: `a[ ]`.\n",
    "guides/setup.md": "# Set up & \\<run\\>\n",
    "guides/deep/only.md": "# Only\n\n- [ ] Deep\n",
    "lfs.md": POINTER,
    "a folder/50% #1?.md": "# Odd name\n",
    "image.png": "no document",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    made = normal(tmp_path_factory.mktemp("library") / "handbook", FILES)
    made.commit({"done.md": "# Done\n\n- [x] All\n- [x] More\n"}, "More")
    many = {f"many/{number:03}.md": f"# Number {number}\n" for number in range(205)}
    made.commit(many, "Many")
    return made


@pytest.fixture(scope="module")
def served(repo: Repo) -> Iterator[Served]:
    with serving(repo.path) as served:
        yield served


def test_the_top_lists_folders_with_counts_and_documents_with_titles(served: Served, repo: Repo) -> None:
    page = served.get("/")
    assert 'href="/folder/guides">guides</a> <span class="quiet small">2 documents' in page
    assert 'href="/folder/many">many</a> <span class="quiet small">205 documents' in page
    assert 'href="/doc/README.md">The handbook</a>' in page
    assert page.index("The handbook") < page.index(">Done</a>")  # what introduces a folder comes first
    assert "image.png" not in page
    assert repo.head()[:8] in page
    assert "<strong>main</strong>" in page


def test_a_small_workspace_is_shown_as_a_whole(tmp_path: Path) -> None:
    files = {f"a/{name}.md": f"# {name.title()}\n" for name in ("one", "two", "readme")}
    repo = normal(
        tmp_path / "r", {**files, "z.md": "# Last\n", "a/b/c/deep.md": "# Deep\n", "b/x.md": "# X\n"}
    )
    with serving(repo.path) as served:
        page = served.get("/")
        order = [
            ">Last<",
            '/folder/a">a<',
            ">Readme<",
            ">One<",
            ">Two<",
            '/folder/a/b/c">a/b/c<',
            ">Deep<",
            ">X<",
        ]
        assert sorted(order, key=page.index) == order
        below = served.get("/folder/a")
        assert '/folder/a/b/c">b/c<' in below
        assert "next" not in below
        repo.commit({f"many/{number}.md": "# M\n" for number in range(60)}, "Many")
        assert ">Deep<" not in served.get("/")


def test_tasks_are_a_bar_and_words(served: Served) -> None:
    page = served.get("/")
    assert '<progress value="1" max="3" aria-label="Tasks done"></progress>' in page
    assert "1 of 3 tasks" in page
    assert "2 of 2 tasks" in page


def test_tags_beyond_a_few_are_counted(served: Served) -> None:
    page = served.get("/")
    assert all(f'<span class="tag">{one}</span>' in page for one in ("spec", "a", "d"))
    assert '<span class="tag">e</span>' not in page
    assert "and 2 more" in page


def test_what_cannot_be_read_is_listed_with_its_reason(served: Served) -> None:
    assert "is a pointer of Git LFS" in served.get("/")


def test_a_title_is_text(served: Served) -> None:
    page = served.get("/folder/guides")
    assert "Set up &amp; &lt;run&gt;" in page
    assert "<run>" not in page


def test_odd_names_lead_where_they_should(served: Served) -> None:
    page = served.get("/folder/a%20folder")
    assert 'href="/doc/a%20folder/50%25%20%231%3F.md"' in page
    assert ">handbook</a>" in page  # the way back


def test_open_tasks_are_listed_from_everywhere_below(served: Served) -> None:
    page = served.get("/?tasks=open")
    assert "/doc/plan.md" in page
    assert "/doc/guides/deep/only.md" in page
    assert "/doc/done.md" not in page
    assert "/doc/text.md" not in page
    below = served.get("/folder/guides?tasks=open")
    assert "/doc/guides/deep/only.md" in below
    assert "/doc/plan.md" not in below


def test_where_all_is_done_the_page_says_so(served: Served) -> None:
    assert "All tasks are completed" in served.get("/folder/many?tasks=open")


def test_a_folder_goes_on_for_pages(served: Served) -> None:
    first, last = served.get("/folder/many"), served.get("/folder/many?page=3")
    assert 'href="/folder/many?page=2"' in first
    assert first.count('href="/doc/') == 100
    assert "Previous" not in first
    assert last.count('href="/doc/') == 5
    assert 'href="/folder/many?page=2"' in last
    assert "Next</a>" not in last
    assert "Nothing on this page" in served.get("/folder/many?page=9")


@loop_over("page", ["0", "-1", "x", "9" * 30, "²", ""])
def test_a_page_that_is_no_number_is_the_first(served: Served, page: str) -> None:
    assert "Number 0<" in served.client.get("/folder/many", params={"page": page}).text


def test_the_past_is_read_and_kept_in_links(served: Served) -> None:
    page = served.get("/?ref=HEAD~2")
    assert 'href="/doc/plan.md?ref=HEAD~2"' in page
    assert "many" not in page
    assert "1 of 1 task" in page
    assert "This is the state at" in page
    assert "data-version" not in page  # what is past does not change


def test_a_ref_that_is_not_there_is_an_error_with_a_fix(served: Served) -> None:
    page = served.get("/?ref=nowhere", 404)
    assert "nowhere" in page
    assert "<h1>" in page


@loop_over(
    ("path", "status"),
    [("guide", 404), ("many/none", 404), ("%2e%2e/x", 400), ("a%00b", 400), ("x" * 5000, 400)],
    ids=["near", "unknown", "dots", "nul", "long"],
)
def test_a_folder_that_is_not_there(served: Served, path: str, status: int) -> None:
    page = served.get(f"/folder/{path}", status)
    assert ('href="/folder/guides"' in page) == (path == "guide")


def test_the_last_change_names_who_and_when(repo: Repo, served: Served) -> None:
    page = served.get("/")
    assert '<span class="by">Ada</span>' in page
    changed = LastChanges().of(served.workspace.snapshot())
    assert changed["many/000.md"] == repo.head()
    assert changed["done.md"] == repo.git("rev-parse", "HEAD~1").strip()
    assert changed["plan.md"] == repo.git("rev-parse", "HEAD~2").strip()


def test_last_changes_follow_the_branch(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r")
    with serving(repo.path) as served:
        last = LastChanges()
        first = last.of(served.workspace.snapshot())
        commit = repo.commit({"README.md": "# Example\n\nOther.\n"})
        after = last.of(served.workspace.snapshot())
        assert after == {**first, "README.md": commit}
        assert after == LastChanges().of(served.workspace.snapshot())
        repo.git("reset", "-q", "--hard", "HEAD~1")
        assert last.of(served.workspace.snapshot()) == first


@loop_over("time", [0, 99_999_999_999_999], ids=["first", "past all dates"])
def test_a_commit_of_any_time_is_shown(tmp_path: Path, time: int) -> None:
    repo = normal(tmp_path / "r")
    repo.write({"late.md": "# Late\n"})
    repo.git("add", "late.md")
    tree, parent = repo.git("write-tree").strip(), repo.head()
    who = f"A <a@example.org> {time} +0000"
    repo.write({"commit": f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nLate\n"})
    id = repo.git("hash-object", "-t", "commit", "-w", "--literally", "commit").strip()
    repo.git("update-ref", "refs/heads/main", id)
    with serving(repo.path) as served:
        for url in ("/", "/doc/late.md", "/history/late.md", "/blame/late.md", "/commit/HEAD"):
            assert ("1 Jan 1970" if time == 0 else "31 Dec 9999") in served.get(url)


def test_nothing_is_committed_yet(tmp_path: Path) -> None:
    with serving(unborn(tmp_path / "new").path) as served:
        page = served.get("/")
        assert "There is no document yet" in page
        assert "git commit" in page


def test_no_document_is_committed_yet(tmp_path: Path) -> None:
    with serving(normal(tmp_path / "new", {"a.txt": "text"}).path) as served:
        assert "There is no document yet" in served.get("/")


def test_a_document_over_the_limit_is_listed(tmp_path: Path) -> None:
    files = {"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "# Big\n" + "x" * 2000}
    with serving(normal(tmp_path / "r", files).path) as served:
        page = served.get("/")
        assert "big.md" in page
        assert 'class="reason"' in page


def test_the_tasks_of_a_very_large_document_are_counted_by_their_lines(tmp_path: Path) -> None:
    tasks = "- [ ] One\n  1. [x] Two\n\nno [ ] task\n"
    files = {"big.md": "# Big\n\n" + tasks + "\n" + "word " * 200_001, "small.md": "# Small\n\n" + tasks}
    with serving(normal(tmp_path / "r", files).path) as served:
        snapshot = served.workspace.snapshot()
        of = served.site.summaries.of
        assert of(snapshot, "big.md")[1:3] == of(snapshot, "small.md")[1:3] == (2, 1)


def test_reading_ahead_ends_with_the_site(repo: Repo) -> None:
    summaries = Summaries()
    with serving(repo.path) as served:
        snapshot = served.workspace.snapshot()
        summaries.read_ahead(snapshot)
        summaries.close()
        assert summaries.of(snapshot, "plan.md").open == 2
        assert LiveUpdates().listeners == 0
