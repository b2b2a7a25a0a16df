"""The proposals of a workspace, and the adding of words to one: once for each idempotency key."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from workspace.git.ancestry import Graph
from workspace.proposals.event_log import Appended, EventLog, check_same
from workspace.proposals.proposal import Proposal, Proposals
from workspace.publishing.after_commit import attempt, note_commit
from workspace.writing.idempotency import KeyReused
from workspace.writing.write import check_signing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.proposals.actions.actor import Actor
    from workspace.proposals.encoding import Event
    from workspace.proposals.events import Words
    from workspace.workspace import Workspace


class Register:
    """The proposals as they are now. Safe in several threads."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._log = EventLog(workspace.git, durable=workspace.durable)
        self._proposals = Proposals(workspace.git)
        self.graph = Graph(workspace.git)

    def all(self) -> tuple[Proposal, ...]:
        """Every proposal, the one that was opened last first."""
        return self._log.steady(self._proposals.all)

    def one(self, name: str) -> Proposal:
        """The proposal of an id, or of its branch's name. Raises ProposalNotFound."""
        return self._log.steady(lambda said: self._proposals.one(said, name))

    def ids(self) -> tuple[str, ...]:
        """The ids of which something was said."""
        return tuple(self._log.read().proposals)

    def said(self, id: str) -> tuple[Event, ...]:
        """The events of a proposal, in order."""
        return self._log.read().of(id).events

    def say(
        self,
        id: str,
        words: Sequence[Words],
        actor: Actor,
        request: str | None = None,
        confirm: Callable[[Proposal], None] | None = None,
        check: Callable[[], None] | None = None,
    ) -> Appended:
        """Adds words to a proposal; `confirm` is shown it in the writer's turn, and may refuse it by raising.

        `check` may do so for a proposal that is not opened yet. While it runs no other Docyard writes.
        Raises SigningRequired, and what `EventLog.append` raises.
        """
        check_signing(self.workspace.snapshot())
        with self.workspace.turn:
            appended = self._log.append(
                id,
                words,
                actor.speaker,
                tool=actor.tool,
                client=actor.client,
                request=request,
                confirm=(lambda: confirm(self.one(id))) if confirm is not None else check,
            )
        note_commit(appended.commit, proposal=id)
        return appended

    def latest(self, proposal: Proposal) -> Proposal:
        """Return a proposal as it is now; after a commit, as it was before if it cannot be read."""
        return attempt(partial(self.one, proposal.id), proposal, "the answer shows the proposal as it was")

    def repeated(self, id: str, request: str | None) -> Appended | None:
        """What was said of a proposal with a key, if anything was."""
        return self._log.repeated(id, request)

    def earlier(self, id: str, words: Sequence[Words], request: str | None) -> Appended | None:
        """What was said of a proposal by an earlier call with the same key. Raises KeyReused for other words.

        What a call does not choose by itself, such as the commit that a review is bound to, may differ.
        """
        found = self._log.repeated(id, request)
        if found is not None:
            check_same(found, words)
        return found


def key_reused(**details: Any) -> KeyReused:
    """The error for a key that belongs to another call, which opened `proposal`, or is `used_in` a commit."""
    return KeyReused(
        "this idempotency_key was used for another call",
        fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
        **details,
    )
