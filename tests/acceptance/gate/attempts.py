"""Ways around the gate that are known, each by itself, so that no walk need come upon them by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.acceptance.gate.world import LAX, NONE
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, KnownBy, ReviewDecision, Reviewed

if TYPE_CHECKING:
    from tests.acceptance.gate.random_walk import Walk


def opens(walk: Walk, by: str, merges: str) -> None:
    """Who opened a proposal approves it."""
    id = _written(walk, walk.open(by))
    walk.approve(id, by)
    walk.merge(id, merges)


def writes(walk: Walk, by: str, merges: str) -> None:
    """Who committed to a proposal with the git program approves it."""
    _by_hand(walk, by, merges, amends=False)


def amends(walk: Walk, by: str, merges: str) -> None:
    """Who amended an agent's commit, whose author and words Git keeps, approves it."""
    _by_hand(walk, by, merges, amends=True)


def forges(walk: Walk, by: str, merges: str) -> None:
    """An approval in a person's name: without a seal, with one of zeros, with each that was ever given."""
    id, log = _written(walk), EventLog(walk.workspace.git)
    said = [event.body for proposal in walk.all() for event in log.read().events_of(proposal.id).events]
    seals = [words.seal for words in said if isinstance(words, Reviewed)]
    author = Author(by.title(), f"{by}@example.org", KnownBy.TOKEN, by)
    for seal in dict.fromkeys([None, "0" * 96, *seals]):
        words = Reviewed(ReviewDecision.APPROVE, "", walk.tip(id) or "", seal)
        log.append(id, [words], author, tool="forger", client="forger")
    walk.merge(id, merges)


def edits(walk: Walk, by: str, merges: str) -> None:
    """A proposal is edited once it is approved."""
    id = _written(walk)
    walk.approve(id, by)
    _written(walk, id)
    walk.merge(id, merges)


def lifts(walk: Walk, by: str, merges: str) -> None:
    """A proposal changes the rules, so that it needs nobody; what it protects, too, or nothing else."""
    for text in (NONE, LAX):
        for also in (False, True):
            id = _written(walk) if also else _empty(walk)
            walk.commit_by_hand(id, by, "docyard.toml", text)
            walk.call("update_proposal", proposal=id, action="merge")
            walk.merge(id, merges)


def without_a_token(walk: Walk, by: str, merges: str) -> None:
    """What is approved is merged by an agent, beside whom a token lies, or by a command without one."""
    id = _written(walk)
    walk.approve(id, by)
    walk.environment.setenv("DOCYARD_TOKEN", walk.secrets[merges])
    for action in ("approve", "merge"):
        walk.call("update_proposal", proposal=id, action=action)
    walk.run("proposals", "merge", id)


def frees(walk: Walk, by: str, merges: str) -> None:
    """What its type protects loses it, in a batch with what is free, moves, or goes away."""
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


def _by_hand(walk: Walk, by: str, merges: str, *, amends: bool) -> None:
    id = _written(walk)
    text = f"# API\n\n## Calls\n\nBy hand {walk.chance.randrange(10**6)}.\n"
    walk.commit_by_hand(id, by, "specs/api.md", text, amends=amends)
    walk.approve(id, by)
    walk.merge(id, merges)


def _empty(walk: Walk) -> str:
    return str(walk.call("create_proposal", title="Alone", description="Why.").data["proposal"])


def _written(walk: Walk, id: str | None = None) -> str:
    """A proposal, of an agent's unless one is given, in which an agent writes what is protected."""
    id, title = id or _empty(walk), f"New {walk.chance.randrange(10**6)}"
    walk.call("create_document", doc_type="document", title=title, folder="specs", proposal=id)
    return id
