"""A writer and readers that run while a fault lasts, and what they saw."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from index.documents import SectionRecord
from index.port import EngineUnavailable
from index.postgres.database import Database
from index.postgres.heads import read_head
from index.postgres.storage import PostgresStorage
from index.storage.location import IndexLocation, make_private_folder
from index.whoosh_engine.engine import WhooshEngine
from tests.patroni.nodes import Documents, NoAnswer, Node

if TYPE_CHECKING:
    from index.postgres.database import Connection

_WRITE_INTERVAL_S = 0.1
_READ_INTERVAL_S = 0.02
_RETRY_INTERVAL_S = 0.05


class Acknowledgement(NamedTuple):
    """A write that was acknowledged at a time: a node answered a search from an index at its commit."""

    time: float
    number: int


class Reading(NamedTuple):
    """The number of the commit that a reader got, and of the last one acknowledged before it asked."""

    number: int
    acknowledged: int

    @property
    def is_old(self) -> bool:
        """Return True if the reader did not get a write that was acknowledged before it asked."""
        return self.number < self.acknowledged


class PrimaryReading(NamedTuple):
    """The address of the primary server, and the number of the commit of its index."""

    server: str
    number: int


class Observers:
    """The threads of a writer, of a reader of the other node, and of readers of the database.

    The writer uses one node, and the other one if it cannot be reached, as a load balancer does. The clone of
    the other node gets a commit when it is acknowledged, so that one node writes and the other one reads.
    """

    def __init__(
        self, documents: Documents, nodes: Sequence[Node], url: str, read_url: str, folder: Path
    ) -> None:
        self._documents = documents
        self._nodes = list(nodes)
        self._database = Database(url)
        self._namespace_id = nodes[0].read_namespace_id()
        self._engine = open_engine(folder, self._namespace_id, Database(url), Database(read_url))
        self._is_ending = threading.Event()
        self._errors: list[BaseException] = []
        self.acknowledgements: list[Acknowledgement] = []
        self.answers: list[Reading] = []
        self.replica_readings: list[Reading] = []
        self._primary_readings: list[PrimaryReading] = []
        targets = (self._write, self._read_answers, self._read_replica, self._read_primary)
        self._threads = [threading.Thread(target=self._run, args=(target,)) for target in targets]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads, and raise the first error of one."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()
        self._engine.close()
        self._database.close()
        if self._errors:
            raise self._errors[0]

    def wait_for_writes(self, count: int, timeout_s: float) -> None:
        """Wait until a number of further writes are acknowledged. Raises TimeoutError."""
        goal, deadline = len(self.acknowledgements) + count, time.monotonic() + timeout_s
        while len(self.acknowledgements) < goal:
            if self._errors:
                raise self._errors[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"fewer than {count} writes in {timeout_s:.0f} s")
            time.sleep(0.02)

    def measure_gap_s(self, start: float) -> float:
        """Return the longest time without an acknowledgement, which ended after a time."""
        before, after = self._find_gap(start)
        return after.time - before.time

    def count_lost_writes(self, start: float) -> int:
        """Return the number of writes that were acknowledged before the gap, and that another server lacks.

        The same server may not show a write yet that a node has found at a replica: it waits for the other
        replica.
        """
        before, _ = self._find_gap(start)
        first_server = self._primary_readings[0].server
        numbers = (reading.number for reading in self._primary_readings if reading.server != first_server)
        return max(0, before.number - min(numbers, default=before.number))

    def _find_gap(self, start: float) -> tuple[Acknowledgement, Acknowledgement]:
        pairs = (pair for pair in pairwise(self.acknowledgements) if pair[1].time > start)
        return max(pairs, key=lambda pair: pair[1].time - pair[0].time)

    def _run(self, target: Callable[[], None]) -> None:
        try:
            while not self._is_ending.is_set():
                target()
        except BaseException as error:  # the main thread raises it
            self._errors.append(error)

    def _get_last_acknowledged(self) -> int:
        return self.acknowledgements[-1].number if self.acknowledgements else 0

    def _write(self) -> None:
        start = time.monotonic()
        number = self._documents.commit()
        expected = (self._documents.commits[number], False)
        while not self._is_ending.is_set():
            node, other_node = self._nodes
            self._documents.fetch(node.clone)
            try:
                answer = node.search("okapi")
            except (OSError, NoAnswer):
                if not node.is_reachable():
                    self._nodes.reverse()
            else:
                if (answer.commit, answer.is_stale) == expected:
                    self._documents.fetch(other_node.clone)
                    self.acknowledgements.append(Acknowledgement(time.monotonic(), number))
                    break
            time.sleep(_RETRY_INTERVAL_S)
        time.sleep(max(0.0, start + _WRITE_INTERVAL_S - time.monotonic()))

    def _read_answers(self) -> None:
        acknowledged = self._get_last_acknowledged()
        with suppress(OSError, NoAnswer):
            answer = self._nodes[1].search("okapi")
            self.answers.append(Reading(self._documents.find_number(answer.commit), acknowledged))
        time.sleep(_READ_INTERVAL_S)

    def _read_replica(self) -> None:
        """Read the index as a node does that has no clone: from a replica, while that follows."""
        acknowledged = self._get_last_acknowledged()
        with suppress(EngineUnavailable):
            state = self._engine.state()
            number = self._documents.find_number(state.commit) if state is not None else -1
            self.replica_readings.append(Reading(number, acknowledged))
        time.sleep(_READ_INTERVAL_S)

    def _read_primary(self) -> None:
        with suppress(EngineUnavailable):
            self._primary_readings.append(self._database.run(self._read_head))
        time.sleep(_READ_INTERVAL_S)

    def _read_head(self, connection: Connection) -> PrimaryReading:
        [(server,)] = connection.execute("SELECT inet_server_addr()::text").fetchall()
        head = read_head(connection, self._namespace_id)
        return PrimaryReading(server, self._documents.find_number(head.state.commit) if head else -1)


def open_engine(
    folder: Path, namespace_id: str, database: Database, replica: Database | None = None
) -> WhooshEngine:
    """Return an engine that reads the shared index, and keeps its segments in a new folder."""
    make_private_folder(folder)
    location = IndexLocation(lambda: "index", lambda name: [folder / name])
    storage = PostgresStorage(database, lambda: namespace_id, location, replica=replica)
    return WhooshEngine(storage, _read_nothing)


def _read_nothing(record: SectionRecord) -> bytes:
    return b""
