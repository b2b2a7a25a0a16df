"""Fetch, follow or join, and push: the served branch, the discussion, and the branches of proposals.

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

from workspace.config.config import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.merge_bases import ShallowHistory
from workspace.git.messages import HAND, commit_message
from workspace.git.private_folder import open_lock
from workspace.git.remotes.exchange import Peer
from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import GitStore, durable_objects, writable
from workspace.git.trees import Whole
from workspace.merge.commits import MergeConflict, Merged, UnrelatedHistories, commit_merge, merge_commits
from workspace.merge.conflict import Choice, Conflict, InvalidResolution
from workspace.merge.trees import WHOLE, FileConflict, Room, file_at
from workspace.policy.protection import Protected, named
from workspace.proposals.event_log import EventLog
from workspace.publishing.locks import Busy
from workspace.publishing.recovery import mend
from workspace.publishing.refs import BranchMoved
from workspace.sync.branches import DISCUSSION, Beside, Chosen, Stand, State, chosen, travelling
from workspace.sync.exchange import Exchanging, check_attributes, follow
from workspace.sync.status import Unpushed, ahead
from workspace.writing.write import DetachedHead, author_now, is_for_proposal

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.objects import Entry
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.merge.conflict import Resolution, UnitId
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.proposals.unreviewed import Unreviewed
    from workspace.snapshot.snapshot import Snapshot

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]


"""Decides conflicts, or some of them; it is given all that were found so far."""


_LISTED = 20


_MERGE_ATTEMPTS = 10  # a conflict that was decided may uncover others


class _Versions(NamedTuple):
    """The files of both sides that a decision is about: where each side has them."""

    ours: Entry | None
    theirs: Entry | None


class _Kept(NamedTuple):
    """The side whose file is taken as it is, and the versions that the choice was made between."""

    choice: Choice
    versions: _Versions


class UnreviewedMerge(Protected):
    """A merge would bring text under a rule that nobody has reviewed for it, so nothing is merged.

    `conflicts` are the files, each as a whole: a person may keep the version of the side that was reviewed.
    `versions` are those files, by path.
    """

    def __init__(
        self,
        unreviewed: Sequence[Unreviewed],
        conflicts: Sequence[FileConflict],
        versions: Mapping[str, _Versions],
    ) -> None:
        first = unreviewed[0]
        paths = list(dict.fromkeys(one.path for one in unreviewed))
        side, kept = ("here", "--theirs") if first.is_ours else ("in the remote", "--ours")
        where = f" to {first.source}" if first.source != first.path else ""
        super().__init__(
            paths,
            message=f"{named(paths)} is protected by rule {first.number} of {CONFIG_PATH}, and a merge with "
            f"the remote would bring changes into it that were made {side}{where} and that nobody reviewed",
            fix=f"Run docyard sync {kept} {shlex.quote(first.path)} to keep the reviewed text, and propose "
            "the change; or read the changes, and merge with git pull.",
        )
        self.details["unreviewed"] = [_unreviewed_data(one) for one in unreviewed[:_LISTED]]
        self.conflicts = tuple(conflicts)
        self.versions = versions


def _unreviewed_data(one: Unreviewed) -> dict[str, object]:
    side = "ours" if one.is_ours else "theirs"
    return {"path": one.path, "source": one.source, "rule": one.number, "side": side}


def join(workspace: Branch, branch: str, theirs: str, remote: str, choose: Choose | None = None) -> Merged:
    """Merge the remote's commit into a branch: first parent ours, second theirs.

    Raises MergeConflict with what is undecided, UnreviewedMerge, Protected, WorktreeBusy, and what
    `commit_merge` raises.
    """
    seen: dict[tuple[str, UnitId], FileConflict] = {}
    decided: dict[str, dict[UnitId, Resolution]] = {}
    kept: dict[str, _Kept] = {}
    versions: dict[str, _Versions] = {}  # of what is decided, by path: those that were shown

    def check(merge: Merge) -> None:
        check_attributes(workspace.git, branch, merge.changes, "merge @{upstream}")
        if any(_at(merge.ours, merge.theirs, path) != shown for path, shown in versions.items()):
            raise Busy("a file was written to while its conflict was decided; nothing was merged")
        if not is_for_proposal(branch):
            _check_content(merge, decided)
            _check_reviewed(merge)

    def merged() -> Merged:
        return commit_merge(
            workspace,
            branch,
            theirs,
            message=lambda _: _message(branch, remote, is_decided=bool(decided)),
            resolutions=decided,
            adjust=lambda merge: _with_one_side(merge, kept),
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
                    versions[path] = _at(workspace.snapshot(error.tip), workspace.snapshot(theirs), path)
        except UnreviewedMerge as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            sides = {
                path: _Kept(new[path][WHOLE].choice, error.versions[path])
                for path in error.versions
                if WHOLE in new.get(path, {})
            }
            is_new = not sides.items() <= kept.items()
            if not is_new or any(one.choice is Choice.CONTENT for one in sides.values()):
                raise
            kept.update(sides)
    return merged()


def check_reviewed(workspace: Branch, theirs: str) -> None:
    """Raise UnreviewedMerge where a merge of the remote's commit would be refused for that; merge nothing.

    Conflicts come first: while there are any, nothing is known of what they are decided for.
    """
    merge = merge_commits(workspace.snapshot(), workspace.snapshot(theirs))
    if not merge.conflicts:
        _check_reviewed(merge)


def _check_reviewed(merge: Merge) -> None:
    """Raise UnreviewedMerge where the merge brings text under a rule that did not govern it before."""
    # Imported here because a server answers its first questions without reading rules.
    from workspace.proposals.unreviewed import find_unreviewed_of_both

    unreviewed = find_unreviewed_of_both(merge)
    if unreviewed:
        paths = dict.fromkeys(one.path for one in unreviewed)
        raise UnreviewedMerge(
            unreviewed,
            [_conflict(merge, path) for path in paths],
            {path: _versions(merge, path) for path in paths},
        )


def _conflict(merge: Merge, path: str) -> FileConflict:
    """Return both sides' files at a path as a conflict; a side that moved the file has none there."""
    versions = (file_at(side, path) for side in (merge.ours, merge.theirs))
    ours, theirs = (merge.ours.git.blob(entry.id) if entry and entry.is_blob else None for entry in versions)
    return FileConflict(path, Conflict(WHOLE, None, ours, theirs))


