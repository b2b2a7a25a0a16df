"""Known attempts to bypass the review gate, each with a person who approves and one who merges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.acceptance.gate.gate_setup import NO_RULES, RULES_WITHOUT_APPROVAL
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, IdentitySource, ReviewDecision, Reviewed

if TYPE_CHECKING:
    from tests.acceptance.gate.random_walk import Walk


def approve_own_proposal(walk: Walk, approver: str, merger: str) -> None:
    """Approve a proposal as the person who opened it, and merge it."""
    id = _write_to_proposal(walk, walk.create_proposal(approver))
    walk.approve(id, approver)
    walk.merge(id, merger)


def approve_after_commit(walk: Walk, approver: str, merger: str) -> None:
    """Approve a proposal as a person who committed to it with the git program, and merge it."""
    _commit_and_approve(walk, approver, merger, amends=False)


def approve_after_amend(walk: Walk, approver: str, merger: str) -> None:
    """Approve a proposal as a person who amended its tip; Git preserves the author and the message.

    Then merge the proposal.
    """
    _commit_and_approve(walk, approver, merger, amends=True)


def forge_approval(walk: Walk, approver: str, merger: str) -> None:
    """Forge approvals in a person's name: without a seal, with a seal of zeros, and with copied seals."""
    id, log = _write_to_proposal(walk), EventLog(walk.workspace.git)
    bodies = [
        event.body for proposal in walk.list_proposals() for event in log.read().events_of(proposal.id).events
    ]
    seals = [body.seal for body in bodies if isinstance(body, Reviewed)]
    author = Author(approver.title(), f"{approver}@example.org", IdentitySource.TOKEN, approver)
    for seal in dict.fromkeys([None, "0" * 96, *seals]):
        review = Reviewed(ReviewDecision.APPROVE, "", walk.get_tip(id) or "", seal)
        log.append(id, [review], author, tool="forger", client="forger")
    walk.merge(id, merger)


def edit_after_approval(walk: Walk, approver: str, merger: str) -> None:
    """Edit a proposal after its approval, and merge it."""
    id = _write_to_proposal(walk)
    walk.approve(id, approver)
    _write_to_proposal(walk, id)
    walk.merge(id, merger)


def propose_weaker_rules(walk: Walk, approver: str, merger: str) -> None:
    """Propose and merge rules that need no approval, with and without a change in `specs/`."""
    for text in (NO_RULES, RULES_WITHOUT_APPROVAL):
        for changes_specs in (False, True):
            id = _write_to_proposal(walk) if changes_specs else _create_proposal(walk)
            walk.commit_with_git(id, approver, "docyard.toml", text)
            walk.call("update_proposal", proposal=id, action="merge")
            walk.merge(id, merger)


def merge_without_token(walk: Walk, approver: str, merger: str) -> None:
    """Merge an approved proposal as an agent, and by a command without a token.

    The environment of the agent's server contains the token of a person.
    """
    id = _write_to_proposal(walk)
    walk.approve(id, approver)
    walk.monkeypatch.setenv("DOCYARD_TOKEN", walk.secrets[merger])
    for action in ("approve", "merge"):
        walk.call("update_proposal", proposal=id, action=action)
    walk.run("proposals", "merge", id)


def remove_protected_type(walk: Walk, approver: str, merger: str) -> None:
    """Remove the type that protects a document, in a batch; then move and remove the document."""
    protected_path, unprotected_edit = (
        "notes/run.md",
        {"operation": "append_content", "file": "free.md", "slug": "calls"},
    )
    type_removal = {"operation": "set_metadata", "file": protected_path, "metadata": {"type": None}}
    walk.call(
        "edit_document", operations=[{**unprotected_edit, "content": "Free."}, type_removal], mode="each"
    )
    walk.call("edit_document", operation="move_document", file=protected_path, new_path="notes/free.md")
    walk.call("remove_document", path=protected_path)


ATTEMPTS: tuple[Callable[[Walk, str, str], None], ...] = (
    approve_own_proposal,
    approve_after_commit,
    approve_after_amend,
    forge_approval,
    edit_after_approval,
    propose_weaker_rules,
    merge_without_token,
    remove_protected_type,
)


def _commit_and_approve(walk: Walk, approver: str, merger: str, *, amends: bool) -> None:
    id = _write_to_proposal(walk)
    text = f"# API\n\n## Calls\n\nManual {walk.rng.randrange(10**6)}.\n"
    walk.commit_with_git(id, approver, "specs/api.md", text, amends=amends)
    walk.approve(id, approver)
    walk.merge(id, merger)


def _create_proposal(walk: Walk) -> str:
    return str(walk.call("create_proposal", title="Alone", description="Why.").data["proposal"])


def _write_to_proposal(walk: Walk, id: str | None = None) -> str:
    """Write to a protected path in a proposal, by default in a new proposal; return its id."""
    id, title = id or _create_proposal(walk), f"New {walk.rng.randrange(10**6)}"
    walk.call("create_document", doc_type="document", title=title, folder="specs", proposal=id)
    return id
