"""All that a reviewer is shown of a proposal, gathered from where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.cli.proposals.changes import narrowed
from docyard.cli.proposals.places import place_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workspace.proposals import Proposal
    from workspace.proposals.actions import Lacking
    from workspace.proposals.review import Changes, Overlap, PlacedThread, Preview, ProposedCommit
    from workspace.proposals.reviewing_comments import At
    from workspace.workspace import Workspace


class View(NamedTuple):
    """A proposal, and what is known of it at its tip and at its target's.

    `lacking` is what stands in the way of a merge. `commits` are those that it would bring, the newest first,
    and `threads` those of the place that was asked for.
    """

    proposal: Proposal
    changes: Changes
    preview: Preview
    lacking: Lacking
    overlaps: Sequence[Overlap]
    commits: Sequence[ProposedCommit]
    threads: Sequence[PlacedThread]


def view(workspace: Workspace, name: str, place: str | None, folder: Path) -> View:
    """A proposal for who is to review it. Raises ProposalNotFound, and CannotError for an unchanged place."""
    proposing, reviewing = workspace.proposing(), workspace.reviewing()
    one = proposing.one(name)
    path, slug = place_in(workspace, one, place, folder)
    changes = narrowed(reviewing.changes(one), path, slug)
    preview = reviewing.preview(one)
    return View(
        one,
        changes,
        preview,
        proposing.lacking(one, preview),
        reviewing.overlaps(one, proposing.all()),
        reviewing.commits(one),
        _threads(workspace, one, (path, slug)),
    )


def _threads(workspace: Workspace, one: Proposal, at: At) -> list[PlacedThread]:
    reviewing = workspace.reviewing()
    found: list[PlacedThread] = []
    after: int | None = 0
    while after is not None:
        page = reviewing.comments(one, after=after, at=at)
        found += page.threads
        after = page.next
    return found
