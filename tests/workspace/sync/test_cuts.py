"""Exchanges whose connection is cut or stops responding.

Each exchange is cut twice in each direction over one transport, ten times over each transport in slow
tests, and twenty times in soak tests.
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

from tests.workspace.sync.conftest import Site, open_site
from tests.workspace.sync.proxy import Proxy
from tests.workspace.sync.test_branches import add_comment, commit_on_branch, open_proposal
from workspace.git.remotes.exchange import RemoteDenied, RemoteTooSlow, RemoteUnreachable
from workspace.sync.branches import SyncState
from workspace.sync.status import find_unpushed
from workspace.sync.sync import SyncResult
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

CUT_COUNTS = [2, pytest.param(10, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.soak)]


@pytest.fixture(params=["git", *(pytest.param(name, marks=pytest.mark.slow) for name in ("http", "ssh"))])
def site_and_proxy(
    request: pytest.FixtureRequest, tmp_path: Path, home: Path
) -> Iterator[tuple[Site, Proxy]]:
    """Return a site whose clone connects through a proxy."""
    with open_site(request.param, tmp_path, home) as site:
        assert site.port is not None
        with Proxy(site.port) as proxy:
            site.point_to(proxy.port)
            _add_known_host(request.param, home, site.port, proxy.port)
            yield site, proxy


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


def check_state(site: Site, *, is_recovered: bool = True) -> None:
    """Check that the unpushed commits equal those counted by git, and that there is no lock.

    A killed process leaves its locks, which the next writer recovers.
    """
    expected_count = int(site.local_repo.git("rev-list", "--count", "main", "^origin/main"))
    unpushed = find_unpushed(Workspace.open(site.local_repo.path))
    assert (0 if unpushed is None else unpushed.commit_count) == expected_count
    # The tracking branch is never ahead of the remote.
    site.remote_repo.git(
        "merge-base", "--is-ancestor", site.local_repo.git("rev-parse", "origin/main").strip(), "main"
    )
    assert not is_recovered or site.locks() == []


def sync_uncut(site: Site, proxy: Proxy) -> SyncResult:
    """Synchronize through the proxy without a cut."""
    proxy.cut(None)
    return site.sync()


def try_sync(site: Site) -> bool:
    """Synchronize, and return True if that succeeded."""
    try:
        site.sync()
    except (RemoteUnreachable, RemoteDenied):
        return False
    return True


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
@pytest.mark.parametrize("upward", [pytest.param(False, marks=pytest.mark.slow), True], ids=["down", "up"])
def test_connection_cut_while_pushing_loses_nothing(
    site_and_proxy: tuple[Site, Proxy], upward: bool, cut_count: int
) -> None:
    site, proxy = site_and_proxy
    branch = open_proposal(site.local_repo, "k3v7m2qa", {"proposed.md": make_noise(99)})
    site.local_repo.commit({"0.md": make_noise(0)})
    proxy.cut(None)
    site.sync()
    failure_count = 0
    for number, cut_position in enumerate(
        compute_cut_positions(proxy.count_forwarded(upward=upward), cut_count), 1
    ):
        commit_on_branch(site.local_repo, branch, {f"p{number}.md": make_noise(number + 100)})
        add_comment(site.local_repo, "k3v7m2qa", f"Said {number}.")
        our_commit = site.local_repo.commit({f"{number}.md": make_noise(number)})
        proxy.cut(cut_position, upward=upward)
        failure_count += not try_sync(site)
        check_state(site)
        assert sync_uncut(site, proxy).state is SyncState.UP_TO_DATE
        assert site.tip() == our_commit
        for ref in (branch, "docyard/discussion"):
            assert site.remote_repo.git("rev-parse", ref) == site.local_repo.git("rev-parse", ref)
        check_state(site)
    assert failure_count >= cut_count * 3 // 4  # a cut in the last bytes of an exchange may have no effect
    assert site.remote_repo.fsck() == site.local_repo.fsck() == ""


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
def test_connection_cut_while_fetching_loses_nothing(
    site_and_proxy: tuple[Site, Proxy], cut_count: int
) -> None:
    site, proxy = site_and_proxy
    site.push_as_other({"0.md": make_noise(0)})
    proxy.cut(None)
    site.sync()
    failure_count = 0
    for number, cut_position in enumerate(
        compute_cut_positions(proxy.count_forwarded(upward=False), cut_count), 1
    ):
        head_before = site.local_repo.head()
        theirs = site.push_as_other({f"{number}.md": make_noise(number)})
        proxy.cut(cut_position)
        if not try_sync(site):
            failure_count += 1
            assert site.local_repo.head() == head_before
        check_state(site)
        assert sync_uncut(site, proxy).commit == theirs
        check_state(site)
    assert failure_count >= cut_count * 3 // 4
    assert site.local_repo.status() == site.local_repo.fsck() == ""


@pytest.mark.parametrize("cut_count", CUT_COUNTS)
def test_killed_exchange_with_folder_is_repeatable(folder_site: Site, cut_count: int) -> None:
    site = folder_site
    branch = open_proposal(site.local_repo, "k3v7m2qa", {"proposed.md": make_noise(99)})
    start = time.monotonic()
    assert sync_and_kill(site, None) == 0
    duration_s = time.monotonic() - start
    for number in range(1, cut_count + 1):
        commit_on_branch(site.local_repo, branch, {f"p{number}.md": make_noise(number + 100)})
        add_comment(site.local_repo, "k3v7m2qa", f"Said {number}.")
        our_commit = site.local_repo.commit({f"{number}.md": make_noise(number)})
        theirs = site.push_as_other({f"there-{number}.md": make_noise(-number)})
        # The exchange is the second half; before it, modules are imported.
        sync_and_kill(site, duration_s * (0.5 + number / cut_count / 2))
        site.remote_repo.git("merge-base", "--is-ancestor", theirs, "main")
        site.local_repo.git("merge-base", "--is-ancestor", our_commit, "main")
        check_state(site, is_recovered=False)
        assert site.sync().state is SyncState.UP_TO_DATE
        assert site.tip() == site.local_repo.head()
        assert site.remote_repo.git("rev-parse", branch) == site.local_repo.git("rev-parse", branch)
        check_state(site)
    assert site.local_repo.status() == site.local_repo.fsck() == site.remote_repo.fsck() == ""


def sync_and_kill(site: Site, timeout_s: float | None) -> int:
    """Synchronize in a process that is killed after so many seconds, and return its exit code."""
    code = (
        "from pathlib import Path; from workspace.workspace import Workspace; "
        "from workspace.sync.sync import sync; from workspace.git.remotes.credentials import Access; "
        "import sys; sync(Workspace.open(Path(sys.argv[1]), durable=False), Access())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(site.local_repo.path)], cwd=Path(__file__).parents[3]
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def test_push_with_lost_response_is_detected_as_pushed(tmp_path: Path, home: Path) -> None:
    with open_site("git", tmp_path, home) as site:
        assert site.port is not None
        with Proxy(site.port) as proxy:
            site.point_to(proxy.port)
            site.local_repo.commit({"a.md": make_noise(0)})
            proxy.cut(None)
            site.sync(fetch=False)
            response_size = proxy.count_forwarded(upward=False)
            our_commit = site.local_repo.commit({"b.md": make_noise(1)})
            # Only the response is missing: the remote has the commit.
            proxy.cut(response_size - 10)
            with pytest.raises(RemoteUnreachable):
                site.sync(fetch=False)
            assert site.tip() == our_commit
            proxy.cut(None)
            assert site.sync().unpushed is None


def list_open_sockets() -> set[str]:
    """Return the open sockets of this process, if the system lists them."""
    folder = Path("/proc/self/fd")
    names = set()
    for file in folder.iterdir() if folder.exists() else ():
        with suppress(OSError):
            names.add(os.readlink(file))
    return {name for name in names if name.startswith("socket:")}


def test_unresponsive_remote_times_out(site_and_proxy: tuple[Site, Proxy]) -> None:
    site, proxy = site_and_proxy
    site.local_repo.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 2\n"})
    proxy.cut(0, keep_open=True)
    with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
        site.sync()
    check_state(site)
    site.local_repo.commit({"docyard.toml": ""})  # the final sync may take long
    assert sync_uncut(site, proxy).state is SyncState.UP_TO_DATE


@pytest.mark.parametrize("transport", ["git", pytest.param("ssh", marks=pytest.mark.slow)])
def test_failed_exchange_leaves_no_process_or_lock(transport: str, tmp_path: Path, home: Path) -> None:
    resource_tracker.ensure_running()  # once per process, not part of the exchange
    with open_site(transport, tmp_path, home) as site:
        assert site.port is not None
        with Proxy(site.port) as proxy:
            site.point_to(proxy.port)
            _add_known_host(transport, home, site.port, proxy.port)
            site.local_repo.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 1\n"})
            old_resources = list_open_sockets(), set(threading.enumerate())
            for cut_position, keep_open in ((0, True), (100, True), (100, False)):
                proxy.cut(cut_position, keep_open=keep_open)
                with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
                    site.sync()
                assert (list_open_sockets(), set(threading.enumerate())) == old_resources
                assert multiprocessing.active_children() == []
            old_tip = site.tip()
            site.local_repo.commit({"docyard.toml": ""})
            assert sync_uncut(site, proxy).state is SyncState.UP_TO_DATE
            assert site.tip() == site.local_repo.head() != old_tip


def test_unreachable_remote_raises_error(tmp_path: Path, home: Path) -> None:
    with open_site("git", tmp_path, home) as site:
        site.point_to(1)
        our_commit = site.local_repo.commit({"a.md": "# A\n"})
        with pytest.raises(RemoteUnreachable) as error_info:
            site.sync()
        assert "\n" not in error_info.value.message
        assert site.local_repo.head() == our_commit
        check_state(site)