def _at(ours: Snapshot, theirs: Snapshot, path: str) -> _Versions:
    return _Versions(file_at(ours, path), file_at(theirs, path))


def _versions(merge: Merge, path: str) -> _Versions:
    sides = (merge.ours, merge.theirs)
    return _Versions(*(file_at(side, merge.source(path, side)) for side in sides))


def _with_one_side(merge: Merge, kept: Mapping[str, _Kept]) -> Merge:
    """Return a merge that has one side's files of some paths, each where that side has it.

    A choice between other versions than those of this merge is left out. Raises InvalidResolution.
    """
    chosen: dict[str, Whole] = {}
    for path, one in kept.items():
        if one.versions == _versions(merge, path):
            side = merge.ours if one.choice is Choice.OURS else merge.theirs
            for place in (path, merge.source(path, side)):
                chosen[place] = Whole(file_at(side, place))
    if not chosen:
        return merge
    made = {**merge.changes, **chosen}
    leaving = {path for path, change in made.items() if change == Whole(None)}
    room = Room(merge.ours, merge.theirs, leaving)
    for path, change in chosen.items():
        is_new = change != Whole(None) and file_at(merge.ours, path) is None
        taken = room.taken(path) if is_new else None
        if taken is not None:
            raise InvalidResolution(
                f"'{path}' cannot be kept, because '{taken}' is in its place",
                fix=f"Rename or remove '{taken}' first.",
            )
    return merge._replace(changes=dict(sorted(made.items())))


def _check_content(merge: Merge, decided: Resolutions) -> None:
    """Raise Protected for new content that may only come with a proposal."""
    new = {
        place
        for path, units in decided.items()
        if any(how.choice is Choice.CONTENT for how in units.values())
        for place in (path, merge.moved.get(path, path))
    }
    made = {path: merge.changes[path] for path in new if path in merge.changes}
    if made:
        from workspace.policy.protection import check_direct

        for side in (merge.ours, merge.theirs):
            check_direct(side, made)


def _message(branch: str, remote: str, *, is_decided: bool) -> str:
    words = f"Merge '{branch}' of {remote}"
    trailers = {HAND: "git"} if is_decided else None
    return commit_message([words], paths=[], message=None, tool="sync", client="docyard", trailers=trailers)


LOCK = "docyard/sync.lock"


_PATIENCE = 10.0


_PAUSE = 0.05


class SyncBusy(WorkspaceError):
    """Another Docyard speaks with a remote of this repository, and went on for long."""

    code: ClassVar[str] = "SYNC_BUSY"

    def __init__(self) -> None:
        super().__init__(
            "another docyard is synchronising this repository",
            fix="Try again when it is done.",
            retry_after_ms=1000,
        )


