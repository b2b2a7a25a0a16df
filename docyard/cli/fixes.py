"""The fixes of `docyard fix`: in a commit, in a work tree, or in a preview."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from docyard.cli.checked_files import CheckedFiles, collect_checked_files, process_in_blocks, select_documents
from docyard.cli.proposals.write import write_operation
from docyard.terminal.exits import CommandError
from workspace.validation.files import list_commit
from workspace.validation.fixes.broken_link import MoveHistory, RenamedDocuments
from workspace.validation.fixes.change import DocumentRewrite
from workspace.validation.fixes.files import build_fixed_files
from workspace.validation.fixes.files import write_document as write_file
from workspace.validation.fixes.fix import FIXABLE_RULES, LINK_RULES, FixFinder, fix_documents
from workspace.validation.fixes.operation import FixDocuments
from workspace.validation.run import RuleSelection
from workspace.writing.plan import StepStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from docyard.terminal.console import ReportProgress
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.files import FileSet
    from workspace.validation.fixes.change import FixRemark, FixResult
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult


class FixOutcome(NamedTuple):
    """The applied or previewed fixes: the changed documents, and the commit with the fixes.

    `link_count` counts the links that were updated with the fixes. `unfixed` lists the findings without a
    fix. `unwritten_count` counts the files that could not be written. `uncommitted_count` counts the
    documents with uncommitted changes that were not checked. If the policy protects a document, `proposal`
    is the id of the proposal with the commit.
    """

    changes: Sequence[DocumentRewrite] = ()
    unfixed: Sequence[FixRemark] = ()
    link_count: int = 0
    commit: str | None = None
    unwritten_count: int = 0
    uncommitted_count: int = 0
    proposal: str | None = None


@dataclass(frozen=True)
class FixRequest:
    """The documents to fix and the rules to apply.

    If `selected_paths` is empty, all documents are fixed. If `rules` is None, all active rules with safe
    fixes apply.
    """

    workspace: Workspace
    folder: Path
    selected_paths: Sequence[Path]
    rules: frozenset[str] | None

    def select_documents(self, checked_files: CheckedFiles) -> tuple[str, ...]:
        """Return the selected documents. Raises CommandError if a path matches nothing."""
        return select_documents(checked_files, self.folder, self.selected_paths)


def select_rules(rules: Sequence[str], *, anchors: bool) -> frozenset[str] | None:
    """Return the selected rules; None for all active rules with safe fixes."""
    selected_rules = frozenset(rules) | ({"missing-anchor"} if anchors else frozenset())
    return selected_rules or None


def preview_fixes(
    request: FixRequest, *, staged: bool, ref: str | None, progress: ReportProgress | None
) -> FixOutcome:
    """Return the fixes for the work tree, Git's index, or a commit, without writing them."""
    checked_files = collect_checked_files(request.folder, ref, staged)
    return _fix_in_memory(request, checked_files, progress)


def write_fixes(request: FixRequest, progress: ReportProgress | None) -> FixOutcome:
    """Fix the files of the work tree in place."""
    root = request.workspace.git.worktree
    if root is None:
        raise CommandError("a bare repository has no files to write", fix="Omit --write.")
    outcome = _fix_in_memory(request, collect_checked_files(request.folder, None, False), progress)
    written_changes: list[DocumentRewrite] = []
    unwritten_files: list[FixRemark] = []
    for change in outcome.changes:
        failure = write_file(root, change)
        if failure is None:
            written_changes.append(change)
        else:
            unwritten_files.append(failure)
    return outcome._replace(
        changes=written_changes,
        unfixed=(*outcome.unfixed, *unwritten_files),
        unwritten_count=len(unwritten_files),
    )


