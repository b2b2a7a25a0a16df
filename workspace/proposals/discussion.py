"""The discussion: the event files of a commit, or of several that were not brought together yet.

A file that is no event, whatever it is, is left out and counted. So is what is more than can be read: which
files these are follows from the commits alone, and not from what was read before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.proposal_ids import DISCUSSION, is_id
from workspace.proposals.encoding import MAX_BYTES, Event, decode
from workspace.proposals.fields import Unreadable
from workspace.proposals.order import in_order
from workspace.proposals.repeats import once
from workspace.proposals.room import fitting
from workspace.proposals.union import first_name, union

if TYPE_CHECKING:
    from workspace.git import GitReader

BRANCH = DISCUSSION

MOST_PROPOSALS = 20_000
_MOST_FILES = 100_000  # of one proposal that are looked at, the first by time
_REMEMBERED = 10_000
_LISTED = 8
_IS_NAME = re.compile("[0-9A-Za-z._~-]{1,250}")
_LONGEST = 100  # characters of the first name that a file was given


class Said(NamedTuple):
    """What was said of one proposal, in order, and how many files could not be read.

    `unread` of these may be events: they are missing, or there was no room for them. `files` and `size`, in
    bytes, are what may be events.
    """

    events: tuple[Event, ...] = ()
    unreadable: int = 0
    unread: int = 0
    files: int = 0
    size: int = 0


Key = tuple[str, str]
"""The name of a file, and its blob."""


class ParsedDiscussion(NamedTuple):
    """What was read of one proposal: the trees of its folder, their files' sizes, and what each file was.

    What is `missing` may come yet.
    """

    trees: Sequence[str]
    said: Said
    sizes: Mapping[Key, int]
    events: Mapping[Key, Event | None]
    missing: bool


class DiscussionCache(NamedTuple):
    """What was read of proposals, and of the folders of commits."""

    parsed: LRUCache[str, ParsedDiscussion]
    listed: LRUCache[str, dict[str, str]]

    @classmethod
    def empty(cls) -> DiscussionCache:
        """Return one that holds nothing yet."""
        return cls(LRUCache(_REMEMBERED), LRUCache(_LISTED))


class Discussion:
    """What is said in some commits, each part of it read when it is asked for. Safe in several threads.

    `tips` are the commits, `cache` is what earlier readings found.
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
        self._looked: set[str] = set()

    @cached_property
    def proposals(self) -> tuple[str, ...]:
        """The ids of the proposals of which something is said, sorted."""
        return tuple(sorted(self._folders)[:MOST_PROPOSALS])

    def of(self, proposal: str) -> Said:
        """What is said of a proposal; nothing of one that is not known."""
        trees = self._folders.get(proposal)
        if trees is None:
            return Said()
        kept = self._parsed.find(proposal)
        if kept is None or kept.trees != trees or (kept.missing and proposal not in self._looked):
            kept = self._read(proposal, trees, kept)
            self._looked.add(proposal)
            self._parsed.put(proposal, kept)
        return kept.said

    @cached_property
    def _folders(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for tip in self.tips:
            for id, tree in self._folders_at(tip).items():
                found.setdefault(id, []).append(tree)
        return {id: tuple(dict.fromkeys(trees)) for id, trees in found.items()}

    def _folders_at(self, tip: str) -> dict[str, str]:
        found = self._listed.find(tip)
        if found is None:
            found = folders(self._git, tip)
            if found:  # a commit that cannot be read may come yet
                self._listed.put(tip, found)
        return found

    def _read(self, proposal: str, trees: Sequence[str], before: ParsedDiscussion | None) -> ParsedDiscussion:
        unreadable = 0
        versions = []
        for tree in trees:
            names, others = files(self._git, tree)
            versions.append(names)
            unreadable = max(unreadable, others)  # what all versions have in common counts once
        every = list(union(versions).items())
        sizes = self._sizes(every[:_MOST_FILES], before.sizes if before else {})
        small = {key: size for key, size in sizes.items() if size <= MAX_BYTES}
        known = before.events if before else {}
        events: dict[Key, Event | None] = {}
        lost = 0
        chosen = fitting(small)
        for key in chosen:
            if key in known:
                events[key] = known[key]
                continue
            data = self._data(key[1])
            if data is None:
                lost += 1
            else:
                events[key] = _decoded(proposal, first_name(key[0]), data)
        readable = [event for event in events.values() if event is not None]
        unread = len(every) - len(sizes) + len(small) - len(chosen) + lost
        said = Said(
            once(in_order(readable)),
            unreadable + len(every) - len(readable),
            unread,
            len(every) - len(sizes) + len(small),
            sum(small.values()),
        )
        missing = lost > 0 or len(sizes) < len(every[:_MOST_FILES])
        return ParsedDiscussion(trees, said, sizes, events, missing)

    def _sizes(self, every: Sequence[Key], known: Mapping[Key, int]) -> dict[Key, int]:
        """The bytes of files; without those that cannot be read."""
        found: dict[Key, int] = {}
        for key in every:
            size = known.get(key)
            if size is None:
                with suppress(DamagedRepository):
                    size = self._git.blob_size(key[1])
            if size is not None:
                found[key] = size
        return found

    def _data(self, blob: str) -> bytes | None:
        try:
            return self._git.blob_within(blob, MAX_BYTES)
        except DamagedRepository:
            return None


def folders(git: GitReader, commit: str) -> dict[str, str]:
    """The tree of each proposal's folder in a commit, by the proposal's id; none if it cannot be read."""
    try:
        entries = git.tree(git.commit(commit).tree)
    except DamagedRepository:
        return {}
    return {entry.name: entry.id for entry in entries if entry.is_tree and is_id(entry.name)}


def files(git: GitReader, tree: str | None) -> tuple[dict[str, str], int]:
    """The blobs of a folder by the names of files that may be events, and how many other things are there."""
    try:
        entries = git.tree(tree) if tree is not None else ()
    except DamagedRepository:
        return {}, 1
    found = {entry.name: entry.id for entry in entries if entry.is_blob and _may_be_event(entry.name)}
    return found, len(entries) - len(found)


def _may_be_event(name: str) -> bool:
    return _IS_NAME.fullmatch(name) is not None and len(first_name(name)) <= _LONGEST


def _decoded(proposal: str, name: str, data: bytes) -> Event | None:
    try:
        return decode(proposal, name, data)
    except Unreadable:
        return None
