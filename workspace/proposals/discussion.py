"""The discussion: the event files of a commit, or of several that are not merged yet.

A file that is not an event is skipped and counted, and so are files beyond the quota. The selection depends
only on the commits, not on earlier reads.

Events are sorted so that each follows the events that it answers, then by time, then by id. A clock may be
wrong, so an event names those that its writer had seen last; ids of missing events are ignored.

A retry of a call appends the same event, except for values that come from the branches.

The union of two versions of the event files contains each file of either, so no file is ever lost. A name
contains a digest of the file's bytes, so it is unique. If two files still have the same name, the file with
the least blob id has that name. The names of the others end with their blob ids. So the union does not depend
on the order or number of merges.

The quota of a proposal is filled with the smallest files first. So long comments, by any author, do not hide
a decision or a closing, which are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.proposal_ids import is_id
from workspace.proposals.events import (
    MAX_BYTES,
    Commented,
    Edited,
    Event,
    EventBody,
    InvalidEventText,
    KnownBy,
    Opened,
    Refreshed,
    ReviewDecision,
    Reviewed,
    Submitted,
    Unreadable,
    decode_event,
)

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.events import Event

_MOST_HEADS = 20


def sort_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events in an order that is the same for all clones with these events, without repeated ids."""
    known = {event.id: event for event in sorted(events, key=_make_sort_key, reverse=True)}
    awaited = {
        id: {earlier_id for earlier_id in _list_predecessors(event) if earlier_id in known}
        for id, event in known.items()
    }
    followers: dict[str, list[str]] = {}
    for id, earlier in awaited.items():
        for earlier_id in earlier:
            followers.setdefault(earlier_id, []).append(id)
    ready = [_make_sort_key(known[id]) for id, earlier in awaited.items() if not earlier]
    heapify(ready)
    ordered: dict[str, Event] = {}
    while ready:
        _, id = heappop(ready)
        ordered[id] = known[id]
        for follower in followers.get(id, ()):
            awaited[follower].discard(id)
            if not awaited[follower]:
                heappush(ready, _make_sort_key(known[follower]))
    # An id is a digest, so no cycle of events is expected. Events in a cycle come last.
    rest = sorted((event for id, event in known.items() if id not in ordered), key=_make_sort_key)
    return (*ordered.values(), *rest)


