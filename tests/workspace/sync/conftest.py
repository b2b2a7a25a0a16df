"""Fixtures: an empty home folder, and clones of a bare repository over each transport."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest

from tests import repositories
from tests.repositories import Repo
from tests.workspace.sync import servers
from workspace.git.remotes.credentials import Access
from workspace.sync.status import MissingCommits, TrackingStatus
from workspace.sync.sync import ChooseResolutions, SyncResult, sync
from workspace.workspace import Workspace

TRANSPORTS = ("file", "git", "http", "ssh")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set an empty home folder for the environment and for libgit2, which reads the variable only once."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    old_home = pygit2.settings.homedir or ""
    pygit2.settings.homedir = str(folder)
    yield folder
    pygit2.settings.homedir = old_home


@dataclass
class SyncPair:
    """A clone (`local_repo`) that synchronizes with a bare repository (`remote_repo`) at `url`."""

    remote_repo: Repo
    local_repo: Repo
    url: str
    access: Access
    port: int | None = None
    folder: Path = Path()

    def sync(
        self, *, fetch: bool = True, push: bool = True, choose: ChooseResolutions | None = None
    ) -> SyncResult:
        """Synchronize the clone."""
        workspace = Workspace.open(self.local_repo.path, durable=False)
        return sync(workspace, self.access, fetch=fetch, push=push, choose=choose)

    def read_unpushed_commits(self) -> MissingCommits | None:
        """Return the commits of the clone that the remote does not have, according to the last fetch."""
        state = TrackingStatus(Workspace.open(self.local_repo.path)).read()
        return state.unpushed if state is not None else None

    def set_remote_port(self, port: int) -> None:
        """Make the clone use another port."""
        self.local_repo.git("remote", "set-url", "origin", self.url.replace(str(self.port), str(port)))

    def push_as_other_user(self, files: dict[str, str], message: str = "From elsewhere") -> str:
        """Commit and push as another user, and return the commit."""
        other_folder = self.folder / "other"
        if not other_folder.exists():
            self.remote_repo.git("clone", "-q", str(self.remote_repo.path), str(other_folder))
        clone = Repo(other_folder)
        clone.git("config", "user.name", "Bo")
        clone.git("config", "user.email", "bo@example.org")
        clone.git("pull", "-q", "--ff-only")
        commit = clone.commit(files, message)
        clone.git("push", "-q", "origin", "HEAD:main")
        return commit

    def read_remote_tip(self) -> str:
        """Return the commit of the remote's branch."""
        return self.remote_repo.git("rev-parse", "main").strip()

    def list_locks(self) -> list[str]:
        """Return the lock files in the clone, without Docyard's own, which are never removed."""
        own_locks = ("write.lock", "sync.lock")
        return [
            str(path)
            for path in (self.local_repo.path / ".git").rglob("*.lock")
            if path.name not in own_locks
        ]


@contextmanager
def open_sync_pair(transport: str, folder: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a sync pair for a transport."""
    served_folder = folder / "served"
    served_folder.mkdir()
    remote_repo = repositories.create_bare_repository(served_folder / "docs.git")
    remote_repo.git("config", "http.receivepack", "true")
    access = Access()
    match transport:
        case "file":
            yield _make_sync_pair(remote_repo, folder, str(remote_repo.path), access, None)
        case "git":
            with servers.run_git_daemon(served_folder) as base_url:
                yield _make_sync_pair(
                    remote_repo, folder, f"{base_url}/docs.git", access, _read_port(base_url)
                )
        case "http":
            with servers.run_http_server(served_folder) as base_url:
                access = Access(token=servers.TOKEN)
                yield _make_sync_pair(
                    remote_repo, folder, f"{base_url}/docs.git", access, _read_port(base_url)
                )
        case "ssh":
            if not Path(servers.SSHD).exists() or shutil.which("ssh-keygen") is None:
                pytest.skip("sshd is not installed")
            with servers.run_ssh_server(folder, home) as (user, port):
                access = Access(ssh_keys=(home / ".ssh" / "id_ed25519",))
                url = f"ssh://{user}@{servers.HOST}:{port}{remote_repo.path}"
                yield _make_sync_pair(remote_repo, folder, url, access, port)


def _read_port(base_url: str) -> int:
    return int(base_url.rpartition(":")[2])


def _make_sync_pair(remote_repo: Repo, folder: Path, url: str, access: Access, port: int | None) -> SyncPair:
    remote_repo.git("clone", "-q", str(remote_repo.path), str(folder / "local"))
    local_repo = Repo(folder / "local")
    local_repo.git("config", "user.name", repositories.NAME)
    local_repo.git("config", "user.email", repositories.EMAIL)
    local_repo.git("remote", "set-url", "origin", url)
    return SyncPair(remote_repo, local_repo, url, access, port, folder)


@pytest.fixture(params=TRANSPORTS)
def sync_pair_per_transport(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a sync pair for each transport."""
    with open_sync_pair(request.param, tmp_path, home) as opened_pair:
        yield opened_pair


@pytest.fixture(params=["file", *(pytest.param(name, marks=pytest.mark.slow) for name in TRANSPORTS[1:])])
def sync_pair(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a sync pair over the file transport; in slow tests, also one for each other transport."""
    with open_sync_pair(request.param, tmp_path, home) as opened_pair:
        yield opened_pair


@pytest.fixture
def file_sync_pair(tmp_path: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a sync pair over the file transport."""
    with open_sync_pair("file", tmp_path, home) as opened_pair:
        yield opened_pair
