"""Four writers during loops of `git gc --prune=now`, `repack`, `maintenance` and `pack-refs`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import create_bare_repository, create_repository
from tests.soak import inspection, writer
from tests.soak.findings import Findings
from tests.soak.housekeeping import COMMANDS, Housekeeping
from tests.soak.ledger import Ledger
from tests.soak.person import Person
from tests.soak.processes import running, wait
from tests.soak.writer import Job, shared_documents

SEED = 20_260_119
WRITERS = 4
_MANY = 1_000_000

LENGTHS = [
    pytest.param(15.0, id="15-seconds", marks=pytest.mark.slow),
    pytest.param(120.0, id="two-minutes", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_housekeeping_loses_no_acknowledged_write_and_fails_no_call(
    tmp_path: Path, seconds: float, is_bare: bool, report: Callable[[str], None]
) -> None:
    shared = shared_documents(8)
    repo = (create_bare_repository if is_bare else create_repository)(
        tmp_path / "repo", {"README.md": "# Example\n", **shared}
    )
    ledgers = [Ledger(tmp_path / f"ledger-{number}") for number in range(WRITERS)]
    until = time.time() + seconds
    jobs = [
        Job(repo.path, ledger.path, tuple(shared), number, _MANY, SEED, until=until)
        for number, ledger in enumerate(ledgers)
    ]
    housekeeping = Housekeeping(repo)
    began = time.monotonic()
    with housekeeping.running(), running(writer.run, jobs) as processes:
        wait(processes, within=seconds + 120)
    elapsed = time.monotonic() - began
    records = [ledger.read() for ledger in ledgers]
    report(housekeeping.line())
    failed = [problem for record in records for problem in record.failed]
    assert not failed, f"{len(failed)} writers failed: {failed[0]}"
    findings = Findings.of(repo, records, Person(repo, [], seed=SEED))
    for line in findings.lines(elapsed):
        report(line)
    assert [call for record in records for call in record.unanswered] == []
    assert findings.calls > WRITERS * seconds / 4
    assert findings.problems == {}
    assert findings.refusals == {}
    assert all(housekeeping.rounds[command[0]] > seconds / 10 for command in COMMANDS)
    inspection.assert_sound(repo, bare=is_bare)
