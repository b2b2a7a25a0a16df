"""The order of events: answers follow their questions, despite wrong clocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.proposals.event_writer import make_event, make_opening
from workspace.proposals.discussion import find_heads, sort_events
from workspace.proposals.events import Closed, Commented, Event, Reopened


def test_independent_events_are_sorted_by_time() -> None:
    late, early = make_event(Closed(), 5), make_event(make_opening(), 1)
    assert sort_events([late, early]) == (early, late)
    assert find_heads([late, early]) == tuple(sorted([early.id, late.id]))


def test_wrong_clock_does_not_sort_answer_before_question() -> None:
    opened = make_event(make_opening(), 0)
    closed = make_event(Closed(), 60 * 24 * 365 * 10, after=[opened])
    reopened = make_event(Reopened(), 1, after=[closed])
    reply = make_event(Commented("Yes.", reply_to=reopened.id), -5)
    assert sort_events([reply, reopened, closed, opened]) == (opened, closed, reopened, reply)
    assert find_heads([reply, reopened, closed, opened]) == (reply.id,)


def test_ids_of_missing_events_are_ignored() -> None:
    missing = make_event(make_opening())
    closed = make_event(Closed(), 1, after=[missing])
    assert sort_events([closed]) == (closed,)
    assert find_heads([closed]) == (closed.id,)


def test_events_in_a_cycle_are_preserved() -> None:
    one, two = make_event(Closed("One"), 1), make_event(Closed("Two"), 2)
    circle = [one._replace(after=(two.id,)), two._replace(after=(one.id,))]
    assert sort_events(circle) == tuple(circle)


@st.composite
def discussions(draw: st.DrawFn) -> list[Event]:
    """Draw events with arbitrary times, each after some earlier events."""
    events: list[Event] = []
    for number in range(draw(st.integers(1, 8))):
        after = draw(st.lists(st.sampled_from(events), max_size=3, unique=True)) if events else []
        events.append(make_event(Commented(str(number)), draw(st.integers(-3, 3)), after=after))
    return events


@given(discussions(), st.randoms(use_true_random=False))
def test_shuffled_events_have_the_same_order(events: list[Event], random: object) -> None:
    ordered = sort_events(events)
    shuffled = [*events]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sort_events(shuffled) == sort_events(ordered) == ordered
    places = {one.id: place for place, one in enumerate(ordered)}
    assert len(places) == len(events)
    assert all(places[earlier] < places[one.id] for one in events for earlier in one.after)
