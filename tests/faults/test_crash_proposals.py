"""A kill or an error at each state-changing call of an action on a proposal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import (
    FAULTS,
    MAX_CALL_COUNT_DIFFERENCE,
    ReportLine,
    parametrize_step,
    report_points,
)
from tests.faults.support.proposal_actions import KEY, PROPOSAL_ACTIONS, PROPOSAL_ID, make_proposal_repository
from tests.faults.support.repo_template import check_no_leftovers
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import derive_id
from workspace.proposals.event_log import EventLog
from workspace.workspace import Workspace


class ObservedState(NamedTuple):
    """The commit count and tree of `main`, those of the proposal's branch, and the kinds of its events."""

    main: tuple[str, str]
    proposal: tuple[str, str]
    event_kinds: tuple[str, ...]


def read_state(repo: Repo, action_name: str) -> ObservedState:
    """Return the state of the proposal, and check that the repository is valid and clean."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_no_leftovers(repo.path / ".git")
    id = derive_id(KEY) if action_name in ("open", "propose") else PROPOSAL_ID
    proposals = {
        item.id: item for item in Workspace.open(repo.path, read_only=True).proposal_actions().list_all()
    }
    proposal = proposals.get(id)
    if proposal is None:
        return ObservedState(_read_branch(repo, "main"), ("", ""), ())
    assert proposal.unreadable_count == 0
    assert proposal.tip is not None
    log_events = EventLog(GitReader(repo.path)).read().events_of(id).events
    event_kinds = tuple(sorted(event.body.kind for event in log_events))
    return ObservedState(_read_branch(repo, "main"), _read_branch(repo, proposal.tip), event_kinds)


def _read_branch(repo: Repo, name: str) -> tuple[str, str]:
    return repo.git("rev-list", "--count", name).strip(), repo.git("rev-parse", f"{name}^{{tree}}").strip()


def check_retries(
    server: ForkServer,
    memory_folder: Path,
    copy_path: Path,
    report_line: ReportLine,
    action_name: str,
    fault: str,
    step: int,
) -> None:
    """Inject a fault at every `step`-th call of an action, in a fresh repository, and check a retry.

    After the retry, the state must be the state after a run without a fault.
    """
    fault_kind, error_number = FAULTS[fault]
    template = memory_folder / f"proposal-{action_name}"
    if not template.exists():
        make_proposal_repository(template, action_name)

    def make_fresh_copy() -> Repo:
        if copy_path.exists():
            shutil.rmtree(copy_path)
        shutil.copytree(template, copy_path)
        return Repo(copy_path)

    def run(repo: Repo, **options: Any) -> Any:
        return server.run("proposal action", repo.path, action_name=action_name, durable=True, **options)

    repo = make_fresh_copy()
    before = read_state(repo, action_name)
    complete_run = run(repo)
    assert complete_run.is_committed, dict(complete_run.response)
    after = read_state(repo, action_name)
    assert after != before
    last = len(complete_run.calls) - MAX_CALL_COUNT_DIFFERENCE
    points, failures = sorted({*range(1, last, step), last}), []
    for point in points:
        repo = make_fresh_copy()
        try:
            child_result = run(repo, point=point, fault=fault_kind, error_number=error_number)
            server.run("recover", repo.path)
            state = read_state(repo, action_name)
            assert state.main in (before.main, after.main)
            assert state.event_kinds in (before.event_kinds, after.event_kinds)
            assert state == after or not child_result.is_committed, (
                f"the response reports a commit, but the state is {state}"
            )
            retry_result = run(repo)
            assert retry_result.is_committed, dict(retry_result.response)
            assert read_state(repo, action_name) == after
        except AssertionError as failure:
            failures.append(f"{complete_run.calls[point - 1]}\n    {failure}")
    report_points(report_line, f"{action_name}, {fault}", len(points), failures)


@parametrize_step(sample_step=94, slow_step=7)
@pytest.mark.parametrize("action_name", PROPOSAL_ACTIONS)
def test_retry_after_a_kill_gives_one_result(
    server: ForkServer,
    memory_folder: Path,
    copy_path: Path,
    report_line: ReportLine,
    action_name: str,
    step: int,
) -> None:
    check_retries(server, memory_folder, copy_path, report_line, action_name, "kill", step)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(7, id="some", marks=pytest.mark.slow),
        pytest.param(1, id="every", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("action_name", PROPOSAL_ACTIONS)
def test_retry_after_an_error_gives_one_result(
    server: ForkServer,
    memory_folder: Path,
    copy_path: Path,
    report_line: ReportLine,
    action_name: str,
    step: int,
) -> None:
    check_retries(server, memory_folder, copy_path, report_line, action_name, "no space", step)
