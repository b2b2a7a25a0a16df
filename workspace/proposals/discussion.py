"""The discussion: the event files of a commit, or of several unmerged commits.

Files that are not events, and files beyond the quota, are skipped and counted. The selection depends
only on the commits, not on earlier reads.

An event comes after the events that it names: the last events that its writer had read, and the comment that
it replies to or resolves. Other events are sorted by time, then by id. Time alone is not used, because a
clock may be wrong. Ids of missing events are ignored.

A retry of a call creates the same event, except for values that are read from the branches.

The union of two versions of the event files contains all files of both, so no file is ever lost. A name
contains a digest of the file's bytes, so it is unique. If two files still have the same name, the file with
the least blob id has that name. The names of the other files end with their blob ids. So the union does
not depend on the order or number of merges.

The quota of a proposal is filled with the smallest files first. Decisions and closings are short, so long
comments by any author do not hide them.
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
    MAX_EVENT_BYTES,
    Commented,
    Edited,
    Event,
    EventBody,
    IdentitySource,
    InvalidEventText,
    Opened,
    Refreshed,
    Resolved,
    ReviewDecision,
    Reviewed,
    Submitted,
    UnreadableEvent,
    decode_event,
)

if TYPE_CHECKING:
    from workspace.git.reader import GitReader

_MAX_HEADS = 20


def sort_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events in an order that is the same for all clones with these events, without repeated ids."""
    events_by_id = {event.id: event for event in sorted(events, key=_make_sort_key, reverse=True)}
    awaited_ids = {
        id: {earlier_id for earlier_id in _list_predecessors(event) if earlier_id in events_by_id}
        for id, event in events_by_id.items()
    }
    followers: dict[str, list[str]] = {}
    for id, earlier_ids in awaited_ids.items():
        for earlier_id in earlier_ids:
            followers.setdefault(earlier_id, []).append(id)
    queue = [_make_sort_key(events_by_id[id]) for id, earlier_ids in awaited_ids.items() if not earlier_ids]
    heapify(queue)
    sorted_by_id: dict[str, Event] = {}
    while queue:
        _, id = heappop(queue)
        sorted_by_id[id] = events_by_id[id]
        for follower in followers.get(id, ()):
            awaited_ids[follower].discard(id)
            if not awaited_ids[follower]:
                heappush(queue, _make_sort_key(events_by_id[follower]))
    # An id is a digest, so no cycle of events is expected. Events in a cycle come last.
    cyclic_events = sorted(
        (event for id, event in events_by_id.items() if id not in sorted_by_id), key=_make_sort_key
    )
    return (*sorted_by_id.values(), *cyclic_events)


