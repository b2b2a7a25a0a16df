"""The faults, and a table of what each of them cost.

    python -m tests.patroni.faults [NAME …]
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.patroni.cluster import HEALTH_TIMEOUT_S, Cluster
from tests.patroni.network import UNPRIVILEGED_ID, Machine, Network, run_isolated
from tests.patroni.nodes import Documents, Node, create_nodes
from tests.patroni.observers import Observers

RUN_TIMEOUT_S = 1800.0
_WRITES_BEFORE, _WRITES_AFTER = 20, 20
_FAULT_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Result:
    """What a fault cost. Times are seconds; `lease_s` is what was left of the lease at the fault, else None.

    `stale_answers` are those of the other node that lack an acknowledged write, and `admitted` those of them
    that say so. `stale_heads` are those read from a replica.
    """

    fault: str
    lease_s: float
    gap_s: float
    acknowledged: int
    lost: int
    answers: int
    stale_answers: int
    admitted: int
    heads: int
    stale_heads: int


class Site:
    """The cluster, the nodes, and their documents."""

    def __init__(self, folder: Path) -> None:
        network = Network()
        self.cluster = Cluster(network, folder)
        self.documents = Documents(folder)
        self.nodes = create_nodes(network, self.cluster, folder, self.documents)

    def start(self) -> None:
        """Start the cluster, then the nodes, and wait for an answer of each."""
        self.cluster.start()
        for node in self.nodes:
            node.start()
            wait_for_answer(node)


def wait_for_answer(node: Node) -> None:
    """Wait until a node answers a search."""
    from tests.patroni.cluster import wait_until
    from tests.patroni.nodes import NoAnswer

    def answers() -> bool:
        with suppress(OSError, NoAnswer):
            node.search("okapi")
            return True
        return False

    wait_until(answers, HEALTH_TIMEOUT_S)


Repair = Callable[[], None]


def crash_primary(site: Site) -> Repair:
    """The processes of PostgreSQL are killed; Patroni runs."""
    site.cluster.find_primary().kill("postgres")
    return lambda: None


def kill_primary(site: Site) -> Repair:
    """Patroni and PostgreSQL are killed; the machine runs."""
    return _kill(site, site.cluster.find_primary())


def cut_primary(site: Site) -> Repair:
    """The link of the primary server is cut."""
    return _cut(site.cluster.find_primary())


def lose_primary(site: Site) -> Repair:
    """The machine of the primary server loses its power."""
    machine = site.cluster.find_primary()
    machine.cut()
    machine.kill()

    def repair() -> None:
        machine.join()
        site.cluster.start_machine(machine)

    return repair


def freeze_primary(site: Site) -> Repair:
    """The machine of the primary server stands still, and goes on later."""
    machine = site.cluster.find_primary()
    machine.send_signal(signal.SIGSTOP)
    return lambda: machine.send_signal(signal.SIGCONT)


def kill_replica(site: Site) -> Repair:
    """Patroni and PostgreSQL of a replica are killed."""
    return _kill(site, site.cluster.list_replicas()[0])


def cut_replica(site: Site) -> Repair:
    """The link of a replica is cut."""
    return _cut(site.cluster.list_replicas()[0])


def separate_replica(site: Site) -> Repair:
    """A replica and the primary server cannot reach each other; the nodes reach both."""
    primary, replica = site.cluster.find_primary(), site.cluster.list_replicas()[0]
    replica.block(primary)
    return lambda: replica.unblock(primary)


def kill_node(site: Site) -> Repair:
    """The node that the writer uses is killed."""
    node = site.nodes[0]
    node.machine.kill()

    def repair() -> None:
        node.start()
        wait_for_answer(node)

    return repair


def cut_node(site: Site) -> Repair:
    """The link of the node that the writer uses is cut."""
    return _cut(site.nodes[0].machine)


def _kill(site: Site, machine: Machine) -> Repair:
    machine.kill()
    return lambda: site.cluster.start_machine(machine)


def _cut(machine: Machine) -> Repair:
    machine.cut()
    return machine.join


FAULTS: dict[str, Callable[[Site], Repair]] = {
    "primary: PostgreSQL killed": crash_primary,
    "primary: Patroni and PostgreSQL killed": kill_primary,
    "primary: link cut": cut_primary,
    "primary: machine lost": lose_primary,
    "primary: machine frozen": freeze_primary,
    "replica: Patroni and PostgreSQL killed": kill_replica,
    "replica: link cut": cut_replica,
    "replica: no link to the primary": separate_replica,
    "node: killed": kill_node,
    "node: link cut": cut_node,
}


def measure(site: Site, name: str) -> Result:
    """Cause a fault while clients write and read, repair it, and return what it cost."""
    cluster = site.cluster
    cluster.wait_until_healthy()
    url = cluster.build_url(target_session_attrs="read-write")
    read_url = cluster.build_url(target_session_attrs="prefer-standby")
    observers = Observers(site.documents, site.nodes, url, read_url)
    observers.start()
    try:
        observers.wait_for_writes(_WRITES_BEFORE, _FAULT_TIMEOUT_S)
        lease_s = cluster.read_lease_s()
        start = time.monotonic()
        repair = FAULTS[name](site)
        time.sleep(1)
        observers.wait_for_writes(_WRITES_AFTER, _FAULT_TIMEOUT_S)
        time.sleep(max(0.0, start + 2 * cluster.ttl_s - time.monotonic()) if name.startswith("replica") else 0)
        repair()
        cluster.wait_until_healthy()
        observers.wait_for_writes(_WRITES_AFTER, _FAULT_TIMEOUT_S)
    finally:
        observers.stop()
    times = [acknowledgement.time for acknowledgement in observers.acknowledgements]
    gaps = [(later - earlier, earlier) for earlier, later in zip(times, times[1:]) if later > start]
    print(f"# {name}: gaps {[(round(gap, 1), round(at - start, 1)) for gap, at in sorted(gaps)[-4:]]}", file=sys.stderr)
    for kind, readings in (("answers", observers.answers), ("heads", observers.replica_heads), ("primary", observers.primary_heads)):
        old = [reading for reading in readings if reading.is_old]
        for reading in old[:3]+old[-3:]:
            print(f"#   {kind}: {reading.time - start:.1f} {reading}", file=sys.stderr)
    stale = [answer for answer in observers.answers if answer.is_old]
    return Result(
        name,
        lease_s,
        round(max(gap for gap, _ in gaps), 1),
        len(observers.acknowledgements),
        max((head.acknowledged - head.number for head in observers.primary_heads if head.is_old), default=0),
        len(observers.answers),
        len(stale),
        sum(answer.says_stale for answer in stale),
        len(observers.replica_heads),
        sum(head.is_old for head in observers.replica_heads),
    )


def main(names: list[str]) -> None:
    """Measure the faults, in namespaces of this process, and print a result a line as JSON."""
    folder = Path(tempfile.mkdtemp(prefix="docyard-patroni-", dir="/dev/shm"))
    folder.chmod(0o755)
    try:
        site = Site(folder)
        start = time.monotonic()
        site.start()
        print(f"# up in {time.monotonic() - start:.1f}", file=sys.stderr)
        for name in names or FAULTS:
            print(json.dumps(asdict(measure(site, name))), flush=True)
    finally:
        if os.environ.get("KEEP"):
            for log in folder.glob("*/log"):
                shutil.copy(log, Path(os.environ["KEEP"]) / f"{log.parent.name}.log")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