@contextmanager
def turn(common_dir: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the lock of synchronisation; the system frees it in a crash. Raises SyncBusy, OSError."""
    file = common_dir / LOCK
    handle = open_lock(common_dir, file.name)
    try:
        until = time.monotonic() + patience
        while not _taken(handle):
            if time.monotonic() > until:
                raise SyncBusy
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_ROUNDS = 5


class Synced(NamedTuple):
    """What a synchronisation did. Commits are ids of 40 digits; None where a branch has none.

    `commit` is where the served branch is, `theirs` where the remote's was when it was last seen. `followed`
    is the commit at which ours was before it followed, `merged` the commit that joined both sides, `pushed`
    how many commits of it were pushed (2,000 for any number beyond). `conflicts` keep a branch that diverged
    from being joined, or `apart` is why it cannot be.
    """

    remote: str
    place: str
    branch: str
    state: State
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
    beside: tuple[Beside, ...] = ()


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
) -> Synced:
    """Fetch the served branch and those beside it, follow or join them, and push what the remote lacks.

    A branch that diverged is joined by a structural merge. Where that meets conflicts that `choose` leaves
    open, it stays as it is; and so does one of whose commits the remote has taken some back, unless nothing
    but a push is asked for, and `restore` allows to bring them back there.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    and what `RemoteProcess.run` raises; and of the served branch, when all others have travelled,
    RemoteDamaged, RemoteMoved, PushRejected, Protected, Busy, and what `Publication` raises.
    Whatever was done before an error stays done, and the next call goes on from there.
    """
    store = writable(workspace.git)
    branch = workspace.branch
    if branch is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    meant = chosen(workspace, remote)
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        turn(store.common_dir),
        durable_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        # What an exchange before this one did not live to complete, this one may find nothing to write over.
        mend(store)
        exchanging = Exchanging(workspace, store, remotes, branch, meant, access, progress)
        return _Session(workspace, store, exchanging, branch, meant, durable, choose).run(
            fetch=fetch, push=push, restores=restore and not fetch
        )


@dataclass
class _Line:
    """One branch on its way; `ours` is where it was before it followed."""

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
    exchanging: Exchanging
    branch: str
    meant: Chosen
    durable: bool
    choose: Choose | None
    lines: dict[str, _Line] = field(default_factory=dict)

    def run(self, *, fetch: bool, push: bool, restores: bool) -> Synced:
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
        return (self.branch, *travelling(known, self.branch))

    def _fetch(self, source: Peer) -> None:
        for branch, error in self.exchanging.fetch(source).items():
            self._line(branch).error = error

    def _bring(self, branch: str) -> None:
        """Follow the remote's branch, or join it; what stands in the way is kept with the branch."""
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

    def _bring_once(self, branch: str, line: _Line, stand: Stand) -> None:
        if branch == DISCUSSION:
            self._take_in(line, stand)
        elif stand.theirs is None or (stand.ours is None and branch != self.branch):
            return  # such a proposal is read where it was fetched to
        elif stand.state is State.BEHIND:
            self._follow(branch, line, stand.ours, stand.theirs)
        elif stand.state is State.DIVERGED:
            self._join(branch, line, stand.theirs)

    def _follow(self, branch: str, line: _Line, ours: str | None, theirs: str) -> None:
        follow(self.store, branch, ours, theirs, self.workspace.author(), durable=self.durable)
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

    def _take_in(self, line: _Line, stand: Stand) -> None:
        """Words are brought together by union, whatever became of the branch: none is ever lost here."""
        if stand.theirs is None or stand.ours == stand.theirs:
            return
        if stand.ours is not None and self.store.descends(stand.ours, stand.theirs):
            return
        log = EventLog(self.store, durable=self.durable)
        now = log.take_in(stand.theirs, author_now(self.workspace))
        if now == stand.theirs:
            line.followed, line.is_followed = stand.ours, True
        else:
            line.merged = now

    def _to_push(self, *, restores: bool) -> dict[str, str]:
        """Return the commits that the remote may be given, by branch."""
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
            may = stand.state is State.AHEAD or (stand.state is State.REWOUND and restores)
            if stand.ours is not None and may:
                wanted[branch] = stand.ours
        return wanted

    def _push(self, target: Peer, wanted: dict[str, str], *, is_last: bool) -> bool:
        """Push; whether the remote was moved by another meanwhile, so that it is to be fetched again."""
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
        found = ahead(self.store, commit, self.exchanging.stand(branch).theirs)
        return found.commits if found is not None else 0

    def _told(self, peer: Peer, *, fetched: bool) -> Synced:
        stand, line = self.exchanging.stand(self.branch), self._line(self.branch)
        return Synced(
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
            unpushed=None if stand.ours is None else ahead(self.store, stand.ours, stand.theirs),
            conflicts=line.conflicts,
            apart=line.apart,
            beside=tuple(map(self._beside, self._branches()[1:])),
        )

    def _beside(self, branch: str) -> Beside:
        line = self._line(branch)
        error = line.error or line.apart
        stand = Stand(None, None, State.LEVEL)
        with suppress(WorkspaceError):
            stand = self.exchanging.stand(branch)
        paths = tuple(dict.fromkeys(found.path for found in line.conflicts))
        is_there = stand.theirs is not None
        is_landed = stand.state is State.REWOUND and self._has(stand.ours)
        return Beside(branch, stand.state, stand.ours, is_there, line.done, paths, error, is_landed)

    def _has(self, commit: str | None) -> bool:
        """Return True if the served branch has a commit among its ancestors."""
        tip = self.store.tip(self.branch)
        return tip is not None and commit is not None and self.store.descends(tip, commit)
