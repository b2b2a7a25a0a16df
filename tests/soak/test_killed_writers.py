"""Writers are killed at any moment: other writers recover, and unanswered calls are retried."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.soak import inspection, writer
from tests.soak.git_user import prepare_repository
from tests.soak.processes import run_processes, start_process
from tests.soak.run_results import RunResults
from tests.soak.writer import Job, make_shared_documents

SEED = 20_240_302


@dataclass(frozen=True, slots=True)
class Load:
    """The number of writers, the operations of each, the mean time between kills, and the time limit.

    In the soak run, each document gets about a hundred operations, so that its size stays realistic.
    """

    writer_count: int
    operation_count: int
    kill_interval_s: float
    timeout_s: float
    document_count: int = 6


LOADS = [
    pytest.param(Load(4, 60, 0.1, 120), id="4x60", marks=pytest.mark.slow),
    pytest.param(Load(8, 250, 0.25, 900, document_count=18), id="8x250", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_retries_of_killed_writers_are_written_once(
    tmp_path: Path, load: Load, is_bare: bool, report_line: Callable[[str], None]
) -> None:
    documents = make_shared_documents(load.document_count)
    repo, git_user, ledgers = prepare_repository(
        tmp_path, load.writer_count, documents, SEED, is_bare=is_bare
    )
    jobs = [
        Job(repo.path, ledger.path, tuple(documents), number, load.operation_count, SEED)
        for number, ledger in enumerate(ledgers)
    ]
    rng = random.Random(SEED)
    start = time.monotonic()
    kill_count = unanswered_count = 0
    with run_processes(writer.run_writer, jobs) as processes:
        git_user.start()
        try:
            while any(process.is_alive() for process in processes):
                assert time.monotonic() < start + load.timeout_s
                time.sleep(rng.uniform(0.5, 1.5) * load.kill_interval_s)
                number = rng.randrange(load.writer_count)
                if not processes[number].is_alive():
                    continue
                processes[number].kill()
                processes[number].join()
                kill_count += 1
                unanswered_count += len(ledgers[number].read().unanswered_calls)
                jobs[number] = replace(jobs[number], restart_count=jobs[number].restart_count + 1)
                processes[number] = start_process(writer.run_writer, jobs[number])
        finally:
            git_user.stop()
    records = [ledger.read() for ledger in ledgers]
    results = RunResults.collect(repo, records, git_user)
    report_line(f"{kill_count} kills, {unanswered_count} unanswered calls")
    for line in results.format_lines(time.monotonic() - start):
        report_line(line)
    failures = [problem for record in records for problem in record.failures]
    assert not failures, failures[0]
    assert kill_count > 0
    assert [call for record in records for call in record.unanswered_calls] == []
    assert results.operation_count == load.writer_count * load.operation_count
    assert results.problems == {}
    inspection.assert_valid(repo, is_bare=is_bare)
