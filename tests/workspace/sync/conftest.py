"""A home of its own, and clones of a bare repository that is reached in each way."""

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
    """A home with nothing in it, for libgit2 too, which looks for it once in a process."""
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
    """A bare repository `there`, how it is reached, and a clone of it `here` whose `origin` it is."""

    there: Repo
    here: Repo
    url: str
    access: Access
    port: int | None = None
    folder: Path = Path()

    def sync(
        self, *, fetch: bool = True, push: bool = True, choose: ChooseResolutions | None = None
    ) -> SyncResult:
        """Synchronise the clone."""
        workspace = Workspace.open(self.here.path, durable=False)
        return sync(workspace, self.access, fetch=fetch, push=push, choose=choose)

    def point_to(self, port: int) -> None:
        """Have the clone go through another port."""
        self.here.git("remote", "set-url", "origin", self.url.replace(str(self.port), str(port)))

    def elsewhere(self, files: dict[str, str], message: str = "From elsewhere") -> str:
        """A commit that another person has pushed."""
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
        """Where the remote's branch is."""
        return self.there.git("rev-parse", "main").strip()

    def locks(self) -> list[str]:
        """Lock files that were left in the clone, less Docyard's own, which are never removed."""
        own = ("write.lock", "sync.lock")
        return [str(path) for path in (self.here.path / ".git").rglob("*.lock") if path.name not in own]


@contextmanager
def site(transport: str, folder: Path, home: Path) -> Iterator[Site]:
    """A site that is reached by a transport."""
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
    """A site, reached in each way, one after the other."""
    with site(request.param, tmp_path, home) as made:
        yield made


@pytest.fixture(params=["file", *(pytest.param(name, marks=pytest.mark.slow) for name in TRANSPORTS[1:])])
def reached(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Site]:
    """A site that is a folder; in the slow tests, reached in each other way too."""
    with site(request.param, tmp_path, home) as made:
        yield made


@pytest.fixture
def folder_site(tmp_path: Path, home: Path) -> Iterator[Site]:
    """A site that is a folder."""
    with site("file", tmp_path, home) as made:
        yield made
