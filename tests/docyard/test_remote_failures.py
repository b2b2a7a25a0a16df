"""Failures of a remote (rejected push, timeout, lost connection, missing password), and their reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.test_sync import InProcessServer, wait_until
from tests.workspace.sync.conftest import SyncPair, open_sync_pair
from tests.workspace.sync.proxy import Proxy
from tests.workspace.sync.servers import TOKEN

pytestmark = pytest.mark.process

Capture = pytest.CaptureFixture[str]

SETTINGS = '[remote]\npush = "commit"\n'


@pytest.fixture
def sync_pair(tmp_path: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a clone with a commit that is not in its remote; git's own daemon serves the remote."""
    with open_sync_pair("git", tmp_path, home) as sync_pair:
        sync_pair.local_repo.commit({"docyard.toml": SETTINGS})
        yield sync_pair


@pytest.fixture
def proxy(sync_pair: SyncPair) -> Iterator[Proxy]:
    """Yield a proxy between the clone and its remote."""
    assert sync_pair.port is not None
    with Proxy(sync_pair.port) as proxy:
        sync_pair.set_remote_port(proxy.port)
        yield proxy


def run_sync(capsys: Capture, sync_pair: SyncPair, code: int) -> str:
    """Return the output of `docyard sync`, after a check that it contains no secret and no local path."""
    capsys.readouterr()
    assert main(["sync", "-C", str(sync_pair.local_repo.path)]) == code
    captured = capsys.readouterr()
    output = captured.out + captured.err
    assert str(sync_pair.folder) not in output
    assert TOKEN not in output
    return output


def count_unpushed(sync_pair: SyncPair) -> int | None:
    """Return the number of unpushed commits that a server reports; None if it reports none."""
    server = InProcessServer(sync_pair.local_repo)
    unpushed = server.call("list_documents").get("unpushed")
    server.synchronizer.close()
    server.index.close()
    assert unpushed is None or unpushed["since"]
    return None if unpushed is None else int(unpushed["commits"])


def check_server_recovers(sync_pair: SyncPair, reason: str, restore: Callable[[], object]) -> None:
    """Check that a server works, reports the failure in responses, and synchronises after `restore`."""
    server = InProcessServer(sync_pair.local_repo)
    server.synchronizer._retry_delay_s = 0.05
    server.synchronizer.start()
    wait_until(lambda: "sync" in server.call("list_documents"))
    response = server.create_note("Written meanwhile")
    assert response["sync"]["state"] == "failed"
    assert reason in response["sync"]["error"]
    assert response["unpushed"]["commits"] >= 2
    restore()
    wait_until(lambda: not {"sync", "unpushed"} & set(server.call("list_documents")))
    assert sync_pair.read_remote_tip() == sync_pair.local_repo.head()
    server.synchronizer.close()
    server.index.close()


def test_rejected_push_is_reported_until_accepted(sync_pair: SyncPair, capsys: Capture) -> None:
    hook = sync_pair.remote_repo.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'ask Bo first' >&2\nexit 1\n")
    hook.chmod(0o755)
    tip_before = sync_pair.read_remote_tip()
    output = run_sync(capsys, sync_pair, 3)
    assert "ask Bo first" in output
    assert sync_pair.read_remote_tip() == tip_before
    assert count_unpushed(sync_pair) == 1
    check_server_recovers(sync_pair, "ask Bo first", hook.unlink)


def test_slow_remote_times_out_without_lost_commits(
    sync_pair: SyncPair, proxy: Proxy, capsys: Capture
) -> None:
    sync_pair.local_repo.commit({"docyard.toml": f"{SETTINGS}answer_seconds = 1\nseconds = 2\n"})
    proxy.cut(after_bytes=0, keep_open=True)
    output = run_sync(capsys, sync_pair, 3)
    assert "timed out" in output
    assert "Nothing is lost." in output
    assert count_unpushed(sync_pair) == 2
    proxy.cut(after_bytes=None)
    sync_pair.local_repo.commit({"docyard.toml": SETTINGS})  # the default timeouts, for a slow machine
    assert "Pushed 3 commits" in run_sync(capsys, sync_pair, 0)


def test_lost_connection_is_reported_until_restored(
    sync_pair: SyncPair, proxy: Proxy, capsys: Capture
) -> None:
    proxy.cut(after_bytes=150)  # every exchange is longer
    output = run_sync(capsys, sync_pair, 3)
    assert "origin" in output
    assert count_unpushed(sync_pair) == 1
    check_server_recovers(sync_pair, "origin", lambda: proxy.cut(after_bytes=None))
    assert sync_pair.remote_repo.fsck() == sync_pair.local_repo.fsck() == ""


def test_remote_with_password_requires_valid_token(
    tmp_path: Path, home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_ASKPASS", "/bin/false")
    with open_sync_pair("http", tmp_path, home) as sync_pair:
        sync_pair.local_repo.commit({"docyard.toml": SETTINGS})
        output = run_sync(capsys, sync_pair, 3)
        assert "DOCYARD_REMOTE_TOKEN" in output
        monkeypatch.setenv("DOCYARD_REMOTE_TOKEN", "wrong-7c1f")
        output = run_sync(capsys, sync_pair, 3)
        assert "wrong-7c1f" not in output
        assert count_unpushed(sync_pair) == 1
        monkeypatch.setenv("DOCYARD_REMOTE_TOKEN", TOKEN)
        assert "Pushed 1 commit" in run_sync(capsys, sync_pair, 0)
        assert count_unpushed(sync_pair) is None
        assert sync_pair.read_remote_tip() == sync_pair.local_repo.head()
