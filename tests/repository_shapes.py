"""Builders of repositories and checkouts in every layout and configuration that Docyard supports.

The name of a builder describes its shape, and is the id of the shape in tests.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.workspace import Workspace

FILES = {
    "README.md": "# Example\n\nText.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
    "guides/deep/only.md": "# Only\n",
    "notes.md": "# Notes\n\nA person's.\n",
    "data.txt": "one\ntwo\n",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A repository to open at `open_path`, to serve `branch`, or the checked-out branch if None.

    `work_tree` is None for a bare repository, and if `branch` is not checked out.
    """

    open_path: Path
    work_tree: Path | None
    branch: str | None = None

    @property
    def repo(self) -> Repo:
        return Repo(self.work_tree or self.open_path)

    def open_workspace(self) -> Workspace:
        return Workspace.open(self.open_path, branch=self.branch, durable=False)

    def tip(self) -> str:
        return self.repo.git("rev-parse", f"refs/heads/{self.branch}" if self.branch else "HEAD").strip()


def make_shape(repo: Repo) -> Shape:
    return Shape(repo.path, repo.path)


def configure_clone(path: Path) -> Shape:
    """Set the name and e-mail address of the user who commits in a clone, and return its shape."""
    clone = Repo(path)
    clone.git("config", "user.name", repositories.NAME)
    clone.git("config", "user.email", repositories.EMAIL)
    return make_shape(clone)


def normal(repo: Repo) -> Shape:
    return make_shape(repo)


def opened_in_a_subfolder(repo: Repo) -> Shape:
    return Shape(repo.path / "guides" / "deep", repo.path)


def opened_through_a_symlink(repo: Repo) -> Shape:
    link = repo.path.with_name("link")
    link.symlink_to(repo.path, target_is_directory=True)
    return Shape(link, repo.path)


def bare(repo: Repo) -> Shape:
    repo.git("clone", "-q", "--bare", ".", "../bare.git")
    return Shape(repo.path.with_name("bare.git"), None)


def mirror_with_packed_refs(repo: Repo) -> Shape:
    repo.git("clone", "-q", "--mirror", ".", "../mirror.git")
    return Shape(repo.path.with_name("mirror.git"), None)


def linked_work_tree(repo: Repo) -> Shape:
    work_tree = repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    return Shape(work_tree.path, work_tree.path)


def subfolder_of_a_linked_work_tree(repo: Repo) -> Shape:
    work_tree = repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    return Shape(work_tree.path / "guides", work_tree.path)


def main_work_tree_opened_from_a_linked_one(repo: Repo) -> Shape:
    work_tree = repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    return Shape(work_tree.path, repo.path, branch="main")


def linked_work_tree_of_a_bare_repository(repo: Repo) -> Shape:
    configure_clone(bare(repo).open_path)
    repo.git("-C", "../bare.git", "worktree", "add", "-q", "../linked", "main")
    return Shape(repo.path.with_name("linked"), repo.path.with_name("linked"))


def linked_work_tree_that_was_moved_and_repaired(repo: Repo) -> Shape:
    repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    moved_path = repo.path.with_name("moved")
    repo.path.with_name("linked").rename(moved_path)
    Repo(moved_path).git("worktree", "repair")
    return Shape(moved_path, moved_path)


def locked_work_tree(repo: Repo) -> Shape:
    work_tree = linked_work_tree(repo)
    repo.git("worktree", "lock", str(work_tree.open_path))
    return work_tree


def branch_of_a_deleted_work_tree(repo: Repo) -> Shape:
    work_tree = repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    shutil.rmtree(work_tree.path)
    repo.git("switch", "-q", "--ignore-other-worktrees", "topic")
    return make_shape(repo)


def work_tree_with_its_own_settings(repo: Repo) -> Shape:
    work_tree = linked_work_tree(repo)
    repo.git("config", "extensions.worktreeConfig", "true")
    work_tree.repo.git("config", "--worktree", "core.autocrlf", "true")
    work_tree.repo.git("rm", "-q", "--cached", "-r", ".")
    work_tree.repo.git("reset", "-q", "--hard")
    return work_tree


def git_directory_elsewhere(repo: Repo) -> Shape:
    repo.git("init", "-q", f"--separate-git-dir={repo.path.with_name('elsewhere')}")
    return make_shape(repo)


def submodule_itself(repo: Repo) -> Shape:
    above = repositories.create_repository(repo.path.with_name("above"), {"a.md": "# A\n"})
    above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.path), "part")
    above.git("commit", "-q", "-m", "Part")
    return configure_clone(above.path / "part")


