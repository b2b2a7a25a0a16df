"""The events of proposals, and the people whom each concerns.

The events are read from Git, so that none is lost if the server ends after a commit. The same event has the
same id at each read. The people are those of the current state: a review that was given is not requested
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from docyard.notifications.content import NotificationContent, NotificationKind, Reason, format_time
from docyard.proposals.activity import (
    Activity,
    ActivityKind,
    build_permanent_id,
    find_merge,
    list_activities,
)
from docyard.proposals.inbox import get_inbox
from workspace.proposals.events import (
    Commented,
    IdentitySource,
    Opened,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
)
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from workspace.proposals.attention import Attention
    from workspace.proposals.events import Event
    from workspace.proposals.participants import Participant, Participants
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

Reasons = Mapping["Participant", Reason]

_KINDS = {
    ActivityKind.SUBMITTED: NotificationKind.SUBMITTED,
    ActivityKind.REOPENED: NotificationKind.SUBMITTED,
    ActivityKind.COMMENTED: NotificationKind.COMMENTED,
    ActivityKind.MERGED: NotificationKind.MERGED,
}
_DECISION_KINDS = {
    ReviewDecision.APPROVE: NotificationKind.APPROVED,
    ReviewDecision.REQUEST_CHANGES: NotificationKind.CHANGES_REQUESTED,
    ReviewDecision.COMMENT: NotificationKind.COMMENTED,
}


class NotifiedEvent(NamedTuple):
    """An event: its time, the facts to send, and the people whom it concerns, with the reasons.

    `kinds` are those of the event, with `mentioned` if it mentions people.
    """

    time: datetime
    content: NotificationContent
    reasons: Reasons
    kinds: frozenset[NotificationKind]


class EventReader:
    """The events of the proposals of a workspace. `build_path` returns the path of a proposal's page.

    It reads a proposal again only if its events or its state have changed. Used by one thread.
    """

    def __init__(self, workspace: Workspace, name: str, build_path: Callable[[str], str]) -> None:
        self._workspace = workspace
        self._name = name
        self._build_path = build_path
        self._read_states: dict[str, tuple[Sequence[Event], ProposalState]] = {}

    def list_events(self, proposals: Sequence[Proposal], since: datetime) -> Iterator[NotifiedEvent]:
        """Yield the events from a time on, of proposals that were not marked as read in their state."""
        inbox = get_inbox(self._workspace)
        events_by_id = self._list_events(proposals)
        changed_proposals = [
            proposal for proposal in proposals if not self._is_read(proposal, events_by_id[proposal.id])
        ]
        if not changed_proposals:
            return
        participants = inbox.list_people(proposals)
        activities = {
            proposal.id: self._list_recent(proposal, events_by_id[proposal.id], since)
            for proposal in changed_proposals
        }
        active_proposals = [proposal for proposal in changed_proposals if activities[proposal.id]]
        attentions = inbox.read_all(active_proposals, proposals, max_merge_s=0)
        for proposal in active_proposals:
            writers = _list_writers(events_by_id[proposal.id], participants)
            for activity in activities[proposal.id]:
                event = self._build_event(activity, attentions[proposal.id], writers, participants)
                if event is not None:
                    yield event

    def mark_read(self, proposals: Sequence[Proposal]) -> None:
        """Do not read the proposals again until they change."""
        events_by_id = self._list_events(proposals)
        self._read_states = {
            proposal.id: (events_by_id[proposal.id], proposal.state) for proposal in proposals
        }

    def list_reminders(
        self, proposals: Sequence[Proposal], now: datetime, wait: timedelta, interval: timedelta
    ) -> Iterator[NotifiedEvent]:
        """Yield a reminder for each proposal that has waited for a review for a time.

        The id of a reminder changes after each interval.
        """
        waiting_proposals = [
            proposal
            for proposal in proposals
            if proposal.state in (ProposalState.OPEN, ProposalState.APPROVED)
        ]
        events_by_id = self._list_events(waiting_proposals)
        waiting_since = {
            proposal.id: _find_request(proposal, events_by_id[proposal.id]) for proposal in waiting_proposals
        }
        due_proposals = [
            proposal for proposal in waiting_proposals if now - waiting_since[proposal.id] >= wait
        ]
        if not due_proposals:
            return
        attentions = get_inbox(self._workspace).read_all(due_proposals, proposals, max_merge_s=0)
        for proposal in due_proposals:
            attention, since = attentions[proposal.id], waiting_since[proposal.id]
            if not attention.awaited_people and not attention.awaits_anyone:
                continue
            number = (now - since - wait) // interval
            days = (now - since).days
            title = proposal.content.title
            content = NotificationContent(
                build_permanent_id(f"{proposal.id}/reminder/{since.timestamp()}/{number}"),
                NotificationKind.REMINDER,
                format_time(now),
                self._name,
                proposal.id,
                title,
                self._build_path(proposal.id),
                f"“{title}” has waited for a review for {days:,} days",
                attention.owner.shown_name,
            )
            yield _complete(now, content, dict.fromkeys(attention.awaited_people, Reason.REVIEWER))

    def _list_events(self, proposals: Iterable[Proposal]) -> Mapping[str, Sequence[Event]]:
        ids = [proposal.id for proposal in proposals]
        return self._workspace.proposal_actions().list_events_by_id(ids)

    def _is_read(self, proposal: Proposal, events: Sequence[Event]) -> bool:
        read_events, state = self._read_states.get(proposal.id, (None, None))
        return read_events is events and state is proposal.state

    def _list_recent(self, proposal: Proposal, events: Sequence[Event], since: datetime) -> list[Activity]:
        activities = list(list_activities(proposal.id, proposal.content.title, events))
        merge = find_merge(self._workspace, proposal)
        if merge is not None:
            activities.append(merge)
        return [activity for activity in activities if activity.time.astimezone(UTC) >= since]

    def _build_event(
        self,
        activity: Activity,
        attention: Attention,
        writers: Sequence[Participant],
        participants: Participants,
    ) -> NotifiedEvent | None:
        """Return the event of an activity; None if it notifies no person."""
        kind = _find_kind(activity)
        author = None if activity.author is None else participants.recognize(activity.author)
        is_by_client = activity.author is not None and activity.author.known_by is IdentitySource.CLIENT
        mentioned = [
            person
            for person in participants.list_mentioned(activity.text)
            if is_by_client or person != author
        ]
        if kind is None:
            if not mentioned:
                return None
            kind = NotificationKind.MENTIONED
        reasons = _list_reasons(kind, attention, writers)
        reasons |= dict.fromkeys(mentioned, Reason.MENTIONED)
        if author is not None and not is_by_client:
            # A client writes in the name of a person who may not know of it.
            reasons.pop(author, None)
        target = activity.target
        content = NotificationContent(
            activity.id,
            kind,
            format_time(activity.time),
            self._name,
            activity.proposal,
            activity.title,
            self._build_path(activity.proposal) + activity.fragment,
            activity.summary,
            activity.author_name,
            None if target is None else target.path + (f"#{target.slug}" if target.slug else ""),
            mentioned=tuple(person.handle for person in mentioned),
        )
        return _complete(activity.time, content, reasons)


def _complete(time: datetime, content: NotificationContent, reasons: Reasons) -> NotifiedEvent:
    people = tuple(person.handle for person in reasons)
    kinds = {content.kind} | ({NotificationKind.MENTIONED} if content.mentioned else set())
    return NotifiedEvent(time, content._replace(people=people).shorten(), reasons, frozenset(kinds))


def _find_kind(activity: Activity) -> NotificationKind | None:
    """Return the kind of an activity; None for an opening and a closing."""
    return _KINDS.get(activity.kind) if activity.decision is None else _DECISION_KINDS[activity.decision]


def _list_reasons(
    kind: NotificationKind, attention: Attention, writers: Sequence[Participant]
) -> dict[Participant, Reason]:
    """Return the people whom an event of a kind concerns, with the reasons."""
    match kind:
        case NotificationKind.SUBMITTED:
            return dict.fromkeys(attention.awaited_people, Reason.REVIEWER)
        case NotificationKind.APPROVED | NotificationKind.CHANGES_REQUESTED:
            return {attention.owner: Reason.OWNER}
        case NotificationKind.COMMENTED | NotificationKind.MERGED:
            return dict.fromkeys(writers, Reason.PARTICIPANT) | {attention.owner: Reason.OWNER}
        case _:
            return {}


def _list_writers(events: Iterable[Event], participants: Participants) -> Sequence[Participant]:
    """Return the people who commented on a proposal or reviewed it, not by a client."""
    return tuple(
        dict.fromkeys(
            participants.recognize(event.author)
            for event in events
            if isinstance(event.body, Commented | Reviewed)
            and event.author.known_by is not IdentitySource.CLIENT
        )
    )


def _find_request(proposal: Proposal, events: Iterable[Event]) -> datetime:
    """Return the time of the last request for a review of an open proposal."""
    times = [event.time for event in events if isinstance(event.body, Opened | Submitted | Reopened)]
    return max(times, default=proposal.content.opened_at).astimezone(UTC)
