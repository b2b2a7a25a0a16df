"""The event log: what is said is added to the discussion's branch, and what others said is taken in.

An event is a file of its own, so one that another writer was first with never stands in the way: it is added
again to the new tip. It is published as any commit is, with the same guarantees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from workspace.git import trees
from workspace.git.merge_bases import ShallowHistory
from workspace.git.messages import commit_message
from workspace.git.objects import FILE_MODE, Entry, Signature
from workspace.git.store import writable
from workspace.git.tips import Tips
from workspace.git.trees import Whole
from workspace.proposal_ids import BRANCH, BRANCHES
from workspace.proposals.discussion import (
    Discussion,
    DiscussionCache,
    as_asked,
    check_room,
    files,
    folders,
    heads,
    union,
)
from workspace.proposals.events import Event, InvalidWords, Unreadable, decode, encode
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish_with_retry

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.events import Author, Words

_LOOKS = 20  # while others say something during each

T = TypeVar("T")

Changes = dict[str, bytes | Whole | None]
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


class Appended(NamedTuple):
    """The commit that holds some events, and the events; `repeated` if an earlier call wrote them."""

    commit: str
    events: tuple[Event, ...]
    repeated: bool = False


class EventLog:
    """The words of all proposals of a repository. Reading is safe in several threads.

    Where remotes had the branch at another commit when they were fetched last, as in a fresh clone that has
    no branch of its own yet, what is said there is read too.
    """

    def __init__(self, git: GitReader, *, durable: bool = True) -> None:
        self._git = git
        self._durable = durable
        self._cache = DiscussionCache.empty()

    def read(self) -> Discussion:
        """Return what is said, as of now."""
        return self._said_at(_commits(Tips(self._git)))

    def steady(self, look: Callable[[Discussion], T]) -> T:
        """Return what a look at the words comes to that looks at other branches too.

        It is taken again where something was said meanwhile: words that are older than the branches would
        tell of a proposal what it never was, such as that it is merged while it only goes forward.
        """
        tips = Tips(self._git)
        now = _commits(tips)
        for _ in range(_LOOKS):
            before, found = now, look(self._said_at(now))
            now = _commits(tips)
            if now == before:
                break
        return found

    def _said_at(self, commits: Sequence[str]) -> Discussion:
        return Discussion(self._git, commits, self._cache)

    def append(
        self,
        proposal: str,
        said: Sequence[Words],
        author: Author,
        *,
        tool: str,
        client: str,
        seen: Discussion | None = None,
        request: str | None = None,
        confirm: Callable[[], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Appended:
        """Add words of one proposal, each after the one before it, as one commit.

        `seen` is what the author had read; without it, all that is there. What was said of the proposal with
        the idempotency key `request` is not said again. `confirm` is asked in the writer's turn, before
        anything new is said, and may raise what refuses it.

        Raises ReadOnly, InvalidWords for what could not be read again or has no room, KeyReused for other
        words with the same key, Busy, and what `Publication` raises.
        """
        store = writable(self._git)
        key = _digest(request)
        time = now().astimezone(UTC)
        time = time.replace(microsecond=time.microsecond // 1000 * 1000)
        after = heads((seen or self.read()).of(proposal).events)
        events: list[Event] = []
        new: dict[str, bytes] = {}
        for words in said:
            try:
                name, data = encode(proposal, words, author, time, after, key)
            except Unreadable as reason:
                raise InvalidWords(
                    f"this cannot be kept: {reason}", fix="Shorten it.", field=words.kind
                ) from reason
            events.append(decode(proposal, name, data))
            new[f"{proposal}/{name}"] = data
            after = (events[-1].id,)
        message = commit_message(
            [f"{_SUBJECTS[words.kind]} {proposal}" for words in said],
            paths=[BRANCHES + proposal],
            message=None,
            tool=tool,
            client=client,
            trailers={"Docyard-Proposal": proposal},
        )
        signature = Signature(author.name, author.email, int(time.timestamp()))

        def batch(tip: str | None) -> Batch | Appended:
            earlier = self._repeated(proposal, key)
            if earlier is not None:
                check_same(earlier, [event.words for event in events])
                return earlier
            if confirm is not None:
                confirm()
            there = self.read().of(proposal)
            check_room(there.files, there.size, list(zip(events, map(len, new.values()), strict=True)))
            others = Tips(store).fetched(BRANCH) if tip is None else ()
            changes = self._united(None, others) | new
            return Batch(BRANCH, tip, changes, message, signature, parents=others)

        published = publish_with_retry(store, BRANCH, batch, durable=self._durable)
        if isinstance(published, Appended):
            return published
        return Appended(published, tuple(events))

    def repeated(self, proposal: str, request: str | None) -> Appended | None:
        """Return what was said of a proposal with an idempotency key, if anything was."""
        return self._repeated(proposal, _digest(request))

    def take_in(self, theirs: str, signature: Signature) -> str:
        """Bring what is said in another commit to the branch, and returns the branch's commit.

        The branch goes forward to that commit where nothing is lost by it, else a merge commit holds the
        files of both: no file ever conflicts, and one that was deleted there stays. A file that stands where
        a proposal has its folder is no event, and gives way.
        Raises ReadOnly, Busy, DamagedRepository, and what `Publication` raises.
        """
        store = writable(self._git)
        their_tree = store.commit(theirs).tree
        message = commit_message(
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
                above, entry = trees.find(store, tree, folder), trees.find(store, tree, path)
                if above is not None and not above.is_tree:
                    found[folder] = Whole(None)
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
                    change.path: Whole(change.new) for change in trees.changes(store, our_tree, their_tree)
                }
                return Batch(BRANCH, ours, forward, message, signature, commit=theirs)
            changes = placed(ours, self._united(ours, [theirs]))
            return Batch(BRANCH, ours, changes, message, signature, parents=(theirs,))

        return publish_with_retry(store, BRANCH, batch, durable=self._durable)

    def _united(self, base: str | None, others: Sequence[str]) -> Changes:
        """Return what the union with other commits changes in the files of a base."""
        here = folders(self._git, base) if base is not None else {}
        there = [folders(self._git, other) for other in others]
        changes: Changes = {}
        for id in sorted({id for found in there for id in found}):
            before, _ = files(self._git, here.get(id))
            if all(found.get(id) in (None, here.get(id)) for found in there):
                continue
            after = union([before, *(files(self._git, found.get(id))[0] for found in there)])
            for name in sorted(before.keys() | after.keys()):
                if before.get(name) != after.get(name):
                    blob = after.get(name)
                    changes[f"{id}/{name}"] = Whole(Entry(name, blob, FILE_MODE) if blob else None)
        return changes

    def _holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is among the ancestors of another; not where a shallow clone cannot tell."""
        try:
            return self._git.merge_bases(tip, commit) == (commit,)
        except ShallowHistory:
            return False

    def _repeated(self, proposal: str, key: str | None) -> Appended | None:
        if key is None:
            return None
        discussion = self.read()
        found = tuple(event for event in discussion.of(proposal).events if event.request == key)
        return Appended(discussion.tips[0], found, repeated=True) if found else None


def _commits(tips: Tips) -> tuple[str, ...]:
    """The commits that hold what is said: here, and where remotes had it when they were fetched last."""
    here = tips.here(BRANCH)
    return tuple(dict.fromkeys([*([here] if here else []), *tips.fetched(BRANCH)]))


def check_same(earlier: Appended, words: Sequence[Words]) -> None:
    """Raise KeyReused where other words were said with the same key.

    What their writer does not choose may differ: by the time of a retry, the branches may have moved.
    """
    if [as_asked(event.words) for event in earlier.events] != [as_asked(one) for one in words]:
        from workspace.writing.idempotency import KeyReused

        raise KeyReused(
            "this idempotency_key was used for other words",
            fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
            used_in=earlier.commit,
        )


def _digest(request: str | None) -> str | None:
    """Return what is kept of an idempotency key."""
    return hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest() if request else None
