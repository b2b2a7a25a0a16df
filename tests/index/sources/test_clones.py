"""Sources with a URL: the clone, its refs, a failed fetch, and redirects."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from index.sources.source import SourceUnavailable
from index.sources.sources import search_sources
from tests.documentation_sources import create_source_repositories, open_test_sources, write_sources_file
from tests.repositories import Repo
from tests.workspace.sync.servers import HOST, TOKEN, run_http_server
from workspace.errors import WorkspaceError
from workspace.git.remotes.credentials import Access

pytestmark = pytest.mark.process

ACCESS = Access(token=TOKEN)


@pytest.fixture
def guides(tmp_path: Path) -> Repo:
    repository = create_source_repositories(tmp_path)[1]
    repository.git("tag", "v1")
    return repository


@pytest.fixture
def server_url(tmp_path: Path, guides: Repo) -> Iterator[str]:
    with run_http_server(tmp_path) as url:
        yield url


def write_url_source(folder: Path, url: str, settings: str = "") -> Path:
    return write_sources_file(folder, f'[sources.guides]\nurl = "{url}"\n{settings}')


def search(folder: Path, file: Path, query: str) -> list[str]:
    sources = open_test_sources(file)
    [source] = sources
    source.fetch(ACCESS)
    page = search_sources(sources.select(None), query, limit=10)
    sources.close()
    return [hit.hit.address for hit in page.hits]


def test_default_branch_is_cloned_and_followed(tmp_path: Path, guides: Repo, server_url: str) -> None:
    file = write_url_source(tmp_path, f"{server_url}/guides/.git")
    assert search(tmp_path, file, "shell") == ["install.md#steps"]
    guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
    assert search(tmp_path, file, "zebra") == ["zoo.md#_preamble"]


@pytest.mark.parametrize("ref_kind", ["tag", "commit", "branch"])
def test_ref_of_a_url_is_a_branch_a_tag_or_a_commit(
    tmp_path: Path, guides: Repo, server_url: str, ref_kind: str
) -> None:
    commit = guides.head()
    guides.git("branch", "old")
    guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
    ref = {"tag": "v1", "commit": commit, "branch": "old"}[ref_kind]
    file = write_url_source(tmp_path, f"{server_url}/guides/.git", f'ref = "{ref}"\n')
    assert search(tmp_path, file, "zebra") == []
    assert search(tmp_path, file, "shell") == ["install.md#steps"]


def test_rewritten_branch_is_followed(tmp_path: Path, guides: Repo, server_url: str) -> None:
    file = write_url_source(tmp_path, f"{server_url}/guides/.git")
    search(tmp_path, file, "shell")
    guides.git("checkout", "-q", "--orphan", "new")
    guides.git("rm", "-rfq", ".")
    guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
    guides.git("branch", "-M", "new", "main")
    assert search(tmp_path, file, "zebra") == ["zoo.md#_preamble"]
    assert search(tmp_path, file, "shell") == []


def test_unknown_ref_names_the_nearest(tmp_path: Path, server_url: str, guides: Repo) -> None:
    sources = open_test_sources(write_url_source(tmp_path, f"{server_url}/guides/.git", 'ref = "v11"\n'))
    [source] = sources
    with pytest.raises(WorkspaceError, match="no branch, tag or commit 'v11'") as error_info:
        source.fetch(ACCESS)
    assert error_info.value.details["refs"] == ["v1"]
    with pytest.raises(SourceUnavailable, match="v11"):
        source.check_available()


@pytest.mark.parametrize("damage", ["ref", "head", "config", "objects", "lock"])
def test_damaged_clone_is_replaced(tmp_path: Path, guides: Repo, server_url: str, damage: str) -> None:
    sources = open_test_sources(write_url_source(tmp_path, f"{server_url}/guides/.git"))
    [source] = sources
    source.fetch(ACCESS)
    assert search_sources(sources.select(None), "shell", limit=1).hits
    source.close()
    [clone] = (tmp_path / "clones").glob("*.git")
    damage_clone(clone, damage)
    guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
    for _ in range(3):
        with suppress(WorkspaceError):
            source.fetch(ACCESS)
        try:
            assert search_sources(sources.select(None), "zebra", limit=1).hits
            break
        except WorkspaceError:
            time.sleep(2.1)  # the source is opened again after two seconds
    assert search_sources(sources.select(None), "zebra", limit=1).hits
    assert source.fetch_error is None
    assert not source.is_damaged


def damage_clone(clone: Path, damage: str) -> None:
    """Damage a clone as a crash or a power loss may."""
    match damage:
        case "ref":
            (clone / "refs/heads/main").write_bytes(b"")
        case "head":
            (clone / "HEAD").unlink()
        case "config":
            (clone / "config").write_bytes(b"[core\n")
        case "objects":
            for file in (clone / "objects").rglob("*"):
                if file.is_file():
                    file.chmod(0o600)
                    file.write_bytes(file.read_bytes()[:20])
        case _:
            lock = clone / "refs/heads/main.lock"
            lock.touch()
            os.utime(lock, (1, 1))


def test_failed_fetch_is_known_to_other_processes(tmp_path: Path, guides: Repo, server_url: str) -> None:
    file = write_url_source(tmp_path, f"{server_url}/guides/.git")
    [source] = open_test_sources(file)
    source.fetch(ACCESS)
    with pytest.raises(WorkspaceError):
        source.fetch(Access(token="wrong-token"))
    [other] = open_test_sources(file)
    assert other.fetch_error is not None
    assert "wrong-token" not in other.fetch_error
    assert other.stats().source_commit == guides.head()
    source.fetch(ACCESS)
    assert other.fetch_error is None


def test_head_of_a_url_is_its_default_branch(tmp_path: Path, guides: Repo, server_url: str) -> None:
    file = write_url_source(tmp_path, f"{server_url}/guides/.git", 'ref = "HEAD"\n')
    assert search(tmp_path, file, "shell") == ["install.md#steps"]


def test_failed_fetch_serves_the_last_commit(tmp_path: Path, guides: Repo) -> None:
    with run_http_server(tmp_path) as url:
        file = write_url_source(tmp_path, f"{url}/guides/.git")
        sources = open_test_sources(file)
        [source] = sources
        source.fetch(ACCESS)
        with pytest.raises(WorkspaceError) as error_info:
            source.fetch(Access(token="wrong-token"))
        assert "wrong-token" not in str(error_info.value)
        assert source.fetch_error is not None
    with pytest.raises(WorkspaceError):
        source.fetch(ACCESS)
    assert search_sources(sources.select(None), "shell", limit=1).hits


@contextmanager
def run_constant_server(status: int, headers: dict[str, str], body: bytes = b"") -> Iterator[str]:
    """Run a server that gives the same response to every request, and yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer((HOST, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()


def test_redirect_is_refused(tmp_path: Path, server_url: str) -> None:
    target = f"{server_url}/guides/.git/info/refs?service=git-upload-pack"
    with run_constant_server(302, {"Location": target}) as url:
        [source] = open_test_sources(write_url_source(tmp_path, f"{url}/guides.git"))
        with pytest.raises(WorkspaceError):
            source.fetch(ACCESS)
    assert source.fetch_error is not None


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>nonsense</html>"), (500, b""), (404, b"x")])
def test_invalid_response_of_a_server_is_an_error(
    tmp_path: Path, guides: Repo, status: int, body: bytes
) -> None:
    with run_constant_server(status, {"Content-Type": "text/html"}, body) as url:
        [source] = open_test_sources(write_url_source(tmp_path, f"{url}/guides.git"))
        with pytest.raises(WorkspaceError):
            source.fetch(ACCESS)
        with pytest.raises(SourceUnavailable):
            source.check_available()
