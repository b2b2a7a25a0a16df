"""Synchronization: fetch, fast-forward or merge, and push of the served branch and related ones.

What is fetched comes to refs of its own first. Only when all of a branch is there, and it is known whether
the remote has taken commits back, does its remote-tracking ref move. What stands in the way of one branch
keeps no other from travelling.

A branch that diverged is brought together with the remote's by a structural merge.

What each side changed under a rule has passed that side's own gate. Two things have passed none: new content
by which a conflict is decided, and text that the merge brings under a rule from where no rule governed it.
Both are refused like a direct write, unless the branch is that of a proposal. A commit with new content says
that a person decided it, so that this person does not approve it.

One synchronisation of a repository at a time, whichever process does it.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.merge_bases import ShallowHistory
from workspace.git.messages import DECIDED_BY_TRAILER, format_commit_message
from workspace.git.private_folder import open_lock
from workspace.git.remotes.exchange import Peer
from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import GitStore, require_writable, sync_written_objects
from workspace.git.trees import WholeEntry
from workspace.merge.commits import (
    MergeConflict,
    MergeResult,
    UnrelatedHistories,
    commit_merge,
    merge_commits,
)
from workspace.merge.conflict import InvalidResolution, ResolutionChoice, UnitConflict
from workspace.merge.trees import WHOLE, FileConflict, PathCollisions, find_file
from workspace.policy.protection import Protected, format_paths
from workspace.proposals.event_log import EventLog
from workspace.publishing.locks import Busy
from workspace.publishing.recovery import recover_if_needed
from workspace.publishing.refs import BranchMoved
from workspace.sync.branches import (
    DISCUSSION,
    Chosen,
    SyncedBranch,
    SyncState,
    TrackedCommits,
    chosen,
    list_branches_to_sync,
)
from workspace.sync.exchange import RemoteSession, check_attributes, fast_forward
from workspace.sync.status import Unpushed, list_commits_ahead
from workspace.writing.write import DetachedHead, author_now, is_proposal_branch

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.objects import TreeEntry
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.merge.conflict import Resolution, UnitId
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.proposals.unreviewed import UnreviewedChange
    from workspace.snapshot.snapshot import Snapshot

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""Decides conflicts, or some of them; it is given all that were found so far."""

_LISTED = 20
_MERGE_ATTEMPTS = 10  # a conflict that was decided may uncover others


class _Versions(NamedTuple):
    """The versions of a file in a decision: its locations on both sides."""

    ours: TreeEntry | None
    theirs: TreeEntry | None


class _SideChoice(NamedTuple):
    """The side whose file is taken as it is, and the versions that the choice was made between."""

    choice: ResolutionChoice
    versions: _Versions


class UnreviewedMerge(Protected):
    """A merge would bring unreviewed text under a rule, so nothing is merged.

    `conflicts` are the files, each as a whole: a person may keep the version of the side that was reviewed.
    `versions` are those files, by path.
    """

    def __init__(
        self,
        unreviewed: Sequence[UnreviewedChange],
        conflicts: Sequence[FileConflict],
        versions: Mapping[str, _Versions],
    ) -> None:
        first = unreviewed[0]
        paths = list(dict.fromkeys(one.path for one in unreviewed))
        side, kept = ("here", "--theirs") if first.is_ours else ("in the remote", "--ours")
        where = f" to {first.source}" if first.source != first.path else ""
        super().__init__(
            paths,
            message=f"{format_paths(paths)} is protected by rule {first.number} of {CONFIG_PATH}, and a "
            "merge with the remote would bring changes into it that were made "
            f"{side}{where} and that nobody reviewed",
            fix=f"Run docyard sync {kept} {shlex.quote(first.path)} to keep the reviewed text, and propose "
            "the change; or read the changes, and merge with git pull.",
        )
        self.details["unreviewed"] = [_unreviewed_data(one) for one in unreviewed[:_LISTED]]
        self.conflicts = tuple(conflicts)
        self.versions = versions


def _unreviewed_data(one: UnreviewedChange) -> dict[str, object]:
    side = "ours" if one.is_ours else "theirs"
    return {"path": one.path, "source": one.source, "rule": one.number, "side": side}


