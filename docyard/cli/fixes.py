"""`docyard fix` behind its options: documents mended in a commit, in a work tree, or only shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from docyard.cli.validate_sources import Gathered, chosen, gather, in_blocks
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
    """What was mended, or would be: the documents that change, and the commit that holds them.

    `links` counts the links that followed the mends, `left` is what was not mended. `unwritten` counts the
    files that could not be written, `uncommitted` the documents whose files nobody looked at, where nothing
    was found in what is committed. `proposal` is the id of the one that holds the commit, where the policy
    lets only a proposal change these documents.
    """

    changes: Sequence[FixedBytes] = ()
    left: Sequence[SkippedFix] = ()
    links: int = 0
    commit: str | None = None
    unwritten: int = 0
    uncommitted: int = 0
    proposal: str | None = None


@dataclass(frozen=True)
class Asked:
    """What is to be mended: the documents that `names` lead to, or all; by the rules of `only`, or all."""

    workspace: Workspace
    folder: Path
    names: Sequence[Path]
    only: frozenset[str] | None

    def documents(self, gathered: Gathered) -> tuple[str, ...]:
        """Return the documents that are meant. Raises CannotError for a name at which there is nothing."""
        return chosen(gathered, self.folder, self.names)


def rules_asked_for(rules: Sequence[str], *, anchors: bool) -> frozenset[str] | None:
    """Return the rules that are mended; None for all that hold and whose findings are safe to mend."""
    named = frozenset(rules) | ({"missing-anchor"} if anchors else frozenset())
    return named or None


def check(asked: Asked, *, staged: bool, ref: str | None, progress: Progress | None) -> Repair:
    """Return what would be mended: in the work tree, in Git's index, or at a commit. Changes nothing."""
    gathered = gather(asked.folder, ref, staged)
    return _in_memory(asked, gathered, progress)


def write(asked: Asked, progress: Progress | None) -> Repair:
    """Mend the files of the work tree where they lie."""
    root = asked.workspace.git.worktree
    if root is None:
        raise CannotError("a bare repository has no files to write", fix="Leave out --write.")
    repair = _in_memory(asked, gather(asked.folder, None, False), progress)
    done: list[FixedBytes] = []
    refused: list[SkippedFix] = []
    for change in repair.changes:
        left = write_file(root, change)
        if left is None:
            done.append(change)
        else:
            refused.append(left)
    return repair._replace(changes=done, left=(*repair.left, *refused), unwritten=len(refused))


def commit(asked: Asked, message: str | None, progress: Progress | None) -> Repair:
    """Mend the documents of the served branch, in one commit; a proposal where the policy asks for one.

    Raises what `Workspace.write` and `Proposing.propose` do.
    """
    git = asked.workspace.git
    tip = asked.workspace.tip()
    if tip is None:
        return Repair(uncommitted=_uncommitted(asked, ()))
    paths: tuple[str, ...] = ()
    if asked.names:
        root = (git.worktree or git.git_dir).resolve()
        gathered = Gathered(list_commit(git, tip), root, git, tip, "what is committed")
        paths = asked.documents(gathered)
        if not paths:
            return Repair()

    mended: dict[str, Sequence[FixResult]] = {}

    def mend(snapshot: Snapshot, paths: Sequence[str]) -> Sequence[FixResult]:
        at = snapshot.commit
        if at is None:
            return ()
        if at not in mended:  # a proposal begins at the same commit
            mended[at] = _mended(asked, list_commit(git, at), snapshot, paths, progress)
        return mended[at]

    repair = _committed(*_written(asked.workspace, FixDocuments(mend=mend, paths=paths), message))
    return repair if repair.changes else repair._replace(uncommitted=_uncommitted(asked, paths))


def _written(
    workspace: Workspace, operation: Operation, message: str | None
) -> tuple[WriteResult, Proposal | None]:
    """What became of an operation: written to the served branch, or to a proposal where that is protected."""
    tool, client = "fix", "command line"
    try:
        return workspace.write([operation], mode=Mode.ALL, tool=tool, client=client, message=message), None
    except Protected:
        actor = Actor(Author(*workspace.author(), KnownBy.GIT), tool, client)
        proposed = workspace.proposing().propose([operation], actor, mode=Mode.ALL, message=message)
        return proposed.written, proposed.proposal


def _uncommitted(asked: Asked, paths: Sequence[str]) -> int:
    """Return how many documents of the work tree, or of these, are not as the served branch has them."""
    git = asked.workspace.git
    if git.worktree is None or git.head().branch != asked.workspace.branch:
        return 0
    changed = git.uncommitted()
    return len(set(changed).intersection(paths or gather(asked.folder, None, False).files.documents))


def _in_memory(asked: Asked, gathered: Gathered, progress: Progress | None) -> Repair:
    snapshot = asked.workspace.snapshot(gathered.commit)
    paths = asked.documents(gathered)
    done = _mended(asked, gathered.files, snapshot, paths, progress)
    return Repair(*fix_files(done, snapshot, gathered.files))


def _mended(
    asked: Asked, files: FileSet, snapshot: Snapshot, paths: Sequence[str], progress: Progress | None
) -> Sequence[FixResult]:
    """What comes of the documents, in order of paths; `snapshot` is the commit that the files lie over."""
    selection = Selection(files.config.validation, asked.only)
    history = MoveHistory(snapshot, asked.workspace.moves())
    needs_history = not LINKS.isdisjoint(FIXABLE_RULES if asked.only is None else asked.only)
    known = history.documents if needs_history else RenamedDocuments({})
    quick = FixFinder(files=files, selection=selection, elsewhere=known)
    done = in_blocks(partial(fix_documents, quick), paths, "Mending documents", progress=progress)
    # This process alone counts how often the history is asked, in the same order each time.
    whole = FixFinder(files=files, selection=selection, elsewhere=history)
    closed = fix_documents(whole, sorted(one.path for one in done if one.is_open))
    if progress:
        progress(len(paths), len(paths), "Following links and writing")
    return sorted([*(one for one in done if not one.is_open), *closed], key=lambda one: one.path)


def _committed(written: WriteResult, proposal: Proposal | None) -> Repair:
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
