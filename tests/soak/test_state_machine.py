"""Batches, a user's changes and crashes in a workspace, which is compared with a model after each step."""

from __future__ import annotations

import copy
import dataclasses
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.repositories import Repo, create_repository
from tests.soak import inspection, model
from tests.soak.batches import FILES, TITLES, UserEdit, batches, modes, retarget_operations, user_edits
from tests.soak.crash import ChildOutcome, fork_and_kill
from workspace.edits.operation import Operation
from workspace.publishing.checkout import WorktreeConflict
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, StepStatus
from workspace.writing.write import WriteResult

# The change before which a process is killed. Late changes of a batch are drawn as often as early ones.
change_numbers = st.one_of(st.integers(1, 24), st.integers(25, 64))


@dataclasses.dataclass(frozen=True, slots=True)
class UncommittedChange:
    """An uncommitted change of a user: its code in `git status --porcelain`, and the bytes of the file."""

    status: str
    data: bytes | None


class WorkspaceMachine(RuleBasedStateMachine):
    """A repository with the checkout of a user, its workspace, and the expected state of both."""

    event_counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="docyard-machine-"))
        self.repo: Repo
        self.workspace: Workspace
        self.branch = "main"
        self.branches: dict[str, str] = {}
        self.documents_by_commit: dict[str, model.ModelDocuments] = {}
        self.parents: dict[str, str] = {}
        self.uncommitted: dict[str, UncommittedChange] = {}
        self.operation_count = 0

    @initialize()
    def create_repository(self) -> None:
        self.repo = create_repository(self.folder / "repo", FILES)
        self.repo.git("config", "gc.auto", "0")
        self.reopen()
        first_commit = self.repo.head()
        self.documents_by_commit[first_commit] = {
            path: model.parse_document(FILES[path]) for path in FILES if path.endswith(".md")
        }
        self.branches["main"] = first_commit

    def teardown(self) -> None:
        try:
            if self.documents_by_commit:
                assert self.repo.fsck() == ""
                for branch, commit in self.branches.items():
                    assert self.repo.git("rev-parse", branch).strip() == commit
        finally:
            shutil.rmtree(self.folder)

    @property
    def tip(self) -> str:
        return self.branches[self.branch]

    @property
    def documents(self) -> model.ModelDocuments:
        return self.documents_by_commit[self.tip]

    # Actions of a server

    @rule()
    def reopen(self) -> None:
        self.workspace = Workspace.open(self.repo.path, durable=False)

    @rule(operations=batches, mode=modes, user_edit=st.one_of(st.none(), st.none(), user_edits))
    def write(self, operations: list[Operation], mode: BatchMode, user_edit: UserEdit | None) -> None:
        self._apply_user_edit(user_edit)
        operations = retarget_operations(operations, self.documents, self.operation_count)
        self.operation_count += len(operations)
        outcome, blocking_paths = self._predict_outcome(operations, mode)
        write_result, conflicts = None, set[str]()
        try:
            write_result = self._write_batch(operations, mode)
        except WorktreeConflict as conflict:
            conflicts = {*conflict.paths}
        if write_result is None:
            self.event_counts["writes refused because of uncommitted changes"] += 1
            assert blocking_paths <= conflicts <= self.uncommitted.keys()
            return
        assert not blocking_paths
        if mode is BatchMode.EACH:
            assert [step.status is StepStatus.DONE for step in write_result.steps] == [*outcome.successes], [
                (step.operation, step.error) for step in write_result.steps
            ]
        if outcome.documents != self.documents:
            assert write_result.is_committed
        if write_result.is_committed:
            assert write_result.commit is not None
            self.event_counts["commits"] += 1
            self._record_commit(write_result.commit, outcome.documents)

    @rule(
        operations=batches,
        mode=modes,
        change_number=change_numbers,
        recovery_change_number=st.one_of(st.none(), st.integers(1, 40)),
        reopens_workspace=st.booleans(),
        user_edit=st.one_of(st.none(), st.none(), user_edits),
    )
    def crash(
        self,
        operations: list[Operation],
        mode: BatchMode,
        change_number: int,
        recovery_change_number: int | None,
        reopens_workspace: bool,
        user_edit: UserEdit | None,
    ) -> None:
        self._apply_user_edit(user_edit)
        operations = retarget_operations(operations, self.documents, self.operation_count)
        self.operation_count += len(operations)
        outcome, blocking_paths = self._predict_outcome(operations, mode)
        child_outcome = fork_and_kill(
            lambda: self._write_batch(operations, mode), change_number=change_number
        )
        assert child_outcome is not ChildOutcome.REFUSED or self.uncommitted
        if recovery_change_number is not None:
            assert (
                fork_and_kill(self.workspace.recover, change_number=recovery_change_number)
                is not ChildOutcome.REFUSED
            )
        if reopens_workspace:
            self.reopen()
        self.workspace.recover()
        tip = self.repo.head()
        self.event_counts[
            f"forks {child_outcome.value}, then {'the old' if tip == self.tip else 'a new'} commit"
        ] += 1
        if tip == self.tip:
            assert (
                child_outcome is not ChildOutcome.DONE
                or blocking_paths
                or outcome.documents == self.documents
            )
            return
        assert child_outcome is not ChildOutcome.REFUSED
        assert not blocking_paths
        assert self.repo.git("rev-parse", f"{tip}~1").strip() == self.tip
        self._record_commit(tip, outcome.documents)

    # Actions of a user

    @rule(user_edit=user_edits)
    def edit(self, user_edit: UserEdit) -> None:
        self._apply_user_edit(user_edit)

    def _apply_user_edit(self, user_edit: UserEdit | None) -> None:
        if user_edit is None or user_edit[0] in self.uncommitted:
            return
        path, is_staged, change_kind = user_edit
        self.operation_count += 1
        file = self.repo.path / path
        is_new = path not in self.documents
        if is_new:
            data = f"# {TITLES[path]}\n\nA user wrote {self.operation_count}.\n".encode()
        elif change_kind == "delete":
            data = None
        else:
            heading = f"## User {self.operation_count}\n\n" if change_kind == "section" else ""
            data = file.read_bytes().rstrip(b"\n")
            data += f"\n\n{heading}A user wrote {self.operation_count}.\n".encode()
        if data is None:
            file.unlink()
        else:
            self.repo.write({path: data})
        status_letter = "A" if is_new else "D" if data is None else "M"
        if is_staged:
            self.repo.git("add", "-A", "--", path)
            self.uncommitted[path] = UncommittedChange(f"{status_letter} ", data)
        else:
            self.uncommitted[path] = UncommittedChange("??" if is_new else f" {status_letter}", data)

    @precondition(lambda self: any(item.status != "??" for item in self.uncommitted.values()))
    @rule()
    def commit_all(self) -> None:
        self.repo.git("commit", "-q", "-a", "-m", "A user's commit")
        documents = copy.deepcopy(self.documents)
        for path, item in [*self.uncommitted.items()]:
            if item.status == "??":
                continue
            if item.data is None:
                del documents[path]
            else:
                documents[path] = model.parse_document(item.data.decode())
            del self.uncommitted[path]
        self._record_commit(self.repo.head(), documents)

    @precondition(lambda self: self.uncommitted)
    @rule()
    def discard(self) -> None:
        path, item = self.uncommitted.popitem()
        if item.status[0] in "MDA":
            self.repo.git("reset", "-q", "--", path)
        if path in self.documents:
            self.repo.git("checkout", "-q", "--", path)
        else:
            (self.repo.path / path).unlink()

    @precondition(lambda self: not self.uncommitted)
    @rule(name=st.sampled_from(["main", "other", "topic/deep"]))
    def switch(self, name: str) -> None:
        if name in self.branches:
            self.repo.git("switch", "-q", name)
        else:
            self.repo.git("switch", "-q", "-c", name)
            self.branches[name] = self.tip
        self.branch = name

    @precondition(lambda self: not self.uncommitted and self.tip in self.parents)
    @rule()
    def reset(self) -> None:
        self.repo.git("reset", "-q", "--hard", "HEAD~1")
        self.branches[self.branch] = self.parents[self.tip]

    @rule(prune=st.booleans())
    def collect_garbage(self, prune: bool) -> None:
        if prune:
            self.repo.git("reflog", "expire", "--expire=now", "--all")
            self.repo.git("gc", "-q", "--prune=now")
        else:
            self.repo.git("pack-refs", "--all")

    # Invariants after each action

    @invariant()
    def head_index_files_and_model_agree(self) -> None:
        if not self.documents_by_commit:
            return
        assert self.repo.head() == self.tip
        status = self.repo.git("status", "--porcelain", "-uall", "--no-renames").splitlines()
        assert sorted(status) == sorted(f"{item.status} {path}" for path, item in self.uncommitted.items())
        for path, item in self.uncommitted.items():
            file = self.repo.path / path
            assert (file.read_bytes() if file.exists() else None) == item.data
        assert inspection.find_leftover_files(self.repo) == []
        committed_texts = {
            path: self.repo.git("show", f"HEAD:{path}")
            if path in self.uncommitted
            else (self.repo.path / path).read_text()
            for path in self.repo.git("ls-tree", "-r", "--name-only", "HEAD").split()
            if path.endswith(".md")
        }
        assert {path: model.parse_document(text) for path, text in committed_texts.items()} == self.documents

    @invariant()
    def workspace_reads_equal_the_model(self) -> None:
        if not self.documents_by_commit:
            return
        snapshot = self.workspace.snapshot()
        assert snapshot.commit == self.tip
        for path, expected_document in self.documents.items():
            document = snapshot.document(path)
            assert [(section.address, len(document.tasks(section))) for section in document.sections] == [
                (section.address, len(section.tasks)) for section in expected_document.sections
            ]

    def _write_batch(self, operations: list[Operation], mode: BatchMode) -> WriteResult:
        return self.workspace.write(
            operations, mode=mode, tool="machine", client="machine", base_commit=self.tip
        )

    def _predict_outcome(
        self, operations: list[Operation], mode: BatchMode
    ) -> tuple[model.Outcome, set[str]]:
        """Return the expected outcome, and the paths whose uncommitted changes must block the batch."""
        outcome = model.apply_batch(self.documents, operations, all_or_none=mode is BatchMode.ALL)
        changed_paths = {
            path
            for path in {*self.documents, *outcome.documents}
            if self.documents.get(path) != outcome.documents.get(path)
        }
        return outcome, changed_paths & self.uncommitted.keys()

    def _record_commit(self, commit: str, documents: model.ModelDocuments) -> None:
        self.parents[commit] = self.tip
        self.documents_by_commit[commit] = documents
        self.branches[self.branch] = commit


EXAMPLE_COUNTS = [
    pytest.param(6, id="6"),
    pytest.param(100, id="100", marks=pytest.mark.slow),
    pytest.param(1000, id="1000", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("example_count", EXAMPLE_COUNTS)
def test_random_steps_leave_head_index_and_files_equal_to_the_model(
    example_count: int, report_line: Callable[[str], None]
) -> None:
    WorkspaceMachine.event_counts.clear()
    run_state_machine_as_test(
        WorkspaceMachine,
        settings=settings(
            max_examples=example_count,
            stateful_step_count=25,
            deadline=None,
            # Short runs are equal each time; the long run differs each time.
            derandomize=example_count < 1000,
            suppress_health_check=[*HealthCheck],
            print_blob=True,
        ),
    )
    report_line(f"{example_count} examples: {dict(WorkspaceMachine.event_counts)}")
    if example_count >= 100:
        # A useful run has crashes on both sides of the commit point.
        assert WorkspaceMachine.event_counts["forks killed, then the old commit"]
        assert WorkspaceMachine.event_counts["forks killed, then a new commit"]
