"""An exchange whose connection is cut, or whose process is killed or stops responding, loses nothing.

The quick tests cut two exchanges over one transport. The slow tests cut ten, over each transport with a
connection and in both directions; the soak tests cut twenty.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from tests.workspace.sync.conftest import SyncPair, open_sync_pair
from tests.workspace.sync.proxy import Proxy
from tests.workspace.sync.test_branches import add_comment, commit_on_branch, open_proposal
from workspace.git.remotes.exchange import RemoteDenied, RemoteTooSlow, RemoteUnreachable
from workspace.sync.branches import SyncState
from workspace.sync.sync import SyncResult

pytestmark = pytest.mark.process

CUT_COUNTS = [2, pytest.param(10, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.soak)]


@pytest.fixture(params=["git", *(pytest.param(name, marks=pytest.mark.slow) for name in ("http", "ssh"))])
def sync_pair_and_proxy(
    request: pytest.FixtureRequest, tmp_path: Path, home: Path
) -> Iterator[tuple[SyncPair, Proxy]]:
    """Yield a sync pair whose clone connects through a proxy, and the proxy."""
    with open_sync_pair(request.param, tmp_path, home) as sync_pair:
        assert sync_pair.port is not None
        with Proxy(sync_pair.port) as proxy:
            sync_pair.set_remote_port(proxy.port)
            _add_known_host(request.param, home, sync_pair.port, proxy.port)
            yield sync_pair, proxy


def _add_known_host(transport: str, home: Path, port: int, other_port: int) -> None:
    """Add the server's key at another port to known_hosts."""
    if transport == "ssh":
        known_hosts = home / ".ssh" / "known_hosts"
        line = known_hosts.read_text()
        known_hosts.write_text(line + line.replace(str(port), str(other_port)))


def make_noise(number: int) -> str:
    """Return an incompressible text."""
    return f"# Noise {number}\n\n{random.Random(number).randbytes(3_000).hex()}\n"


