"""Exchanges whose connection is cut or becomes silent.

Each is cut twice in each direction over one transport, ten times over each (slow), or twenty times (soak).
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

from tests.workspace.sync.conftest import Site, site
from tests.workspace.sync.proxy import Proxy
from tests.workspace.sync.test_branches import comment, edit, propose
from workspace.git.remotes.exchange import RemoteDenied, RemoteTooSlow, RemoteUnreachable
from workspace.sync.branches import SyncState
from workspace.sync.status import find_unpushed
from workspace.sync.sync import SyncResult
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

CUTS = [2, pytest.param(10, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.soak)]


@pytest.fixture(params=["git", *(pytest.param(name, marks=pytest.mark.slow) for name in ("http", "ssh"))])
def through(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[tuple[Site, Proxy]]:
    """Return a site whose clone connects through a proxy."""
    with site(request.param, tmp_path, home) as made:
        assert made.port is not None
        with Proxy(made.port) as proxy:
            made.point_to(proxy.port)
            _trust(request.param, home, made.port, proxy.port)
            yield made, proxy


def _trust(transport: str, home: Path, port: int, other: int) -> None:
    """Add the server's key at another port to known_hosts."""
    if transport == "ssh":
        known = home / ".ssh" / "known_hosts"
        line = known.read_text()
        known.write_text(line + line.replace(str(port), str(other)))


def noise(number: int) -> str:
    """Return an incompressible text."""
    return f"# Noise {number}\n\n{random.Random(number).randbytes(3_000).hex()}\n"


