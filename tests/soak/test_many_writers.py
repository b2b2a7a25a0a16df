"""Many writer processes and a user in one repository: every acknowledged write is present once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak import inspection, writer
from tests.soak.findings import Findings
from tests.soak.person import prepare
from tests.soak.processes import running, wait
from tests.soak.writer import Job, shared_documents

SEED = 20_240_229


@dataclass(frozen=True, slots=True)
class Load:
    """The number of writers, operations of each, the time limit in seconds, and the mode.

    Each document gets some hundred operations, which is a realistic size.
    """

    writers: int
    operations: int
    within: float
    durable: bool = False
    servers: bool = False
    documents: int = 6


LOADS = [
    pytest.param(Load(4, 10, 60), id="4x10"),
    pytest.param(Load(8, 40, 120), id="8x40", marks=pytest.mark.slow),
    pytest.param(Load(8, 1250, 1800, documents=90), id="8x1250", marks=pytest.mark.soak),
    pytest.param(Load(8, 125, 900, durable=True, documents=9), id="8x125-fsync", marks=pytest.mark.soak),
    pytest.param(Load(3, 20, 120, servers=True), id="3x20-servers", marks=pytest.mark.slow),
    pytest.param(Load(8, 125, 900, servers=True, documents=9), id="8x125-servers", marks=pytest.mark.soak),
]


@pytest.mark.promise
@pytest.mark.process
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_every_acknowledged_write_is_present_once(
    tmp_path: Path, load: Load, is_bare: bool, report: Callable[[str], None]
) -> None:
    shared = shared_documents(load.documents)
    repo, person, ledgers = prepare(tmp_path, load.writers, shared, SEED, is_bare=is_bare)
    jobs = [
        Job(
            repo.path,
            ledger.path,
            tuple(shared),
            number,
            load.operations,
            SEED,
            durable=load.durable,
            home=tmp_path / f"home-{number}" if load.servers else None,
            rest=0.3 if is_bare else 0.0,
        )
        for number, ledger in enumerate(ledgers)
    ]
    began = time.monotonic()
    with running(writer.run, jobs) as processes:
        person.start()
        try:
            wait(processes, within=load.within)
        finally:
            elapsed = time.monotonic() - began
            person.stop()
    records = [ledger.read() for ledger in ledgers]
    findings = Findings.of(repo, records, person)
    for line in findings.lines(elapsed):
        report(line)
    failed = [problem for record in records for problem in record.failed]
    assert not failed, failed[0]
    assert [call for record in records for call in record.unanswered] == []
    assert findings.operations == load.writers * load.operations
    assert findings.problems == {}
    inspection.assert_sound(repo, bare=is_bare)
