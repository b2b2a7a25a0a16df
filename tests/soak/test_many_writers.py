"""Many writer processes and a user in one repository: every acknowledged write is present once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak import inspection, writer
from tests.soak.git_user import prepare_repository
from tests.soak.processes import run_processes, wait_for_exit
from tests.soak.run_results import RunResults
from tests.soak.writer import Job, make_shared_documents

SEED = 20_240_229


@dataclass(frozen=True, slots=True)
class Load:
    """The number of writers, the operations of each, the time limit, and how they write.

    In the soak runs, each document gets about a hundred operations, so that its size stays realistic.
    """

    writer_count: int
    operation_count: int
    timeout_s: float
    durable: bool = False
    use_servers: bool = False
    document_count: int = 6


LOADS = [
    pytest.param(Load(4, 10, 60), id="4x10"),
    pytest.param(Load(8, 40, 120), id="8x40", marks=pytest.mark.slow),
    pytest.param(Load(8, 1250, 1800, document_count=90), id="8x1250", marks=pytest.mark.soak),
    pytest.param(Load(8, 125, 900, durable=True, document_count=9), id="8x125-fsync", marks=pytest.mark.soak),
    pytest.param(Load(3, 20, 120, use_servers=True), id="3x20-servers", marks=pytest.mark.slow),
    pytest.param(
        Load(8, 125, 900, use_servers=True, document_count=9), id="8x125-servers", marks=pytest.mark.soak
    ),
]


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_every_acknowledged_write_is_present_once(
    tmp_path: Path, load: Load, is_bare: bool, report_line: Callable[[str], None]
) -> None:
    documents = make_shared_documents(load.document_count)
    repo, git_user, ledgers = prepare_repository(
        tmp_path, load.writer_count, documents, SEED, is_bare=is_bare
    )
    jobs = [
        Job(
            repo.path,
            ledger.path,
            tuple(documents),
            number,
            load.operation_count,
            SEED,
            durable=load.durable,
            home=tmp_path / f"home-{number}" if load.use_servers else None,
            pause_s=0.3 if is_bare else 0.0,
        )
        for number, ledger in enumerate(ledgers)
    ]
    start = time.monotonic()
    with run_processes(writer.run_writer, jobs) as processes:
        git_user.start()
        try:
            wait_for_exit(processes, timeout_s=load.timeout_s)
        finally:
            elapsed_s = time.monotonic() - start
            git_user.stop()
    records = [ledger.read() for ledger in ledgers]
    results = RunResults.collect(repo, records, git_user)
    for line in results.format_lines(elapsed_s):
        report_line(line)
    failures = [problem for record in records for problem in record.failures]
    assert not failures, failures[0]
    assert [call for record in records for call in record.unanswered_calls] == []
    assert results.operation_count == load.writer_count * load.operation_count
    assert results.problems == {}
    inspection.assert_valid(repo, is_bare=is_bare)
