"""The navigation tree: the way to the page with its neighbours, bounded for many documents."""

from __future__ import annotations

import re
from pathlib import Path

from docyard.web.library.navigation import MAX_SIBLINGS, MAX_SIBLINGS_ABOVE, build_tree, select_near
from tests.docyard.web.page_server import serve_pages
from tests.loops import loop_over
from tests.repositories import create_empty_repository, create_repository
from workspace.workspace import Workspace

MAX_PAGE_BYTES = 60_000
FILES = {
    "README.md": "# Top\n",
    "a b/50% <b>.md": "# Odd\n",
    "guides/deep/er/page.md": "# Page\n\n## One\n\n## Two\n\n## Three\n",
    "guides/deep/other.md": "# Other\n",
    "guides/setup.md": "# Setup\n",
    "specs/api.md": "# API\n",
}


def find_tree(page: str) -> str:
    return page[page.index('<nav class="tree"') :].partition("</nav>")[0]


def test_tree_shows_the_way_to_the_document_and_its_neighbours(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "r", FILES).path) as server:
        tree = find_tree(server.get("/doc/guides/deep/er/page.md"))
        assert re.findall(r"<summary[^>]*>([^<]*)</summary>", tree) == ["r", "guides", "deep", "er"]
        assert '<a href="/doc/guides/deep/er/page.md" aria-current="page">page</a>' in tree
        assert tree.count("aria-current") == 1
        for url in ("/folder/specs", "/folder/a%20b", "/doc/guides/setup.md", "/doc/README.md"):
            assert f'href="{url}"' in tree
        assert "/doc/specs/api.md" not in tree  # another folder's document
        assert "&lt;b&gt;" in find_tree(server.get("/doc/a%20b/50%25%20%3Cb%3E.md"))
        tree = find_tree(server.get("/folder/guides/deep"))
        assert '<summary aria-current="page">deep</summary>' in tree
        past_tree = find_tree(server.get("/doc/guides/setup.md?ref=HEAD"))
        assert 'href="/folder/specs?ref=HEAD"' in past_tree


def test_empty_workspace_has_no_tree(tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / "r")
    with serve_pages(repo.path) as server:
        assert 'class="tree"' not in server.get("/folder/")


def test_tree_and_page_of_many_documents_are_bounded(tmp_path: Path) -> None:
    folders = [f"section-{number:03}" for number in range(60, 100)]
    files = {
        f"{folder}/a-long-name-of-a-document-{index:03}.md": "# D\n"
        for folder in folders
        for index in range(4)
    }
    files |= {f"section-080/inner/of/it/with-a-long-name-{number:03}.md": "# D\n" for number in range(120)}
    repo = create_repository(tmp_path / "r", files)
    snapshot = Workspace.open(repo.path).snapshot()
    path = "section-080/inner/of/it/with-a-long-name-060.md"
    tree = build_tree(snapshot, path.rpartition("/")[0], path)
    levels = []
    while tree is not None:
        levels.append(tree)
        tree = tree.open_folder
    assert [level.path for level in levels] == [
        "",
        "section-080",
        *(f"section-080/{x}" for x in ("inner", "inner/of", "inner/of/it")),
    ]
    assert len(levels[0].folders) == MAX_SIBLINGS_ABOVE
    assert "section-080" in [folder.path for folder in levels[0].folders]
    assert levels[0].omitted_count == 40 - MAX_SIBLINGS_ABOVE
    assert len(levels[-1].documents) == MAX_SIBLINGS
    assert path in levels[-1].documents
    with serve_pages(repo.path) as server:
        page = server.get(f"/doc/{path}")
        assert f"{120 - MAX_SIBLINGS:,} more" in find_tree(page)
        assert len(find_tree(page)) < 8_000
        assert len(server.get("/folder/section-080/inner/of/it").encode()) <= MAX_PAGE_BYTES


def test_folders_above_the_depth_limit_are_left_out(tmp_path: Path) -> None:
    path = "/".join(f"f{depth}" for depth in range(30)) + "/x.md"
    snapshot = Workspace.open(create_repository(tmp_path / "r", {path: "# X\n"}).path).snapshot()
    tree = build_tree(snapshot, path.rpartition("/")[0], path)
    count = 0
    while tree is not None:
        count, last = count + 1, tree
        tree = tree.open_folder
    assert count == 11
    assert last.documents == [path]


@loop_over(
    ("count", "position", "expected"),
    [(3, 0, "012"), (9, 0, "0123"), (9, 8, "5678"), (9, 4, "2345"), (0, 0, "")],
)
def test_selection_is_around_the_position(count: int, position: int, expected: str) -> None:
    assert "".join(select_near("0123456789"[:count], position, 4)) == expected