def find_heads(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the sorted ids of the last events, which no other event follows."""
    named = {id for event in events for id in _list_predecessors(event)}
    return tuple(sorted([event.id for event in events if event.id not in named][-_MOST_HEADS:]))


def _list_predecessors(event: Event) -> tuple[str, ...]:
    body = event.body
    if isinstance(body, Commented) and body.reply_to is not None:
        return (*event.after, body.reply_to)
    return event.after


def _make_sort_key(event: Event) -> tuple[datetime, str]:
    return event.time, event.id


def drop_repeats(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events without repeats of an earlier one: two clones may append one with the same key.

    This happens if both read it from a forge before they sync. An answered event is preserved.
    """
    answered = {event.body.reply_to for event in events if isinstance(event.body, Commented)}
    seen: set[object] = set()
    unique: list[Event] = []
    for event in events:
        if event.request is not None and event.id not in answered:
            content = event.request, event.author, strip_bindings(event.body)
            if content in seen:
                continue
            seen.add(content)
        unique.append(event)
    return tuple(unique)


def strip_bindings(words: EventBody) -> EventBody:
    """Return an event without values that its author did not choose: commits and digests of texts.

    If the branches have moved between a call and its retry, these differ although the call is the same.
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


Files = Mapping[str, str]
"""The blob of each file of one folder, by its name."""

_SECOND_NAME = re.compile(r"((?:~[0-9a-f]{40})+)(?=\.json$|$)")


def strip_blob_suffix(name: str) -> str:
    """Return the original name of a file, without the blob ids that a union appended."""
    match = _SECOND_NAME.search(name)
    return name[: match.start()] + name[match.end() :] if match else name


def merge_file_sets(versions: Iterable[Files]) -> dict[str, str]:
    """Return all files of some versions of a folder, in order of names."""
    blobs: dict[str, set[str]] = {}
    for files in versions:
        for name, blob in files.items():
            blobs.setdefault(strip_blob_suffix(name), set()).add(blob)
    merged: dict[str, str] = {}
    for name, ids in blobs.items():
        least, *others = sorted(ids)
        merged[name] = least
        merged.update((_append_blob_id(name, blob), blob) for blob in others)
    return dict(sorted(merged.items()))


def _append_blob_id(name: str, blob: str) -> str:
    stem, extension = (name[:-5], ".json") if name.endswith(".json") else (name, "")
    return f"{stem}~{blob}{extension}"


MAX_EVENTS = 20_000
"""The most events of one proposal that are read."""

MOST_BYTES = 32_000_000
"""The most bytes of events of one proposal that are read."""

_REMARKS, _CLIENTS, _PEOPLE = 0.5, 0.75, 1.0
"""The shares of the quota: of comments and long events, of events by clients, and of all events."""

_LONG = 16_000
File = TypeVar("File")


def select_within_quota(sizes: Mapping[File, int]) -> list[File]:
    """Return the files to read, the smallest first; files of equal size stay in their order.

    `sizes` are in bytes.
    """
    selected: list[File] = []
    left = MOST_BYTES
    for file in sorted(sizes, key=sizes.__getitem__):
        left -= sizes[file]
        if left < 0 or len(selected) == MAX_EVENTS:
            break
        selected.append(file)
    return selected


def check_quota(files: int, size: int, new: Sequence[tuple[Event, int]]) -> None:
    """Raise InvalidEventText if new events, with their bytes, exceed the quota of files and bytes.

    Comments may fill half of the quota, and events by clients three quarters. So a person can review or close
    the proposal in spite of a flood of either.
    """
    for event, added in new:
        files += 1
        size += added
        share = _find_quota_share(event, added)
        if files > share * MAX_EVENTS or size > share * MOST_BYTES:
            raise InvalidEventText(
                f"the proposal '{event.proposal}' has reached its limit of {MAX_EVENTS:,} events "
                f"({MOST_BYTES // 1_000_000} MB)",
                fix="Shorten the text, or open a new proposal.",
                field=event.body.kind,
            )


def _find_quota_share(event: Event, size: int) -> float:
    match event.body:
        case Commented() | Edited() | Reviewed(verdict=ReviewDecision.COMMENT):
            return _REMARKS
    if size > _LONG:
        return _REMARKS
    return _CLIENTS if event.author.known_by is KnownBy.CLIENT else _PEOPLE


MAX_PROPOSALS = 20_000
_MOST_FILES = 100_000  # files of one proposal that are read, the oldest first
_REMEMBERED = 10_000
_LISTED = 8
_IS_NAME = re.compile("[0-9A-Za-z._~-]{1,250}")
_LONGEST = 100  # the most characters of the original name of a file


class ProposalEvents(NamedTuple):
    """The events of one proposal, in order, and the number of unreadable files.

    `unread` of these may be events: they are missing, or exceed the quota. `files` is the number of all files
    that may be events, and `size` is their size in bytes.
    """

    events: tuple[Event, ...] = ()
    unreadable: int = 0
    unread: int = 0
    files: int = 0
    size: int = 0


Key = tuple[str, str]
"""The name of a file, and its blob."""


class ParsedDiscussion(NamedTuple):
    """The parsed events of one proposal: the trees of its folder, the sizes and contents of its files.

    If files are `missing`, a later fetch may add them.
    """

    trees: Sequence[str]
    proposal_events: ProposalEvents
    sizes: Mapping[Key, int]
    events: Mapping[Key, Event | None]
    missing: bool


class DiscussionCache(NamedTuple):
    """A cache of parsed proposals, and of the folders of commits."""

    parsed: LRUCache[str, ParsedDiscussion]
    listed: LRUCache[str, dict[str, str]]

    @classmethod
    def empty(cls) -> DiscussionCache:
        """Return an empty cache."""
        return cls(LRUCache(_REMEMBERED), LRUCache(_LISTED))


class Discussion:
    """The discussion in some commits, each part read when it is needed. Safe in several threads.

    `tips` are the commits. `cache` has the results of earlier reads.
    """

    def __init__(
        self,
        git: GitReader,
        tips: Sequence[str],
        cache: DiscussionCache | None = None,
    ) -> None:
        self.tips = tuple(tips)
        self._git = git
        self._parsed, self._listed = cache or DiscussionCache.empty()
        self._checked: set[str] = set()

    @cached_property
    def proposals(self) -> tuple[str, ...]:
        """The sorted ids of the proposals with events."""
        return tuple(sorted(self._trees_by_proposal)[:MAX_PROPOSALS])

    def events_of(self, proposal: str) -> ProposalEvents:
        """Return the events of a proposal; return no events for an unknown proposal."""
        trees = self._trees_by_proposal.get(proposal)
        if trees is None:
            return ProposalEvents()
        cached = self._parsed.find(proposal)
        if cached is None or cached.trees != trees or (cached.missing and proposal not in self._checked):
            cached = self._read(proposal, trees, cached)
            self._checked.add(proposal)
            self._parsed.put(proposal, cached)
        return cached.proposal_events

    @cached_property
    def _trees_by_proposal(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for tip in self.tips:
            for id, tree in self._list_folders_at(tip).items():
                found.setdefault(id, []).append(tree)
        return {id: tuple(dict.fromkeys(trees)) for id, trees in found.items()}

    def _list_folders_at(self, tip: str) -> dict[str, str]:
        folders = self._listed.find(tip)
        if folders is None:
            folders = list_folders(self._git, tip)
            if folders:  # a later fetch may add an unreadable commit
                self._listed.put(tip, folders)
        return folders

    def _read(self, proposal: str, trees: Sequence[str], before: ParsedDiscussion | None) -> ParsedDiscussion:
        unreadable = 0
        versions = []
        for tree in trees:
            blobs, other_count = list_event_files(self._git, tree)
            versions.append(blobs)
            unreadable = max(unreadable, other_count)  # an entry that all versions contain counts once
        all_files = list(merge_file_sets(versions).items())
        sizes = self._read_sizes(all_files[:_MOST_FILES], before.sizes if before else {})
        small = {key: size for key, size in sizes.items() if size <= MAX_BYTES}
        known = before.events if before else {}
        events: dict[Key, Event | None] = {}
        lost_count = 0
        selected = select_within_quota(small)
        for key in selected:
            if key in known:
                events[key] = known[key]
                continue
            data = self._read_blob(key[1])
            if data is None:
                lost_count += 1
            else:
                events[key] = _decode_event(proposal, strip_blob_suffix(key[0]), data)
        readable = [event for event in events.values() if event is not None]
        unread = len(all_files) - len(sizes) + len(small) - len(selected) + lost_count
        proposal_events = ProposalEvents(
            drop_repeats(sort_events(readable)),
            unreadable + len(all_files) - len(readable),
            unread,
            len(all_files) - len(sizes) + len(small),
            sum(small.values()),
        )
        missing = lost_count > 0 or len(sizes) < len(all_files[:_MOST_FILES])
        return ParsedDiscussion(trees, proposal_events, sizes, events, missing)

    def _read_sizes(self, files: Sequence[Key], known: Mapping[Key, int]) -> dict[Key, int]:
        """Return the sizes of files in bytes; leave out unreadable files."""
        sizes: dict[Key, int] = {}
        for key in files:
            size = known.get(key)
            if size is None:
                with suppress(DamagedRepository):
                    size = self._git.blob_size(key[1])
            if size is not None:
                sizes[key] = size
        return sizes

    def _read_blob(self, blob: str) -> bytes | None:
        try:
            return self._git.blob_within(blob, MAX_BYTES)
        except DamagedRepository:
            return None


def list_folders(git: GitReader, commit: str) -> dict[str, str]:
    """Return the tree of each proposal's folder in a commit, by id, or none if it cannot be read."""
    try:
        entries = git.tree(git.commit(commit).tree)
    except DamagedRepository:
        return {}
    return {entry.name: entry.id for entry in entries if entry.is_tree and is_id(entry.name)}


def list_event_files(git: GitReader, tree: str | None) -> tuple[dict[str, str], int]:
    """Return the blobs of possible events in a folder by name, and the number of other entries."""
    try:
        entries = git.tree(tree) if tree is not None else ()
    except DamagedRepository:
        return {}, 1
    found = {entry.name: entry.id for entry in entries if entry.is_blob and _may_be_event(entry.name)}
    return found, len(entries) - len(found)


def _may_be_event(name: str) -> bool:
    return _IS_NAME.fullmatch(name) is not None and len(strip_blob_suffix(name)) <= _LONGEST


def _decode_event(proposal: str, name: str, data: bytes) -> Event | None:
    try:
        return decode_event(proposal, name, data)
    except Unreadable:
        return None
