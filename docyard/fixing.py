"""`docyard fix` behind its options: documents mended in a commit, in a work tree, or only shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from docyard.exits import CannotError
from docyard.validation.gathering import Gathered, chosen, gather
from workspace.fixing.files import repaired
from workspace.fixing.files import write as write_file
from workspace.fixing.fixers import Fixers
from workspace.fixing.history import History
from workspace.fixing.mend import Change
from workspace.fixing.operation import FixDocuments
from workspace.plan import Mode, Status
from workspace.validation.files import BlobReader, Files
from workspace.validation.listing import of_commit
from workspace.validation.run import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from docyard.console import Progress
    from workspace.fixing.mend import Left, Mend
    from workspace.overlay import Overlay
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing import Written


class Repair(NamedTuple):
    """What was mended, or would be: the documents that change, and the commit that holds them.

    `links` counts the links that followed the mends, `left` is what was not mended.
    """

    changes: Sequence[Change] = ()
    left: Sequence[Left] = ()
    links: int = 0
    commit: str | None = None


@dataclass(frozen=True)
class Asked:
    """What is to be mended: the documents that `names` lead to, or all; by the rules of `only`, or all."""

    workspace: Workspace
    folder: Path
    names: Sequence[Path]
    only: frozenset[str] | None

    def documents(self, gathered: Gathered) -> tuple[str, ...]:
        """The documents that are meant. A file that is none is passed over: hooks name all that they see.

        Raises CannotError for a name at which there is nothing.
        """
        root, files = gathered.root, gathered.files
        others = (files.paths | files.opaque).difference(files.documents)
        spelled = {
            name: os.path.relpath(os.path.normpath(self.folder.resolve() / name), root) for name in self.names
        }
        names = [name for name in self.names if spelled[name].replace(os.sep, "/") not in others]
        return chosen(gathered, self.folder, names) if names or not self.names else ()

    def fixers(self, files: Files, snapshot: Snapshot) -> Fixers:
        """What is looked for among some files, which lie over a snapshot."""
        selection = Selection(files.config.validation, self.only)
        elsewhere = History(snapshot, self.workspace.moves())
        return Fixers(files=files, selection=selection, elsewhere=elsewhere)


def rules_asked_for(rules: Sequence[str], *, anchors: bool) -> frozenset[str] | None:
    """The rules that are mended; None for all that hold and whose findings are safe to mend."""
    named = frozenset(rules) | ({"missing-anchor"} if anchors else frozenset())
    return named or None


def check(asked: Asked, *, staged: bool, ref: str | None, progress: Progress | None) -> Repair:
    """What would be mended: in the work tree, in Git's index, or at a commit. Changes nothing."""
    gathered = gather(asked.folder, ref, staged)
    return _in_memory(asked, gathered, progress)


def write(asked: Asked, progress: Progress | None) -> Repair:
    """Mends the files of the work tree where they lie."""
    root = asked.workspace.git.worktree
    if root is None:
        raise CannotError("a bare repository has no files to write", fix="Leave out --write.")
    repair = _in_memory(asked, gather(asked.folder, None, False), progress)
    refused: list[Left] = []
    for change in repair.changes:
        left = write_file(root, change)
        if left is not None:
            refused.append(left)
    return repair._replace(left=(*repair.left, *refused))


def commit(asked: Asked, message: str | None, progress: Progress | None) -> Repair:
    """Mends the documents of the served branch, in one commit. Raises what `Workspace.write` does."""
    git = asked.workspace.git
    tip = asked.workspace.tip()
    if tip is None:
        return Repair()
    paths: tuple[str, ...] = ()
    if asked.names:
        root = (git.worktree or git.git_dir).resolve()
        gathered = Gathered(of_commit(git, tip), root, git, tip, "the branch")
        paths = asked.documents(gathered)
        if not paths:
            return Repair()

    def fixers(overlay: Overlay) -> Fixers:
        at = overlay.snapshot.commit
        files = of_commit(git, at) if at else Files(frozenset(), frozenset(), BlobReader(git, {}))
        return asked.fixers(files, overlay.snapshot)

    operation = FixDocuments(fixers=fixers, paths=paths, progress=progress)
    written = asked.workspace.write(
        [operation], mode=Mode.ALL, tool="fix", client="command line", message=message
    )
    return _committed(written)


def _in_memory(asked: Asked, gathered: Gathered, progress: Progress | None) -> Repair:
    snapshot = asked.workspace.snapshot(gathered.commit)
    fixers = asked.fixers(gathered.files, snapshot)
    paths = asked.documents(gathered)
    done = repaired(fixers, paths, snapshot, progress)
    return Repair(*done)


def _committed(written: Written) -> Repair:
    step = written.steps[0]
    if step.error is not None:
        raise step.error
    assert step.status is Status.DONE
    assert step.outcome is not None
    answer = step.outcome.answer
    mends = cast("Mapping[str, tuple[Mend, ...]]", answer["mends"])
    snapshot = written.plan.snapshot
    changes = [
        Change(path, snapshot.read(path), data, mends.get(path, ()))
        for path, data in sorted(written.changes.items())
        if data is not None
    ]
    return Repair(
        changes,
        cast("Sequence[Left]", answer["left"]),
        cast("int", answer.get("links_rewritten", 0)),
        written.commit if written.is_committed else None,
    )
