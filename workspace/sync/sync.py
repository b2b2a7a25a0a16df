"""Fetch, follow or join, and push: the served branch, the discussion, and the branches of proposals.

What is fetched comes to refs of its own first. Only when all of a branch is there, and it is known whether
the remote has taken commits back, does its remote-tracking ref move. What stands in the way of one branch
keeps no other from travelling.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import GitStore, ShallowHistory, durable_objects, writable
from workspace.git.remotes.exchange import Peer
from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.merge.committing import MergeConflict
from workspace.merge.trees_package import UnrelatedHistories
from workspace.proposals.event_log import EventLog
from workspace.publishing import BranchMoved, Busy, mend
from workspace.sync.branches import DISCUSSION, Beside, travelling
from workspace.sync.choosing import Chosen, chosen
from workspace.sync.exchange import Exchanging
from workspace.sync.following import follow
from workspace.sync.joining import join
from workspace.sync.states import Stand, State
from workspace.sync.turn import turn
from workspace.sync.unpushed import Unpushed, ahead
from workspace.writing.write import DetachedHead, author_now

if TYPE_CHECKING:
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.merge.trees_package import FileConflict
    from workspace.sync.joining import Choose
    from workspace.workspace import Workspace

__all__ = ["State", "Synced", "sync"]

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
    workspace: Workspace,
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
    workspace: Workspace
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
        """The commits that the remote may be given, by branch."""
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
        """Whether the served branch has a commit among its ancestors."""
        tip = self.store.tip(self.branch)
        return tip is not None and commit is not None and self.store.descends(tip, commit)
