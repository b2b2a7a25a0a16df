"""The private folder of a repository is closed to other users, who could hold its lock and block writes."""

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

from docyard.doctor.environment import check_environment
from index.service import SearchIndex
from tests import repositories
from tests.loops import loop_over
from tests.other_user import run_as_other_user
from tests.repositories import Repo
from tools.registry import Toolbox
from workspace.git.private_folder import make_private_folder, open_lock
from workspace.git.sharing import is_shared_with_group
from workspace.git.store import GitStore
from workspace.policy.tokens import Tokens
from workspace.publishing.batch import Batch
from workspace.publishing.locks import LOCK_PATH, AnotherWriter, docyard_lock
from workspace.publishing.publish import publish
from workspace.publishing.recovery import find_leftovers
from workspace.sync import sync as sync_lock
from workspace.workspace import Workspace

README = "README.md"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def commit(repo: Repo, text: bytes = b"# Example\n\nOther words.\n") -> str:
    store = GitStore(repo.path)
    batch = Batch("main", store.tip("main"), {README: text}, "Agent", repositories.signature())
    return publish(store, batch, durable=False)


def modes(repo: Repo) -> Mapping[str, int]:
    """Return the modes of the private folder, and of each folder and lock in it."""
    folder = repo.path / ".git" / "docyard"
    found = {"": folder, **{path.name: path for path in folder.iterdir()}}
    return {
        name: stat.S_IMODE(path.stat().st_mode)
        for name, path in found.items()
        if path.is_dir() or name.endswith(".lock")
    }


def all_modes(*, folder: int, lock: int) -> Mapping[str, int]:
    """Return the expected modes of everything that `use_all` creates."""
    return {
        **dict.fromkeys(("", "pending", "recent", "index"), folder),
        "write.lock": lock,
        "sync.lock": lock,
    }


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.normal(tmp_path / "repo")


@pytest.fixture
def public_repo() -> Iterator[Repo]:
    """Return a repository that every user of the machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="docyard-public-"))
    folder.chmod(0o755)
    yield repositories.normal(folder / "repo")
    shutil.rmtree(folder)


def use_all(repo: Repo) -> None:
    """Create everything that a commit, a synchronization and an index create in the private folder."""
    commit(repo)
    with sync_lock.sync_lock(repo.path / ".git"):
        pass
    SearchIndex(Workspace.open(repo.path, durable=False)).follow()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_created_files_are_private(repo: Repo, umask: int) -> None:
    before = os.umask(umask)
    try:
        use_all(repo)
    finally:
        os.umask(before)
    assert modes(repo) == all_modes(folder=0o700, lock=0o600)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_shared_repository_is_open_to_group_only(repo: Repo, umask: int) -> None:
    repo.git("config", "core.sharedRepository", "group")
    before = os.umask(umask)
    try:
        use_all(repo)
    finally:
        os.umask(before)
    assert modes(repo) == all_modes(folder=0o2770, lock=0o660)


def test_next_write_closes_folder_of_earlier_version(repo: Repo) -> None:
    use_all(repo)
    for name in modes(repo):
        (repo.path / ".git" / "docyard" / name).chmod(0o777 if "lock" not in name else 0o666)
    commit(repo, b"# Example\n\nWords once more.\n")
    assert set(modes(repo).values()) == {0o700, 0o600}


def test_folder_mode_changes_with_sharing_setting(repo: Repo) -> None:
    use_all(repo)
    repo.git("config", "core.sharedRepository", "0660")
    commit(repo, b"# Example\n\nShared.\n")
    assert set(modes(repo).values()) == {0o2770, 0o660}
    repo.git("config", "core.sharedRepository", "umask")
    commit(repo, b"# Example\n\nPrivate.\n")
    assert set(modes(repo).values()) == {0o700, 0o600}


def test_files_of_git_stay_readable(repo: Repo) -> None:
    before = os.umask(0o022)
    try:
        commit(repo)
    finally:
        os.umask(before)
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
    assert is_shared_with_group(value) == is_shared


def test_sharing_setting_without_value_shares_with_group(repo: Repo) -> None:
    with (repo.path / ".git" / "config").open("a") as config:
        config.write("[core]\n\tsharedRepository\n")
    commit(repo)
    assert modes(repo)[""] == 0o2770


def test_link_in_place_of_folder_is_not_followed(repo: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (repo.path / ".git" / "docyard").symlink_to(elsewhere)
    with pytest.raises(NotADirectoryError):
        open_lock(repo.path / ".git", Path(LOCK_PATH).name)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
    assert [*elsewhere.iterdir()] == []


def test_doctor_closes_an_open_folder(repo: Repo) -> None:
    common_dir = repo.path / ".git"
    make_private_folder(common_dir).chmod(0o755)
    [found] = [one for one in check_environment(common_dir, None) if "other users" in one.message]
    assert found.apply_fix is not None
    assert found.apply_fix() is not None
    assert modes(repo)[""] == 0o700
    assert not [one for one in check_environment(common_dir, None) if "other users" in one.message]


def hold_locks(common_dir: Path) -> list[str]:
    """Lock each of Docyard's lock files that can be opened, and return their names."""
    held = []
    for name in ("write.lock", "sync.lock"):
        for flags in (os.O_RDONLY, os.O_RDWR):
            with suppress(OSError):
                fcntl.flock(os.open(common_dir / "docyard" / name, flags), fcntl.LOCK_EX | fcntl.LOCK_NB)
                held.append(name)
                break
    return held