def join(
    workspace: Branch, branch: str, theirs: str, remote: str, choose: Choose | None = None
) -> MergeResult:
    """Merge the remote's commit into a branch: first parent ours, second theirs.

    Raises MergeConflict with what is undecided, UnreviewedMerge, Protected, WorktreeBusy, and what
    `commit_merge` raises.
    """
    seen: dict[tuple[str, UnitId], FileConflict] = {}
    decided: dict[str, dict[UnitId, Resolution]] = {}
    kept: dict[str, _SideChoice] = {}
    versions: dict[str, _Versions] = {}  # of what is decided, by path: those that were shown

    def check(merge: Merge) -> None:
        check_attributes(workspace.git, branch, merge.changes, "merge @{upstream}")
        if any(
            _find_versions_at(merge.ours, merge.theirs, path) != shown for path, shown in versions.items()
        ):
            raise Busy("a file was written to while its conflict was decided; nothing was merged")
        if not is_proposal_branch(branch):
            _check_content(merge, decided)
            _check_reviewed(merge)

    def merged() -> MergeResult:
        return commit_merge(
            workspace,
            branch,
            theirs,
            message=lambda _: _format_message(branch, remote, is_decided=bool(decided)),
            resolutions=decided,
            adjust=lambda merge: _replace_with_side(merge, kept),
            check=check,
        )

    for _ in range(_MERGE_ATTEMPTS):
        try:
            return merged()
        except MergeConflict as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            if not any(found.conflict.unit in new.get(found.path, {}) for found in error.conflicts):
                raise
            for path, units in new.items():
                decided.setdefault(path, {}).update(units)
                if error.tip is not None:
                    versions[path] = _find_versions_at(
                        workspace.snapshot(error.tip), workspace.snapshot(theirs), path
                    )
        except UnreviewedMerge as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            sides = {
                path: _SideChoice(new[path][WHOLE].choice, error.versions[path])
                for path in error.versions
                if WHOLE in new.get(path, {})
            }
            is_new = not sides.items() <= kept.items()
            if not is_new or any(one.choice is ResolutionChoice.CONTENT for one in sides.values()):
                raise
            kept.update(sides)
    return merged()


def check_reviewed(workspace: Branch, theirs: str) -> None:
    """Raise UnreviewedMerge if a merge of the remote's commit would be refused for that.

    Conflicts come first: while there are any, nothing is known of what they are decided for.
    """
    merge = merge_commits(workspace.snapshot(), workspace.snapshot(theirs))
    if not merge.conflicts:
        _check_reviewed(merge)


def _check_reviewed(merge: Merge) -> None:
    """Raise UnreviewedMerge if the merge brings text under a rule that did not govern it before."""
    # Imported here because a server answers its first questions without reading rules.
    from workspace.proposals.unreviewed import find_unreviewed_of_both

    unreviewed = find_unreviewed_of_both(merge)
    if unreviewed:
        paths = dict.fromkeys(one.path for one in unreviewed)
        raise UnreviewedMerge(
            unreviewed,
            [_build_conflict(merge, path) for path in paths],
            {path: _find_versions(merge, path) for path in paths},
        )


def _build_conflict(merge: Merge, path: str) -> FileConflict:
    """Return both sides' files at a path as a conflict; a side that moved the file has none there."""
    versions = (find_file(side, path) for side in (merge.ours, merge.theirs))
    ours, theirs = (merge.ours.git.blob(entry.id) if entry and entry.is_blob else None for entry in versions)
    return FileConflict(path, UnitConflict(WHOLE, None, ours, theirs))


def _find_versions_at(ours: Snapshot, theirs: Snapshot, path: str) -> _Versions:
    return _Versions(find_file(ours, path), find_file(theirs, path))


def _find_versions(merge: Merge, path: str) -> _Versions:
    sides = (merge.ours, merge.theirs)
    return _Versions(*(find_file(side, merge.source(path, side)) for side in sides))