def compute_cut_positions(total: int, cut_count: int) -> list[int]:
    """Return byte counts at which to cut a connection, spread over an exchange of this size."""
    return [max(1, total * (step + 1) // (cut_count + 1)) for step in range(cut_count)]


def check_state(sync_pair: SyncPair, *, is_recovered: bool = True) -> None:
    """Check the unpushed commits and the tracking branch with git, and check that there is no lock.

    Unless `is_recovered`, locks are not checked: a killed process leaves them, and the next writer recovers.
    """
    expected_count = int(sync_pair.local_repo.git("rev-list", "--count", "main", "^origin/main"))
    unpushed = sync_pair.read_unpushed_commits()
    assert (0 if unpushed is None else unpushed.commit_count) == expected_count
    # The tracking branch is never ahead of the remote.
    sync_pair.remote_repo.git(
        "merge-base", "--is-ancestor", sync_pair.local_repo.git("rev-parse", "origin/main").strip(), "main"
    )
    assert not is_recovered or sync_pair.list_locks() == []


def sync_without_cut(sync_pair: SyncPair, proxy: Proxy) -> SyncResult:
    """Synchronize through the proxy without a cut."""
    proxy.cut(None)
    return sync_pair.sync()


def try_sync(sync_pair: SyncPair) -> bool:
    """Synchronize, and return True if that succeeded."""
    try:
        sync_pair.sync()
    except (RemoteUnreachable, RemoteDenied):
        return False
    return True


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
@pytest.mark.parametrize("upward", [pytest.param(False, marks=pytest.mark.slow), True], ids=["down", "up"])
def test_connection_cut_while_pushing_loses_nothing(
    sync_pair_and_proxy: tuple[SyncPair, Proxy], upward: bool, cut_count: int
) -> None:
    sync_pair, proxy = sync_pair_and_proxy
    branch = open_proposal(sync_pair.local_repo, "k3v7m2qa", {"proposed.md": make_noise(99)})
    sync_pair.local_repo.commit({"0.md": make_noise(0)})
    proxy.cut(None)
    sync_pair.sync()
    failure_count = 0
    for number, cut_position in enumerate(
        compute_cut_positions(proxy.count_forwarded_bytes(upward=upward), cut_count), 1
    ):
        commit_on_branch(sync_pair.local_repo, branch, {f"p{number}.md": make_noise(number + 100)})
        add_comment(sync_pair.local_repo, "k3v7m2qa", f"Said {number}.")
        our_commit = sync_pair.local_repo.commit({f"{number}.md": make_noise(number)})
        proxy.cut(cut_position, upward=upward)
        failure_count += not try_sync(sync_pair)
        check_state(sync_pair)
        assert sync_without_cut(sync_pair, proxy).state is SyncState.UP_TO_DATE
        assert sync_pair.read_remote_tip() == our_commit
        for ref in (branch, "docyard/discussion"):
            assert sync_pair.remote_repo.git("rev-parse", ref) == sync_pair.local_repo.git("rev-parse", ref)
        check_state(sync_pair)
    assert failure_count >= cut_count * 3 // 4  # a cut in the last bytes of an exchange may have no effect
    assert sync_pair.remote_repo.fsck() == sync_pair.local_repo.fsck() == ""


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
def test_connection_cut_while_fetching_loses_nothing(
    sync_pair_and_proxy: tuple[SyncPair, Proxy], cut_count: int
) -> None:
    sync_pair, proxy = sync_pair_and_proxy
    sync_pair.push_as_other_user({"0.md": make_noise(0)})
    proxy.cut(None)
    sync_pair.sync()
    failure_count = 0
    for number, cut_position in enumerate(
        compute_cut_positions(proxy.count_forwarded_bytes(upward=False), cut_count), 1
    ):
        head_before = sync_pair.local_repo.head()
        their_commit = sync_pair.push_as_other_user({f"{number}.md": make_noise(number)})
        proxy.cut(cut_position)
        if not try_sync(sync_pair):
            failure_count += 1
            assert sync_pair.local_repo.head() == head_before
        check_state(sync_pair)
        assert sync_without_cut(sync_pair, proxy).commit == their_commit
        check_state(sync_pair)
    assert failure_count >= cut_count * 3 // 4
    assert sync_pair.local_repo.status() == sync_pair.local_repo.fsck() == ""


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
def test_killed_exchange_with_folder_is_repeatable(file_sync_pair: SyncPair, cut_count: int) -> None:
    sync_pair = file_sync_pair
    branch = open_proposal(sync_pair.local_repo, "k3v7m2qa", {"proposed.md": make_noise(99)})
    start = time.monotonic()
    assert sync_and_kill(sync_pair, None) == 0
    duration_s = time.monotonic() - start
    for number in range(1, cut_count + 1):
        commit_on_branch(sync_pair.local_repo, branch, {f"p{number}.md": make_noise(number + 100)})
        add_comment(sync_pair.local_repo, "k3v7m2qa", f"Said {number}.")
        our_commit = sync_pair.local_repo.commit({f"{number}.md": make_noise(number)})
        their_commit = sync_pair.push_as_other_user({f"theirs-{number}.md": make_noise(-number)})
        # The exchange is the second half; before it, modules are imported.
        sync_and_kill(sync_pair, duration_s * (0.5 + number / cut_count / 2))
        sync_pair.remote_repo.git("merge-base", "--is-ancestor", their_commit, "main")
        sync_pair.local_repo.git("merge-base", "--is-ancestor", our_commit, "main")
        check_state(sync_pair, is_recovered=False)
        assert sync_pair.sync().state is SyncState.UP_TO_DATE
        assert sync_pair.read_remote_tip() == sync_pair.local_repo.head()
        assert sync_pair.remote_repo.git("rev-parse", branch) == sync_pair.local_repo.git("rev-parse", branch)
        check_state(sync_pair)
    assert sync_pair.local_repo.status() == sync_pair.local_repo.fsck() == sync_pair.remote_repo.fsck() == ""


def sync_and_kill(sync_pair: SyncPair, timeout_s: float | None) -> int:
    """Synchronize in a process that is killed after `timeout_s` seconds, and return its exit code."""
    code = (
        "from pathlib import Path; from workspace.workspace import Workspace; "
        "from workspace.sync.sync import sync; from workspace.git.remotes.credentials import Access; "
        "import sys; sync(Workspace.open(Path(sys.argv[1]), durable=False), Access())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(sync_pair.local_repo.path)], cwd=Path(__file__).parents[3]
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def test_push_with_lost_response_is_detected_as_pushed(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("git", tmp_path, home) as sync_pair:
        assert sync_pair.port is not None
        with Proxy(sync_pair.port) as proxy:
            sync_pair.set_remote_port(proxy.port)
            sync_pair.local_repo.commit({"a.md": make_noise(0)})
            proxy.cut(None)
            sync_pair.sync(fetch=False)
            response_size = proxy.count_forwarded_bytes(upward=False)
            our_commit = sync_pair.local_repo.commit({"b.md": make_noise(1)})
            # Only the response is missing: the remote has the commit.
            proxy.cut(response_size - 10)
            with pytest.raises(RemoteUnreachable):
                sync_pair.sync(fetch=False)
            assert sync_pair.read_remote_tip() == our_commit
            proxy.cut(None)
            assert sync_pair.sync().unpushed is None


def list_open_sockets() -> set[str]:
    """Return the open sockets of this process, if the system lists them."""
    folder = Path("/proc/self/fd")
    names = set()
    for file in folder.iterdir() if folder.exists() else ():
        with suppress(OSError):
            names.add(os.readlink(file))
    return {name for name in names if name.startswith("socket:")}


def test_unresponsive_remote_times_out(sync_pair_and_proxy: tuple[SyncPair, Proxy]) -> None:
    sync_pair, proxy = sync_pair_and_proxy
    sync_pair.local_repo.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 2\n"})
    proxy.cut(0, keep_open=True)
    with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
        sync_pair.sync()
    check_state(sync_pair)
    sync_pair.local_repo.commit({"docyard.toml": ""})  # the final sync may take long
    assert sync_without_cut(sync_pair, proxy).state is SyncState.UP_TO_DATE


@pytest.mark.parametrize("transport", ["git", pytest.param("ssh", marks=pytest.mark.slow)])
def test_failed_exchange_leaves_no_process_or_lock(transport: str, tmp_path: Path, home: Path) -> None:
    resource_tracker.ensure_running()  # once per process, not part of the exchange
    with open_sync_pair(transport, tmp_path, home) as sync_pair:
        assert sync_pair.port is not None
        with Proxy(sync_pair.port) as proxy:
            sync_pair.set_remote_port(proxy.port)
            _add_known_host(transport, home, sync_pair.port, proxy.port)
            sync_pair.local_repo.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 1\n"})
            old_resources = list_open_sockets(), set(threading.enumerate())
            for cut_position, keep_open in ((0, True), (100, True), (100, False)):
                proxy.cut(cut_position, keep_open=keep_open)
                with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
                    sync_pair.sync()
                assert (list_open_sockets(), set(threading.enumerate())) == old_resources
                assert multiprocessing.active_children() == []
            old_tip = sync_pair.read_remote_tip()
            sync_pair.local_repo.commit({"docyard.toml": ""})
            assert sync_without_cut(sync_pair, proxy).state is SyncState.UP_TO_DATE
            assert sync_pair.read_remote_tip() == sync_pair.local_repo.head() != old_tip


def test_unreachable_remote_raises_error(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("git", tmp_path, home) as sync_pair:
        sync_pair.set_remote_port(1)
        our_commit = sync_pair.local_repo.commit({"a.md": "# A\n"})
        with pytest.raises(RemoteUnreachable) as error_info:
            sync_pair.sync()
        assert "\n" not in error_info.value.message
        assert sync_pair.local_repo.head() == our_commit
        check_state(sync_pair)
