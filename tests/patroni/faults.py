"""The faults, and a table of what each cost: the longest time without a write, and what was lost or old.

    python -m tests.patroni.faults [NAME …]

It takes ten minutes, as root on Linux. CONTRIBUTING.md says what must be installed.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from index.port import State
from index.postgres.database import Database
from index.query import parse_query
from tests.patroni.cluster import HEALTH_TIMEOUT_S, Cluster, find_missing_programs, read_ttl_s, wait_until
from tests.patroni.network import MEMORY_FOLDER, Machine, Network, run_isolated
from tests.patroni.nodes import Documents, create_nodes, make_word
from tests.patroni.observers import Observers, Reading, open_engine

RUN_TIMEOUT_S = 2400.0
_INSIDE_OPTION = "--inside"
_WRITE_COUNT = 20
_WRITE_TIMEOUT_S = 90.0
_REPLICA_FAULT_S = 25.0
"""Seconds for which a replica is missing: more than the primary server waits for it."""

_SAMPLED_WRITE = 10  # the nodes are asked for each tenth write

COLUMNS = (
    *("fault", "left of the lease, s", "gap, s", "writes", "lost writes"),
    *("answers", "stale answers", "reads of a replica", "stale reads"),
)


class Result(NamedTuple):
    """The cost of a fault. `lease_s` is the time at the fault until the primary server would count as down.

    `gap_s` is the longest time without an acknowledged write. `stale_answer_count` counts answers of a node,
    and `stale_read_count` readings of a replica, that lack a write that was acknowledged before the question.
    """

    fault: str
    lease_s: float
    gap_s: float
    write_count: int
    lost_count: int
    answer_count: int
    stale_answer_count: int
    read_count: int
    stale_read_count: int


Repair = Callable[[], None]


class Site:
    """The cluster, the nodes, and their documents. `acknowledged` has the numbers of acknowledged writes."""

    def __init__(self, folder: Path) -> None:
        self.network = Network()
        self.folder = folder
        self.cluster = Cluster(self.network, folder)
        self.documents = Documents(folder)
        self.nodes = create_nodes(self.network, self.cluster, folder, self.documents)
        self.acknowledged: list[int] = []
        self._observer_count = 0

    def start(self) -> None:
        """Start the cluster, then the nodes, and wait for an answer of each."""
        self.cluster.start()
        for node in self.nodes:
            node.start()
            node.wait_for_answer(HEALTH_TIMEOUT_S)

    @contextmanager
    def observe(self) -> Iterator[Observers]:
        """Write and read until the end of the block."""
        self._observer_count += 1
        folder = self.folder / f"observer{self._observer_count}"
        urls = (self.cluster.url, self.cluster.read_url)
        observers = Observers(self.documents, self.nodes, *urls, folder)
        observers.start()
        try:
            yield observers
        finally:
            observers.stop()
        self.acknowledged += [write.number for write in observers.acknowledgements]

    def count_missing_writes(self) -> int:
        """Return the number of acknowledged writes that a new node or one of the nodes does not find."""
        database = Database(self.cluster.url)
        engine = open_engine(self.folder / "new", self.nodes[0].read_namespace_id(), database)
        state = engine.state()
        assert isinstance(state, State)
        assert self.documents.find_number(state.commit) >= max(self.acknowledged)
        missing = {
            number for number in self.acknowledged if not engine.search(parse_query(make_word(number))).hits
        }
        for node in self.nodes:
            sample = self.acknowledged[::_SAMPLED_WRITE]
            missing |= {number for number in sample if node.search(make_word(number)).hit_count != 1}
        return len(missing)


class Fault(NamedTuple):
    """A fault: `cause` causes it, and returns the function that repairs it."""

    name: str
    cause: Callable[[Site], Repair]


def _crash_primary(site: Site) -> Repair:
    site.cluster.find_primary().kill("postgres")
    return lambda: None


def _kill_primary(site: Site) -> Repair:
    return _kill(site, site.cluster.find_primary())


def _cut_primary(site: Site) -> Repair:
    return _cut(site.cluster.find_primary())


def _lose_primary(site: Site) -> Repair:
    machine = site.cluster.find_primary()
    machine.cut()
    machine.kill()

    def repair() -> None:
        machine.join()
        site.cluster.start_machine(machine)

    return repair


def _freeze_primary(site: Site) -> Repair:
    machine = site.cluster.find_primary()
    machine.send_signal(signal.SIGSTOP)
    return lambda: machine.send_signal(signal.SIGCONT)


def _kill_replica(site: Site) -> Repair:
    return _kill(site, site.cluster.list_replicas()[0])


def _cut_replica(site: Site) -> Repair:
    return _cut(site.cluster.list_replicas()[0])


def _separate_replica(site: Site) -> Repair:
    # The first replica of the URL, which nodes read from.
    primary, replica = site.cluster.find_primary(), site.cluster.list_replicas()[0]
    replica.block(primary)
    return lambda: replica.unblock(primary)


def _kill_node(site: Site) -> Repair:
    node = site.nodes[0]
    node.machine.kill()

    def repair() -> None:
        node.start()
        node.wait_for_answer(HEALTH_TIMEOUT_S)

    return repair


def _cut_node(site: Site) -> Repair:
    return _cut(site.nodes[0].machine)


def _kill(site: Site, machine: Machine) -> Repair:
    machine.kill()
    return lambda: site.cluster.start_machine(machine)


def _cut(machine: Machine) -> Repair:
    machine.cut()
    return machine.join


FAULTS = (
    Fault("primary: PostgreSQL killed", _crash_primary),
    Fault("primary: all processes killed", _kill_primary),
    Fault("primary: link cut", _cut_primary),
    Fault("primary: machine lost", _lose_primary),
    Fault("primary: machine frozen", _freeze_primary),
    Fault("replica: all processes killed", _kill_replica),
    Fault("replica: link cut", _cut_replica),
    Fault("replica: link to the primary cut", _separate_replica),
    Fault("node: killed", _kill_node),
    Fault("node: link cut", _cut_node),
)


def measure(site: Site, fault: Fault) -> Result:
    """Cause a fault while clients write and read, repair it, and return what it cost."""
    cluster = site.cluster
    cluster.wait_until_healthy()
    with site.observe() as observers:
        observers.wait_for_writes(_WRITE_COUNT, _WRITE_TIMEOUT_S)
        # A fault is measured at the middle of the time between two renewals.
        middle_s = read_ttl_s() - cluster.loop_wait_s / 2
        wait_until(lambda: middle_s - 1 <= cluster.read_lease_s() <= middle_s, HEALTH_TIMEOUT_S)
        lease_s = cluster.read_lease_s()
        start = time.monotonic()
        repair = fault.cause(site)
        time.sleep(_REPLICA_FAULT_S if fault.name.startswith("replica") else 1)
        observers.wait_for_writes(_WRITE_COUNT, _WRITE_TIMEOUT_S)
        repair()
        cluster.wait_until_healthy()
        observers.wait_for_writes(_WRITE_COUNT, _WRITE_TIMEOUT_S)
    return Result(
        fault.name,
        lease_s,
        round(observers.measure_gap_s(start), 1),
        len(observers.acknowledgements),
        observers.count_lost_writes(start),
        len(observers.answers),
        _count_old(observers.answers),
        len(observers.replica_readings),
        _count_old(observers.replica_readings),
    )


def _count_old(readings: Sequence[Reading]) -> int:
    return sum(reading.is_old for reading in readings)


def run_faults(names: Iterable[str] = ()) -> Iterator[Result]:
    """Measure faults in namespaces of their own, and yield each result. Raises AssertionError on failure."""
    for line in run_isolated("tests.patroni.faults", _INSIDE_OPTION, *names, timeout_s=RUN_TIMEOUT_S):
        yield Result(*json.loads(line))


def format_table(results: Iterable[Result]) -> str:
    """Return the results as a table in Markdown."""
    rows = (COLUMNS, ("---" for _ in COLUMNS), *results)
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _measure_inside(names: Sequence[str]) -> None:
    """Print the result of each fault as JSON, in the namespaces of this process."""
    # A disk that other tests use would add its delays to the gaps.
    folder = Path(MEMORY_FOLDER) / "docyard"
    folder.mkdir()
    site = Site(folder)
    site.start()
    for fault in FAULTS:
        if not names or fault.name in names:
            print(json.dumps(measure(site, fault)), flush=True)
    missing_count = site.count_missing_writes()
    assert missing_count == 0, f"{missing_count} of {len(site.acknowledged)} writes are missing"


def main(arguments: list[str]) -> int:
    """Print the table of the faults that the arguments name, or of all."""
    if arguments[:1] == [_INSIDE_OPTION]:
        _measure_inside(arguments[1:])
        return 0
    if missing := find_missing_programs():
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 3
    print(format_table(run_faults(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
