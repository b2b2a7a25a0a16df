"""Conflicts of a proposal with its target, their versions as text, and the commits that wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.exits import CommandError
from workspace.errors import WorkspaceError
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from workspace.history.commits import CommitChange, CommitInfo
    from workspace.merge.conflict import UnitConflict, UnitId
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


class ConflictSet(NamedTuple):
    """Conflicts between a commit of a proposal and a commit of its target."""

    commit: str | None
    target_commit: str | None
    conflicts: tuple[FileConflict, ...]


def find_conflicts(workspace: Workspace, proposal: Proposal) -> ConflictSet:
    """Return the conflicts of a refresh: ours is the proposal, theirs is its target.

    A merged proposal has no conflicts. Raises CommandError if one of the branches was deleted, and the errors
    of reading and merging the commits.
    """
    from workspace.proposals.proposal import ProposalState

    target = workspace.git.tip(proposal.content.target)
    if proposal.state is not ProposalState.MERGED:
        for branch, tip in ((proposal.content.branch, proposal.tip), (proposal.content.target, target)):
            if tip is None:
                raise CommandError(
                    f"the branch '{branch}' does not exist",
                    fix="Fetch the branch, or restore it with git branch.",
                )
    return ConflictSet(proposal.tip, target, workspace.proposal_reviews().conflicts(proposal, target))


_MAX_CHANGES = 30  # of a document, among which the commit of a version is searched
_MAX_SCANNED_COMMITS = 2_000


class SideHistory:
    """The history of one side of conflicts, at a commit. The changes of each document are read once."""

    def __init__(self, workspace: Workspace, commit: str) -> None:
        self._workspace, self._snapshot = workspace, workspace.snapshot(commit)
        self._changes: dict[str, tuple[CommitChange, ...]] = {}

    def find_commit(self, path: str, conflict: UnitConflict, version: bytes | None) -> CommitInfo | None:
        """Return the newest commit that wrote a version of a conflict's unit, or that removed its base.

        Return None for a position, if the commit is not among the last changes of the document, or if the
        side has the document at another path.
        """
        text, is_removal = (conflict.base, True) if version is None else (version, False)
        if not text or conflict.unit.kind is UnitKind.POSITION:
            return None
        for change in self._list_changes(path):
            old_text, new_text = (_normalize(item) for item in (change.before, change.after))
            if is_removal:
                old_text, new_text = new_text, old_text
            if _normalize(text) in new_text and _normalize(text) not in old_text:
                return change.info
        return None

    def _list_changes(self, path: str) -> tuple[CommitChange, ...]:
        if path not in self._changes:
            try:
                page = self._workspace.history().changes(
                    self._snapshot, path, limit=_MAX_CHANGES, max_scanned=_MAX_SCANNED_COMMITS
                )
            except WorkspaceError:  # such as a document at another path on this side
                self._changes[path] = ()
            else:
                self._changes[path] = page.entries
        return self._changes[path]


def _normalize(text: bytes | None) -> bytes:
    """Return a text with the line endings of a merge; empty for a missing text."""
    return b"" if text is None else text.replace(b"\r\n", b"\n")


def format_version(unit: UnitId, version: bytes | None) -> str:
    """Return a version as text.

    In a conflict about the position of a section or block, the text names the parent of the section or block,
    and its previous sibling.
    """
    text = decode_version(version) or ""
    if unit.kind is not UnitKind.POSITION or not unit.where:
        return text
    parent, _, previous = text.partition("\n")
    parent_text = f"below {parent}" if parent else "at the top level"
    return f"{parent_text}, after {previous}" if previous else f"{parent_text}, first"


def decode_version(version: bytes | None) -> str | None:
    """Return a version as text, with U+FFFD in place of invalid bytes; None for a missing version."""
    return None if version is None else version.decode("utf-8", "replace")
