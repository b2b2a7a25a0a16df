"""undo: what one commit did to documents taken back, where others may have written since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.diff.section_mapping import Conflict
from workspace.edits.operation import Operation, Outcome
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.splices import Style
    from workspace.edits.staying import Staying
    from workspace.edits.undo import Undoing
    from workspace.git.objects import Commit
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_TOLD = 100
_ROUNDS = 5  # what is held back may hold back more
_NAMED = 3


class NotInHistory(WorkspaceError):
    """The commit is not among the ancestors of the branch's tip, or the one before it is not here."""

    code = "NOT_IN_HISTORY"


class MergeCommit(WorkspaceError):
    """The commit joins several lines of history, so it cannot be told what it did. `parents` are its own."""

    code = "MERGE_COMMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Operation):
    """Takes back what a commit (a full id) did, section by section.

    Sections that it did not change stay as they are. One that it changed and that was changed since is a
    conflict, and nothing is taken back; if it `is_partial`, everything else is.

    It takes away no words but those that the commit wrote, so its caller needs not have seen them.
    """

    name: ClassVar[str] = "undo"

    commit: str
    is_partial: bool = False

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays the documents as they would be over the snapshot; nothing where all is taken back already.

        Raises NotInHistory, MergeCommit, Conflict.
        """
        from workspace.edits.undo import Undoing
        from workspace.edits.versions import SHORT

        commit = self._commit(overlay.snapshot)
        held = self._held(overlay, commit)
        undoing = Undoing(overlay, commit, held)
        undoing.run()
        short = self.commit[:SHORT]
        is_settled = undoing.unmoved <= held
        if undoing.clashes and (not self.is_partial or not undoing.done or not is_settled):
            raise self._conflict(short, undoing)
        subject = commit.message.strip().partition("\n")[0]
        summary = f"Undo {short}: {subject}"
        answer: dict[str, object] = {"undo": self.commit, "undone": undoing.done[:_TOLD]}
        if len(undoing.done) > _TOLD:
            answer["undone_total"] = len(undoing.done)
        if undoing.clashes:
            answer["conflicts"] = undoing.told(_TOLD)
        if undoing.left_alone:
            answer["left_alone"] = undoing.left_alone[:_TOLD]
        hints = _hints(undoing, short)
        if not undoing.done:
            return Outcome("", answer, summary, False, hints)
        path = str(undoing.done[0]["file"])
        return Outcome(path, answer, summary, True, hints, undoing.survival())

    def _held(self, overlay: Overlay, commit: Commit) -> Staying:
        """Lines that stay where they are: what was moved is taken back on both sides, or on none."""
        from workspace.edits.staying import NOTHING
        from workspace.edits.undo import Undoing

        held = NOTHING
        for _ in range(_ROUNDS if self.is_partial else 0):
            tried = Undoing(overlay.copy(), commit, held)
            tried.run()
            if tried.unmoved <= held:
                break
            held |= tried.unmoved
        return held

    def _commit(self, tip: Snapshot) -> Commit:
        """The commit. Raises NotInHistory, MergeCommit."""
        from workspace.edits.versions import SHORT

        short = self.commit[:SHORT]
        if tip.commit is None or not tip.git.descends(tip.commit, self.commit):
            raise NotInHistory(
                f"the commit {short} is not in the history of this branch, so there is nothing to take back",
                fix="Choose a commit of this branch.",
                ref=self.commit,
            )
        commit = tip.git.commit(self.commit)
        if len(commit.parents) > 1:
            raise MergeCommit(
                f"{short} is a merge of {len(commit.parents)} lines of history, and cannot be undone as one",
                fix="Undo the commits that it brought, one by one, the newest first.",
                ref=self.commit,
                parents=list(commit.parents),
            )
        if commit.parents and not tip.git.has(commit.parents[0]):
            raise NotInHistory(
                f"the history of this clone ends at {short}, so what it changed cannot be told",
                fix="Fetch the rest with git fetch --unshallow.",
                ref=self.commit,
            )
        return commit

    def _conflict(self, short: str, undoing: Undoing) -> Conflict:
        clashes = undoing.clashes
        named = [f"{clash.file}#{clash.slug}" if clash.slug else clash.file for clash in clashes]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return Conflict(
            f"what {short} did cannot all be taken back, because other commits have changed it since: "
            f"{', '.join(named[:_NAMED])}{more}; nothing was changed",
            fix="Undo the commits that 'conflicts' names first, or "
            + ("restore what you need." if self.is_partial else 'send mode "each" to take back the rest.'),
            ref=self.commit,
            conflicts=undoing.told(_TOLD),
        )


def _hints(undoing: Undoing, short: str) -> tuple[str, ...]:
    hints: list[str] = []
    if not undoing.done:
        hints.append(f"nothing of {short} is left to take back")
    if undoing.clashes:
        hints.append("changed since and left as it is: see 'conflicts'")
    if undoing.left_alone:
        hints.append("files that are no documents were left alone: see 'left_alone'")
    return tuple(hints)
