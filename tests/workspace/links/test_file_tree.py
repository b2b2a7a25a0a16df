"""File trees of the same files are equal: of a commit, of a batch, and of a folder on the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.links.folder_world import folder_world
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


def _snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def _committed(repo: Repo) -> FileTree:
    repo.git("rm", "-rq", ".")
    repo.commit(FILES)
    return OverlayFileTree(_snapshot(repo))


def _laid(repo: Repo) -> FileTree:
    """Return a tree of the same files, after a batch that created some and removed others."""
    repo.git("rm", "-rq", ".")
    made = ("a.md", "docs/deep/er/c.markdown")
    before = {path: text for path, text in FILES.items() if path not in made}
    repo.commit(
        {**before, "gone/g.md": "", "gone/far/h.md": "", "docs/g.md": "", "half/g.md": "", "half/x": ""}
    )
    overlay = Overlay(_snapshot(repo))
    for path in made:
        overlay.create(Document.parse(FILES[path].encode(), path))
    for path in ("gone/g.md", "gone/far/h.md", "docs/g.md", "half/g.md"):
        overlay.remove(path)
    return OverlayFileTree(overlay)


def _on_disk(repo: Repo) -> FileTree:
    _committed(repo)
    return folder_world(repo.path, WorkspaceConfig.read(FILES["docyard.toml"].encode()))


@pytest.mark.parametrize("make", [_committed, _laid, _on_disk])
def test_every_file_tree_describes_the_same_files(make: Callable[[Repo], FileTree], repo: Repo) -> None:
    world = make(repo)
    folders = ("", "docs", "docs/deep", "docs/deep/er", "img", "vendor", ".hidden")
    for path in (*FILES, *folders):
        assert world.exists(path), path
        assert world.is_folder(path) == (path in folders), path
    absent = (
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
        *absent,
        "x/" * 3000,
        "\udcff.md",
        ".git",
        ".git/HEAD",
        "docs/g.md",
        "half/g.md",
        "y" * 5000,
    ):
        assert not world.exists(path), path
        assert not world.is_folder(path), path
        assert world.document(path) is None, path
    for path in ("a.md", "docs/B.md", "docs/deep/er/c.markdown"):
        document = world.document(path)
        assert document is not None
        assert document.data == FILES[path].encode()
    for path in ("img/a.png", "vendor/v.md", ".hidden/h.md", "big.md", "lfs.md", "docs", ""):
        assert world.document(path) is None, path
    assert set(world.entries("docs")) == {"B.md", "deep"}
    assert {"a.md", "docs", "img"} <= set(world.entries(""))
    assert not world.entries("gone")
    assert not world.entries("a.md")
    assert [list(world.stems[stem]) for stem in ("a", "b", "c")] == [
        ["a.md"],
        ["docs/B.md"],
        ["docs/deep/er/c.markdown"],
    ]
    assert "v" not in world.stems
    assert "g" not in world.stems


def test_folder_with_other_files_exists_after_a_removal(repo: Repo) -> None:
    world = _laid(repo)
    assert world.is_folder("half")
    assert world.exists("half/x")


def test_symbolic_links_are_not_followed(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n")
    (repo.path / "out").symlink_to(outside)
    (repo.path / "file.md").symlink_to(outside / "secret.md")
    repo.commit({})
    world = OverlayFileTree(_snapshot(repo))
    assert world.exists("out")
    assert world.exists("file.md")
    assert not world.is_folder("out")
    assert not world.exists("out/secret.md")
    assert world.document("file.md") is None
    assert world.document("out/secret.md") is None


def test_a_submodule_is_a_folder(repo: Repo) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},module")
    repo.git("commit", "-qm", "A module")
    world = OverlayFileTree(_snapshot(repo))
    assert world.is_folder("module")
    assert not world.exists("module/x.md")


def test_empty_repository_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    repo = Repo(tmp_path / "bare")
    repo.git("init", "-q")
    world = OverlayFileTree(Snapshot(GitReader(repo.path), None))
    assert world.exists("")
    assert not world.exists("a.md")
    assert not world.entries("")
    assert not world.stems


def test_batch_of_thousands_of_documents_is_a_tree_without_reads(repo: Repo) -> None:
    overlay = Overlay(_snapshot(repo))
    overlay.put_bytes("many/lines.md", b"\n" * 200_001)  # reading it would raise LimitExceeded
    world = OverlayFileTree(overlay)
    assert world.exists("many/lines.md")
    assert world.is_folder("many")
    assert overlay.changes()["many/lines.md"] == b"\n" * 200_001
    assert world.document("many/lines.md") is None
