"""Four writers run while `git gc --prune=now`, `repack`, `maintenance` and `pack-refs` run in loops."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import create_bare_repository, create_repository
from tests.soak import inspection, writer
from tests.soak.git_user import GitUser
from tests.soak.housekeeping import COMMANDS, Housekeeping
from tests.soak.ledger import Ledger
from tests.soak.processes import run_processes, wait_for_exit
from tests.soak.run_results import RunResults
from tests.soak.writer import Job, make_shared_documents

SEED = 20_260_119
WRITER_COUNT = 4
_UNLIMITED = 1_000_000

DURATIONS = [
    pytest.param(15.0, id="15-seconds", marks=pytest.mark.slow),
    pytest.param(120.0, id="two-minutes", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("seconds", DURATIONS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_housekeeping_loses_no_acknowledged_write_and_fails_no_call(
    tmp_path: Path, seconds: float, is_bare: bool, report_line: Callable[[str], None]
) -> None:
    documents = make_shared_documents(8)
    repo = (create_bare_repository if is_bare else create_repository)(
        tmp_path / "repo", {"README.md": "# Example\n", **documents}
    )
    ledgers = [Ledger(tmp_path / f"ledger-{number}") for number in range(WRITER_COUNT)]
    end_time = time.time() + seconds
    jobs = [
        Job(repo.path, ledger.path, tuple(documents), number, _UNLIMITED, SEED, end_time=end_time)
        for number, ledger in enumerate(ledgers)
    ]
    housekeeping = Housekeeping(repo)
    start = time.monotonic()
    with housekeeping.run_loops(), run_processes(writer.run_writer, jobs) as processes:
        wait_for_exit(processes, timeout_s=seconds + 120)
    elapsed_s = time.monotonic() - start
    records = [ledger.read() for ledger in ledgers]
    report_line(housekeeping.format_line())
    failures = [problem for record in records for problem in record.failures]
    assert not failures, f"{len(failures)} writers failed: {failures[0]}"
    results = RunResults.collect(repo, records, GitUser(repo, [], seed=SEED))
    for line in results.format_lines(elapsed_s):
        report_line(line)
    assert [call for record in records for call in record.unanswered_calls] == []
    assert results.call_count > WRITER_COUNT * seconds / 4, "a writer made less than one call in four seconds"
    assert results.problems == {}
    assert results.refusal_counts == {}
    # Each command must succeed at least once in ten seconds.
    assert all(housekeeping.success_counts[command[0]] > seconds / 10 for command in COMMANDS)
    inspection.assert_valid(repo, is_bare=is_bare)
