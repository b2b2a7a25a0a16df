"""The documents of a tree in a folder of packs, read as a workspace is."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.repositories import FILES, Repo, normal
from workspace.archive import Archive
from workspace.errors import WorkspaceError
from workspace.git.pack_reader import PackedReader
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.revisions import RefNotFound
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.workspace import Workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", FILES)


@pytest.fixture
def folder(repo: Repo, tmp_path: Path) -> Path:
    """A folder that has the objects of the repository in packs, and nothing else of it."""
    repo.git("repack", "-adq")
    packs = tmp_path / "site" / "objects" / "pack"
    packs.mkdir(parents=True)
    for file in (repo.path / ".git" / "objects" / "pack").iterdir():
        if file.suffix in (".pack", ".idx"):
            (packs / file.name).write_bytes(file.read_bytes())
    return tmp_path / "site"


@pytest.fixture
def tree(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD^{tree}").strip()


def test_its_documents_are_those_of_the_tree(repo: Repo, folder: Path, tree: str) -> None:
    archive = Archive(folder, tree, repo.head())
    there = Workspace.open(repo.path).snapshot()
    snapshot = archive.snapshot()
    assert snapshot.documents == there.documents
    assert all(snapshot.read(path) == there.read(path) for path in FILES)
    assert snapshot.commit == there.commit
    assert archive.snapshot("another commit") is snapshot
    assert archive.name == "site"
    assert archive.branch is None
    assert archive.read_only
    assert archive.recover() is None
    assert archive.git.worktree is None
    assert archive.git.branches() == ()
    assert archive.author() == ("Docyard", "docyard@localhost")


def test_its_only_ref_is_the_commit_that_it_came_from(repo: Repo, folder: Path, tree: str) -> None:
    commit = repo.head()
    archive = Archive(folder, tree, commit)
    for ref in (None, "", " ", "HEAD", commit, commit.upper(), commit[:7]):
        assert archive.at(ref) is archive.snapshot(), ref
    for ref in ("main", "HEAD~1", "@{2099-01-01}", tree, commit[:3], "0" * 40):
        with pytest.raises(RefNotFound, match=f"of commit {commit}, and no history") as caught:
            archive.at(ref)
        assert "Leave out the ref" in caught.value.fix
    with pytest.raises(RefNotFound, match="of one moment, and no history"):
        Archive(folder, tree).at(commit)


def test_without_a_commit_none_is_named_and_the_content_is_its_tree(folder: Path, tree: str) -> None:
    archive = Archive(folder, tree)
    content = archive.content()
    assert archive.snapshot().commit is None
    assert content.tip() == content.snapshot().commit == tree
    assert content.exists(tree)
    assert content.snapshot().documents == archive.snapshot().documents


def test_what_is_not_there_is_not_found(folder: Path, tree: str) -> None:
    snapshot = Archive(folder, tree).snapshot()
    with pytest.raises(DocumentNotFound) as caught:
        snapshot.document("guides/setpu.md")
    assert "guides/setup.md" in caught.value.fix
    with pytest.raises(DamagedRepository) as damaged:
        snapshot.git.blob("0" * 40)
    assert "git fsck" not in damaged.value.fix


def test_old_paths_lead_on_by_a_list(folder: Path, tree: str) -> None:
    archive = Archive(folder, tree, None, {"old.md": "README.md", "lost.md": "nowhere.md"})
    snapshot = archive.snapshot()
    move = archive.moves().find(snapshot, "old.md")
    assert move is not None
    assert move.path == "README.md"
    assert archive.moves().find(snapshot, "lost.md") is None


def test_another_process_opens_the_folder_for_itself(repo: Repo, folder: Path, tree: str) -> None:
    for reader in (PackedReader(folder, tree), GitReader(repo.path)):
        again = pickle.loads(pickle.dumps(reader))
        assert Snapshot(again, tree if isinstance(reader, PackedReader) else repo.head()).read("README.md")


def test_a_writer_becomes_a_reader_in_another_process(repo: Repo) -> None:
    writer = Workspace.open(repo.path).git
    assert type(pickle.loads(pickle.dumps(writer))) is GitReader


def test_what_is_held_is_readable_when_its_file_is_gone(folder: Path, tree: str) -> None:
    archive = Archive(folder, tree)
    archive.hold()
    for file in (folder / "objects" / "pack").iterdir():
        file.unlink()
    assert {path: archive.snapshot().read(path).decode() for path in FILES} == FILES


def test_nothing_outside_the_packs_is_read(repo: Repo, folder: Path) -> None:
    """Neither by an alternate nor as a loose object, which a folder from elsewhere may bring along."""
    id = _loose(repo, folder)
    info = folder / "objects" / "info"
    info.mkdir()
    (info / "alternates").write_text(f"{repo.path}/.git/objects\n")
    reader = PackedReader(folder)
    assert not reader.has(id)
    with pytest.raises(DamagedRepository):
        reader.blob(id)


def test_no_configuration_and_no_ref_counts(repo: Repo, folder: Path, tree: str) -> None:
    (folder / "config").write_text("[user]\n\tname = Somebody\n\temail = some@body\n")
    (folder / "HEAD").write_text(f"{repo.head()}\n")
    reader = PackedReader(folder, tree)
    assert reader.identity() is None
    assert reader.config_flag("core.bare", True)
    assert reader.tip("main") is None
    assert reader.head() == (None, tree)
    assert reader.worktrees_of("main") == ()
    assert reader.worktree_at(folder) is None


def test_a_changed_byte_of_an_object_is_found(folder: Path, tree: str) -> None:
    [pack] = (folder / "objects" / "pack").glob("*.pack")
    data = pack.read_bytes()
    right = dict(FILES)
    for place in range(12, len(data)):
        pack.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        assert _read(folder, tree) in (right, None)
        pack.unlink()
    pack.write_bytes(data)
    assert _read(folder, tree) == right


def _read(folder: Path, tree: str) -> Mapping[str, str] | None:
    try:
        snapshot = Archive(folder, tree).snapshot()
        return {path: snapshot.read(path).decode() for path in snapshot.documents}
    except WorkspaceError:
        return None


def _loose(repo: Repo, folder: Path) -> str:
    file = repo.path / "loose.txt"
    file.write_text("a loose object\n")
    id = repo.git("hash-object", "-w", "loose.txt").strip()
    there = folder / "objects" / id[:2]
    there.mkdir(parents=True, exist_ok=True)
    (there / id[2:]).write_bytes((repo.path / ".git" / "objects" / id[:2] / id[2:]).read_bytes())
    return id
