"""The folder `.git/docyard` is closed to other users, who could otherwise hold its lock and block writes."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from docyard.doctor.environment import check_repository_state
from index.service import SearchIndex
from tests import repositories
from tests.loops import loop_over
from tests.other_user import run_as_other_user
from tests.repositories import Repo
from tools.dispatcher import ToolDispatcher
from workspace.git.private_folder import make_private_folder, open_lock
from workspace.git.sharing import grants_group_access
from workspace.git.store import GitStore
from workspace.policy.tokens import Tokens
from workspace.publishing.batch import Batch
from workspace.publishing.locks import LOCK_PATH, AnotherWriter, docyard_lock
from workspace.publishing.publish import publish
from workspace.publishing.recovery import find_leftovers
from workspace.sync import sync as sync_lock
from workspace.workspace import Workspace

README_PATH = "README.md"

requires_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def publish_readme(repo: Repo, text: bytes = b"# Example\n\nOther words.\n") -> str:
    store = GitStore(repo.path)
    batch = Batch("main", store.tip("main"), {README_PATH: text}, "Agent", repositories.make_signature())
    return publish(store, batch, durable=False)


def read_modes(repo: Repo) -> Mapping[str, int]:
    """Return the modes of the private folder, and of each folder and lock in it."""
    folder = repo.path / ".git" / "docyard"
    paths = {"": folder, **{path.name: path for path in folder.iterdir()}}
    return {
        name: stat.S_IMODE(path.stat().st_mode)
        for name, path in paths.items()
        if path.is_dir() or name.endswith(".lock")
    }


def build_expected_modes(*, folder: int, lock: int) -> Mapping[str, int]:
    """Return the expected modes of everything that `create_all_private_files` creates."""
    return {
        **dict.fromkeys(("", "pending", "recent", "index"), folder),
        "write.lock": lock,
        "sync.lock": lock,
    }


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.create_repository(tmp_path / "repo")


@pytest.fixture
def public_repo() -> Iterator[Repo]:
    """Return a repository that every user of the machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="docyard-public-"))
    folder.chmod(0o755)
    yield repositories.create_repository(folder / "repo")
    shutil.rmtree(folder)


def create_all_private_files(repo: Repo) -> None:
    """Create everything that a commit, a synchronization and an index create in the private folder."""
    publish_readme(repo)
    with sync_lock.sync_lock(repo.path / ".git"):
        pass
    SearchIndex(Workspace.open(repo.path, durable=False)).update_to_tip()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_created_files_are_private(repo: Repo, umask: int) -> None:
    old_umask = os.umask(umask)
    try:
        create_all_private_files(repo)
    finally:
        os.umask(old_umask)
    assert read_modes(repo) == build_expected_modes(folder=0o700, lock=0o600)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_shared_repository_is_open_to_group_only(repo: Repo, umask: int) -> None:
    repo.git("config", "core.sharedRepository", "group")
    old_umask = os.umask(umask)
    try:
        create_all_private_files(repo)
    finally:
        os.umask(old_umask)
    assert read_modes(repo) == build_expected_modes(folder=0o2770, lock=0o660)


def test_next_write_makes_existing_folder_private(repo: Repo) -> None:
    create_all_private_files(repo)
    for name in read_modes(repo):
        (repo.path / ".git" / "docyard" / name).chmod(0o777 if "lock" not in name else 0o666)
    publish_readme(repo, b"# Example\n\nWords once more.\n")
    assert set(read_modes(repo).values()) == {0o700, 0o600}


def test_folder_mode_changes_with_sharing_setting(repo: Repo) -> None:
    create_all_private_files(repo)
    repo.git("config", "core.sharedRepository", "0660")
    publish_readme(repo, b"# Example\n\nShared.\n")
    assert set(read_modes(repo).values()) == {0o2770, 0o660}
    repo.git("config", "core.sharedRepository", "umask")
    publish_readme(repo, b"# Example\n\nPrivate.\n")
    assert set(read_modes(repo).values()) == {0o700, 0o600}


def test_files_of_git_stay_readable(repo: Repo) -> None:
    old_umask = os.umask(0o022)
    try:
        publish_readme(repo)
    finally:
        os.umask(old_umask)
    for name in ("index", "refs/heads/main"):
        assert stat.S_IMODE((repo.path / ".git" / name).stat().st_mode) == 0o644


