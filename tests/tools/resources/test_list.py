"""The list of resources: every document once, by pages that belong to one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.cursors import InvalidCursor, StaleCursor
from index.service import SearchIndex
from tests.repositories import Repo, create_empty_repository, create_repository
from tests.tools.conftest import API_TEXT
from tools.dispatcher import ToolDispatcher
from tools.resources.contents import read_resource
from tools.resources.list import PAGE_SIZE, list_resources
from tools.tool import Context
from workspace.workspace import Workspace

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"


def open_context(repo: Repo) -> Context:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), None, False).context()


def test_resource_list_has_title_and_size(dispatcher: ToolDispatcher) -> None:
    page = list_resources(dispatcher.context(), None)
    assert [tuple(resource) for resource in page.resources] == [
        ("doc:///api.md", "api.md", "API", len(API_TEXT), None),
        ("doc:///notes/plain.md", "notes/plain.md", "Plain", len("# Plain\n\nNothing of note.\n"), None),
    ]
    assert page.next_cursor is None


def test_pages_contain_each_document_once(tmp_path: Path) -> None:
    names = [f"{number % 7}/page {number}.md" for number in range(2 * PAGE_SIZE + 1)]
    context = open_context(create_repository(tmp_path / "docs", {name: f"# {name}\n" for name in names}))
    paths: list[str] = []
    sizes: list[int] = []
    cursor = None
    while True:
        page = list_resources(context, cursor)
        paths += [resource.path for resource in page.resources]
        sizes.append(len(page.resources))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert paths == sorted(names)
    assert sizes == [PAGE_SIZE, PAGE_SIZE, 1]


def test_full_last_page_has_no_cursor(tmp_path: Path) -> None:
    context = open_context(
        create_repository(tmp_path / "docs", {f"{number}.md": "# A\n" for number in range(PAGE_SIZE)})
    )
    page = list_resources(context, None)
    assert len(page.resources) == PAGE_SIZE
    assert page.next_cursor is None


def test_every_listed_resource_can_be_read(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "plain.md": "# Plain\n",
        "a b/C# ü?.md": "# Sharp\n",
        "100%41.md": "# Hundred\n",
        "x#y.md": "# X\n",
        "empty.md": "",
        "latin.md": b"# Caf\xe9\n",
        "pointer.md": LFS_POINTER,
        "large.md": "# Large\n\n" + "word " * 30_000,
    }
    repo = create_repository(tmp_path / "docs", files)
    (repo.path / "link.md").symlink_to("plain.md")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "A link")
    context = open_context(repo)
    page = list_resources(context, None)
    for resource in page.resources:
        source = read_resource(context, resource.uri)
        assert source.location.document.path == resource.path
        assert source.is_cut == (resource.path == "large.md")
    assert [resource.path for resource in page.resources] == sorted(
        name for name in files if name != "pointer.md"
    )


def test_stale_and_invalid_cursors_are_refused(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.commit({f"{number}.md": "# A\n" for number in range(PAGE_SIZE)})
    cursor = list_resources(dispatcher.context(), None).next_cursor
    assert cursor is not None
    repo.commit({"more.md": "# More\n"})
    with pytest.raises(StaleCursor):
        list_resources(dispatcher.context(), cursor)
    for invalid_cursor in ("", "nonsense", cursor[:-4] + "AAAA", cursor * 50):
        with pytest.raises(InvalidCursor):
            list_resources(dispatcher.context(), invalid_cursor)


def test_unborn_branch_lists_no_resources(tmp_path: Path) -> None:
    page = list_resources(open_context(create_empty_repository(tmp_path / "docs")), None)
    assert page.resources == ()
    assert page.next_cursor is None
