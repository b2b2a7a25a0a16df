"""The documents that a proposal adds, changes and removes, marked where its documents are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import DocumentChangeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal

_LABELS = {
    DocumentChangeKind.ADDED: "new",
    DocumentChangeKind.REMOVED: "removed",
    DocumentChangeKind.RENAMED: "renamed",
    DocumentChangeKind.CHANGED: "changed",
}


class ProposedDocuments(NamedTuple):
    """The changed documents of the proposal that a page shows: its id, and a label for each path."""

    proposal: str
    labels: Mapping[str, str]

    @property
    def removed_paths(self) -> list[str]:
        """The paths of removed documents, sorted."""
        return sorted(path for path, label in self.labels.items() if label == "removed")

    def list_removed(self, folder: str) -> list[str]:
        """Return the paths of removed documents in a folder and below, sorted."""
        return [path for path in self.removed_paths if not folder or path.startswith(f"{folder}/")]

    def count_below(self, folder: str) -> int:
        """Return the number of changed documents in a folder and below."""
        return sum(path.startswith(f"{folder}/") for path in self.labels)


def find_shown_proposal(request: PageRequest) -> str | None:
    """Return the id of the open proposal whose branch is shown; None for another ref."""
    from workspace.proposal_ids import read_id_prefix
    from workspace.revisions import may_name_proposal

    if not request.ref or not may_name_proposal(request.workspace.git, request.ref):
        return None
    prefix = read_id_prefix(request.ref) or request.ref
    return next((item.id for item in request.proposals if item.id.startswith(prefix) and item.is_open), None)


def find_proposed_documents(request: PageRequest) -> ProposedDocuments | None:
    """Return the changed documents of the open proposal whose branch, or whose tip, is shown.

    Return None for another ref. Raises ShallowHistory, DamagedRepository.
    """
    proposal = _find_proposal(request)
    if proposal is None:
        return None
    changes = request.workspace.proposal_reviews().changes(proposal)
    return ProposedDocuments(
        proposal.id, {document.path: _LABELS[document.kind] for document in changes.documents}
    )


def _find_proposal(request: PageRequest) -> Proposal | None:
    if request.ref is None or not request.workspace.has_history:
        return None
    commit = request.snapshot.commit
    site, workspace = request.site, request.workspace
    proposals = site.list_proposals(workspace, site.versions.get_current(workspace))
    return next((item for item in proposals if item.is_open and item.tip == commit), None)
