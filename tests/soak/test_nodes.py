"""Writers on four nodes of one repository, and a user who pushes: each acknowledged write is present once."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from docyard.nodes.lease import LEASE_S
from tests.databases import postgres  # noqa: F401
from tests.nodes import NodeProcess, find_writer, read_lease, run_nodes, stop_process
from tests.postgres_server import PostgresServer
from tests.repositories import Repo
from tests.soak import inspection, writer
from tests.soak.git_user import GitUser, prepare_repository
from tests.soak.ledger import Ledger, LedgerRecord
from tests.soak.processes import run_processes, wait_for_exit
from tests.soak.run_results import RunResults
from tests.soak.writer import Job, make_shared_documents

SEED = 20_261_129
NODE_COUNT = 4


@dataclass(frozen=True, slots=True)
class Load:
    """The operations of each of four writers, the time limit, and the number of documents."""

    operation_count: int
    timeout_s: float
    document_count: int = 6


LOADS = [
    pytest.param(Load(6, 300), id="4x6"),
    pytest.param(Load(40, 900), id="4x40", marks=pytest.mark.slow),
    pytest.param(Load(500, 3600, 40), id="4x500", marks=pytest.mark.soak),
]


@dataclass
class Run:
    """Four nodes, a writer at each, and a user who pushes to the repository that they share."""

    remote_repo: Repo
    git_user: GitUser
    ledgers: Sequence[Ledger]
    nodes: list[NodeProcess]

    def _read(self) -> list[LedgerRecord]:
        return [ledger.read() for ledger in self.ledgers]

    def wait_for_answers(self, count: int, timeout_s: float) -> None:
        """Wait until the writers have this number of answers."""
        deadline = time.monotonic() + timeout_s
        records = self._read()
        while sum(len(record.answers) for record in records) < count:
            failures = [problem for record in records for problem in record.failures]
            assert not failures, failures[0]
            assert time.monotonic() < deadline, "the writers do not get on"
            time.sleep(0.1)
            records = self._read()

    def check(self, load: Load, elapsed_s: float, report_line: Callable[[str], None]) -> None:
        """Check that every acknowledged write is present once, in the shared repository and in each clone."""
        records = self._read()
        results = RunResults.collect(self.remote_repo, records, self.git_user)
        for line in results.format_lines(elapsed_s):
            report_line(line)
        failures = [problem for record in records for problem in record.failures]
        assert not failures, failures[0]
        assert [call for record in records for call in record.unanswered_calls] == []
        assert results.operation_count == NODE_COUNT * load.operation_count
        assert results.problems == {}
        assert self.remote_repo.fsck() == ""
        tip = self.remote_repo.head()
        deadline = time.monotonic() + 60
        for node in self.nodes:
            assert "DAMAGED_REPO" not in node.read_log()
            while node.clone.git("rev-parse", "main").strip() != tip:
                assert time.monotonic() < deadline, "a clone does not follow the repository"
                time.sleep(0.5)
            assert inspection.find_leftover_files(node.clone) == []


@contextmanager
def run_writers(folder: Path, url: str, load: Load, report_line: Callable[[str], None]) -> Iterator[Run]:
    """Start nodes and writers; at the end of the block, wait for the writers, and check their writes."""
    documents = make_shared_documents(load.document_count)
    remote_repo, git_user, ledgers = prepare_repository(folder, NODE_COUNT, documents, SEED, is_bare=True)
    with run_nodes(folder, remote_repo, url, NODE_COUNT) as nodes:
        urls = tuple(node.url for node in nodes)
        jobs = [
            Job(
                remote_repo.path,
                ledger.path,
                tuple(documents),
                number,
                load.operation_count,
                SEED,
                pause_s=0.3,
                urls=urls,
            )
            for number, ledger in enumerate(ledgers)
        ]
        run = Run(remote_repo, git_user, ledgers, nodes)
        start = time.monotonic()
        with run_processes(writer.run_writer, jobs) as processes:
            git_user.start()
            try:
                yield run
                wait_for_exit(processes, timeout_s=load.timeout_s)
            finally:
                git_user.stop()
        run.check(load, time.monotonic() - start, report_line)


@pytest.fixture
def url(postgres: PostgresServer) -> str:  # noqa: F811
    return postgres.create_database()


@pytest.mark.parametrize("load", LOADS)
def test_every_acknowledged_write_of_four_nodes_is_present_once(
    tmp_path: Path, url: str, load: Load, report_line: Callable[[str], None]
) -> None:
    with run_writers(tmp_path, url, load, report_line):
        pass


@pytest.mark.parametrize("load", LOADS)
def test_writers_that_are_stopped_past_their_lease_and_killed_lose_nothing(
    tmp_path: Path, url: str, load: Load, report_line: Callable[[str], None]
) -> None:
    """The writer of the moment is stopped in the middle of writes, and wakes; then the next one is killed."""
    step_count = load.operation_count * NODE_COUNT // 6
    with run_writers(tmp_path, url, load, report_line) as run:
        run.wait_for_answers(step_count, load.timeout_s)
        _, token = read_lease(url)
        with stop_process(find_writer(url, run.nodes)):
            time.sleep(LEASE_S + 3.0)
        run.wait_for_answers(2 * step_count, load.timeout_s)
        assert read_lease(url)[1] > token
        killed = find_writer(url, run.nodes)
        killed.send_signal(signal.SIGKILL)
        run.wait_for_answers(3 * step_count, load.timeout_s)
        killed.restart()
