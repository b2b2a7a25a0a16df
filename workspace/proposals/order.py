"""The order of what was said: nothing stands before what it answers, else by time, else by id.

A clock may lie, so an event names those that its writer had seen last; what is not here yet is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from workspace.proposals.events import Commented

if TYPE_CHECKING:
    from workspace.proposals.encoding import Event

_MOST_HEADS = 20


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Events in the one order that all who have the same events see; each id once."""
    known = {event.id: event for event in sorted(events, key=_key, reverse=True)}
    awaited = {id: {one for one in _before(event) if one in known} for id, event in known.items()}
    followers: dict[str, list[str]] = {}
    for id, earlier in awaited.items():
        for one in earlier:
            followers.setdefault(one, []).append(id)
    ready = [_key(known[id]) for id, earlier in awaited.items() if not earlier]
    heapify(ready)
    found: dict[str, Event] = {}
    while ready:
        _, id = heappop(ready)
        found[id] = known[id]
        for other in followers.get(id, ()):
            awaited[other].discard(id)
            if not awaited[other]:
                heappush(ready, _key(known[other]))
    # An id is a digest, so events that name each other in a circle cannot be written; were they, they stay.
    rest = sorted((event for id, event in known.items() if id not in found), key=_key)
    return (*found.values(), *rest)


def heads(events: Sequence[Event]) -> tuple[str, ...]:
    """The ids of those of some events, given in order, after which nothing was said yet: the last, sorted."""
    named = {id for event in events for id in _before(event)}
    return tuple(sorted([event.id for event in events if event.id not in named][-_MOST_HEADS:]))


def _before(event: Event) -> tuple[str, ...]:
    words = event.words
    if isinstance(words, Commented) and words.reply_to is not None:
        return (*event.after, words.reply_to)
    return event.after


def _key(event: Event) -> tuple[datetime, str]:
    return event.time, event.id