@pytest.mark.process
@as_root
def test_other_user_can_hold_open_lock(public_repo: Repo) -> None:
    """The attack works on an open folder; this proves that the next test is effective."""
    common_dir = public_repo.path / ".git"
    use_all(public_repo)
    for name in modes(public_repo):
        (common_dir / "docyard" / name).chmod(0o755 if "lock" not in name else 0o644)
    with run_as_other_user(partial(hold_locks, common_dir), public_repo.path.parent / "home") as held:
        assert held == ["write.lock", "sync.lock"]
        with pytest.raises(AnotherWriter), docyard_lock(common_dir, timeout_s=0.1):
            pass


@pytest.mark.process
@as_root
def test_other_user_cannot_hold_private_lock(public_repo: Repo) -> None:
    common_dir = public_repo.path / ".git"
    use_all(public_repo)
    # The state left by an earlier version: the owner's next write closes the folder.
    (common_dir / "docyard").chmod(0o755)
    commit(public_repo, b"# Example\n\nFirst.\n")
    with run_as_other_user(partial(hold_locks, common_dir), public_repo.path.parent / "home") as held:
        assert held == []
        commit(public_repo, b"# Example\n\nSecond.\n")


@pytest.mark.process
@as_root
def test_other_user_can_serve_repository_read_only(public_repo: Repo) -> None:
    common_dir, home = public_repo.path / ".git", public_repo.path.parent / "home"
    use_all(public_repo)
    Tokens(common_dir).add("ana", "Ana", "ana@example.org")

    def search() -> dict[str, object]:
        workspace = Workspace.open(public_repo.path, read_only=True)
        toolbox = Toolbox(workspace, SearchIndex(workspace), None, True)
        answer = toolbox.call("search_docs", {"query": "words"}, client="test")
        return {
            "files": [hit["filepath"] for hit in answer.data["hits"]],
            "tokens": len(Tokens(common_dir).read_all()),
            "findings": [one.message for one in check_environment(common_dir, None)],
            "leftovers": find_leftovers(common_dir).folders,
        }

    assert search()["tokens"] == 1
    with run_as_other_user(search, home) as found:
        assert found["files"] == [README]
        assert found["tokens"] == 0, "nobody is let in by tokens that this user cannot read"
        assert any("belongs to another user" in message for message in found["findings"])
        assert found["leftovers"] == []
        assert [*home.glob("cache/docyard/index/*/*")], "the index is in the user's own cache"
