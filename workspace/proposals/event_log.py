"""The event log: events are appended to the discussion's branch, and those of other clones are merged.

Each event is a file of its own, so events of different writers never conflict: an event is appended again to
the new tip. It is published as any commit is, with the same guarantees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from workspace.git import trees
from workspace.git.merge_bases import ShallowHistory
from workspace.git.messages import format_commit_message
from workspace.git.objects import FILE_MODE, Signature, TreeEntry
from workspace.git.store import require_writable
from workspace.git.tips import Tips
from workspace.git.trees import WholeEntry
from workspace.proposal_ids import BRANCH, BRANCHES
from workspace.proposals.discussion import (
    Discussion,
    DiscussionCache,
    check_quota,
    find_heads,
    list_event_files,
    list_folders,
    merge_file_sets,
    strip_bindings,
)
from workspace.proposals.events import Event, InvalidEventText, Unreadable, decode_event, encode_event
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish_with_retry

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.events import Author, EventBody

_LOOKS = 20  # while others say something during each

T = TypeVar("T")

Changes = dict[str, bytes | WholeEntry | None]
_SUBJECTS = {
    "opened": "Open proposal",
    "edited": "Edit the words of proposal",
    "commented": "Comment on proposal",
    "reviewed": "Review proposal",
    "submitted": "Submit proposal",
    "refreshed": "Refresh proposal",
    "closed": "Close proposal",
    "reopened": "Reopen proposal",
}


class AppendResult(NamedTuple):
    """The commit of some events, and the events; `repeated` is True if an earlier call wrote them."""

    commit: str
    events: tuple[Event, ...]
    is_repeat: bool = False


class EventLog:
    """The events of all proposals of a repository. Reading is safe in several threads.

    Where remotes had the branch at another commit when they were fetched last, as in a fresh clone that has
    no branch of its own yet, what is said there is read too.
    """

    def __init__(self, git: GitReader, *, durable: bool = True) -> None:
        self._git = git
        self._durable = durable
        self._cache = DiscussionCache.empty()

    def read(self) -> Discussion:
        """Return the current discussion."""
        return self._said_at(_list_commits(Tips(self._git)))

    def read_consistently(self, look: Callable[[Discussion], T]) -> T:
        """Return the result of `look`, which also reads other branches, on a discussion that did not change.

        It is taken again where something was said meanwhile: words that are older than the branches would
        tell of a proposal what it never was, such as that it is merged while it only goes forward.
        """
        tips = Tips(self._git)
        now = _list_commits(tips)
        for _ in range(_LOOKS):
            before, found = now, look(self._said_at(now))
            now = _list_commits(tips)
            if now == before:
                break
        return found

    def _said_at(self, commits: Sequence[str]) -> Discussion:
        return Discussion(self._git, commits, self._cache)

    def append(
        self,
        proposal: str,
        said: Sequence[EventBody],
        author: Author,
        *,
        tool: str,
        client: str,
        seen: Discussion | None = None,
        request: str | None = None,
        confirm: Callable[[], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> AppendResult:
        """Append events of one proposal, each after the one before it, as one commit.

        `seen` is what the author had read; without it, all that is there. What was said of the proposal with
        the idempotency key `request` is not said again. `confirm` is asked in the writer's turn, before
        anything new is said, and may raise what refuses it.

        Raises ReadOnly, InvalidWords for what could not be read again or has no room, KeyReused for other
        words with the same key, Busy, and what `Publication` raises.
        """
        store = require_writable(self._git)
        key = _hash_key(request)
        time = now().astimezone(UTC)
        time = time.replace(microsecond=time.microsecond // 1000 * 1000)
        after = find_heads((seen or self.read()).events_of(proposal).events)
        events: list[Event] = []
        new: dict[str, bytes] = {}
        for words in said:
            try:
                name, data = encode_event(proposal, words, author, time, after, key)
            except Unreadable as reason:
                raise InvalidEventText(
                    f"this cannot be kept: {reason}", fix="Shorten it.", field=words.kind
                ) from reason
            events.append(decode_event(proposal, name, data))
            new[f"{proposal}/{name}"] = data
            after = (events[-1].id,)
        message = format_commit_message(
            [f"{_SUBJECTS[words.kind]} {proposal}" for words in said],
            paths=[BRANCHES + proposal],
            message=None,
            tool=tool,
            client=client,
            trailers={"Docyard-Proposal": proposal},
        )
        signature = Signature(author.name, author.email, int(time.timestamp()))

        def batch(tip: str | None) -> Batch | AppendResult:
            earlier = self._repeated(proposal, key)
            if earlier is not None:
                check_same_event(earlier, [event.body for event in events])
                return earlier
            if confirm is not None:
                confirm()
            there = self.read().events_of(proposal)
            check_quota(there.files, there.size, list(zip(events, map(len, new.values()), strict=True)))
            others = Tips(store).list_fetched(BRANCH) if tip is None else ()
            changes = self._united(None, others) | new
            return Batch(BRANCH, tip, changes, message, signature, parents=others)

        published = publish_with_retry(store, BRANCH, batch, durable=self._durable)
        if isinstance(published, AppendResult):
            return published
        return AppendResult(published, tuple(events))

    def find_repeated(self, proposal: str, request: str | None) -> AppendResult | None:
        """Return the events of a proposal with an idempotency key, if there are any."""
        return self._repeated(proposal, _hash_key(request))

    def merge_commit(self, theirs: str, signature: Signature) -> str:
        """Merge the discussion of another commit into the branch, and return the branch's commit.

        The branch goes forward to that commit where nothing is lost by it, else a merge commit holds the
        files of both: no file ever conflicts, and one that was deleted there stays. A file that stands where
        a proposal has its folder is no event, and gives way.
        Raises ReadOnly, Busy, DamagedRepository, and what `Publication` raises.
        """
        store = require_writable(self._git)
        their_tree = store.commit(theirs).tree
        message = format_commit_message(
            ["Take in what was said elsewhere"], paths=[], message=None, tool="sync", client="docyard"
        )

        def placed(tip: str | None, files: Changes) -> Changes:
            """Files without those where a folder stands; what stands where their folder is goes away."""
            if tip is None:
                return files
            tree = store.commit(tip).tree
            found: Changes = {}
            for path, new in files.items():
                folder = path.partition("/")[0]
                above, entry = trees.find_in_tree(store, tree, folder), trees.find_in_tree(store, tree, path)
                if above is not None and not above.is_tree:
                    found[folder] = WholeEntry(None)
                if entry is None or entry.is_blob:
                    found[path] = new
            return found

        def batch(ours: str | None) -> Batch | str:
            if ours is not None and self._holds(ours, theirs):
                return ours
            lost = self._united(theirs, [ours]) if ours is not None else {}
            if not lost and (ours is None or self._holds(theirs, ours)):
                our_tree = store.commit(ours).tree if ours is not None else None
                forward: Changes = {
                    change.path: WholeEntry(change.new)
                    for change in trees.diff_trees(store, our_tree, their_tree)
                }
                return Batch(BRANCH, ours, forward, message, signature, commit=theirs)
            changes = placed(ours, self._united(ours, [theirs]))
            return Batch(BRANCH, ours, changes, message, signature, parents=(theirs,))

        return publish_with_retry(store, BRANCH, batch, durable=self._durable)

    def _united(self, base: str | None, others: Sequence[str]) -> Changes:
        """Return the changes to a base's files that the union with other commits makes."""
        here = list_folders(self._git, base) if base is not None else {}
        there = [list_folders(self._git, other) for other in others]
        changes: Changes = {}
        for id in sorted({id for found in there for id in found}):
            before, _ = list_event_files(self._git, here.get(id))
            if all(found.get(id) in (None, here.get(id)) for found in there):
                continue
            after = merge_file_sets(
                [before, *(list_event_files(self._git, found.get(id))[0] for found in there)]
            )
            for name in sorted(before.keys() | after.keys()):
                if before.get(name) != after.get(name):
                    blob = after.get(name)
                    changes[f"{id}/{name}"] = WholeEntry(TreeEntry(name, blob, FILE_MODE) if blob else None)
        return changes

    def _holds(self, tip: str, commit: str) -> bool:
        """Return True if a commit is an ancestor of another; False if a shallow clone cannot tell."""
        try:
            return self._git.merge_bases(tip, commit) == (commit,)
        except ShallowHistory:
            return False

    def _repeated(self, proposal: str, key: str | None) -> AppendResult | None:
        if key is None:
            return None
        discussion = self.read()
        found = tuple(event for event in discussion.events_of(proposal).events if event.request == key)
        return AppendResult(discussion.tips[0], found, is_repeat=True) if found else None


def _list_commits(tips: Tips) -> tuple[str, ...]:
    """Return the commits of the discussion: the local one, and those of remotes as last fetched."""
    here = tips.find_local(BRANCH)
    return tuple(dict.fromkeys([*([here] if here else []), *tips.list_fetched(BRANCH)]))


def check_same_event(earlier: AppendResult, words: Sequence[EventBody]) -> None:
    """Raise KeyReused if another event has the same key.

    What their writer does not choose may differ: by the time of a retry, the branches may have moved.
    """
    if [strip_bindings(event.body) for event in earlier.events] != [strip_bindings(one) for one in words]:
        from workspace.writing.idempotency import KeyReused

        raise KeyReused(
            "this idempotency_key was used for other words",
            fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
            used_in=earlier.commit,
        )


def _hash_key(request: str | None) -> str | None:
    """Return the digest of an idempotency key that is stored."""
    return hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest() if request else None
