"""Events are sorted by time, and each comes after the events that it refers to, despite wrong clocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.proposals.event_writer import make_event, make_opening
from workspace.proposals.discussion import find_heads, sort_events
from workspace.proposals.events import Closed, Commented, Event, Reopened


def test_independent_events_are_sorted_by_time() -> None:
    later_event, earlier_event = make_event(Closed(), 5), make_event(make_opening(), 1)
    assert sort_events([later_event, earlier_event]) == (earlier_event, later_event)
    assert find_heads([later_event, earlier_event]) == tuple(sorted([earlier_event.id, later_event.id]))


def test_wrong_clock_does_not_sort_event_before_its_predecessor() -> None:
    opening = make_event(make_opening(), 0)
    ten_years_in_minutes = 60 * 24 * 365 * 10
    closing = make_event(Closed(), ten_years_in_minutes, after=[opening])
    reopening = make_event(Reopened(), 1, after=[closing])
    reply = make_event(Commented("Yes.", reply_to=reopening.id), -5)
    assert sort_events([reply, reopening, closing, opening]) == (opening, closing, reopening, reply)
    assert find_heads([reply, reopening, closing, opening]) == (reply.id,)


def test_ids_of_missing_events_are_ignored() -> None:
    missing_event = make_event(make_opening())
    closing = make_event(Closed(), 1, after=[missing_event])
    assert sort_events([closing]) == (closing,)
    assert find_heads([closing]) == (closing.id,)


def test_events_in_a_cycle_are_preserved() -> None:
    first_event, second_event = make_event(Closed("One"), 1), make_event(Closed("Two"), 2)
    events = [first_event._replace(after=(second_event.id,)), second_event._replace(after=(first_event.id,))]
    assert sort_events(events) == tuple(events)


@st.composite
def discussions(draw: st.DrawFn) -> list[Event]:
    """Draw events with arbitrary times, each after some earlier events."""
    events: list[Event] = []
    for number in range(draw(st.integers(1, 8))):
        earlier_events = draw(st.lists(st.sampled_from(events), max_size=3, unique=True)) if events else []
        events.append(make_event(Commented(str(number)), draw(st.integers(-3, 3)), after=earlier_events))
    return events


@given(discussions(), st.randoms(use_true_random=False))
def test_shuffled_events_have_the_same_order(events: list[Event], rng: object) -> None:
    sorted_events = sort_events(events)
    shuffled_events = [*events]
    rng.shuffle(shuffled_events)  # type: ignore[attr-defined]
    assert sort_events(shuffled_events) == sort_events(sorted_events) == sorted_events
    positions = {event.id: position for position, event in enumerate(sorted_events)}
    assert len(positions) == len(events)
    assert all(positions[earlier_id] < positions[event.id] for event in events for earlier_id in event.after)
