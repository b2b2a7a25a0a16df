"""Known ways to bypass the review gate, one by one, so that no random walk has to find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.acceptance.gate.world import LAX, NONE
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, KnownBy, ReviewDecision, Reviewed

if TYPE_CHECKING:
    from tests.acceptance.gate.random_walk import Walk


def opens(walk: Walk, by: str, merges: str) -> None:
    """Approve a proposal as its author."""
    id = _written(walk, walk.open(by))
    walk.approve(id, by)
    walk.merge(id, merges)


def writes(walk: Walk, by: str, merges: str) -> None:
    """Approve a proposal as a person who committed to it with the git program."""
    _commit_and_approve(walk, by, merges, amends=False)


def amends(walk: Walk, by: str, merges: str) -> None:
    """Approve a proposal as a person who amended an agent's commit; Git preserves author and message."""
    _commit_and_approve(walk, by, merges, amends=True)


def forges(walk: Walk, by: str, merges: str) -> None:
    """Forge an approval in a person's name: without a seal, with zeros, or with a copied seal."""
    id, log = _written(walk), EventLog(walk.workspace.git)
    bodies = [event.body for proposal in walk.all() for event in log.read().events_of(proposal.id).events]
    seals = [words.seal for words in bodies if isinstance(words, Reviewed)]
    author = Author(by.title(), f"{by}@example.org", KnownBy.TOKEN, by)
    for seal in dict.fromkeys([None, "0" * 96, *seals]):
        words = Reviewed(ReviewDecision.APPROVE, "", walk.tip(id) or "", seal)
        log.append(id, [words], author, tool="forger", client="forger")
    walk.merge(id, merges)


def edits(walk: Walk, by: str, merges: str) -> None:
    """Edit a proposal after its approval."""
    id = _written(walk)
    walk.approve(id, by)
    _written(walk, id)
    walk.merge(id, merges)


def lifts(walk: Walk, by: str, merges: str) -> None:
    """Propose rules that need no approval, with and without a change of a protected path."""
    for text in (NONE, LAX):
        for also in (False, True):
            id = _written(walk) if also else _empty(walk)
            walk.commit_with_git(id, by, "docyard.toml", text)
            walk.call("update_proposal", proposal=id, action="merge")
            walk.merge(id, merges)


def without_a_token(walk: Walk, by: str, merges: str) -> None:
    """Merge an approved proposal as an agent with a token in the environment, or by a command without one."""
    id = _written(walk)
    walk.approve(id, by)
    walk.environment.setenv("DOCYARD_TOKEN", walk.secrets[merges])
    for action in ("approve", "merge"):
        walk.call("update_proposal", proposal=id, action=action)
    walk.run("proposals", "merge", id)


def frees(walk: Walk, by: str, merges: str) -> None:
    """Remove the type that protects a document: in a batch, by a move, or by a removal."""
    run, free = "notes/run.md", {"operation": "append_content", "file": "free.md", "slug": "calls"}
    untyped = {"operation": "set_metadata", "file": run, "metadata": {"type": None}}
    walk.call("edit_document", operations=[{**free, "content": "Free."}, untyped], mode="each")
    walk.call("edit_document", operation="move_document", file=run, new_path="notes/free.md")
    walk.call("remove_document", path=run)


ATTEMPTS: tuple[Callable[[Walk, str, str], None], ...] = (
    opens,
    writes,
    amends,
    forges,
    edits,
    lifts,
    without_a_token,
    frees,
)


def _commit_and_approve(walk: Walk, by: str, merges: str, *, amends: bool) -> None:
    id = _written(walk)
    text = f"# API\n\n## Calls\n\nBy hand {walk.chance.randrange(10**6)}.\n"
    walk.commit_with_git(id, by, "specs/api.md", text, amends=amends)
    walk.approve(id, by)
    walk.merge(id, merges)


def _empty(walk: Walk) -> str:
    return str(walk.call("create_proposal", title="Alone", description="Why.").data["proposal"])


def _written(walk: Walk, id: str | None = None) -> str:
    """Write to a protected path in a proposal, in a new one unless `id` is given; return its id."""
    id, title = id or _empty(walk), f"New {walk.chance.randrange(10**6)}"
    walk.call("create_document", doc_type="document", title=title, folder="specs", proposal=id)
    return id
