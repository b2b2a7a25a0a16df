"""Four writers, or a server, run while `git gc --prune=now`, `repack` and other commands run in loops."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.server import serve_repository
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


_REPACK_COMMANDS = (
    ("gc", "--quiet"),
    ("repack", "-adq", "--write-midx"),
    ("prune-packed", "--quiet"),
)


@pytest.mark.process
@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(4.0, id="4-seconds", marks=pytest.mark.guarantee),
        pytest.param(30.0, id="30-seconds", marks=pytest.mark.slow),
    ],
)
def test_server_reports_no_damage_while_git_repacks(
    tmp_path: Path, seconds: float, report_line: Callable[[str], None]
) -> None:
    documents = {
        f"d/page-{number}.md": f"# Page {number}\n\n## Log {{#log}}\n\nOne.\n" for number in range(9)
    }
    repo = create_repository(tmp_path / "repo", {"README.md": "# Example\n", **documents})
    housekeeping = Housekeeping(repo, _REPACK_COMMANDS, pause_s=0.02)
    marks: dict[str, list[str]] = {path: [] for path in documents}
    options = ("--toolsets", "documents,search,history")
    with serve_repository(repo.path, tmp_path / "home", *options) as server:
        end_time = time.monotonic() + seconds
        with housekeeping.run_loops():
            number = 0
            while time.monotonic() < end_time:
                path, mark = f"d/page-{number % 9}.md", f"mark{number}"
                number += 1
                address = {"file": path, "slug": "log"}
                calls = [
                    ("edit_document", {"operation": "append_content", **address, "content": f"Of {mark}."}),
                    ("view_document", address),
                    ("search_docs", {"query": mark}),
                    ("view_history", {"file": path}),
                    ("list_documents", {}),
                ]
                for tool, arguments in calls:
                    response = server.call(tool, **arguments)
                    assert not response.is_error, (tool, response.text)
                    assert "missing or broken" not in str(response.data), (tool, response.text)
                    assert "Committed, but" not in str(response.data), (tool, response.text)
                marks[path].append(mark)
    report_line(f"{number} rounds of calls; {housekeeping.format_line()}")
    assert number > seconds / 4
    for path, path_marks in marks.items():
        text = repo.git("show", f"main:{path}")
        assert [text.count(f"Of {mark}.") for mark in path_marks] == [1] * len(path_marks)
    repo.git("repack", "-adq", "--write-midx")
    assert repo.fsck() == ""
    assert all(housekeeping.success_counts[command[0]] for command in _REPACK_COMMANDS)