@loop_over(
    ("value", "is_shared"),
    [
        (None, False),
        ("umask", False),
        ("false", False),
        ("0", False),
        ("group", True),
        ("true", True),
        ("1", True),
        ("all", True),
        ("world", True),
        ("Everybody", True),
        ("2", True),
        ("0660", True),
        ("660", True),
        ("0664", True),
        ("0666", True),
        ("0640", False),
        ("0600", False),
        ("0060", False),
        ("nonsense", False),
    ],
)
def test_sharing_setting_value_is_parsed(value: str | None, is_shared: bool) -> None:
    assert grants_group_access(value) == is_shared


def test_sharing_setting_without_value_shares_with_group(repo: Repo) -> None:
    with (repo.path / ".git" / "config").open("a") as config:
        config.write("[core]\n\tsharedRepository\n")
    publish_readme(repo)
    assert read_modes(repo)[""] == 0o2770


def test_symlink_at_path_of_private_folder_is_not_followed(repo: Repo, tmp_path: Path) -> None:
    outside_folder = tmp_path / "elsewhere"
    outside_folder.mkdir(mode=0o755)
    (repo.path / ".git" / "docyard").symlink_to(outside_folder)
    with pytest.raises(NotADirectoryError):
        open_lock(repo.path / ".git", Path(LOCK_PATH).name)
    assert stat.S_IMODE(outside_folder.stat().st_mode) == 0o755
    assert [*outside_folder.iterdir()] == []


def test_doctor_makes_readable_folder_private(repo: Repo) -> None:
    common_dir = repo.path / ".git"
    make_private_folder(common_dir).chmod(0o755)
    [finding] = [
        finding for finding in check_repository_state(common_dir, None) if "other users" in finding.message
    ]
    assert finding.apply_fix is not None
    assert finding.apply_fix() is not None
    assert read_modes(repo)[""] == 0o700
    assert not [
        finding for finding in check_repository_state(common_dir, None) if "other users" in finding.message
    ]


def hold_locks(common_dir: Path) -> list[str]:
    """Lock each of Docyard's lock files that can be opened, and return their names."""
    locked_names = []
    for name in ("write.lock", "sync.lock"):
        for flags in (os.O_RDONLY, os.O_RDWR):
            with suppress(OSError):
                fcntl.flock(os.open(common_dir / "docyard" / name, flags), fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked_names.append(name)
                break
    return locked_names


@pytest.mark.process
@requires_root
def test_other_user_can_hold_lock_in_readable_folder(public_repo: Repo) -> None:
    """The attack works on an open folder; this proves that the next test is effective."""
    common_dir = public_repo.path / ".git"
    create_all_private_files(public_repo)
    for name in read_modes(public_repo):
        (common_dir / "docyard" / name).chmod(0o755 if "lock" not in name else 0o644)
    with run_as_other_user(partial(hold_locks, common_dir), public_repo.path.parent / "home") as locked_names:
        assert locked_names == ["write.lock", "sync.lock"]
        with pytest.raises(AnotherWriter), docyard_lock(common_dir, timeout_s=0.1):
            pass


@pytest.mark.process
@requires_root
def test_other_user_cannot_hold_private_lock(public_repo: Repo) -> None:
    common_dir = public_repo.path / ".git"
    create_all_private_files(public_repo)
    # The state left by an earlier version: the owner's next write makes the folder private.
    (common_dir / "docyard").chmod(0o755)
    publish_readme(public_repo, b"# Example\n\nFirst.\n")
    with run_as_other_user(partial(hold_locks, common_dir), public_repo.path.parent / "home") as locked_names:
        assert locked_names == []
        publish_readme(public_repo, b"# Example\n\nSecond.\n")


@pytest.mark.process
@requires_root
def test_other_user_can_serve_repository_read_only(public_repo: Repo) -> None:
    common_dir, home = public_repo.path / ".git", public_repo.path.parent / "home"
    create_all_private_files(public_repo)
    Tokens(common_dir).add("ana", "Ana", "ana@example.org")

    def search() -> dict[str, object]:
        workspace = Workspace.open(public_repo.path, read_only=True)
        dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, True)
        response = dispatcher.call("search_docs", {"query": "words"}, client="test")
        return {
            "files": [hit["filepath"] for hit in response.data["hits"]],
            "tokens": len(Tokens(common_dir).read_all()),
            "findings": [finding.message for finding in check_repository_state(common_dir, None)],
            "leftovers": find_leftovers(common_dir).folders,
        }

    assert search()["tokens"] == 1
    with run_as_other_user(search, home) as result:
        assert result["files"] == [README_PATH]
        assert result["tokens"] == 0, "the other user cannot read the tokens, so none of them is accepted"
        assert any("belongs to another user" in message for message in result["findings"])
        assert result["leftovers"] == []
        assert [*home.glob("cache/docyard/index/*/*")], "the index is in the user's own cache"
