"""Repositories and checkouts of every shape are read and written as by git.

Each shape is read, written twice, and written again after a user's commit. The expected files are not
computed here: `git checkout-index` writes them.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from templates import builtin_types
from tests import repositories
from tests.repositories import Repo
from tests.repository_shapes import (
    FILES,
    SERVED_SHAPES,
    Shape,
    configure_clone,
    make_shape,
    work_tree_on_another_file_system,
)
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.text import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repositories.create_repository(tmp_path_factory.mktemp("template") / "repo", FILES).path


@pytest.fixture
def template_copy(template: Path, tmp_path: Path) -> Repo:
    """Return a copy of the normal repository, so that most shapes start without running git."""
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    repo = Repo(tmp_path / "repo")
    repo.git("update-index", "-q", "--refresh")
    return repo


@pytest.mark.parametrize("build_shape", SERVED_SHAPES, ids=lambda build: build.__name__.replace("_", " "))
def test_supported_repository_shape_is_served(
    template_copy: Repo, build_shape: Callable[[Repo], Shape]
) -> None:
    shape = build_shape(template_copy)
    try:
        workspace = shape.open_workspace()
        assert set(FILES) - {"data.txt"} <= set(workspace.snapshot().documents)
        assert "link.md" not in workspace.snapshot().documents
        write_changes(workspace, "README.md", "Ours.", create="New", remove="guides/deep/only.md")
        write_changes(workspace, "README.md", "Again.", create="Newer", remove="new/folder/new.md")
        check_shape(
            shape, added_text="Again.", existing_path="new/folder/newer.md", missing_path="new/folder/new.md"
        )
        commit_with_git(shape)
        write_changes(workspace, "README.md", "After.", create="Last", remove="guides/setup.md")
        check_shape(shape, added_text="After.", existing_path="notes.md", missing_path="guides/setup.md")
        text = shape.repo.git("show", f"{shape.tip()}:README.md")
        assert [text.count(word) for word in ("Ours.", "Again.", "After.", "By hand.")] == [1, 1, 1, 1]
    finally:
        if build_shape is work_tree_on_another_file_system and "shape" in locals():
            shutil.rmtree(shape.open_path)


def write_changes(workspace: Workspace, path: str, text: str, *, create: str, remove: str) -> None:
    """Edit a document, create one in a new folder, and remove one, in one commit."""
    operations = (
        AppendContent(file=path, slug="_preamble", content=text),
        CreateDocument(type=builtin_types()["document"], title=create, folder="new/folder"),
        RemoveDocument(path=remove),
    )
    base = workspace.tip()
    result = workspace.write(operations, mode=BatchMode.ALL, tool="test", client="test", base_commit=base)
    assert result.is_committed, result.steps
    assert result.commit == workspace.tip()


def commit_with_git(shape: Shape) -> None:
    """Append a line to a document and commit it by git; push it to a bare repository."""
    if shape.work_tree is not None:
        repo = shape.repo
    else:
        clone = shape.open_path.with_name("pushing")
        branch = ["-b", shape.branch] if shape.branch else []
        shape.repo.git("clone", "-q", *branch, ".", str(clone))
        repo = configure_clone(clone).repo
    readme = repo.path / "README.md"
    ending = b"\r\n" if b"\r\n" in readme.read_bytes() else b"\n"
    readme.chmod(readme.stat().st_mode | stat.S_IWUSR)
    with readme.open("ab") as stream:
        stream.write(ending + b"By hand." + ending)
    repo.git("commit", "-q", "-a", "-m", "By hand")
    if shape.work_tree is None:
        repo.git("push", "-q")


def check_shape(shape: Shape, *, added_text: str, existing_path: str, missing_path: str) -> None:
    """Check by git that branch, index and files agree, and that no leftovers exist."""
    repo, tip = shape.repo, shape.tip()
    assert added_text in repo.git("show", f"{tip}:README.md")
    paths = repo.git("ls-tree", "-r", "--name-only", "-z", tip).split("\0")
    assert existing_path in paths
    assert missing_path not in paths
    assert repo.fsck() == ""
    common_dir = Path(repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    assert [lock for lock in common_dir.rglob("*.lock") if lock.name != "write.lock"] == []
    assert list(common_dir.glob("docyard/pending/*")) == []
    if shape.work_tree is None:
        return
    assert repo.status() == ""
    assert repo.git("diff", "--cached", "--name-only", tip) == ""
    expected_folder = shape.work_tree.parent / "expected"
    repo.git("checkout-index", "-a", "-f", f"--prefix={expected_folder}/")
    try:
        assert read_files_below(shape.work_tree) == read_files_below(expected_folder)
    finally:
        shutil.rmtree(expected_folder)


def read_files_below(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every trackable file, and the target of each link, without submodules."""
    contents = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name for name in folders if name != ".git" and not (Path(parent, name) / ".git").exists()
        ]
        for name in [*names, *(name for name in folders if Path(parent, name).is_symlink())]:
            path = Path(parent, name)
            if name != ".git":
                key = path.relative_to(folder).as_posix()
                contents[key] = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
    return contents


def test_git_gc_between_writes_loses_nothing(template_copy: Repo) -> None:
    workspace = make_shape(template_copy).open_workspace()
    old_snapshot = workspace.snapshot()
    for number, removed_path in enumerate(("notes.md", "guides/setup.md", "guides/deep/only.md")):
        write_changes(workspace, "README.md", f"Text {number}.", create=f"New {number}", remove=removed_path)
        template_copy.git("gc", "-q", "--prune=now")
    assert old_snapshot.read("README.md").decode() == FILES["README.md"]
    assert [b"Text %d." % number in workspace.snapshot().read("README.md") for number in range(3)] == [
        True
    ] * 3
    assert template_copy.status() == template_copy.fsck() == ""
