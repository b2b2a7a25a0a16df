"""Files are listed from a work tree, Git's index, a commit, and a folder without a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repositories import Repo, create_empty_repository
from workspace.git.reader import GitReader
from workspace.validation.files import UnreadableFile, list_commit, list_folder, list_index
from workspace.validation.run import RuleSelection, Validator


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    new_repo = create_empty_repository(tmp_path / "repo")
    new_repo.commit(
        {".gitignore": "build/\n*.tmp.md\n", "a.md": "# A\n", "docs/b.md": "# B\n", "x.png": b"\x89"}
    )
    return new_repo


def test_work_tree_lists_files_not_ignored_by_git(repo: Repo) -> None:
    repo.write({"new.md": "# N\n", "build/out.md": "# O\n", "docs/c.tmp.md": "# C\n", "build/deep/x.md": ""})
    listing = list_folder(repo.path, GitReader(repo.path))
    assert listing.documents == ("a.md", "docs/b.md", "new.md")
    assert listing.paths >= {"x.png", ".gitignore"}


def test_tracked_file_is_listed_although_ignored(repo: Repo) -> None:
    repo.write({"build/tracked.md": "# T\n", "build/other.md": "# O\n"})
    repo.git("add", "-f", "build/tracked.md")
    documents = list_folder(repo.path, GitReader(repo.path)).documents
    assert documents == ("a.md", "build/tracked.md", "docs/b.md")


def test_symbolic_links_are_not_followed(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# S\n\n[x](gone.md)\n")
    (repo.path / "link.md").symlink_to(tmp_path / "secret.md")
    (repo.path / "folder").symlink_to(tmp_path, target_is_directory=True)
    repo.write({"a.md": "[1](link.md) [2](folder/secret.md) [3](folder/any.md#x) [4](nolink.md)\n"})
    listing = list_folder(repo.path, GitReader(repo.path))
    assert listing.documents == ("a.md", "docs/b.md")
    assert listing.opaque_paths == {"link.md", "folder"}
    findings = Validator(listing, RuleSelection(listing.config.validation)).check(listing.documents)
    assert [finding.message for finding in findings] == [
        "the link 'nolink.md' leads nowhere: there is no such file"
    ]


def test_file_replaced_by_symlink_is_not_followed(repo: Repo, tmp_path: Path) -> None:
    listing = list_folder(repo.path, GitReader(repo.path))
    (tmp_path / "secret.md").write_text("# S\n")
    (repo.path / "a.md").unlink()
    (repo.path / "a.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(UnreadableFile) as error_info:
        listing.reader.read("a.md")
    assert "a.md cannot be read" in error_info.value.message
    assert str(tmp_path) not in error_info.value.message


def test_nested_repositories_and_pipes_are_skipped(repo: Repo) -> None:
    create_empty_repository(repo.path / "inner").commit({"i.md": "# I\n"})
    os.mkfifo(repo.path / "pipe.md")
    listing = list_folder(repo.path, GitReader(repo.path))
    assert listing.documents == ("a.md", "docs/b.md")
    assert listing.opaque_paths == {"inner"}


def test_index_lists_files_of_next_commit(repo: Repo) -> None:
    repo.write({"a.md": "# Staged\n", "new.md": "# N\n"})
    repo.git("add", "a.md")
    repo.git("rm", "-q", "docs/b.md")
    repo.write({"a.md": "# Later\n"})
    file_set = list_index(GitReader(repo.path))
    assert file_set.documents == ("a.md",)
    assert file_set.reader.read("a.md") == b"# Staged\n"
    assert file_set.reader.get_size("a.md") == 9


def test_commit_lists_its_own_files(repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"a.md": "# Later\n", "docyard.toml": 'exclude = ["docs"]\n'})
    git = GitReader(repo.path)
    assert list_commit(git, first_commit).documents == ("a.md", "docs/b.md")
    assert list_commit(git, first_commit).reader.read("a.md") == b"# A\n"
    assert list_commit(git, repo.head()).documents == ("a.md",)


def test_folder_without_repository_lists_documents_outside_hidden_folders(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".hidden").mkdir(parents=True)
    for name in ("a.md", "deep/b.markdown", "deep/.hidden/c.md", "x.txt"):
        (tmp_path / name).write_text("# X\n")
    assert list_folder(tmp_path, None).documents == ("a.md", "deep/b.markdown")


def test_names_that_are_not_utf8_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    try:
        open(os.fsencode(tmp_path) + b"/\xff.md", "wb").close()
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    assert list_folder(tmp_path, None).documents == ("a.md",)
