"""A proposal is submitted on a page; where a forge is asked for, its pull request is opened with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workspace.proposals.actions import Acted, Actor, Proposing


def submit(proposing: Proposing, id: str, actor: Actor, key: str | None) -> Acted:
    """Asks for a review. Raises NotAnnounced where that is done, but the pull request is not."""
    acted = proposing.submit(id, actor, request=key)
    announced = proposing.announce(acted.proposal)
    if announced is not None and announced.error is not None:
        announced.error.details["proposal"] = id
        raise announced.error
    return acted