def commit_fixes(request: FixRequest, message: str | None, progress: ReportProgress | None) -> FixOutcome:
    """Fix the documents of the served branch in one commit, or in a proposal if the policy requires it.

    Raises CommandError if a selected path matches nothing, and the errors of `Workspace.write` and
    `ProposalActions.propose`.
    """
    git = request.workspace.git
    tip = request.workspace.tip()
    if tip is None:
        return FixOutcome(uncommitted_count=_count_uncommitted(request, ()))
    paths: tuple[str, ...] = ()
    if request.selected_paths:
        root = (git.worktree or git.git_dir).resolve()
        checked_files = CheckedFiles(list_commit(git, tip), root, git, tip, "the commit")
        paths = request.select_documents(checked_files)
        if not paths:
            return FixOutcome()

    results: dict[str, Sequence[FixResult]] = {}

    def find_fixes(snapshot: Snapshot, paths: Sequence[str]) -> Sequence[FixResult]:
        commit = snapshot.commit
        if commit is None:
            return ()
        if commit not in results:  # for a new proposal, the function is called again with the same commit
            results[commit] = _fix_documents(request, list_commit(git, commit), snapshot, paths, progress)
        return results[commit]

    outcome = _build_commit_outcome(
        *write_operation(request.workspace, FixDocuments(find_fixes=find_fixes, paths=paths), "fix", message)
    )
    if outcome.changes:
        return outcome
    return outcome._replace(uncommitted_count=_count_uncommitted(request, paths))


def _count_uncommitted(request: FixRequest, paths: Sequence[str]) -> int:
    """Return the number of documents with uncommitted changes; with `paths`, count only those documents."""
    git = request.workspace.git
    if git.worktree is None or git.head().branch != request.workspace.branch:
        return 0
    uncommitted_paths = git.list_uncommitted()
    return len(
        set(uncommitted_paths).intersection(
            paths or collect_checked_files(request.folder, None, False).files.documents
        )
    )


def _fix_in_memory(
    request: FixRequest, checked_files: CheckedFiles, progress: ReportProgress | None
) -> FixOutcome:
    snapshot = request.workspace.snapshot(checked_files.commit)
    paths = request.select_documents(checked_files)
    results = _fix_documents(request, checked_files.files, snapshot, paths, progress)
    return FixOutcome(*build_fixed_files(results, snapshot, checked_files.files))


def _fix_documents(
    request: FixRequest,
    files: FileSet,
    snapshot: Snapshot,
    paths: Sequence[str],
    progress: ReportProgress | None,
) -> Sequence[FixResult]:
    """Return the fixes in order of paths; `snapshot` is the commit that the files are based on."""
    selection = RuleSelection(files.config.validation, request.rules)
    history = MoveHistory(snapshot, request.workspace.moves())
    needs_history = not LINK_RULES.isdisjoint(FIXABLE_RULES if request.rules is None else request.rules)
    renamed_documents = history.documents if needs_history else RenamedDocuments({})
    quick_finder = FixFinder(files=files, selection=selection, moves=renamed_documents)
    results = process_in_blocks(
        partial(fix_documents, quick_finder), paths, "Fixing documents", progress=progress
    )
    # The number of history lookups is limited, so one process makes all lookups, in a fixed order.
    history_finder = FixFinder(files=files, selection=selection, moves=history)
    completed_results = fix_documents(
        history_finder, sorted(result.path for result in results if result.needs_history_search)
    )
    if progress:
        progress(len(paths), len(paths), "Following links and writing")
    finished_results = [result for result in results if not result.needs_history_search]
    return sorted([*finished_results, *completed_results], key=lambda result: result.path)


def _build_commit_outcome(write_result: WriteResult, proposal: Proposal | None) -> FixOutcome:
    step = write_result.steps[0]
    if step.error is not None:
        raise step.error
    assert step.status is StepStatus.DONE
    assert step.outcome is not None
    fix_result = step.outcome.result
    fixes = cast("Mapping[str, DocumentRewrite]", fix_result["changes"])
    snapshot = write_result.plan.snapshot
    changes = [
        fixes[path]._replace(after=content)
        if path in fixes
        else DocumentRewrite(path, snapshot.read(path), content)
        for path, content in sorted(write_result.changes.items())
        if content is not None
    ]
    return FixOutcome(
        changes,
        cast("Sequence[FixRemark]", fix_result["fix_remarks"]),
        cast("int", fix_result.get("links_rewritten", 0)),
        write_result.commit if write_result.is_committed else None,
        proposal=proposal.id if proposal is not None else None,
    )
