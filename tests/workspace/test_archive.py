"""Archives: the documents of one tree in a folder of packs, read like a workspace."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.repositories import FILES, Repo, create_repository
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
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def archive_folder(repo: Repo, tmp_path: Path) -> Path:
    """Return a folder that has only the objects of the repository, in packs."""
    repo.git("repack", "-adq")
    pack_folder = tmp_path / "site" / "objects" / "pack"
    pack_folder.mkdir(parents=True)
    for file in (repo.path / ".git" / "objects" / "pack").iterdir():
        if file.suffix in (".pack", ".idx"):
            (pack_folder / file.name).write_bytes(file.read_bytes())
    return tmp_path / "site"


@pytest.fixture
def tree(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD^{tree}").strip()


def test_archive_documents_equal_tree_documents(repo: Repo, archive_folder: Path, tree: str) -> None:
    archive = Archive(archive_folder, tree, repo.head())
    tree_snapshot = Workspace.open(repo.path).snapshot()
    snapshot = archive.snapshot()
    assert snapshot.documents == tree_snapshot.documents
    assert all(snapshot.read(path) == tree_snapshot.read(path) for path in FILES)
    assert snapshot.commit == tree_snapshot.commit
    assert archive.snapshot("another commit") is snapshot
    assert archive.repository_name == "site"
    assert archive.branch is None
    assert archive.read_only
    assert not archive.has_history
    assert archive.recover() is None
    assert archive.git.worktree is None
    assert archive.git.branches() == ()
    assert archive.author() == ("Docyard", "docyard@localhost")


def test_ref_other_than_source_commit_is_refused(repo: Repo, archive_folder: Path, tree: str) -> None:
    commit = repo.head()
    archive = Archive(archive_folder, tree, commit)
    for ref in (None, "", " ", "HEAD", commit, commit.upper(), commit[:7]):
        assert archive.at(ref) is archive.snapshot(), ref
    for ref in ("main", "HEAD~1", "@{2099-01-01}", tree, commit[:3], "0" * 40):
        with pytest.raises(RefNotFound, match=rf"of commit {commit}\) and no history") as error_info:
            archive.at(ref)
        assert "Leave out the ref" in error_info.value.fix
    with pytest.raises(RefNotFound, match="one version of the documents and no history"):
        Archive(archive_folder, tree).at(commit)


def test_archive_without_source_commit_has_tree_as_tip(archive_folder: Path, tree: str) -> None:
    archive = Archive(archive_folder, tree)
    workspace = archive.without_source_commit()
    assert archive.snapshot().commit is None
    assert workspace.tip() == workspace.snapshot().commit == tree
    assert workspace.has_commit(tree)
    assert workspace.snapshot().documents == archive.snapshot().documents


def test_missing_document_or_tree_raises_error(archive_folder: Path, tree: str) -> None:
    snapshot = Archive(archive_folder, tree).snapshot()
    with pytest.raises(DocumentNotFound) as error_info:
        snapshot.document("guides/setpu.md")
    assert "guides/setup.md" in error_info.value.fix
    with pytest.raises(DamagedRepository) as damage_info:
        snapshot.git.blob("0" * 40)
    assert "git fsck" not in damage_info.value.fix


def test_old_path_is_resolved_by_move_list(archive_folder: Path, tree: str) -> None:
    archive = Archive(archive_folder, tree, None, {"old.md": "README.md", "lost.md": "nowhere.md"})
    snapshot = archive.snapshot()
    move = archive.moves().find(snapshot, "old.md")
    assert move is not None
    assert move.path == "README.md"
    assert archive.moves().find(snapshot, "lost.md") is None


def test_unpickled_archive_reader_reads_documents(repo: Repo, archive_folder: Path, tree: str) -> None:
    for reader in (PackedReader(archive_folder, tree), GitReader(repo.path)):
        unpickled_reader = pickle.loads(pickle.dumps(reader))
        assert Snapshot(unpickled_reader, tree if isinstance(reader, PackedReader) else repo.head()).read(
            "README.md"
        )


def test_unpickled_writer_is_read_only(repo: Repo) -> None:
    writer = Workspace.open(repo.path).git
    assert type(pickle.loads(pickle.dumps(writer))) is GitReader


def test_opened_archive_is_readable_after_file_deletion(archive_folder: Path, tree: str) -> None:
    archive = Archive(archive_folder, tree)
    archive.open_packs()
    for file in (archive_folder / "objects" / "pack").iterdir():
        file.unlink()
    assert {path: archive.snapshot().read(path).decode() for path in FILES} == FILES


def test_objects_outside_packs_are_ignored(repo: Repo, archive_folder: Path) -> None:
    """A foreign folder may contain alternates and loose objects; both are ignored."""
    id = _add_loose_object(repo, archive_folder)
    info = archive_folder / "objects" / "info"
    info.mkdir()
    (info / "alternates").write_text(f"{repo.path}/.git/objects\n")
    reader = PackedReader(archive_folder)
    assert not reader.has_object(id)
    with pytest.raises(DamagedRepository):
        reader.blob(id)


def test_configuration_and_refs_in_folder_are_ignored(repo: Repo, archive_folder: Path, tree: str) -> None:
    (archive_folder / "config").write_text("[user]\n\tname = Somebody\n\temail = some@body\n")
    (archive_folder / "HEAD").write_text(f"{repo.head()}\n")
    reader = PackedReader(archive_folder, tree)
    assert reader.identity() is None
    assert reader.config_flag("core.bare", True)
    assert reader.tip("main") is None
    assert reader.head() == (None, tree)
    assert reader.worktrees_of("main") == ()
    assert reader.worktree_at(archive_folder) is None


def test_changed_object_byte_is_detected(archive_folder: Path, tree: str) -> None:
    [pack] = (archive_folder / "objects" / "pack").glob("*.pack")
    data = pack.read_bytes()
    expected = dict(FILES)
    for offset in range(12, len(data)):
        pack.write_bytes(data[:offset] + bytes([data[offset] ^ 0x10]) + data[offset + 1 :])
        assert _read_documents(archive_folder, tree) in (expected, None)
        pack.unlink()
    pack.write_bytes(data)
    assert _read_documents(archive_folder, tree) == expected


def _read_documents(archive_folder: Path, tree: str) -> Mapping[str, str] | None:
    try:
        snapshot = Archive(archive_folder, tree).snapshot()
        return {path: snapshot.read(path).decode() for path in snapshot.documents}
    except WorkspaceError:
        return None


def _add_loose_object(repo: Repo, archive_folder: Path) -> str:
    file = repo.path / "loose.txt"
    file.write_text("a loose object\n")
    id = repo.git("hash-object", "-w", "loose.txt").strip()
    object_folder = archive_folder / "objects" / id[:2]
    object_folder.mkdir(parents=True, exist_ok=True)
    (object_folder / id[2:]).write_bytes((repo.path / ".git" / "objects" / id[:2] / id[2:]).read_bytes())
    return id
