"""Writers killed with -9 at any moment: others recover, and calls without a response are retried."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.soak import inspection, writer
from tests.soak.findings import Findings
from tests.soak.person import prepare
from tests.soak.processes import running, start
from tests.soak.writer import Job, shared_documents

SEED = 20_240_302


@dataclass(frozen=True, slots=True)
class Load:
    """The number of writers, operations of each, seconds between kills, and the time limit in seconds.

    Each document gets some hundred operations, which is a realistic size.
    """

    writers: int
    operations: int
    pause: float
    within: float
    documents: int = 6


LOADS = [
    pytest.param(Load(4, 60, 0.1, 120), id="4x60", marks=pytest.mark.slow),
    pytest.param(Load(8, 250, 0.25, 900, documents=18), id="8x250", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_retries_of_killed_writers_are_written_once(
    tmp_path: Path, load: Load, is_bare: bool, report: Callable[[str], None]
) -> None:
    shared = shared_documents(load.documents)
    repo, person, ledgers = prepare(tmp_path, load.writers, shared, SEED, is_bare=is_bare)
    jobs = [
        Job(repo.path, ledger.path, tuple(shared), number, load.operations, SEED)
        for number, ledger in enumerate(ledgers)
    ]
    choice = random.Random(SEED)
    began = time.monotonic()
    kills = in_doubt = 0
    with running(writer.run, jobs) as processes:
        person.start()
        try:
            while any(process.is_alive() for process in processes):
                assert time.monotonic() < began + load.within
                time.sleep(choice.uniform(0.5, 1.5) * load.pause)
                number = choice.randrange(load.writers)
                if not processes[number].is_alive():
                    continue
                processes[number].kill()
                processes[number].join()
                kills += 1
                in_doubt += len(ledgers[number].read().unanswered)
                jobs[number] = replace(jobs[number], life=jobs[number].life + 1)
                processes[number] = start(writer.run, jobs[number])
        finally:
            person.stop()
    records = [ledger.read() for ledger in ledgers]
    findings = Findings.of(repo, records, person)
    report(f"{kills} kills, {in_doubt} calls in doubt")
    for line in findings.lines(time.monotonic() - began):
        report(line)
    failed = [problem for record in records for problem in record.failed]
    assert not failed, failed[0]
    assert kills > 0
    assert [call for record in records for call in record.unanswered] == []
    assert findings.operations == load.writers * load.operations
    assert findings.problems == {}
    inspection.assert_sound(repo, bare=is_bare)
