"""The work of `docyard fix`: fixes in a commit, in a work tree, or in a preview."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from docyard.cli.validate_sources import Sources, collect_sources, process_in_blocks, select_documents
from docyard.terminal.exits import CannotError
from workspace.policy.protection import Protected
from workspace.proposals.actions.register import Actor
from workspace.proposals.events import Author, KnownBy
from workspace.validation.files import list_commit
from workspace.validation.fixes.broken_link import MoveHistory, RenamedDocuments
from workspace.validation.fixes.change import FixedBytes
from workspace.validation.fixes.files import fix_files
from workspace.validation.fixes.files import write_document as write_file
from workspace.validation.fixes.fix import FIXABLE_RULES, LINKS, FixFinder, fix_documents
from workspace.validation.fixes.operation import FixDocuments
from workspace.validation.run import Selection
from workspace.writing.plan import Mode, StepStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from docyard.terminal.console import Progress
    from workspace.edits import Operation
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.files import FileSet
    from workspace.validation.fixes.change import FixResult, SkippedFix
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult


class Repair(NamedTuple):
    """The fixes that were made, or would be: the changed documents, and the commit that holds them.

    `links` counts the links that were updated with the fixes, `left` lists the findings without a fix.
    `unwritten` counts the files that could not be written. `uncommitted` counts the documents with
    uncommitted changes that were not checked. `proposal` is the id of the proposal that holds the commit, if
    the policy protects these documents.
    """

    changes: Sequence[FixedBytes] = ()
    left: Sequence[SkippedFix] = ()
    links: int = 0
    commit: str | None = None
    unwritten: int = 0
    uncommitted: int = 0
    proposal: str | None = None


@dataclass(frozen=True)
class FixRequest:
    """The documents to fix: those at `names`, or all; by the rules of `only`, or by all rules."""

    workspace: Workspace
    folder: Path
    names: Sequence[Path]
    only: frozenset[str] | None

    def documents(self, gathered: Sources) -> tuple[str, ...]:
        """Return the selected documents. Raises CannotError if a name matches nothing."""
        return select_documents(gathered, self.folder, self.names)


def select_rules(rules: Sequence[str], *, anchors: bool) -> frozenset[str] | None:
    """Return the selected rules; None for all active rules with safe fixes."""
    named = frozenset(rules) | ({"missing-anchor"} if anchors else frozenset())
    return named or None


def check_fixes(asked: FixRequest, *, staged: bool, ref: str | None, progress: Progress | None) -> Repair:
    """Return the fixes for the work tree, Git's index, or a commit. Changes nothing."""
    gathered = collect_sources(asked.folder, ref, staged)
    return _fix_in_memory(asked, gathered, progress)


def write_fixes(asked: FixRequest, progress: Progress | None) -> Repair:
    """Fix the files of the work tree in place."""
    root = asked.workspace.git.worktree
    if root is None:
        raise CannotError("a bare repository has no files to write", fix="Leave out --write.")
    repair = _fix_in_memory(asked, collect_sources(asked.folder, None, False), progress)
    done: list[FixedBytes] = []
    refused: list[SkippedFix] = []
    for change in repair.changes:
        left = write_file(root, change)
        if left is None:
            done.append(change)
        else:
            refused.append(left)
    return repair._replace(changes=done, left=(*repair.left, *refused), unwritten=len(refused))