def repository_with_a_submodule(repo: Repo) -> Shape:
    part = repositories.create_repository(repo.path.with_name("part"), {"inside.md": "# Inside\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part.path), "part")
    repo.git("commit", "-q", "-m", "Part")
    return make_shape(repo)


def git_directory_opened_with_core_worktree(repo: Repo) -> Shape:
    git_dir = repo.path.with_name("apart.git")
    (repo.path / ".git").rename(git_dir)
    Repo(git_dir).git("config", "core.worktree", str(repo.path))
    (repo.path / ".git").write_text(f"gitdir: {git_dir}\n")
    return Shape(git_dir, repo.path)


def shallow_clone(repo: Repo) -> Shape:
    repo.commit({"more.md": "# More\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", "../shallow")
    return configure_clone(repo.path.with_name("shallow"))


def clone_that_shares_objects(repo: Repo) -> Shape:
    repo.git("clone", "-q", "--shared", ".", "../borrower")
    return configure_clone(repo.path.with_name("borrower"))


def branch_served_with_detached_head(repo: Repo) -> Shape:
    repo.git("branch", "topic")
    repo.git("checkout", "-q", "--detach")
    return Shape(repo.path, None, branch="topic")


def branch_with_slashes_and_letters(repo: Repo) -> Shape:
    repo.git("switch", "-q", "-c", "équipe/文档/v1.0")
    return make_shape(repo)


def chain_of_symbolic_refs(repo: Repo) -> Shape:
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repo.git("symbolic-ref", "refs/heads/stable", "refs/heads/alias")
    repo.git("symbolic-ref", "HEAD", "refs/heads/stable")
    return make_shape(repo)


def repository_with_packed_refs(repo: Repo) -> Shape:
    repo.git("pack-refs", "--all", "--prune")
    return make_shape(repo)


def repository_with_many_packs(repo: Repo) -> Shape:
    repo.git("repack", "-q", "-d")
    repo.commit({"more.md": "# More\n"})
    repo.git("repack", "-q", "-d")
    repo.git("multi-pack-index", "write")
    return make_shape(repo)


def repository_with_commit_graph(repo: Repo) -> Shape:
    repo.git("commit-graph", "write", "--reachable")
    return make_shape(repo)


def history_grafted_by_a_replacement(repo: Repo) -> Shape:
    repo.commit({"more.md": "# More\n"})
    repo.git("replace", "--graft", "HEAD")
    return make_shape(repo)


def index_of_version_2(repo: Repo) -> Shape:
    return apply_settings(repo, {"index.version": "2"})


def index_of_version_4(repo: Repo) -> Shape:
    repo.git("update-index", "--index-version", "4")
    return apply_settings(repo, {"index.version": "4"})


def index_with_untracked_cache(repo: Repo) -> Shape:
    repo.git("update-index", "--untracked-cache")
    return apply_settings(repo, {"core.untrackedCache": "true"})


def index_with_fsmonitor_marks(repo: Repo) -> Shape:
    repo.git("update-index", "--fsmonitor")
    return apply_settings(repo, {"core.fsmonitor": "false"})


def index_without_checksum(repo: Repo) -> Shape:
    data = (repo.path / ".git" / "index").read_bytes()
    (repo.path / ".git" / "index").write_bytes(data[:-20] + bytes(20))
    return apply_settings(repo, {"index.skipHash": "true"})


def repository_that_ignores_case(repo: Repo) -> Shape:
    return apply_settings(repo, {"core.ignoreCase": "true"})


def repository_that_ignores_file_modes(repo: Repo) -> Shape:
    (repo.path / "README.md").chmod(0o755)
    return apply_settings(repo, {"core.fileMode": "false"})


def apply_settings(repo: Repo, settings: dict[str, str]) -> Shape:
    for name, value in settings.items():
        repo.git("config", name, value)
    return make_shape(repo)


def executable_document(repo: Repo) -> Shape:
    (repo.path / "README.md").chmod(0o755)
    repo.git("commit", "-q", "-a", "-m", "Executable")
    return make_shape(repo)


def read_only_file(repo: Repo) -> Shape:
    (repo.path / "README.md").chmod(0o444)
    return make_shape(repo)


def hard_linked_file(repo: Repo) -> Shape:
    repo.path.with_name("hard-link.md").hardlink_to(repo.path / "README.md")
    return make_shape(repo)


def symlinked_work_tree(repo: Repo) -> Shape:
    real_path = repo.path.with_name("real")
    repo.path.rename(real_path)
    repo.path.symlink_to(real_path, target_is_directory=True)
    return make_shape(repo)


def names_that_differ_in_case(repo: Repo) -> Shape:
    repo.commit({"readme.md": "# Lower case\n", "guides/Setup.md": "# Upper case\n"})
    if (repo.path / "readme.md").samefile(repo.path / "README.md"):
        pytest.skip("this file system ignores case")
    return make_shape(repo)


def symlinks_next_to_documents(repo: Repo) -> Shape:
    (repo.path / "link.md").symlink_to("README.md")
    (repo.path / "folder").symlink_to("guides", target_is_directory=True)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Links")
    return make_shape(repo)


def unrelated_file_with_assume_unchanged(repo: Repo) -> Shape:
    repo.git("update-index", "--assume-unchanged", "data.txt")
    return make_shape(repo)


def clone_with_line_endings(attributes: str, **settings: str) -> Callable[[Repo], Shape]:
    """Return a builder of a clone that the git program checks out with these attributes and settings."""

    def clone(repo: Repo) -> Shape:
        repo.commit(
            {
                ".gitattributes": attributes,
                "windows.md": "# Windows\r\n\r\nText.\r\n",
                "mixed.md": "# A\r\nb\n",
            }
        )
        options = [f"-c{name.replace('_', '.')}={value}" for name, value in settings.items()]
        repo.git("clone", "-q", *options, ".", "../clone")
        return configure_clone(repo.path.with_name("clone"))

    clone.__name__ = "eol: " + " ".join([attributes.strip(), *(f"{k}={v}" for k, v in settings.items())])
    return clone


def work_tree_on_another_file_system(repo: Repo) -> Shape:
    shared_memory_folder = Path("/dev/shm")
    if (
        not os.access(shared_memory_folder, os.W_OK)
        or shared_memory_folder.stat().st_dev == repo.path.stat().st_dev
    ):
        pytest.skip("no second file system is writable")
    work_tree_path = shared_memory_folder / f"docyard-test-{os.getpid()}"
    repositories.add_work_tree(repo, work_tree_path, "topic")
    return Shape(work_tree_path, work_tree_path)


SERVED_SHAPES: list[Callable[[Repo], Shape]] = [
    normal,
    opened_in_a_subfolder,
    opened_through_a_symlink,
    bare,
    mirror_with_packed_refs,
    linked_work_tree,
    subfolder_of_a_linked_work_tree,
    main_work_tree_opened_from_a_linked_one,
    linked_work_tree_of_a_bare_repository,
    linked_work_tree_that_was_moved_and_repaired,
    locked_work_tree,
    branch_of_a_deleted_work_tree,
    work_tree_with_its_own_settings,
    git_directory_elsewhere,
    submodule_itself,
    repository_with_a_submodule,
    git_directory_opened_with_core_worktree,
    shallow_clone,
    clone_that_shares_objects,
    branch_served_with_detached_head,
    branch_with_slashes_and_letters,
    chain_of_symbolic_refs,
    repository_with_packed_refs,
    repository_with_many_packs,
    repository_with_commit_graph,
    history_grafted_by_a_replacement,
    index_of_version_2,
    index_of_version_4,
    index_with_untracked_cache,
    index_with_fsmonitor_marks,
    index_without_checksum,
    repository_that_ignores_case,
    repository_that_ignores_file_modes,
    executable_document,
    read_only_file,
    hard_linked_file,
    symlinked_work_tree,
    names_that_differ_in_case,
    symlinks_next_to_documents,
    unrelated_file_with_assume_unchanged,
    clone_with_line_endings("", core_autocrlf="true"),
    clone_with_line_endings("", core_autocrlf="input"),
    clone_with_line_endings("", core_autocrlf="true", core_safecrlf="true"),
    clone_with_line_endings("* text=auto\n", core_eol="crlf"),
    clone_with_line_endings("* text=auto eol=crlf\n"),
    clone_with_line_endings("* text=auto eol=lf\n", core_autocrlf="true"),
    clone_with_line_endings("*.md text\n", core_autocrlf="true"),
    clone_with_line_endings("*.md -text\n", core_autocrlf="true"),
    clone_with_line_endings("guides/** -text\n*.md eol=crlf\n"),
    clone_with_line_endings("*.md ident\n"),
    work_tree_on_another_file_system,
]
