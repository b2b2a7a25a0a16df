"""The rows of links, which do not depend on the process that reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.link_graph import build
from index.link_graph.build import LinkReader, read_rows
from index.link_graph.store import DocumentRow
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

FILES = {f"folder/{number}.md": f"# {number}\n\n[next]({number + 1}.md)\n" for number in range(300)}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repository", FILES)


@pytest.mark.process
@pytest.mark.parametrize("has_waiting_caller", [True, False])
def test_rows_read_in_child_processes_equal_rows_read_in_parent(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, has_waiting_caller: bool
) -> None:
    snapshot = Workspace.open(repo.path).snapshot()
    reader, documents = LinkReader.of(snapshot), list(snapshot.documents.items())
    parent_rows = sorted(read_rows(reader, documents), key=lambda row: row.path)
    assert len(parent_rows) == len(FILES)
    monkeypatch.setattr(build, "MIN_DOCUMENTS_FOR_CHILDREN", 1)
    reports: list[tuple[int, int]] = []
    child_rows: list[DocumentRow] = list(
        read_rows(
            reader,
            documents,
            lambda done, total, _: reports.append((done, total)),
            has_waiting_caller=has_waiting_caller,
        )
    )
    assert sorted(child_rows, key=lambda row: row.path) == parent_rows
    assert reports[-1] == (300, 300)


def test_oversized_document_may_link_to_any_path_and_lfs_pointer_to_none(repo: Repo) -> None:
    repo.commit(
        {
            "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
            "big.md": "x" * 1001,
            "pointer.md": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
        }
    )
    snapshot = Workspace.open(repo.path).snapshot()
    reader = LinkReader.of(snapshot)
    assert reader.read_record("big.md", snapshot.documents["big.md"]).may_link_to_any_file
    assert not reader.read_record("pointer.md", snapshot.documents["pointer.md"]).may_link_to_any_file
