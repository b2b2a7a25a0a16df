"""Which words are those of the same call, sent again: all but what the writer took from the branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workspace.proposals.events import Commented, Opened, Refreshed, Reviewed, Submitted, Words

if TYPE_CHECKING:
    from workspace.proposals.encoding import Event


def once(events: Sequence[Event]) -> tuple[Event, ...]:
    """Events without those that repeat an earlier one: two clones may say the same with the same key.

    So it is where both hear it from a forge before they hear of each other. What was answered stays.
    """
    answered = {event.words.reply_to for event in events if isinstance(event.words, Commented)}
    seen: set[object] = set()
    found: list[Event] = []
    for event in events:
        if event.request is not None and event.id not in answered:
            said = event.request, event.author, as_asked(event.words)
            if said in seen:
                continue
            seen.add(said)
        found.append(event)
    return tuple(found)


def as_asked(words: Words) -> Words:
    """Words without what their writer did not choose: commits that they are bound to, digests of texts.

    Where the branches have moved between a call and its retry, these differ, and the call is the same.
    """
    match words:
        case Opened():
            return replace(words, branch="", base=None)
        case Commented(place=place):
            bare = replace(place, digest="") if place is not None else None
            return replace(words, place=bare, commit=None, pull_request=None)
        case Reviewed():
            return Reviewed(words.verdict, words.text, "")
        case Submitted():
            return Submitted("")
        case Refreshed():
            return Refreshed("", "", words.asked)
        case _:
            return words