def _replace_with_side(merge: Merge, kept: Mapping[str, _SideChoice]) -> Merge:
    """Return a merge with one side's files of some paths, each where that side has it.

    A choice between other versions than those of this merge is left out. Raises InvalidResolution.
    """
    chosen: dict[str, WholeEntry] = {}
    for path, one in kept.items():
        if one.versions == _find_versions(merge, path):
            side = merge.ours if one.choice is ResolutionChoice.OURS else merge.theirs
            for place in (path, merge.source(path, side)):
                chosen[place] = WholeEntry(find_file(side, place))
    if not chosen:
        return merge
    made = {**merge.changes, **chosen}
    leaving = {path for path, change in made.items() if change == WholeEntry(None)}
    room = PathCollisions(merge.ours, merge.theirs, leaving)
    for path, change in chosen.items():
        is_new = change != WholeEntry(None) and find_file(merge.ours, path) is None
        taken = room.find_blocking_path(path) if is_new else None
        if taken is not None:
            raise InvalidResolution(
                f"'{path}' cannot be kept, because '{taken}' is in its place",
                fix=f"Rename or remove '{taken}' first.",
            )
    return merge._replace(changes=dict(sorted(made.items())))


def _check_content(merge: Merge, decided: Resolutions) -> None:
    """Raise Protected for new content that requires a proposal."""
    new = {
        place
        for path, units in decided.items()
        if any(how.choice is ResolutionChoice.CONTENT for how in units.values())
        for place in (path, merge.moved.get(path, path))
    }
    made = {path: merge.changes[path] for path in new if path in merge.changes}
    if made:
        from workspace.policy.protection import check_direct

        for side in (merge.ours, merge.theirs):
            check_direct(side, made)


def _format_message(branch: str, remote: str, *, is_decided: bool) -> str:
    words = f"Merge '{branch}' of {remote}"
    trailers = {DECIDED_BY_TRAILER: "git"} if is_decided else None
    return format_commit_message(
        [words], paths=[], message=None, tool="sync", client="docyard", trailers=trailers
    )


LOCK = "docyard/sync.lock"
_PATIENCE = 10.0
_PAUSE = 0.05


class SyncBusy(WorkspaceError):
    """Another Docyard has been exchanging with a remote of this repository for long."""

    code: ClassVar[str] = "SYNC_BUSY"

    def __init__(self) -> None:
        super().__init__(
            "another docyard is synchronising this repository",
            fix="Try again when it is done.",
            retry_after_ms=1000,
        )