def commit_fixes(asked: FixRequest, message: str | None, progress: Progress | None) -> Repair:
    """Fix the documents of the served branch in one commit, or in a proposal if the policy requires it.

    Raises what `Workspace.write` and `Proposing.propose` do.
    """
    git = asked.workspace.git
    tip = asked.workspace.tip()
    if tip is None:
        return Repair(uncommitted=_count_uncommitted(asked, ()))
    paths: tuple[str, ...] = ()
    if asked.names:
        root = (git.worktree or git.git_dir).resolve()
        gathered = Sources(list_commit(git, tip), root, git, tip, "what is committed")
        paths = asked.documents(gathered)
        if not paths:
            return Repair()

    mended: dict[str, Sequence[FixResult]] = {}

    def mend(snapshot: Snapshot, paths: Sequence[str]) -> Sequence[FixResult]:
        at = snapshot.commit
        if at is None:
            return ()
        if at not in mended:  # a proposal begins at the same commit
            mended[at] = _fix_documents(asked, list_commit(git, at), snapshot, paths, progress)
        return mended[at]

    repair = _build_commit_result(
        *_write_operation(asked.workspace, FixDocuments(mend=mend, paths=paths), message)
    )
    return repair if repair.changes else repair._replace(uncommitted=_count_uncommitted(asked, paths))


def _write_operation(
    workspace: Workspace, operation: Operation, message: str | None
) -> tuple[WriteResult, Proposal | None]:
    """Write an operation to the served branch, or to a proposal if a document is protected."""
    tool, client = "fix", "command line"
    try:
        return workspace.write([operation], mode=Mode.ALL, tool=tool, client=client, message=message), None
    except Protected:
        actor = Actor(Author(*workspace.author(), KnownBy.GIT), tool, client)
        proposed = workspace.proposing().propose([operation], actor, mode=Mode.ALL, message=message)
        return proposed.written, proposed.proposal


def _count_uncommitted(asked: FixRequest, paths: Sequence[str]) -> int:
    """Return how many documents, of the work tree or of `paths`, differ from the served branch."""
    git = asked.workspace.git
    if git.worktree is None or git.head().branch != asked.workspace.branch:
        return 0
    changed = git.uncommitted()
    return len(set(changed).intersection(paths or collect_sources(asked.folder, None, False).files.documents))


def _fix_in_memory(asked: FixRequest, gathered: Sources, progress: Progress | None) -> Repair:
    snapshot = asked.workspace.snapshot(gathered.commit)
    paths = asked.documents(gathered)
    done = _fix_documents(asked, gathered.files, snapshot, paths, progress)
    return Repair(*fix_files(done, snapshot, gathered.files))


def _fix_documents(
    asked: FixRequest, files: FileSet, snapshot: Snapshot, paths: Sequence[str], progress: Progress | None
) -> Sequence[FixResult]:
    """Return the fixes in order of paths; `snapshot` is the commit below the files."""
    selection = Selection(files.config.validation, asked.only)
    history = MoveHistory(snapshot, asked.workspace.moves())
    needs_history = not LINKS.isdisjoint(FIXABLE_RULES if asked.only is None else asked.only)
    known = history.documents if needs_history else RenamedDocuments({})
    quick = FixFinder(files=files, selection=selection, elsewhere=known)
    done = process_in_blocks(partial(fix_documents, quick), paths, "Mending documents", progress=progress)
    # This process alone counts how often the history is asked, in the same order each time.
    whole = FixFinder(files=files, selection=selection, elsewhere=history)
    closed = fix_documents(whole, sorted(one.path for one in done if one.is_open))
    if progress:
        progress(len(paths), len(paths), "Following links and writing")
    return sorted([*(one for one in done if not one.is_open), *closed], key=lambda one: one.path)


def _build_commit_result(written: WriteResult, proposal: Proposal | None) -> Repair:
    step = written.steps[0]
    if step.error is not None:
        raise step.error
    assert step.status is StepStatus.DONE
    assert step.outcome is not None
    answer = step.outcome.answer
    mends = cast("Mapping[str, FixedBytes]", answer["changes"])
    snapshot = written.plan.snapshot
    changes = [
        mends[path]._replace(after=data) if path in mends else FixedBytes(path, snapshot.read(path), data)
        for path, data in sorted(written.changes.items())
        if data is not None
    ]
    return Repair(
        changes,
        cast("Sequence[SkippedFix]", answer["left"]),
        cast("int", answer.get("links_rewritten", 0)),
        written.commit if written.is_committed else None,
        proposal=proposal.id if proposal is not None else None,
    )
