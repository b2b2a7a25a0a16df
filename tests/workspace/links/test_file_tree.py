"""The file trees of a commit, a batch and a folder on the disk are equal if they contain the same files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.links.folder_file_tree import read_folder
from workspace.config.config import WorkspaceConfig
from workspace.document.document import Document
from workspace.git.reader import GitReader
from workspace.links.file_tree import OverlayFileTree
from workspace.links.resolver import FileTree
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot

FILES = {
    "docyard.toml": 'exclude = ["vendor"]\n[limits]\ndocument_bytes = 1000\n',
    "a.md": "# A\n",
    "docs/B.md": "# B\n",
    "docs/deep/er/c.markdown": "# C\n",
    "img/a.png": "x",
    "vendor/v.md": "# V\n",
    ".hidden/h.md": "# H\n",
    "big.md": "x" * 1001,
    "lfs.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}


def _take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def _build_from_commit(repo: Repo) -> FileTree:
    repo.git("rm", "-rq", ".")
    repo.commit(FILES)
    return OverlayFileTree(_take_snapshot(repo))


def _build_from_batch(repo: Repo) -> FileTree:
    """Return a tree of the same files, after a batch that created and removed files."""
    repo.git("rm", "-rq", ".")
    created_paths = ("a.md", "docs/deep/er/c.markdown")
    old_files = {path: text for path, text in FILES.items() if path not in created_paths}
    repo.commit(
        {**old_files, "gone/g.md": "", "gone/far/h.md": "", "docs/g.md": "", "half/g.md": "", "half/x": ""}
    )
    overlay = Overlay(_take_snapshot(repo))
    for path in created_paths:
        overlay.create(Document.parse(FILES[path].encode(), path))
    for path in ("gone/g.md", "gone/far/h.md", "docs/g.md", "half/g.md"):
        overlay.remove(path)
    return OverlayFileTree(overlay)


def _build_from_disk(repo: Repo) -> FileTree:
    _build_from_commit(repo)
    return read_folder(repo.path, WorkspaceConfig.read(FILES["docyard.toml"].encode()))


@pytest.mark.parametrize("build_file_tree", [_build_from_commit, _build_from_batch, _build_from_disk])
def test_every_file_tree_describes_the_same_files(
    build_file_tree: Callable[[Repo], FileTree], repo: Repo
) -> None:
    file_tree = build_file_tree(repo)
    folders = ("", "docs", "docs/deep", "docs/deep/er", "img", "vendor", ".hidden")
    for path in (*FILES, *folders):
        assert file_tree.exists(path), path
        assert file_tree.is_folder(path) == (path in folders), path
    missing_paths = (
        "A.md",
        "docs/b.md",
        "Docs/B.md",
        "docs/B.md/x",
        "a.md/",
        "gone",
        "gone/far",
        "gone/g.md",
        "x/y",
        "\0",
    )
    for path in (
        *missing_paths,
        "x/" * 3000,
        "\udcff.md",
        ".git",
        ".git/HEAD",
        "docs/g.md",
        "half/g.md",
        "y" * 5000,
    ):
        assert not file_tree.exists(path), path
        assert not file_tree.is_folder(path), path
        assert file_tree.document(path) is None, path
    for path in ("a.md", "docs/B.md", "docs/deep/er/c.markdown"):
        document = file_tree.document(path)
        assert document is not None
        assert document.data == FILES[path].encode()
    for path in ("img/a.png", "vendor/v.md", ".hidden/h.md", "big.md", "lfs.md", "docs", ""):
        assert file_tree.document(path) is None, path
    assert set(file_tree.list_names("docs")) == {"B.md", "deep"}
    assert {"a.md", "docs", "img"} <= set(file_tree.list_names(""))
    assert not file_tree.list_names("gone")
    assert not file_tree.list_names("a.md")
    assert [list(file_tree.paths_by_stem[stem]) for stem in ("a", "b", "c")] == [
        ["a.md"],
        ["docs/B.md"],
        ["docs/deep/er/c.markdown"],
    ]
    assert "v" not in file_tree.paths_by_stem
    assert "g" not in file_tree.paths_by_stem


def test_folder_with_other_files_exists_after_a_removal(repo: Repo) -> None:
    file_tree = _build_from_batch(repo)
    assert file_tree.is_folder("half")
    assert file_tree.exists("half/x")


def test_symbolic_links_are_not_followed(repo: Repo, tmp_path: Path) -> None:
    outside_folder = tmp_path / "outside"
    outside_folder.mkdir()
    (outside_folder / "secret.md").write_text("# Secret\n")
    (repo.path / "out").symlink_to(outside_folder)
    (repo.path / "file.md").symlink_to(outside_folder / "secret.md")
    repo.commit({})
    file_tree = OverlayFileTree(_take_snapshot(repo))
    assert file_tree.exists("out")
    assert file_tree.exists("file.md")
    assert not file_tree.is_folder("out")
    assert not file_tree.exists("out/secret.md")
    assert file_tree.document("file.md") is None
    assert file_tree.document("out/secret.md") is None


def test_submodule_is_a_folder(repo: Repo) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},module")
    repo.git("commit", "-qm", "A module")
    file_tree = OverlayFileTree(_take_snapshot(repo))
    assert file_tree.is_folder("module")
    assert not file_tree.exists("module/x.md")


def test_empty_repository_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    repo = Repo(tmp_path / "bare")
    repo.git("init", "-q")
    file_tree = OverlayFileTree(Snapshot(GitReader(repo.path), None))
    assert file_tree.exists("")
    assert not file_tree.exists("a.md")
    assert not file_tree.list_names("")
    assert not file_tree.paths_by_stem


def test_file_tree_of_a_batch_does_not_read_its_documents(repo: Repo) -> None:
    overlay = Overlay(_take_snapshot(repo))
    overlay.put_bytes("many/lines.md", b"\n" * 200_001)  # parsing it raises LimitExceeded
    file_tree = OverlayFileTree(overlay)
    assert file_tree.exists("many/lines.md")
    assert file_tree.is_folder("many")
    assert overlay.changes()["many/lines.md"] == b"\n" * 200_001
    assert file_tree.document("many/lines.md") is None
