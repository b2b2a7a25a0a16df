"""The event log: it appends events to the discussion's branch, and merges the events of other clones.

Each event is a file of its own, so events of different writers never conflict. If another writer publishes
first, the event is appended again to the new tip. Events are published with the same guarantees as any other
commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from workspace.git import trees
from workspace.git.merge_bases import ShallowHistory
from workspace.git.messages import PROPOSAL_TRAILER, format_commit_message
from workspace.git.objects import FILE_MODE, Signature, TreeEntry
from workspace.git.store import require_writable
from workspace.git.tips import Tips
from workspace.git.trees import WholeEntry
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX
from workspace.proposals.discussion import (
    Discussion,
    DiscussionCache,
    check_quota,
    clear_derived_values,
    find_heads,
    list_event_files,
    list_folders,
    merge_file_sets,
)
from workspace.proposals.events import Event, InvalidEventText, UnreadableEvent, decode_event, encode_event
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish_with_retry

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.events import Author, EventBody

_MAX_READS = 20  # the maximum number of reads, if other writers append events during each read

T = TypeVar("T")

_EventFileChanges = dict[str, bytes | WholeEntry | None]
_VERB_BY_KIND = {
    "opened": "Open",
    "edited": "Edit",
    "commented": "Comment on",
    "reviewed": "Review",
    "submitted": "Submit",
    "refreshed": "Refresh",
    "closed": "Close",
    "reopened": "Reopen",
    "resolved": "Resolve or reopen a comment on",
    "claimed": "Claim or release a task of",
}


class AppendResult(NamedTuple):
    """Some events, and the commit that appended them.

    `is_repeat` is True if an earlier call appended them; `commit` is then the current tip of the discussion.
    """

    commit: str
    events: tuple[Event, ...]
    is_repeat: bool = False


class EventLog:
    """The events of all proposals of a repository. Reading is safe in several threads.

    The events of the remotes' branches, as last fetched, are read too: a fresh clone has no local branch yet.
    """

    def __init__(self, git: GitReader, *, durable: bool = True) -> None:
        self._git = git
        self._durable = durable
        self._cache = DiscussionCache.empty()

    def read(self) -> Discussion:
        """Return the current discussion."""
        return self._open_discussion(_list_commits(Tips(self._git)))

    def read_consistently(self, read: Callable[[Discussion], T]) -> T:
        """Return the result of `read` for a discussion that did not change while `read` was running.

        `read` also reads other branches, so it is called again if events were appended during the call.
        The result of the 20th call is returned in any case.

        Events that are older than the branches would give a wrong state: a target that has moved to the tip
        of a proposal would look like a merge of it.
        """
        tips = Tips(self._git)
        commits = _list_commits(tips)
        for _ in range(_MAX_READS):
            previous_commits, result = commits, read(self._open_discussion(commits))
            commits = _list_commits(tips)
            if commits == previous_commits:
                break
        return result

    def _open_discussion(self, commits: Sequence[str]) -> Discussion:
        return Discussion(self._git, commits, self._cache)

    def append(
        self,
        proposal: str,
        bodies: Sequence[EventBody],
        author: Author,
        *,
        tool: str,
        client: str,
        branch: str | None = None,
        seen_discussion: Discussion | None = None,
        idempotency_key: str | None = None,
        confirm: Callable[[], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> AppendResult:
        """Append events of one proposal as one commit, each after the previous one.

        For comments on documents, `branch` is their branch, and `proposal` is the id of its discussion.
        `seen_discussion` is the discussion that the author had read; the default is the current one. Events
        of the proposal with the same idempotency key are not appended again. `confirm` is called under the
        write lock, before new events are appended, and may raise an error to refuse them.

        Raises ReadOnly, InvalidEventText for an event that is invalid or exceeds the quota, KeyReused for
        other events with the same key, Busy, and the errors of `Publication`.
        """
        store = require_writable(self._git)
        key = _hash_key(idempotency_key)
        time = now().astimezone(UTC)
        time = time.replace(microsecond=time.microsecond // 1000 * 1000)
        after = find_heads((seen_discussion or self.read()).events_of(proposal).events)
        events: list[Event] = []
        new_files: dict[str, bytes] = {}
        for body in bodies:
            try:
                name, data = encode_event(proposal, body, author, time, after, key)
            except UnreadableEvent as reason:
                raise InvalidEventText(
                    f"the event cannot be stored: {reason}", fix="Shorten the text.", field=body.kind
                ) from reason
            events.append(decode_event(proposal, name, data))
            new_files[f"{proposal}/{name}"] = data
            after = (events[-1].id,)
        subject = f"proposal {proposal}" if branch is None else f"documents of {branch}"
        message = format_commit_message(
            [f"{_VERB_BY_KIND[body.kind]} {subject}" for body in bodies],
            paths=[PROPOSAL_BRANCH_PREFIX + proposal if branch is None else subject],
            message=None,
            tool=tool,
            client=client,
            trailers={PROPOSAL_TRAILER: proposal} if branch is None else None,
        )
        signature = Signature(author.name, author.email, int(time.timestamp()))

        def build_batch(tip: str | None) -> Batch | AppendResult:
            earlier_result = self._find_by_key(proposal, key)
            if earlier_result is not None:
                check_same_event(earlier_result, [event.body for event in events])
                return earlier_result
            if confirm is not None:
                confirm()
            proposal_events = self.read().events_of(proposal)
            check_quota(
                f"the proposal '{proposal}'" if branch is None else f"the discussion of '{branch}'",
                proposal_events.file_count,
                proposal_events.total_bytes,
                list(zip(events, map(len, new_files.values()), strict=True)),
            )
            fetched_tips = Tips(store).list_fetched(DISCUSSION_BRANCH) if tip is None else ()
            changes = self._list_union_changes(None, fetched_tips) | new_files
            return Batch(DISCUSSION_BRANCH, tip, changes, message, signature, other_parents=fetched_tips)

        result = publish_with_retry(store, DISCUSSION_BRANCH, build_batch, durable=self._durable)
        if isinstance(result, AppendResult):
            return result
        return AppendResult(result, tuple(events))

    def find_events_by_key(self, proposal: str, idempotency_key: str | None) -> AppendResult | None:
        """Return the events of a proposal with an idempotency key, if there are any."""
        return self._find_by_key(proposal, _hash_key(idempotency_key))

    def merge_commit(self, theirs: str, signature: Signature) -> str:
        """Merge the discussion of another commit into the branch, and return the branch's commit.

        The branch is fast-forwarded if that loses no file. Otherwise a merge commit contains the files of
        both commits. Files never conflict, and a file that one side deleted is preserved. A file at the path
        of a proposal's folder is not an event, and is replaced by the folder. Raises ReadOnly, Busy,
        DamagedRepository, and the errors of `Publication`.
        """
        store = require_writable(self._git)
        their_tree = store.commit(theirs).tree
        message = format_commit_message(
            ["Merge proposal events of another clone"], paths=[], message=None, tool="sync", client="docyard"
        )

        def resolve_collisions(tip: str | None, changes: _EventFileChanges) -> _EventFileChanges:
            """Return changes that omit files whose path is a folder, and remove files at a folder's path."""
            if tip is None:
                return changes
            tree = store.commit(tip).tree
            resolved_changes: _EventFileChanges = {}
            for path, content in changes.items():
                folder = path.partition("/")[0]
                folder_entry, entry = (
                    trees.find_in_tree(store, tree, folder),
                    trees.find_in_tree(store, tree, path),
                )
                if folder_entry is not None and not folder_entry.is_tree:
                    resolved_changes[folder] = WholeEntry(None)
                if entry is None or entry.is_blob:
                    resolved_changes[path] = content
            return resolved_changes

        def build_batch(ours: str | None) -> Batch | str:
            if ours is not None and self._contains(ours, theirs):
                return ours
            missing_files = self._list_union_changes(theirs, [ours]) if ours is not None else {}
            if not missing_files and (ours is None or self._contains(theirs, ours)):
                our_tree = store.commit(ours).tree if ours is not None else None
                fast_forward: _EventFileChanges = {
                    change.path: WholeEntry(change.new)
                    for change in trees.diff_trees(store, our_tree, their_tree)
                }
                return Batch(
                    DISCUSSION_BRANCH, ours, fast_forward, message, signature, existing_commit=theirs
                )
            changes = resolve_collisions(ours, self._list_union_changes(ours, [theirs]))
            return Batch(DISCUSSION_BRANCH, ours, changes, message, signature, other_parents=(theirs,))

        return publish_with_retry(store, DISCUSSION_BRANCH, build_batch, durable=self._durable)

    def _list_union_changes(self, base: str | None, others: Sequence[str]) -> _EventFileChanges:
        """Return the changes from the files of `base` to the union of all files of all commits."""
        base_folders = list_folders(self._git, base) if base is not None else {}
        other_folders = [list_folders(self._git, other) for other in others]
        changes: _EventFileChanges = {}
        for id in sorted({id for folders in other_folders for id in folders}):
            base_files, _ = list_event_files(self._git, base_folders.get(id))
            if all(folders.get(id) in (None, base_folders.get(id)) for folders in other_folders):
                continue
            merged_files = merge_file_sets(
                [base_files, *(list_event_files(self._git, folders.get(id))[0] for folders in other_folders)]
            )
            for name in sorted(base_files.keys() | merged_files.keys()):
                if base_files.get(name) != merged_files.get(name):
                    blob = merged_files.get(name)
                    changes[f"{id}/{name}"] = WholeEntry(TreeEntry(name, blob, FILE_MODE) if blob else None)
        return changes

    def _contains(self, tip: str, commit: str) -> bool:
        """Return True if `commit` is an ancestor of `tip`, and False if a shallow clone lacks the history."""
        try:
            return self._git.merge_bases(tip, commit) == (commit,)
        except ShallowHistory:
            return False

    def _find_by_key(self, proposal: str, key: str | None) -> AppendResult | None:
        if key is None:
            return None
        discussion = self.read()
        events = tuple(event for event in discussion.events_of(proposal).events if event.request == key)
        return AppendResult(discussion.tips[0], events, is_repeat=True) if events else None


def _list_commits(tips: Tips) -> tuple[str, ...]:
    """Return the local tip of the discussion, and the tips of the remotes as last fetched."""
    local = tips.find_local(DISCUSSION_BRANCH)
    return tuple(dict.fromkeys([*([local] if local else []), *tips.list_fetched(DISCUSSION_BRANCH)]))


def check_same_event(earlier_result: AppendResult, bodies: Sequence[EventBody]) -> None:
    """Raise KeyReused if another event has the same key.

    Values that the caller does not choose may differ: the branches may have moved before a retry.
    """
    if [clear_derived_values(event.body) for event in earlier_result.events] != [
        clear_derived_values(expected) for expected in bodies
    ]:
        from workspace.writing.idempotency import KeyReused

        raise KeyReused(
            "this idempotency_key was used for another event",
            fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
            used_in=earlier_result.commit,
        )


def _hash_key(idempotency_key: str | None) -> str | None:
    """Return the digest under which an idempotency key is stored."""
    if not idempotency_key:
        return None
    return hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()