@contextmanager
def sync_lock(common_dir: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the sync lock; the system releases it in a crash. Raises SyncBusy, OSError."""
    file = common_dir / LOCK
    handle = open_lock(common_dir, file.name)
    try:
        until = time.monotonic() + patience
        while not _try_lock(handle):
            if time.monotonic() > until:
                raise SyncBusy
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_ROUNDS = 5


class SyncResult(NamedTuple):
    """The result of a synchronization. Commits are ids of 40 digits; None where a branch has none.

    `commit` is where the served branch is, `theirs` where the remote's was when it was last seen. `followed`
    is the commit at which ours was before it followed, `merged` the commit that joined both sides, `pushed`
    how many commits of it were pushed (2,000 for any number beyond). `conflicts` keep a branch that diverged
    from being joined, or `apart` is why it cannot be.
    """

    remote: str
    place: str
    branch: str
    state: SyncState
    commit: str | None
    theirs: str | None
    fetched: bool
    followed: str | None
    is_followed: bool
    merged: str | None
    pushed: int
    unpushed: Unpushed | None
    conflicts: tuple[FileConflict, ...] = ()
    apart: WorkspaceError | None = None
    beside: tuple[SyncedBranch, ...] = ()


def sync(
    workspace: Branch,
    access: Access,
    *,
    remote: str | None = None,
    fetch: bool = True,
    push: bool = True,
    restore: bool = True,
    choose: Choose | None = None,
    progress: Progress | None = None,
) -> SyncResult:
    """Fetch the served branch and related ones, fast-forward or merge them, and push to the remote.

    A branch that diverged is joined by a structural merge. Where that meets conflicts that `choose` leaves
    open, it stays as it is; and so does one of whose commits the remote has taken some back, unless nothing
    but a push is asked for, and `restore` allows to bring them back there.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    and what `RemoteProcess.run` raises; and of the served branch, when all others have travelled,
    RemoteDamaged, RemoteMoved, PushRejected, Protected, Busy, and what `Publication` raises.
    Whatever was done before an error stays done, and the next call goes on from there.
    """
    store = require_writable(workspace.git)
    branch = workspace.branch
    if branch is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    meant = chosen(workspace, remote)
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        sync_lock(store.common_dir),
        sync_written_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        # What an exchange before this one did not live to complete, this one may find nothing to write over.
        recover_if_needed(store)
        exchanging = RemoteSession(workspace, store, remotes, branch, meant, access, progress)
        return _Session(workspace, store, exchanging, branch, meant, durable, choose).run(
            fetch=fetch, push=push, restores=restore and not fetch
        )


@dataclass
class _Line:
    """The state of one branch during the synchronization; `ours` is its commit before."""

    followed: str | None = None
    is_followed: bool = False
    merged: str | None = None
    pushed: int = 0
    conflicts: tuple[FileConflict, ...] = ()
    apart: WorkspaceError | None = None
    error: WorkspaceError | None = None

    @property
    def done(self) -> tuple[str, ...]:
        made = {"followed": self.is_followed, "merged": self.merged is not None, "pushed": self.pushed > 0}
        return tuple(name for name, is_done in made.items() if is_done)


@dataclass
class _Session:
    workspace: Branch
    store: GitStore
    exchanging: RemoteSession
    branch: str
    meant: Chosen
    durable: bool
    choose: Choose | None
    lines: dict[str, _Line] = field(default_factory=dict)

    def run(self, *, fetch: bool, push: bool, restores: bool) -> SyncResult:
        source = self.exchanging.peer(self.meant.url) if fetch else None
        target = self.exchanging.peer(self.meant.push_url) if push else None
        if source is not None:
            self._fetch(source)
        for _ in range(_ROUNDS):
            if source is not None:
                for branch in self._branches():
                    self._bring(branch)
            wanted = self._to_push(restores=restores) if target is not None else {}
            if target is None or not wanted:
                break
            if not self._push(target, wanted, is_last=source is None) or source is None:
                break  # what was written here meanwhile is for the next time
            self._fetch(source)
        else:
            self._line(self.branch).error = Busy(
                f"others moved the branch {_ROUNDS} times, here or there; what was done stays done"
            )
        error = self._line(self.branch).error
        if error is not None:
            raise error
        return self._told(source or target or self.exchanging.peer(self.meant.url), fetched=fetch)

    def _line(self, branch: str) -> _Line:
        return self.lines.setdefault(branch, _Line())

    def _branches(self) -> tuple[str, ...]:
        known = {*self.store.branches(), *self.exchanging.seen(), *self.lines}
        return (self.branch, *list_branches_to_sync(known, self.branch))

    def _fetch(self, source: Peer) -> None:
        for branch, error in self.exchanging.fetch(source).items():
            self._line(branch).error = error

    def _bring(self, branch: str) -> None:
        """Fast-forward to the remote's branch, or merge it; an obstacle is recorded with the branch."""
        line = self._line(branch)
        if line.error is not None:
            return
        try:
            for _ in range(_ROUNDS):
                with suppress(BranchMoved), self.workspace.turn:
                    self._bring_once(branch, line, self.exchanging.stand(branch))
                    return
            raise Busy(f"others moved the branch {_ROUNDS} times; what was done stays done")
        except WorkspaceError as error:
            line.error = error

    def _bring_once(self, branch: str, line: _Line, stand: TrackedCommits) -> None:
        if branch == DISCUSSION:
            self._take_in(line, stand)
        elif stand.theirs is None or (stand.ours is None and branch != self.branch):
            return  # such a proposal is read where it was fetched to
        elif stand.state is SyncState.BEHIND:
            self._follow(branch, line, stand.ours, stand.theirs)
        elif stand.state is SyncState.DIVERGED:
            self._join(branch, line, stand.theirs)

    def _follow(self, branch: str, line: _Line, ours: str | None, theirs: str) -> None:
        fast_forward(self.store, branch, ours, theirs, self.workspace.author(), durable=self.durable)
        line.followed, line.is_followed = ours, True

    def _join(self, branch: str, line: _Line, theirs: str) -> None:
        line.conflicts, line.apart = (), None
        choose = self.choose if branch == self.branch else None
        try:
            line.merged = join(self.workspace, branch, theirs, self.meant.name, choose).commit
        except MergeConflict as error:
            line.conflicts = error.conflicts
        except (UnrelatedHistories, ShallowHistory) as error:
            line.apart = error

    def _take_in(self, line: _Line, stand: TrackedCommits) -> None:
        """Unite the discussion with the remote's, whatever became of the branch: no event is lost."""
        if stand.theirs is None or stand.ours == stand.theirs:
            return
        if stand.ours is not None and self.store.is_descendant(stand.ours, stand.theirs):
            return
        log = EventLog(self.store, durable=self.durable)
        now = log.merge_commit(stand.theirs, author_now(self.workspace))
        if now == stand.theirs:
            line.followed, line.is_followed = stand.ours, True
        else:
            line.merged = now

    def _to_push(self, *, restores: bool) -> dict[str, str]:
        """Return the commits to push, by branch."""
        wanted: dict[str, str] = {}
        for branch in self._branches():
            line = self._line(branch)
            if line.error is not None:
                continue
            try:
                stand = self.exchanging.stand(branch)
            except WorkspaceError as error:
                line.error = error
                continue
            may = stand.state is SyncState.AHEAD or (stand.state is SyncState.REWOUND and restores)
            if stand.ours is not None and may:
                wanted[branch] = stand.ours
        return wanted

    def _push(self, target: Peer, wanted: dict[str, str], *, is_last: bool) -> bool:
        """Push; return True if another client moved the remote meanwhile, so that a new fetch is needed."""
        missing = {branch: self._missing(branch, commit) for branch, commit in wanted.items()}
        refused = self.exchanging.push(target, wanted)
        is_moved = any(isinstance(error, RemoteMoved) for error in refused.values())
        if is_moved and is_last and len(wanted) > 1:
            # One that cannot be pushed took all others back with it.
            refused = {}
            for branch, commit in wanted.items():
                refused |= self.exchanging.push(target, {branch: commit})
        for branch in wanted:
            error = refused.get(branch)
            if error is None:
                self._line(branch).pushed += missing[branch]
            elif is_last or not isinstance(error, RemoteMoved):
                self._line(branch).error = error
        return is_moved

    def _missing(self, branch: str, commit: str) -> int:
        found = list_commits_ahead(self.store, commit, self.exchanging.stand(branch).theirs)
        return found.commits if found is not None else 0

    def _told(self, peer: Peer, *, fetched: bool) -> SyncResult:
        stand, line = self.exchanging.stand(self.branch), self._line(self.branch)
        return SyncResult(
            remote=peer.name,
            place=peer.address.shown(),
            branch=self.branch,
            state=stand.state,
            commit=stand.ours,
            theirs=stand.theirs,
            fetched=fetched,
            followed=line.followed,
            is_followed=line.is_followed,
            merged=line.merged,
            pushed=line.pushed,
            unpushed=None if stand.ours is None else list_commits_ahead(self.store, stand.ours, stand.theirs),
            conflicts=line.conflicts,
            apart=line.apart,
            beside=tuple(map(self._beside, self._branches()[1:])),
        )

    def _beside(self, branch: str) -> SyncedBranch:
        line = self._line(branch)
        error = line.error or line.apart
        stand = TrackedCommits(None, None, SyncState.LEVEL)
        with suppress(WorkspaceError):
            stand = self.exchanging.stand(branch)
        paths = tuple(dict.fromkeys(found.path for found in line.conflicts))
        is_there = stand.theirs is not None
        is_landed = stand.state is SyncState.REWOUND and self._has(stand.ours)
        return SyncedBranch(branch, stand.state, stand.ours, is_there, line.done, paths, error, is_landed)

    def _has(self, commit: str | None) -> bool:
        """Return True if the served branch has a commit among its ancestors."""
        tip = self.store.tip(self.branch)
        return tip is not None and commit is not None and self.store.is_descendant(tip, commit)
