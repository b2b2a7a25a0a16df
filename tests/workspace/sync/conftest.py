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
from workspace.sync.sync import ChooseResolutions, SyncResult, sync
from workspace.workspace import Workspace

TRANSPORTS = ("file", "git", "http", "ssh")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set an empty home folder, for libgit2 too, which reads it once per process."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    before = pygit2.settings.homedir or ""
    pygit2.settings.homedir = str(folder)
    yield folder
    pygit2.settings.homedir = before


@dataclass
class Site:
    """A bare repository `there`, its URL, and a clone `here` with it as `origin`."""

    there: Repo
    here: Repo
    url: str
    access: Access
    port: int | None = None
    folder: Path = Path()

    def sync(
        self, *, fetch: bool = True, push: bool = True, choose: ChooseResolutions | None = None
    ) -> SyncResult:
        """Synchronize the clone."""
        workspace = Workspace.open(self.here.path, durable=False)
        return sync(workspace, self.access, fetch=fetch, push=push, choose=choose)

    def point_to(self, port: int) -> None:
        """Make the clone use another port."""
        self.here.git("remote", "set-url", "origin", self.url.replace(str(self.port), str(port)))

    def elsewhere(self, files: dict[str, str], message: str = "From elsewhere") -> str:
        """Commit and push as another user, and return the commit."""
        other = self.folder / "other"
        if not other.exists():
            self.there.git("clone", "-q", str(self.there.path), str(other))
        clone = Repo(other)
        clone.git("config", "user.name", "Bo")
        clone.git("config", "user.email", "bo@example.org")
        clone.git("pull", "-q", "--ff-only")
        commit = clone.commit(files, message)
        clone.git("push", "-q", "origin", "HEAD:main")
        return commit

    def tip(self) -> str:
        """Return the commit of the remote's branch."""
        return self.there.git("rev-parse", "main").strip()

    def locks(self) -> list[str]:
        """Return the lock files left in the clone, without Docyard's own, which are never removed."""
        own = ("write.lock", "sync.lock")
        return [str(path) for path in (self.here.path / ".git").rglob("*.lock") if path.name not in own]


@contextmanager
def site(transport: str, folder: Path, home: Path) -> Iterator[Site]:
    """Yield a site for a transport."""
    served = folder / "served"
    served.mkdir()
    there = repositories.bare(served / "docs.git")
    there.git("config", "http.receivepack", "true")
    access = Access()
    match transport:
        case "file":
            yield _cloned(there, folder, str(there.path), access, None)
        case "git":
            with servers.daemon(served) as base:
                yield _cloned(there, folder, f"{base}/docs.git", access, _port(base))
        case "http":
            with servers.http(served) as base:
                access = Access(token=servers.TOKEN)
                yield _cloned(there, folder, f"{base}/docs.git", access, _port(base))
        case "ssh":
            if not Path(servers.SSHD).exists() or shutil.which("ssh-keygen") is None:
                pytest.skip("sshd is not installed")
            with servers.ssh(folder, home) as (user, port):
                access = Access(ssh_keys=(home / ".ssh" / "id_ed25519",))
                url = f"ssh://{user}@{servers.HOST}:{port}{there.path}"
                yield _cloned(there, folder, url, access, port)


def _port(base: str) -> int:
    return int(base.rpartition(":")[2])


def _cloned(there: Repo, folder: Path, url: str, access: Access, port: int | None) -> Site:
    there.git("clone", "-q", str(there.path), str(folder / "here"))
    here = Repo(folder / "here")
    here.git("config", "user.name", repositories.NAME)
    here.git("config", "user.email", repositories.EMAIL)
    here.git("remote", "set-url", "origin", url)
    return Site(there, here, url, access, port, folder)


@pytest.fixture(params=TRANSPORTS)
def everywhere(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Site]:
    """Yield a site for each transport."""
    with site(request.param, tmp_path, home) as made:
        yield made


@pytest.fixture(params=["file", *(pytest.param(name, marks=pytest.mark.slow) for name in TRANSPORTS[1:])])
def reached(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Site]:
    """Yield a site in a folder; in slow tests, also one for each other transport."""
    with site(request.param, tmp_path, home) as made:
        yield made


@pytest.fixture
def folder_site(tmp_path: Path, home: Path) -> Iterator[Site]:
    """Yield a site in a folder."""
    with site("file", tmp_path, home) as made:
        yield made
