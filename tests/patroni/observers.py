"""A writer and readers that run while a fault lasts, and count what is lost or old."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from index.port import EngineUnavailable
from index.postgres.database import Database
from index.postgres.heads import read_head
from index.service import SearchIndex
from tests.patroni.nodes import Documents, Node, NoAnswer
from workspace.workspace import Workspace

WRITE_INTERVAL_S = 0.1
READ_INTERVAL_S = 0.02
ATTEMPT_TIMEOUT_S = 5.0


class Acknowledgement(NamedTuple):
    """A write that a node has acknowledged at a time: a search was answered from an index at its commit."""

    time: float
    number: int


class Reading(NamedTuple):
    """What a reader was answered: the commit's number, and the last one acknowledged before the question."""

    time: float
    number: int
    acknowledged: int
    says_stale: bool = False

    @property
    def is_old(self) -> bool:
        """Return True if the answer lacks a write that was acknowledged before the question."""
        return self.number < self.acknowledged


class Observers:
    """The threads of a writer, of a reader of the other node, and of readers of heads in the database."""

    def __init__(self, documents: Documents, nodes: Sequence[Node], url: str, read_url: str) -> None:
        self._documents = documents
        self._nodes = list(nodes)
        self._database, self._replica = Database(url), Database(read_url)
        index = SearchIndex(Workspace.open(nodes[0].clone))
        self._namespace_id = index._live._make_namespace_id()
        self._numbers: dict[str, int] = {}
        self._is_ending = threading.Event()
        self.acknowledgements: list[Acknowledgement] = []
        self.answers: list[Reading] = []
        self.replica_heads: list[Reading] = []
        self.primary_heads: list[Reading] = []
        self.errors: list[BaseException] = []
        targets: tuple[Callable[[], None], ...] = (
            self._write,
            self._read_answers,
            lambda: self._read_heads(self._replica, self.replica_heads),
            lambda: self._read_heads(self._database, self.primary_heads),
        )
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
        if self.errors:
            raise self.errors[0]

    @property
    def last_acknowledged(self) -> int:
        """The number of the last acknowledged write."""
        return self.acknowledgements[-1].number if self.acknowledgements else 0

    def wait_for_writes(self, count: int, timeout_s: float) -> None:
        """Wait until a number of further writes are acknowledged. Raises TimeoutError."""
        goal, deadline = len(self.acknowledgements) + count, time.monotonic() + timeout_s
        while len(self.acknowledgements) < goal:
            if self.errors:
                raise self.errors[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {count} writes in {timeout_s:.0f} s")
            time.sleep(0.02)

    def _run(self, target: Callable[[], None]) -> None:
        try:
            target()
        except BaseException as error:  # the main thread raises it
            self.errors.append(error)

    def _write(self) -> None:
        while not self._is_ending.is_set():
            start = time.monotonic()
            number = self._documents.commit()
            commit = self._documents.commits[number]
            self._numbers[commit] = number
            while not self._is_ending.is_set():
                try:
                    answer = self._nodes[0].search("okapi", ATTEMPT_TIMEOUT_S)
                except TimeoutError:
                    if not self._is_reachable(self._nodes[0]):
                        self._nodes.reverse()
                    continue
                except OSError:
                    self._nodes.reverse()
                    time.sleep(0.05)
                    continue
                except NoAnswer:
                    time.sleep(0.05)
                    continue
                if (answer.commit, answer.is_stale) == (commit, False):
                    self.acknowledgements.append(Acknowledgement(time.monotonic(), number))
                    break
                time.sleep(0.05)
            time.sleep(max(0.0, start + WRITE_INTERVAL_S - time.monotonic()))

    def _is_reachable(self, node: Node) -> bool:
        import socket

        from tests.patroni.nodes import CONNECT_TIMEOUT_S, PORT

        try:
            socket.create_connection((node.machine.address, PORT), CONNECT_TIMEOUT_S).close()
        except OSError:
            return False
        return True

    def _read_answers(self) -> None:
        while not self._is_ending.is_set():
            acknowledged = self.last_acknowledged
            try:
                answer = self._nodes[1].search("okapi", ATTEMPT_TIMEOUT_S)
            except (OSError, NoAnswer):
                time.sleep(0.1)
                continue
            number = self._numbers.get(answer.commit, 0)
            self.answers.append(Reading(time.monotonic(), number, acknowledged, answer.is_stale))
            time.sleep(READ_INTERVAL_S)

    def _read_heads(self, database: Database, readings: list[Reading]) -> None:
        while not self._is_ending.is_set():
            acknowledged = self.last_acknowledged
            try:
                head = database.run(lambda connection: read_head(connection, self._namespace_id))
            except EngineUnavailable:
                time.sleep(0.1)
                continue
            number = self._numbers.get(str(head.state.commit), 0) if head is not None else -1
            readings.append(Reading(time.monotonic(), number, acknowledged))
            time.sleep(READ_INTERVAL_S)
