"""The contents of an artifact: the selected documents of a commit or folder, and their tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.artifacts.contents import (
    ContentFilter,
    EmptyCorpus,
    UnreadableFolder,
    build_tree,
    read_commit_contents,
    read_folder_contents,
)
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from workspace.git.objects import hash_blob
from workspace.git.pack_reader import PackedReader
from workspace.git.packs import PackedObject, write_pack
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.trees import walk_tree
from workspace.globs import Glob
from workspace.paths import escape_path

FILES = {
    "README.md": "# Site\n",
    "docyard.toml": 'exclude = ["drafts"]\n[taxonomy.language]\n',
    ".taxonomy.toml": '[metadata]\nlanguage = "en"\n',
    "docs/guide.md": "# Guide\n",
    "docs/go/.taxonomy.toml": '[metadata]\nlanguage = "go"\n',
    "docs/go/intro.markdown": "# Go\n",
    "docs/picture.png": "no document",
    "drafts/.taxonomy.toml": "[metadata]\n",
    "drafts/idea.md": "# Idea\n",
    "other/.taxonomy.toml": "[metadata]\n",
    ".github/notes.md": "# Hidden\n",
}

folder_paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


def write_files(folder: Path) -> Path:
    Repo(folder).write(FILES)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "site", FILES)


def test_folder_and_its_commit_have_equal_contents(repo: Repo, tmp_path: Path) -> None:
    commit = read_commit_contents(GitReader(repo.path), repo.head(), "site", ContentFilter())
    folder = read_folder_contents(write_files(tmp_path / "copy"), ContentFilter())
    assert list(commit.documents) == ["README.md", "docs/go/intro.markdown", "docs/guide.md"]
    assert list(commit.manifests) == [".taxonomy.toml", "docs/go/.taxonomy.toml"]
    assert (commit.documents, commit.manifests) == (folder.documents, folder.manifests)
    assert (commit.commit, folder.commit) == (repo.head(), None)
    assert all(
        hash_blob(commit.read(path)) == id == hash_blob(folder.read(path))
        for path, id in folder.documents.items()
    )


def test_uncommitted_changes_are_not_included(repo: Repo) -> None:
    repo.write({"docs/guide.md": "# Changed\n", "docs/new.md": "# New\n"})
    contents = read_commit_contents(GitReader(repo.path), repo.head(), "site", ContentFilter())
    assert contents.read("docs/guide.md") == b"# Guide\n"
    assert "docs/new.md" not in contents.documents


def test_older_commit_is_read_unchanged(repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"docs/guide.md": "# Changed\n"})
    assert (
        read_commit_contents(GitReader(repo.path), first_commit, "site", ContentFilter()).read(
            "docs/guide.md"
        )
        == b"# Guide\n"
    )


@pytest.mark.parametrize(
    ("content_filter", "expected"),
    [
        (ContentFilter(folder="docs"), ["docs/go/intro.markdown", "docs/guide.md"]),
        (ContentFilter(folder="docs/go"), ["docs/go/intro.markdown"]),
        (ContentFilter(include=(Glob.compile("docs"),)), ["docs/go/intro.markdown", "docs/guide.md"]),
        (ContentFilter(exclude=(Glob.compile("docs/go/*"),)), ["README.md", "docs/guide.md"]),
        (ContentFilter(folder="docs", include=(Glob.compile("go"),)), ["docs/go/intro.markdown"]),
        (
            ContentFilter(include=(Glob.compile("*.md"),), exclude=(Glob.compile("README.md"),)),
            ["docs/guide.md"],
        ),
    ],
)
def test_content_filter_limits_documents(
    repo: Repo, content_filter: ContentFilter, expected: list[str]
) -> None:
    assert (
        list(read_commit_contents(GitReader(repo.path), repo.head(), "site", content_filter).documents)
        == expected
    )


def test_manifest_above_the_selected_folder_is_included(repo: Repo) -> None:
    contents = read_commit_contents(
        GitReader(repo.path), repo.head(), "site", ContentFilter(folder="docs/go")
    )
    assert list(contents.manifests) == [".taxonomy.toml", "docs/go/.taxonomy.toml"]


def test_contents_list_moved_documents(repo: Repo) -> None:
    repo.git("mv", "docs/guide.md", "docs/handbook.md")
    repo.commit({})
    assert read_commit_contents(GitReader(repo.path), repo.head(), "site", ContentFilter()).moves == {
        "docs/guide.md": "docs/handbook.md"
    }


@pytest.mark.parametrize(
    "content_filter", [ContentFilter(folder="other"), ContentFilter(exclude=(Glob.compile("*"),))]
)
def test_content_filter_without_documents_raises_empty_corpus(
    repo: Repo, content_filter: ContentFilter
) -> None:
    with pytest.raises(EmptyCorpus):
        read_commit_contents(GitReader(repo.path), repo.head(), "site", content_filter)


def test_empty_folder_raises_empty_corpus(tmp_path: Path) -> None:
    with pytest.raises(EmptyCorpus):
        read_folder_contents(tmp_path, ContentFilter())


def test_symlinks_and_pipes_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    folder = write_files(tmp_path / "site")
    (folder / "link.md").symlink_to(secret)
    (folder / "above").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.md")
    assert list(read_folder_contents(folder, ContentFilter()).documents) == [
        "README.md",
        "docs/go/intro.markdown",
        "docs/guide.md",
    ]


def test_settings_behind_a_symlink_are_not_read(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "site")
    (folder / "docyard.toml").rename(tmp_path / "elsewhere.toml")
    (folder / "docyard.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert "drafts/idea.md" in read_folder_contents(folder, ContentFilter()).documents


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@loop_over("name", ["line\nbreak.md", "back\\slash.md", "CON.md", os.fsdecode(b"\xff.md")])
def test_unportable_file_name_is_left_out(tmp_path: Path, name: str) -> None:
    folder = write_files(tmp_path / "site")
    (folder / name).write_text("# Odd\n")
    contents = read_folder_contents(folder, ContentFilter())
    assert name not in contents.documents
    assert "README.md" in contents.documents
    assert contents.unsupported_paths == (escape_path(name),)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_unprintable_name_in_commit_is_left_out_and_reported(repo: Repo) -> None:
    commit = repo.commit({"docs/line\nbreak.md": "# Odd\n", "drafts/line\nbreak.md": "# Odd\n"})
    contents = read_commit_contents(GitReader(repo.path), commit, "site", ContentFilter())
    assert contents.unsupported_paths == ("docs/line\\nbreak.md",)
    assert (
        read_commit_contents(GitReader(repo.path), commit, "site", ContentFilter("docs/go")).unsupported_paths
        == ()
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows does not allow such long paths")
def test_unreadable_excluded_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_files(tmp_path / "site")
    folder_name = "d" * 200
    monkeypatch.chdir(folder)
    for _ in range(25):  # longer than the system allows for a path
        os.mkdir(folder_name)
        os.chdir(folder_name)
    Path("deep.md").write_text("# Deep\n")
    content_filter = ContentFilter(exclude=(Glob.compile("ddd*"),))
    assert "README.md" in read_folder_contents(folder, content_filter).documents


def test_unportable_document_name_is_reported(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "site")
    (folder / "CON.md").write_text("# Odd\n")
    assert read_folder_contents(folder, ContentFilter()).unsupported_paths == ("CON.md",)


def test_unreadable_file_error_names_its_path(tmp_path: Path) -> None:
    contents = read_folder_contents(write_files(tmp_path / "site"), ContentFilter())
    (tmp_path / "site" / "README.md").unlink()
    with pytest.raises(UnreadableFolder) as error_info:
        contents.read("README.md")
    assert error_info.value.details["path"] == "README.md"
    assert str(tmp_path) not in error_info.value.message


def test_missing_object_error_names_its_document(repo: Repo) -> None:
    contents = read_commit_contents(GitReader(repo.path), repo.head(), "site", ContentFilter())
    blob = contents.documents["docs/guide.md"]
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(DamagedRepository, match=r"docs/guide\.md"):
        contents.read("docs/guide.md")


def test_folder_named_like_settings_file_is_ignored(tmp_path: Path) -> None:
    Repo(tmp_path).write({"docyard.toml/odd.md": "# Odd\n", "plain.md": "# Plain\n"})
    assert list(read_folder_contents(tmp_path, ContentFilter()).documents) == ["plain.md"]


def test_built_tree_has_the_id_that_git_computes(repo: Repo) -> None:
    entries = [line.split() for line in repo.git("ls-tree", "-r", "HEAD").splitlines()]
    assert (
        build_tree({path: id for _, _, id, path in entries}).id
        == repo.git("rev-parse", "HEAD^{tree}").strip()
    )


@given(st.sets(folder_paths.map(lambda path: f"{path}/x.md"), min_size=1, max_size=20))
def test_built_tree_contains_its_files(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    files = {name: hash_blob(name.encode()) for name in names}
    tree = build_tree(files)
    tree_folder = tmp_path_factory.mktemp("tree")
    (tree_folder / "objects" / "pack").mkdir(parents=True)
    objects = [PackedObject("tree", id, data) for id, data in tree.trees.items()]
    write_pack(tree_folder / "objects" / "pack", objects, len(objects))
    assert {path: entry.id for path, entry in walk_tree(PackedReader(tree_folder, tree.id), tree.id)} == files