def positions(total: int, cuts: int) -> list[int]:
    """Return byte counts at which to cut a connection, spread over an exchange of this size."""
    return [max(1, total * (step + 1) // (cuts + 1)) for step in range(cuts)]


def check_state(made: Site, *, is_recovered: bool = True) -> None:
    """Check that the unpushed commits equal those counted by git, and that no lock is left.

    A killed process leaves its locks, which the next writer recovers.
    """
    counted = int(made.here.git("rev-list", "--count", "main", "^origin/main"))
    unpushed = find_unpushed(Workspace.open(made.here.path))
    assert (0 if unpushed is None else unpushed.commits) == counted
    # The tracking branch is never ahead of the remote.
    made.there.git("merge-base", "--is-ancestor", made.here.git("rev-parse", "origin/main").strip(), "main")
    assert not is_recovered or made.locks() == []


def again(made: Site, proxy: Proxy) -> SyncResult:
    """Synchronize through the same proxy, which now forwards everything."""
    proxy.cut(None)
    return made.sync()


def attempt(made: Site) -> bool:
    """Synchronize, and return True if that succeeded."""
    try:
        made.sync()
    except (RemoteUnreachable, RemoteDenied):
        return False
    return True


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("upward", [pytest.param(False, marks=pytest.mark.slow), True], ids=["down", "up"])
def test_connection_cut_while_pushing_loses_nothing(
    through: tuple[Site, Proxy], upward: bool, cuts: int
) -> None:
    made, proxy = through
    branch = propose(made.here, "k3v7m2qa", {"proposed.md": noise(99)})
    made.here.commit({"0.md": noise(0)})
    proxy.cut(None)
    made.sync()
    missed = 0
    for number, after in enumerate(positions(proxy.passed(upward=upward), cuts), 1):
        edit(made.here, branch, {f"p{number}.md": noise(number + 100)})
        comment(made.here, "k3v7m2qa", f"Said {number}.")
        our_commit = made.here.commit({f"{number}.md": noise(number)})
        proxy.cut(after, upward=upward)
        missed += not attempt(made)
        check_state(made)
        assert again(made, proxy).state is SyncState.UP_TO_DATE
        assert made.tip() == our_commit
        for other in (branch, "docyard/discussion"):
            assert made.there.git("rev-parse", other) == made.here.git("rev-parse", other)
        check_state(made)
    assert missed >= cuts * 3 // 4  # a cut in the last bytes of an exchange may have no effect
    assert made.there.fsck() == made.here.fsck() == ""


@pytest.mark.parametrize("cuts", CUTS)
def test_connection_cut_while_fetching_loses_nothing(through: tuple[Site, Proxy], cuts: int) -> None:
    made, proxy = through
    made.elsewhere({"0.md": noise(0)})
    proxy.cut(None)
    made.sync()
    missed = 0
    for number, after in enumerate(positions(proxy.passed(upward=False), cuts), 1):
        head_before = made.here.head()
        theirs = made.elsewhere({f"{number}.md": noise(number)})
        proxy.cut(after)
        if not attempt(made):
            missed += 1
            assert made.here.head() == head_before
        check_state(made)
        assert again(made, proxy).commit == theirs
        check_state(made)
    assert missed >= cuts * 3 // 4
    assert made.here.status() == made.here.fsck() == ""


@pytest.mark.parametrize("cuts", CUTS)
def test_killed_exchange_with_folder_is_repeatable(folder_site: Site, cuts: int) -> None:
    made = folder_site
    branch = propose(made.here, "k3v7m2qa", {"proposed.md": noise(99)})
    begun = time.monotonic()
    assert killed(made, None) == 0
    whole = time.monotonic() - begun
    for number in range(1, cuts + 1):
        edit(made.here, branch, {f"p{number}.md": noise(number + 100)})
        comment(made.here, "k3v7m2qa", f"Said {number}.")
        our_commit = made.here.commit({f"{number}.md": noise(number)})
        theirs = made.elsewhere({f"there-{number}.md": noise(-number)})
        # The exchange is the second half; before it, modules are imported.
        killed(made, whole * (0.5 + number / cuts / 2))
        made.there.git("merge-base", "--is-ancestor", theirs, "main")
        made.here.git("merge-base", "--is-ancestor", our_commit, "main")
        check_state(made, is_recovered=False)
        assert made.sync().state is SyncState.UP_TO_DATE
        assert made.tip() == made.here.head()
        assert made.there.git("rev-parse", branch) == made.here.git("rev-parse", branch)
        check_state(made)
    assert made.here.status() == made.here.fsck() == made.there.fsck() == ""


def killed(made: Site, after: float | None) -> int:
    """Synchronize in a process that is killed after so many seconds, and return its exit code."""
    code = (
        "from pathlib import Path; from workspace.workspace import Workspace; "
        "from workspace.sync.sync import sync; from workspace.git.remotes.credentials import Access; "
        "import sys; sync(Workspace.open(Path(sys.argv[1]), durable=False), Access())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(made.here.path)], cwd=Path(__file__).parents[3]
    )
    try:
        return process.wait(after)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def test_push_with_lost_response_is_detected_as_pushed(tmp_path: Path, home: Path) -> None:
    with site("git", tmp_path, home) as made:
        assert made.port is not None
        with Proxy(made.port) as proxy:
            made.point_to(proxy.port)
            made.here.commit({"a.md": noise(0)})
            proxy.cut(None)
            made.sync(fetch=False)
            down = proxy.passed(upward=False)
            our_commit = made.here.commit({"b.md": noise(1)})
            # Only the response is missing: the remote has the commit.
            proxy.cut(down - 10)
            with pytest.raises(RemoteUnreachable):
                made.sync(fetch=False)
            assert made.tip() == our_commit
            proxy.cut(None)
            assert made.sync().unpushed is None


def sockets() -> set[str]:
    """Return the open sockets of this process, if the system lists them."""
    folder = Path("/proc/self/fd")
    found = set()
    for file in folder.iterdir() if folder.exists() else ():
        with suppress(OSError):
            found.add(os.readlink(file))
    return {name for name in found if name.startswith("socket:")}


def test_silent_remote_times_out(through: tuple[Site, Proxy]) -> None:
    made, proxy = through
    made.here.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 2\n"})
    proxy.cut(0, silent=True)
    with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
        made.sync()
    check_state(made)
    made.here.commit({"docyard.toml": ""})  # the final sync may take long
    assert again(made, proxy).state is SyncState.UP_TO_DATE


@pytest.mark.parametrize("transport", ["git", pytest.param("ssh", marks=pytest.mark.slow)])
def test_failed_exchange_leaves_no_process_or_lock(transport: str, tmp_path: Path, home: Path) -> None:
    resource_tracker.ensure_running()  # once per process, not part of the exchange
    with site(transport, tmp_path, home) as made:
        assert made.port is not None
        with Proxy(made.port) as proxy:
            made.point_to(proxy.port)
            _trust(transport, home, made.port, proxy.port)
            made.here.commit({"docyard.toml": "[remote]\nanswer_seconds = 1\nseconds = 1\n"})
            before = sockets(), set(threading.enumerate())
            for after, silent in ((0, True), (100, True), (100, False)):
                proxy.cut(after, silent=silent)
                with pytest.raises((RemoteTooSlow, RemoteUnreachable)):
                    made.sync()
                assert (sockets(), set(threading.enumerate())) == before
                assert multiprocessing.active_children() == []
            tip = made.tip()
            made.here.commit({"docyard.toml": ""})
            assert again(made, proxy).state is SyncState.UP_TO_DATE
            assert made.tip() == made.here.head() != tip


def test_unreachable_remote_raises_error(tmp_path: Path, home: Path) -> None:
    with site("git", tmp_path, home) as made:
        made.point_to(1)
        our_commit = made.here.commit({"a.md": "# A\n"})
        with pytest.raises(RemoteUnreachable) as caught:
            made.sync()
        assert "\n" not in caught.value.message
        assert made.here.head() == our_commit
        check_state(made)