def find_heads(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the sorted ids of the last events (at most 20), which no event names as an earlier event."""
    predecessor_ids = {id for event in events for id in _list_predecessors(event)}
    return tuple(sorted([event.id for event in events if event.id not in predecessor_ids][-_MAX_HEADS:]))


def _list_predecessors(event: Event) -> tuple[str, ...]:
    body = event.body
    if isinstance(body, Commented) and body.reply_to is not None:
        return (*event.after, body.reply_to)
    if isinstance(body, Resolved):
        return (*event.after, body.thread)
    return event.after


def _make_sort_key(event: Event) -> tuple[datetime, str]:
    return event.time, event.id


def drop_repeats(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events without repeats: two clones may append an event with the same `request`.

    `request` is the digest of the idempotency key. Repeats occur if both clones read the event from a forge
    before they sync. An event with a reply is preserved.
    """
    ids_with_replies = {event.body.reply_to for event in events if isinstance(event.body, Commented)}
    contents: set[object] = set()
    unique_events: list[Event] = []
    for event in events:
        if event.request is not None and event.id not in ids_with_replies:
            content = event.request, event.author, clear_derived_values(event.body)
            if content in contents:
                continue
            contents.add(content)
        unique_events.append(event)
    return tuple(unique_events)


def clear_derived_values(body: EventBody) -> EventBody:
    """Return the body of an event without values that its author did not choose, such as commits and seals.

    If the branches have moved between a call and its retry, these values differ although the call is the
    same.
    """
    match body:
        case Opened():
            return replace(body, branch="", base=None)
        case Commented(place=place):
            place_without_digest = replace(place, digest="") if place is not None else None
            return replace(body, place=place_without_digest, commit=None, pull_request=None)
        case Reviewed():
            return Reviewed(body.verdict, body.text, "")
        case Submitted():
            return Submitted("")
        case Refreshed():
            return Refreshed("", "", body.asked)
        case _:
            return body


BlobsByName = Mapping[str, str]
"""The blob of each file of one folder, by its name."""

_BLOB_SUFFIX = re.compile(r"((?:~[0-9a-f]{40})+)(?=\.json$|$)")


def strip_blob_suffix(name: str) -> str:
    """Return the original name of a file, without the blob ids that a union appended."""
    match = _BLOB_SUFFIX.search(name)
    return name[: match.start()] + name[match.end() :] if match else name


def merge_file_sets(versions: Iterable[BlobsByName]) -> dict[str, str]:
    """Return the union of some versions of a folder's files, sorted by name."""
    blobs: dict[str, set[str]] = {}
    for files in versions:
        for name, blob in files.items():
            blobs.setdefault(strip_blob_suffix(name), set()).add(blob)
    merged_files: dict[str, str] = {}
    for name, blob_ids in blobs.items():
        least_blob, *other_blobs = sorted(blob_ids)
        merged_files[name] = least_blob
        merged_files.update((_append_blob_id(name, blob), blob) for blob in other_blobs)
    return dict(sorted(merged_files.items()))


def _append_blob_id(name: str, blob: str) -> str:
    extension = ".json" if name.endswith(".json") else ""
    return f"{name.removesuffix(extension)}~{blob}{extension}"


MAX_EVENTS = 20_000
"""The maximum number of events of one proposal that are read."""

MAX_TOTAL_BYTES = 32_000_000
"""The maximum number of bytes of all events of one proposal that are read."""

_COMMENT_SHARE, _CLIENT_SHARE, _FULL_SHARE = 0.5, 0.75, 1.0
"""The shares of the quota: of comments and long events, of events by clients, and of all events."""

_EVENTS_BY_SHARE = {
    _COMMENT_SHARE: "comments, edits and long events",
    _CLIENT_SHARE: "events by clients",
    _FULL_SHARE: "all events",
}
_MAX_SHORT_EVENT_BYTES = 16_000
File = TypeVar("File")


def select_within_quota(sizes: Mapping[File, int]) -> list[File]:
    """Return the files to read, the smallest first; files of equal size stay in their order.

    `sizes` are in bytes.
    """
    selected: list[File] = []
    remaining_bytes = MAX_TOTAL_BYTES
    for file in sorted(sizes, key=sizes.__getitem__):
        remaining_bytes -= sizes[file]
        if remaining_bytes < 0 or len(selected) == MAX_EVENTS:
            break
        selected.append(file)
    return selected


def check_quota(
    subject: str, file_count: int, total_bytes: int, new_events: Sequence[tuple[Event, int]]
) -> None:
    """Raise InvalidEventText if new events, with their bytes, exceed the quota of files and bytes.

    `subject` names the proposal or the branch in the error.

    Comments, edits and long events may fill half of the quota, and events by clients three quarters. So a
    person can review or close the proposal in spite of a flood of either.
    """
    for event, event_bytes in new_events:
        file_count += 1
        total_bytes += event_bytes
        share = _find_quota_share(event, event_bytes)
        max_events, max_bytes = int(share * MAX_EVENTS), int(share * MAX_TOTAL_BYTES)
        if file_count > max_events or total_bytes > max_bytes:
            raise InvalidEventText(
                f"{subject} has reached the limit for {_EVENTS_BY_SHARE[share]}: "
                f"{max_events:,} events or {max_bytes // 1_000_000} MB in total",
                fix="Shorten the text, or comment elsewhere, such as on a new proposal.",
                field=event.body.kind,
            )


def _find_quota_share(event: Event, size: int) -> float:
    match event.body:
        case Commented() | Edited() | Reviewed(verdict=ReviewDecision.COMMENT):
            return _COMMENT_SHARE
    if size > _MAX_SHORT_EVENT_BYTES:
        return _COMMENT_SHARE
    return _CLIENT_SHARE if event.author.known_by is IdentitySource.CLIENT else _FULL_SHARE


MAX_PROPOSALS = 20_000
_MAX_FILES = 100_000  # the maximum number of files of one proposal that are read, the oldest first
_MAX_CACHED_PROPOSALS = 10_000
_MAX_CACHED_FOLDERS = 8
_FILE_NAME = re.compile("[0-9A-Za-z._~-]{1,250}")
_MAX_NAME_CHARACTERS = 100  # the maximum number of characters of the original name of a file


class ProposalEvents(NamedTuple):
    """The events of one proposal, in order, and the counts of its files.

    `unreadable_count` counts the files from which no event was read. `unread_event_count` counts
    those of them that may be events: missing files, and files beyond the quota. `file_count` counts all files
    that may be events, and `total_bytes` is the size of those within the size limit of an event.
    """

    events: tuple[Event, ...] = ()
    unreadable_count: int = 0
    unread_event_count: int = 0
    file_count: int = 0
    total_bytes: int = 0


FileKey = tuple[str, str]
"""The name of a file, and its blob."""


class ParsedProposalEvents(NamedTuple):
    """The parsed events of one proposal, and the trees of its folder from which they were read.

    `sizes` are in bytes. `events` are by file; None means that the file is not an event. If
    `has_missing_files` is True, a later fetch may add files.
    """

    trees: Sequence[str]
    proposal_events: ProposalEvents
    sizes: Mapping[FileKey, int]
    events: Mapping[FileKey, Event | None]
    has_missing_files: bool


class DiscussionCache(NamedTuple):
    """A cache of parsed events by proposal, and of the folders of commits."""

    events_by_proposal: LRUCache[str, ParsedProposalEvents]
    folders_by_commit: LRUCache[str, dict[str, str]]

    @classmethod
    def empty(cls) -> DiscussionCache:
        """Return an empty cache."""
        return cls(LRUCache(_MAX_CACHED_PROPOSALS), LRUCache(_MAX_CACHED_FOLDERS))


class Discussion:
    """The discussion of all proposals in some commits. Each proposal is read at its first use. Thread-safe.

    `tips` are the commits. `cache` contains the results of earlier reads.
    """

    def __init__(
        self,
        git: GitReader,
        tips: Sequence[str],
        cache: DiscussionCache | None = None,
    ) -> None:
        self.tips = tuple(tips)
        self._git = git
        self._events_by_proposal, self._folders_by_commit = cache or DiscussionCache.empty()
        self._checked_proposals: set[str] = set()

    @cached_property
    def proposals(self) -> tuple[str, ...]:
        """The sorted ids of the proposals with events, and of the comments and claims of branches."""
        return tuple(sorted(self._trees_by_proposal)[:MAX_PROPOSALS])

    def events_of(self, proposal: str) -> ProposalEvents:
        """Return the events of a proposal; return no events for an unknown proposal."""
        trees = self._trees_by_proposal.get(proposal)
        if trees is None:
            return ProposalEvents()
        parsed_events = self._events_by_proposal.find(proposal)
        if (
            parsed_events is None
            or parsed_events.trees != trees
            or (parsed_events.has_missing_files and proposal not in self._checked_proposals)
        ):
            parsed_events = self._read(proposal, trees, parsed_events)
            self._checked_proposals.add(proposal)
            self._events_by_proposal.put(proposal, parsed_events)
        return parsed_events.proposal_events

    @cached_property
    def _trees_by_proposal(self) -> Mapping[str, Sequence[str]]:
        trees_by_id: dict[str, list[str]] = {}
        for tip in self.tips:
            for id, tree in self._list_folders_at(tip).items():
                trees_by_id.setdefault(id, []).append(tree)
        return {id: tuple(dict.fromkeys(trees)) for id, trees in trees_by_id.items()}

    def _list_folders_at(self, tip: str) -> dict[str, str]:
        folders = self._folders_by_commit.find(tip)
        if folders is None:
            folders = list_folders(self._git, tip)
            if folders:  # a later fetch may add an unreadable commit
                self._folders_by_commit.put(tip, folders)
        return folders

    def _read(
        self, proposal: str, trees: Sequence[str], earlier_result: ParsedProposalEvents | None
    ) -> ParsedProposalEvents:
        unreadable_count = 0
        versions = []
        for tree in trees:
            blobs, other_count = list_event_files(self._git, tree)
            versions.append(blobs)
            unreadable_count = max(
                unreadable_count, other_count
            )  # an entry that all versions contain counts once
        all_files = list(merge_file_sets(versions).items())
        sizes = self._read_sizes(all_files[:_MAX_FILES], earlier_result.sizes if earlier_result else {})
        small_files = {key: size for key, size in sizes.items() if size <= MAX_EVENT_BYTES}
        known_events = earlier_result.events if earlier_result else {}
        events: dict[FileKey, Event | None] = {}
        missing_count = 0
        selected_files = select_within_quota(small_files)
        for key in selected_files:
            if key in known_events:
                events[key] = known_events[key]
                continue
            data = self._read_blob(key[1])
            if data is None:
                missing_count += 1
            else:
                events[key] = _decode_event(proposal, strip_blob_suffix(key[0]), data)
        readable_events = [event for event in events.values() if event is not None]
        unread_event_count = (
            len(all_files) - len(sizes) + len(small_files) - len(selected_files) + missing_count
        )
        proposal_events = ProposalEvents(
            drop_repeats(sort_events(readable_events)),
            unreadable_count + len(all_files) - len(readable_events),
            unread_event_count,
            len(all_files) - len(sizes) + len(small_files),
            sum(small_files.values()),
        )
        has_missing_files = missing_count > 0 or len(sizes) < len(all_files[:_MAX_FILES])
        return ParsedProposalEvents(trees, proposal_events, sizes, events, has_missing_files)

    def _read_sizes(self, files: Sequence[FileKey], known_sizes: Mapping[FileKey, int]) -> dict[FileKey, int]:
        """Return the sizes of files in bytes; omit unreadable files."""
        sizes: dict[FileKey, int] = {}
        for key in files:
            size = known_sizes.get(key)
            if size is None:
                with suppress(DamagedRepository):
                    size = self._git.blob_size(key[1])
            if size is not None:
                sizes[key] = size
        return sizes

    def _read_blob(self, blob: str) -> bytes | None:
        try:
            return self._git.blob_within(blob, MAX_EVENT_BYTES)
        except DamagedRepository:
            return None


def list_folders(git: GitReader, commit: str) -> dict[str, str]:
    """Return the tree of each proposal's folder in a commit, by id; return {} if the commit is unreadable."""
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
    event_files = {entry.name: entry.id for entry in entries if entry.is_blob and _may_be_event(entry.name)}
    return event_files, len(entries) - len(event_files)


def _may_be_event(name: str) -> bool:
    return _FILE_NAME.fullmatch(name) is not None and len(strip_blob_suffix(name)) <= _MAX_NAME_CHARACTERS


def _decode_event(proposal: str, name: str, data: bytes) -> Event | None:
    try:
        return decode_event(proposal, name, data)
    except UnreadableEvent:
        return None
