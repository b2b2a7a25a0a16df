"""Retries: a write with a key is done once, for any number of calls, clients and processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.document.splices import EditContext
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation, Outcome
from workspace.edits.tasks import AddTask
from workspace.edits.text import UpdateContent
from workspace.git.store import GitStore
from workspace.snapshot.document_types import read_document_type
from workspace.snapshot.overlay import Overlay
from workspace.workspace import Workspace
from workspace.writing.idempotency import MAX_SCANNED_COMMITS, KeyedRequest, KeyReused, compute_call_digest
from workspace.writing.plan import BatchMode, Plan, StepStatus
from workspace.writing.write import WriteResult

FILES = {"tasks.md": "# Work\n\n## Tasks\n", "other.md": "# Other\n"}
ADD_TASK = AddTask(file="tasks.md", slug="tasks", title="Once")
INVALID_UPDATE = UpdateContent(file="tasks.md", slug="nowhere", content="x")

_barriers: list[Any] = []  # The pool's initializer sets the barrier of each process here.


def build_summaries(plan: Plan) -> Mapping[str, object]:
    return {"summaries": list(plan.summaries)}


def write_batch(
    workspace: Workspace,
    operations: Sequence[Operation],
    key: str | None,
    *,
    result: Callable[[Plan], Mapping[str, object]] = build_summaries,
    **options: Any,
) -> WriteResult:
    request = (
        KeyedRequest(key, compute_call_digest("edit_document", {"text": repr(operations)}), result)
        if key
        else None
    )
    options = {
        "mode": BatchMode.EACH,
        "tool": "edit_document",
        "client": "agent",
        "keyed_request": request,
    } | options
    return workspace.write(operations, **options)


def open_workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, durable=False)


def read_task_titles(repo: Repo) -> list[str]:
    text = repo.git("show", "main:tasks.md")
    return [line.removeprefix("- [ ] ") for line in text.splitlines() if line.startswith("- [ ]")]


def count_commits(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "main"))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.create_repository(tmp_path / "repo", FILES)


@pytest.mark.smoke
def test_retry_returns_the_first_result_even_after_a_restart(repo: Repo) -> None:
    workspace = open_workspace(repo)
    first_result = write_batch(workspace, [ADD_TASK], "key")
    assert first_result.is_committed
    assert first_result.recorded_request is None
    repo.commit({"other.md": "# Another commit\n"})
    for retry_workspace in (workspace, open_workspace(repo)):
        retry_result = write_batch(retry_workspace, [ADD_TASK], "key")
        assert (retry_result.is_committed, retry_result.commit, retry_result.steps) == (
            False,
            first_result.commit,
            (),
        )
        assert retry_result.recorded_request is not None
        assert retry_result.recorded_request.commit == first_result.commit
        assert retry_result.recorded_request.result == {"summaries": ["Add task tasks[0] to tasks.md"]}
    assert read_task_titles(repo) == ["Once"]
    assert repo.status() == repo.fsck() == ""


@pytest.mark.smoke
def test_retry_of_a_removal_succeeds(repo: Repo) -> None:
    first_result = write_batch(open_workspace(repo), [RemoveDocument(path="other.md")], "key")
    retry_result = write_batch(open_workspace(repo), [RemoveDocument(path="other.md")], "key")
    assert retry_result.recorded_request is not None
    assert retry_result.commit == first_result.commit


@pytest.mark.smoke
def test_same_key_for_another_call_changes_nothing(repo: Repo) -> None:
    workspace = open_workspace(repo)
    write_batch(workspace, [ADD_TASK], "key")
    with pytest.raises(KeyReused):
        write_batch(workspace, [RemoveDocument(path="other.md")], "key")
    assert count_commits(repo) == 2
    assert write_batch(workspace, [RemoveDocument(path="other.md")], "other").is_committed


@pytest.mark.smoke
def test_call_without_a_commit_runs_again(repo: Repo) -> None:
    workspace = open_workspace(repo)
    refused_result = write_batch(workspace, [INVALID_UPDATE], "key")
    assert [step.status for step in refused_result.steps] == [StepStatus.FAILED]
    retry_result = write_batch(workspace, [ADD_TASK, INVALID_UPDATE], "all", mode=BatchMode.ALL)
    assert [step.status for step in retry_result.steps] == [StepStatus.ROLLED_BACK, StepStatus.FAILED]
    dry_result = write_batch(workspace, [ADD_TASK], "key", dry_run=True)
    assert dry_result.changes
    assert count_commits(repo) == 1
    result = write_batch(workspace, [ADD_TASK], "key")
    assert result.is_committed, "a refused call and a dry run must not use the key"
    dry_result = write_batch(workspace, [ADD_TASK], "key", dry_run=True)
    assert (dry_result.recorded_request, [step.status for step in dry_result.steps]) == (
        None,
        [StepStatus.DONE],
    )
    assert dry_result.changes


@pytest.mark.smoke
def test_retry_in_a_new_repository_makes_one_commit(tmp_path: Path) -> None:
    repo = repositories.create_empty_repository(tmp_path / "new")
    workspace = open_workspace(repo)
    create = CreateDocument(type=read_document_type(workspace.snapshot(), "document"), title="First")
    first_result = write_batch(workspace, [create], "key")
    assert first_result.is_committed
    assert write_batch(open_workspace(repo), [create], "key").commit == first_result.commit == repo.head()
    assert count_commits(repo) == 1


def test_key_expires_after_a_thousand_commits(repo: Repo) -> None:
    workspace = open_workspace(repo)
    first_commit = write_batch(workspace, [ADD_TASK], "key").commit
    assert first_commit is not None
    store, tip = workspace.git, first_commit
    assert isinstance(store, GitStore)
    signature, tree = repositories.make_signature(), store.commit(first_commit).tree
    for number in range(MAX_SCANNED_COMMITS):
        tip = store.put_commit(tree, (tip,), signature, signature, f"{number}\n")
    repo.git("update-ref", "refs/heads/main", f"{tip}^")
    assert write_batch(workspace, [ADD_TASK], "key").commit == first_commit
    repo.git("update-ref", "refs/heads/main", tip)
    assert write_batch(workspace, [ADD_TASK], "key").is_committed
    assert read_task_titles(repo) == ["Once", "Once"]


def test_threads_with_one_key_make_one_commit(repo: Repo) -> None:
    workspace = open_workspace(repo)
    barrier = Barrier(8)

    def write_after_barrier(_: int) -> WriteResult:
        barrier.wait()
        return write_batch(workspace, [ADD_TASK], "key")

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(write_after_barrier, range(8)))
    assert sorted(result.is_committed for result in results) == [False] * 7 + [True]
    assert len({result.commit for result in results}) == 1
    assert read_task_titles(repo) == ["Once"]


def set_barrier(barrier: Any) -> None:
    _barriers.append(barrier)


def write_in_race(
    path: Path, number: int, round_count: int
) -> list[tuple[bool, str | None, Mapping[str, object]]]:
    """Write with each key at the same time as the other process.

    Return (is_committed, commit, result) of each write.
    """
    workspace = Workspace.open(path, durable=False)
    results = []
    for round_number in range(round_count):
        task = AddTask(file="tasks.md", slug="tasks", title=f"Task {round_number}")
        own_result = {"writer": number}
        _barriers[0].wait(60)
        write_result = write_batch(
            workspace, [task], f"key-{round_number}", result=lambda plan, own_result=own_result: own_result
        )
        results.append(
            (
                write_result.is_committed,
                write_result.commit,
                write_result.recorded_request.result if write_result.recorded_request else own_result,
            )
        )
    return results


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize("repo_kind", ["normal", pytest.param("bare", marks=pytest.mark.slow)])
def test_two_processes_with_one_key_make_one_commit(tmp_path: Path, repo_kind: str) -> None:
    repo = {"normal": repositories.create_repository, "bare": repositories.create_bare_repository}[repo_kind](
        tmp_path / "repo", FILES
    )
    round_count = 20
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=set_barrier, initargs=(barrier,)) as pool:
        futures = [pool.submit(write_in_race, repo.path, number, round_count) for number in range(2)]
        first_results, second_results = (future.result(timeout=120) for future in futures)
    for first_result, second_result in zip(first_results, second_results, strict=True):
        assert sorted((first_result[0], second_result[0])) == [False, True]
        assert first_result[1:] == second_result[1:], "the commit, and the writer of the result"
    assert read_task_titles(repo) == [f"Task {round_number}" for round_number in range(round_count)]
    assert count_commits(repo) == 1 + round_count
    assert repo.fsck() == ""
    if repo_kind == "normal":
        assert repo.status() == ""


def test_key_committed_by_another_process_after_the_plan_makes_no_second_commit(repo: Repo) -> None:
    """Another process commits the key between plan and publication: the operation is applied once."""
    other_workspace = open_workspace(repo)
    first_results: list[WriteResult] = []

    class TaskAfterConcurrentWrite(AddTask):
        def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
            first_results.append(write_batch(other_workspace, [ADD_TASK], "key"))
            return super().apply(overlay, context)

    request = KeyedRequest(
        "key", compute_call_digest("edit_document", {"text": repr([ADD_TASK])}), build_summaries
    )
    late_task = TaskAfterConcurrentWrite(file=ADD_TASK.file, slug=ADD_TASK.slug, title=ADD_TASK.title)
    result = open_workspace(repo).write(
        [late_task], mode=BatchMode.EACH, tool="edit_document", client="agent", keyed_request=request
    )
    [first_result] = first_results
    assert first_result.is_committed
    assert (result.is_committed, result.commit) == (False, first_result.commit)
    assert result.recorded_request is not None
    assert read_task_titles(repo) == ["Once"]
