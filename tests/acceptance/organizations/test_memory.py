"""The memory of a server of organizations is flat while it answers, records, and opens and closes streams."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import pytest

from tests.acceptance.organizations.servers import OrganizationsServer, Site

pytestmark = pytest.mark.slow

WARM_UP_S, DURATION_S = 60.0, 600.0
CLIENT_COUNT = 4
MAX_GROWTH_BYTES = 12_000_000


def read_resident_bytes(process_id: int) -> int:
    """Return the resident memory of a process (proc_pid_status(5), VmRSS)."""
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1_024 for line in lines if line.startswith("VmRSS:"))


def send_requests(server: OrganizationsServer, numbers: itertools.count[int], end_time: float) -> None:
    """Send new questions, wrong tokens and other requests until a time."""
    while time.monotonic() < end_time:
        number = next(numbers)
        assert server.search(f"herons {number} question{number % 977}").status == 200
        if number % 10 == 0:
            assert server.call("list_documentation_sources").status == 200
        if number % 50 == 0:
            assert server.search(token=f"docyard_at_{number:048x}").status == 401
            assert server.call("search_documentation", path=f"/o/acme/x{number}/mcp", query="x").status == 404


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the process files of Linux")
def test_memory_is_flat(tmp_path: Path) -> None:
    site = Site(tmp_path, f"sqlite:///{tmp_path}/server.sqlite")
    with site.serve() as server:
        numbers = itertools.count()
        start_time = time.monotonic()
        threads = [
            threading.Thread(target=send_requests, args=(server, numbers, start_time + DURATION_S))
            for _ in range(CLIENT_COUNT)
        ]
        for thread in threads:
            thread.start()
        time.sleep(WARM_UP_S)
        samples = [read_resident_bytes(server.process.pid)]
        while any(thread.is_alive() for thread in threads):
            time.sleep(5)
            samples.append(read_resident_bytes(server.process.pid))
        for thread in threads:
            thread.join()
        assert next(numbers) > 1_000
        assert max(samples[-5:]) - samples[0] <= MAX_GROWTH_BYTES, samples
