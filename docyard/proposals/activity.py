"""The activity of proposals, of which people are notified: openings, submissions, comments, reviews, ends.

An activity is an event of the discussion, or a merge, which is read from the commits. Its id is the same in
each clone, at each read and after a restart, so that a receiver recognizes an activity that it has.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from docyard.wording import format_author
from workspace.git.repository import DamagedRepository
from workspace.history.commits import describe_commit
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    CommentTarget,
    IdentitySource,
    Opened,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
)

if TYPE_CHECKING:
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

_NAMESPACE = uuid.UUID("6c1b7a3e-52f5-5d0e-9c5e-0d0c7a4d2f11")
_MAX_DATED_MERGES = 2_000  # the merges of older proposals are dated by their last event


def build_permanent_id(name: str) -> str:
    """Return the UUID of a name that is unique in the world, such as that of a commit."""
    return str(uuid.uuid5(_NAMESPACE, name))


class ActivityKind(StrEnum):
    """The kinds of activity."""

    OPENED = "opened"
    SUBMITTED = "submitted"
    COMMENTED = "commented"
    REVIEWED = "reviewed"
    MERGED = "merged"
    CLOSED = "closed"
    REOPENED = "reopened"


_VERBS = {
    ActivityKind.OPENED: "opened",
    ActivityKind.SUBMITTED: "requested a review of",
    ActivityKind.COMMENTED: "commented on",
    ActivityKind.REVIEWED: "reviewed",
    ActivityKind.MERGED: "merged",
    ActivityKind.CLOSED: "closed",
    ActivityKind.REOPENED: "reopened",
}
_DECISION_VERBS = {
    ReviewDecision.APPROVE: "approved",
    ReviewDecision.REQUEST_CHANGES: "requested changes of",
    ReviewDecision.COMMENT: "reviewed",
}


class Activity(NamedTuple):
    """An activity: its kind, the proposal with its title, the time, the author, and the text.

    `event` is the id of the event; None for a merge. `commit` is that of a merge. `target` is the text that a
    comment is about. `author` is None if it is unknown.
    """

    kind: ActivityKind
    proposal: str
    title: str
    time: datetime
    author: Author | None
    text: str = ""
    decision: ReviewDecision | None = None
    target: CommentTarget | None = None
    event: str | None = None
    commit: str | None = None

    @property
    def id(self) -> str:
        """The id, which never changes: a UUID."""
        return build_permanent_id(f"{self.proposal}/{self.event or f'merged/{self.commit}'}")

    @property
    def fragment(self) -> str:
        """The element of the proposal's page that shows the event; empty for an opening and a merge."""
        is_shown = self.event is not None and self.kind is not ActivityKind.OPENED
        return f"#said-{self.event}" if is_shown else ""

    @property
    def author_name(self) -> str:
        """The name of the author for people."""
        return "unknown author" if self.author is None else format_author(self.author)

    @property
    def summary(self) -> str:
        """A sentence for people, such as `Ana Li approved “Limits of retries”`."""
        verb = _VERBS[self.kind] if self.decision is None else _DECISION_VERBS[self.decision]
        return f"{self.author_name} {verb} “{self.title}”"


def list_activities(proposal: str, title: str, events: Iterable[Event]) -> Iterator[Activity]:
    """Yield the activities among the events of a proposal, in order; edits and refreshes are none."""
    for event in events:
        text = ""
        decision: ReviewDecision | None = None
        target: CommentTarget | None = None
        match event.body:
            case Opened(description=description):
                kind, text = ActivityKind.OPENED, description
            case Submitted():
                kind = ActivityKind.SUBMITTED
            case Commented(text=text, place=target):
                kind = ActivityKind.COMMENTED
            case Reviewed(verdict=decision, text=text):
                kind = ActivityKind.REVIEWED
            case Closed(text=text):
                kind = ActivityKind.CLOSED
            case Reopened(text=text):
                kind = ActivityKind.REOPENED
            case _:
                continue
        yield Activity(kind, proposal, title, event.time, event.author, text, decision, target, event.id)


def find_merge(workspace: Workspace, proposal: Proposal) -> Activity | None:
    """Return the merge of a proposal; None if it is not merged.

    If the commit is unknown, or missing in a shallow clone, the merge has the time of the last event.
    """
    record = proposal.merge_record
    if record is None:
        return None
    time, author = proposal.content.updated_at, None
    if record.commit is not None:
        with suppress(DamagedRepository):
            commit = workspace.git.commit(record.commit)
            author = Author(commit.author.name, commit.author.email, IdentitySource.GIT)
            time = describe_commit(commit).time
    return Activity(
        ActivityKind.MERGED,
        proposal.id,
        proposal.content.title,
        time,
        author,
        commit=record.commit or record.tip,
    )


def list_recent_activities(workspace: Workspace, proposals: Iterable[Proposal], limit: int) -> list[Activity]:
    """Return the latest activities of proposals, the newest first."""
    proposals = sorted(proposals, key=lambda proposal: proposal.content.updated_at, reverse=True)
    merges = [find_merge(workspace, proposal) for proposal in proposals[:_MAX_DATED_MERGES]]
    activities = [merge for merge in merges if merge is not None]
    actions = workspace.proposal_actions()
    # Each of these proposals has an event that is as new as any event of the others.
    for proposal in proposals[:limit]:
        events = actions.list_events(proposal)[-limit:]
        activities += list_activities(proposal.id, proposal.content.title, events)
    return nlargest(limit, activities, key=lambda activity: (activity.time.astimezone(UTC), activity.id))
