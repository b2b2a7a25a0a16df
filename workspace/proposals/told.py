"""What the events of one proposal come to, without a look at any branch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from workspace.proposals.encoding import Event
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    Edited,
    KnownBy,
    Opened,
    Place,
    Refreshed,
    Reopened,
    Reviewed,
    Submitted,
    Unknown,
    Verdict,
)


class Comment(NamedTuple):
    """A remark: its id, who made it and when, its text, and what it is about, as of `commit`."""

    id: str
    author: Author
    time: datetime
    text: str
    place: Place | None
    commit: str | None


class Thread(NamedTuple):
    """A remark and the answers to it, in order; an answer to an answer stands beside it."""

    comment: Comment
    replies: tuple[Comment, ...]


class Review(NamedTuple):
    """A verdict on the proposal at a commit. `is_last` unless the same person gave another one later.

    A request for changes is also answered, and not the last word, when the proposal was submitted again with
    other content: not by what a refresh brought.
    """

    id: str
    author: Author
    time: datetime
    verdict: Verdict
    text: str
    commit: str
    is_last: bool


class Told(NamedTuple):
    """A proposal in the words of its events.

    `base` is the commit of the target that it stands on: where it was opened, or what it was refreshed to
    while it had no commit of its own; `bases` are all of these. `commits` are those that it is known to have
    had, the last one last.
    """

    id: str
    title: str
    description: str
    author: Author
    target: str
    branch: str
    base: str | None
    opened: datetime
    updated: datetime
    submitted: str | None
    closed: Author | None
    reviews: tuple[Review, ...]
    threads: tuple[Thread, ...]
    commits: tuple[str, ...]
    unknown: int
    bases: frozenset[str] = frozenset()

    def base_of(self, tip: str | None) -> str | None:
        """The commit of the target that a tip stands on.

        Where several bring it forward at once, what was said last need not be where the branch came to.
        """
        return tip if tip in self.bases else self.base


def told(events: Sequence[Event]) -> Told | None:
    """What events in order come to; None unless one opens the proposal, of which the first counts."""
    opening = next((event for event in events if isinstance(event.words, Opened)), None)
    if opening is None or not isinstance(opening.words, Opened):
        return None
    begun = opening.words
    title, description, base = begun.title, begun.description, begun.base
    submitted: str | None = None
    closed: Author | None = None
    commits = [base] if base is not None else []
    bases = {*commits}
    for event in events:
        match event.words:
            case Edited(new_title, new_description):
                title = new_title if new_title is not None else title
                description = new_description if new_description is not None else description
            case Submitted(commit):
                submitted = commit
                commits.append(commit)
            case Reviewed(commit=commit) | Commented(commit=str(commit)):
                commits.append(commit)
            case Refreshed(commit, target):
                if commit == target:
                    base = target
                    bases.add(target)
                commits.append(commit)
            case Closed():
                closed = event.author
            case Reopened():
                closed = None
    return Told(
        opening.proposal,
        title,
        description,
        opening.author,
        begun.target,
        begun.branch,
        base,
        opening.time,
        events[-1].time,
        submitted,
        closed,
        _reviews(events),
        _threads(events),
        tuple(commits),
        sum(isinstance(event.words, Unknown) for event in events),
        frozenset(bases),
    )


def _reviews(events: Iterable[Event]) -> tuple[Review, ...]:
    found: list[Review] = []
    last: dict[tuple[KnownBy, str], int] = {}  # by person, the verdict that counts
    for event in events:
        if isinstance(event.words, Submitted):
            for person, place in [*last.items()]:
                review = found[place]
                is_answered = review.commit not in event.words.unanswered
                if review.verdict is Verdict.REQUEST_CHANGES and is_answered:
                    found[last.pop(person)] = review._replace(is_last=False)
        elif isinstance(event.words, Reviewed):
            words, person = event.words, event.author.key
            counts = words.verdict is not Verdict.COMMENT
            if counts:
                if person in last:
                    found[last[person]] = found[last[person]]._replace(is_last=False)
                last[person] = len(found)
            found.append(
                Review(event.id, event.author, event.time, words.verdict, words.text, words.commit, counts)
            )
    return tuple(found)


def _threads(events: Iterable[Event]) -> tuple[Thread, ...]:
    threads: list[tuple[Comment, list[Comment]]] = []
    within: dict[str, int] = {}  # the thread of each remark
    for event in events:
        if not isinstance(event.words, Commented):
            continue
        words = event.words
        comment = Comment(event.id, event.author, event.time, words.text, words.place, words.commit)
        place = within.get(words.reply_to or "")
        if place is None:
            within[event.id] = len(threads)
            threads.append((comment, []))
        else:
            within[event.id] = place
            threads[place][1].append(comment)
    return tuple(Thread(comment, tuple(replies)) for comment, replies in threads)
