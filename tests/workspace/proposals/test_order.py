"""The order of events: answers after what they answer, whatever the clocks say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.proposals.saying import event, opening
from workspace.proposals.discussion import find_heads, sort_events
from workspace.proposals.events import Closed, Commented, Event, Reopened


def test_by_time_where_nothing_else_tells() -> None:
    late, early = event(Closed(), 5), event(opening(), 1)
    assert sort_events([late, early]) == (early, late)
    assert find_heads([late, early]) == tuple(sorted([early.id, late.id]))


def test_a_clock_that_lies_does_not_put_an_answer_before_its_question() -> None:
    opened = event(opening(), 0)
    closed = event(Closed(), 60 * 24 * 365 * 10, after=[opened])
    reopened = event(Reopened(), 1, after=[closed])
    reply = event(Commented("Yes.", reply_to=reopened.id), -5)
    assert sort_events([reply, reopened, closed, opened]) == (opened, closed, reopened, reply)
    assert find_heads([reply, reopened, closed, opened]) == (reply.id,)


def test_what_is_not_here_yet_is_passed_over() -> None:
    missing = event(opening())
    closed = event(Closed(), 1, after=[missing])
    assert sort_events([closed]) == (closed,)
    assert find_heads([closed]) == (closed.id,)


def test_events_in_a_circle_stay() -> None:
    one, two = event(Closed("One"), 1), event(Closed("Two"), 2)
    circle = [one._replace(after=(two.id,)), two._replace(after=(one.id,))]
    assert sort_events(circle) == tuple(circle)


@st.composite
def discussions(draw: st.DrawFn) -> list[Event]:
    """Events of clocks that run as they like, each after some of those before it."""
    said: list[Event] = []
    for number in range(draw(st.integers(1, 8))):
        after = draw(st.lists(st.sampled_from(said), max_size=3, unique=True)) if said else []
        said.append(event(Commented(str(number)), draw(st.integers(-3, 3)), after=after))
    return said


@given(discussions(), st.randoms(use_true_random=False))
def test_all_who_have_the_same_events_see_the_same_order(said: list[Event], random: object) -> None:
    ordered = sort_events(said)
    shuffled = [*said]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sort_events(shuffled) == sort_events(ordered) == ordered
    places = {one.id: place for place, one in enumerate(ordered)}
    assert len(places) == len(said)
    assert all(places[earlier] < places[one.id] for one in said for earlier in one.after)
