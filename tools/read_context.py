"""The context of a read: the commit of a `ref`, at which the proposed calls stay too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.errors import ref_argument
from tools.tool import Answer, Call, NextStep, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot


_SHOWN_PATHS = 20


class ReadContext(NamedTuple):
    """A context at one snapshot. `ref` is as the caller gave it; None at the tip of the served branch.

    `proposal` is the open proposal that the ref names, if it names one.
    """

    context: Context
    snapshot: Snapshot
    ref: str | None
    proposal: str | None = None

    @classmethod
    def at(cls, context: Context, ref: str | None) -> ReadContext:
        """Return what a ref names; the tip without one, or if it is blank. Raises as `Workspace.at` does."""
        named = ref if ref and ref.strip() else None
        return cls(context, context.snapshot(ref), named, _open_proposal(context, named) if named else None)

    def writes(self, tool: str) -> bool:
        """Return True if a writing tool may be named: at the tip and in an open proposal only."""
        return (self.ref is None or self.proposal is not None) and self.context.offers(tool)

    def change(self, tool: str, **arguments: object) -> Call:
        """Return a call of a writing tool as a next step names it, in the proposal that is read, if any."""
        return call(tool, **arguments, **({"proposal": self.proposal} if self.proposal else {}))

    def call(self, tool: str, **arguments: object) -> Call:
        """Return a call of a tool that reads, as a next step names it, at the same ref."""
        return call(tool, **arguments, **ref_argument(self.ref))

    def rest(self, tool: str, **arguments: object) -> Call:
        """Return a call for the rest of a cut text at the same commit, so that no two states are joined."""
        return call(tool, **arguments, **ref_argument(self.ref or self.snapshot.commit))

    def explained(self, usage: Mapping[str, object]) -> Answer:
        """Return the answer to a call without a document: the usage, and the first documents."""
        return Answer(
            {
                "usage": dict(usage),
                "documents": list(self.snapshot.documents)[:_SHOWN_PATHS],
                "commit": self.snapshot.commit,
                "next_step": NextStep("Call with the file of one", *self._listing()),
            }
        )

    def _listing(self) -> tuple[str | Call, ...]:
        offered = self.context.offers("list_documents")
        return ("; ", self.call("list_documents"), " shows them all") if offered else ()


def _open_proposal(context: Context, ref: str) -> str | None:
    """Return the id of the proposal that a ref names, if it can still be written to."""
    # Imported here because most calls name no ref.
    from workspace.proposal_ids import read_id

    if context.workspace.read_only or read_id(ref) is None:
        return None
    from workspace.errors import WorkspaceError

    try:
        proposal = context.workspace.proposing().one(ref)
    except WorkspaceError:  # such as a branch with a name like an id
        return None
    return proposal.id if proposal.is_open else None
