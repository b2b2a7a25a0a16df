"""Resolutions of threads: the last one counts in every clone, and other versions skip them."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.proposals.event_writer import CLIENT_AUTHOR, GIT_AUTHOR, make_event, make_opening
from workspace.proposals.discussion import sort_events
from workspace.proposals.events import Commented, Event, Resolved, UnknownEvent, decode_event, encode_event
from workspace.proposals.proposal import collect_threads, replay_events

COMMENT = make_event(Commented("Why?"), 1)
REPLY = make_event(Commented("Because.", reply_to=COMMENT.id), 2)


def test_resolution_names_its_author_and_reopening_removes_it() -> None:
    resolved = make_event(Resolved(COMMENT.id), 3, CLIENT_AUTHOR, [REPLY])
    [thread] = collect_threads(sort_events([COMMENT, REPLY, resolved]))
    assert thread.resolution == (CLIENT_AUTHOR, resolved.time)
    repeated = make_event(Resolved(COMMENT.id), 4, GIT_AUTHOR, [resolved])
    [thread] = collect_threads(sort_events([COMMENT, REPLY, resolved, repeated]))
    assert thread.resolution == (CLIENT_AUTHOR, resolved.time)
    reopened = make_event(Resolved(COMMENT.id, False), 5, GIT_AUTHOR, [repeated])
    [thread] = collect_threads(sort_events([COMMENT, REPLY, resolved, repeated, reopened]))
    assert thread.resolution is None


def test_later_reply_does_not_reopen_the_thread() -> None:
    resolved = make_event(Resolved(COMMENT.id), 2)
    late_reply = make_event(Commented("But?", reply_to=COMMENT.id), 9, CLIENT_AUTHOR)
    [thread] = collect_threads(sort_events([COMMENT, resolved, late_reply]))
    assert thread.resolution is not None
    assert [reply.text for reply in thread.replies] == ["But?"]


def test_resolution_by_the_id_of_a_reply_resolves_the_thread() -> None:
    [thread] = collect_threads(sort_events([COMMENT, REPLY, make_event(Resolved(REPLY.id), 3)]))
    assert thread.resolution is not None


def test_resolution_of_an_unknown_comment_is_ignored() -> None:
    [thread] = collect_threads(sort_events([COMMENT, make_event(Resolved("0" * 16), 3)]))
    assert thread.resolution is None


def test_resolution_before_its_comment_by_a_wrong_clock_counts() -> None:
    [thread] = collect_threads(sort_events([COMMENT, make_event(Resolved(COMMENT.id), -100)]))
    assert thread.resolution is not None


def test_resolution_changes_neither_state_nor_commits_of_a_proposal() -> None:
    opening = make_event(make_opening())
    without = replay_events([opening, COMMENT])
    with_resolution = replay_events([opening, COMMENT, make_event(Resolved(COMMENT.id), 3)])
    assert without is not None
    assert with_resolution is not None
    assert with_resolution._replace(threads=without.threads, updated_at=without.updated_at) == without


def test_later_version_of_a_resolution_is_an_unknown_event() -> None:
    event = make_event(Resolved(COMMENT.id))
    name, data = encode_event(event.proposal, event.body, event.author, event.time)
    assert decode_event(event.proposal, name, data).body == Resolved(COMMENT.id)
    assert isinstance(_decode_as_version_2(data).body, UnknownEvent)


def _decode_as_version_2(data: bytes) -> Event:
    data = data.replace(b'"version": 1', b'"version": 2')
    name = f"20260131T120000000Z-{hashlib.sha256(data).hexdigest()[:16]}.json"
    return decode_event("k7m2q9xa", name, data)


@st.composite
def resolved_discussions(draw: st.DrawFn) -> list[Event]:
    """Draw comments, replies and resolutions with arbitrary times, each after some earlier events."""
    events = [COMMENT]
    for number in range(draw(st.integers(1, 10))):
        target = draw(st.sampled_from([event for event in events if isinstance(event.body, Commented)]))
        body = draw(
            st.sampled_from(
                (Commented(str(number), reply_to=target.id), Resolved(target.id), Resolved(target.id, False))
            )
        )
        after = draw(st.lists(st.sampled_from(events), max_size=2, unique=True))
        events.append(make_event(body, draw(st.integers(-5, 5)), after=after))
    return events


@given(resolved_discussions(), st.data())
def test_clones_with_the_same_events_have_the_same_threads(events: list[Event], data: st.DataObject) -> None:
    threads = collect_threads(sort_events(events))
    ours = data.draw(st.lists(st.sampled_from(events), unique=True))
    theirs = [event for event in events if event not in ours]
    for union in ([*ours, *theirs], [*theirs, *ours], [*events, *ours]):
        assert collect_threads(sort_events(union)) == threads
