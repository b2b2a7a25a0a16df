"""The commit at which a tool reads; the suggested calls read the same commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.errors import build_ref_argument
from tools.tool import Answer, Call, NextStep, call
from workspace.nearest import find_nearest
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot


_MAX_LISTED_PATHS = 20


class ReadContext(NamedTuple):
    """A context at one snapshot. `ref` is the caller's ref; None at the tip of the served branch.

    `proposal` is the id of the open proposal that the ref names; None for another ref.
    """

    context: Context
    snapshot: Snapshot
    ref: str | None
    proposal: str | None = None

    @classmethod
    def at(cls, context: Context, ref: str | None) -> ReadContext:
        """Return the context at a ref, or at the tip if it is blank. Raises the errors of `Workspace.at`."""
        requested_ref = ref if ref and ref.strip() else None
        return cls(
            context,
            context.snapshot(ref),
            requested_ref,
            _find_open_proposal(context, requested_ref) if requested_ref else None,
        )

    def offers_write(self, tool: str) -> bool:
        """Return True if a next step may name a writing tool: only at the tip or in an open proposal."""
        return (self.ref is None or self.proposal is not None) and self.context.offers(tool)

    def build_write_call(self, tool: str, **arguments: object) -> Call:
        """Return a call of a writing tool for a next step; it writes to the proposal that is read, if any."""
        return call(tool, **arguments, **({"proposal": self.proposal} if self.proposal else {}))

    def call(self, tool: str, **arguments: object) -> Call:
        """Return a call of a reading tool for a next step, at the same ref."""
        return call(tool, **arguments, **build_ref_argument(self.ref))

    def build_continuation_call(self, tool: str, **arguments: object) -> Call:
        """Return a call for the rest of a truncated text at the same commit, so that the parts match."""
        rest_call = call(tool, **arguments, **build_ref_argument(self.ref or self.snapshot.commit))
        return self.context.call_form.convert(rest_call)

    def build_usage_answer(self, usage: Mapping[str, object]) -> Answer:
        """Return the answer to a call without a document: the usage and the first documents."""
        return Answer(
            {
                "usage": dict(usage),
                "documents": list(self.snapshot.documents)[:_MAX_LISTED_PATHS],
                "commit": self.snapshot.commit,
                "next_step": NextStep("Call with the path of a document", *self._build_list_hint()),
            }
        )

    def _build_list_hint(self) -> tuple[str | Call, ...]:
        can_list = self.context.offers("list_documents")
        return ("; ", self.call("list_documents"), " lists all documents") if can_list else ()


def _find_open_proposal(context: Context, ref: str) -> str | None:
    """Return the id of the open proposal that a ref names; None for another ref."""
    # Imported here because most calls name no ref.
    from workspace.revisions import may_name_proposal

    if context.workspace.read_only or not may_name_proposal(context.workspace.git, ref):
        return None
    from workspace.errors import WorkspaceError

    try:
        proposal = context.workspace.proposal_actions().find(ref)
    except WorkspaceError:  # such as a branch whose name looks like an id
        return None
    return proposal.id if proposal.is_open else None


def normalize_folder(path: str) -> str:
    """Return a path without `./` and a final `/`; an empty string for the top folder."""
    normalized_path = path.strip().removeprefix("./").rstrip("/")
    return "" if normalized_path == "." else normalized_path


def list_paths(snapshot: Snapshot, folder: str) -> list[str]:
    """Return the paths of the documents at or under a path.

    Raises DocumentNotFound if there are none.
    """
    if not folder:
        return list(snapshot.documents)
    folder = check_path(folder)
    paths = [path for path in snapshot.documents if path == folder or path.startswith(folder + "/")]
    if not paths:
        folders = {
            path.rsplit("/", depth)[0]
            for path in snapshot.documents
            for depth in range(1, path.count("/") + 1)
        }
        nearest = find_nearest(folder, sorted(folders) + list(snapshot.documents))
        raise DocumentNotFound(
            f"no document at or under '{folder[:200]}'",
            fix=f"Did you mean '{nearest[0]}'?" if nearest else "Use '.' for all documents.",
            candidates=nearest or ["."],
        )
    return paths
