"""The exchanges of one synchronisation, and the refs of ours that tell what was seen of the remote."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.remotes.exchange import Peer, RemoteTooSlow, RemoteUnreachable
from workspace.git.remotes.remote import Wanted
from workspace.git.remotes.url import Transport
from workspace.publishing.batch_objects import keep_fetched
from workspace.sync.branches import PATTERN, travelling
from workspace.sync.following import check_whole
from workspace.sync.moving import Moving
from workspace.sync.refs import fetched_ref, lost_ref, tracking_ref
from workspace.sync.states import Stand, State, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.git import GitStore
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.git.remotes.remote import GitRemotes
    from workspace.sync.choosing import Chosen
    from workspace.workspace import Workspace


class ShallowHere(WorkspaceError):
    """libgit2 forgets, as it fetches from a folder, where the history of a shallow clone ends."""

    code: ClassVar[str] = "SHALLOW_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "this clone is shallow, and such a one cannot fetch from a folder without being damaged",
            fix="Fetch the rest with git fetch --unshallow, then try again.",
        )


@dataclass
class Exchanging:
    """Speaks with a remote of the served branch and of those beside it, whose turn is held meanwhile."""

    workspace: Workspace
    store: GitStore
    remotes: GitRemotes
    branch: str
    meant: Chosen
    access: Access
    progress: Progress | None
    moving: Moving = field(init=False)

    def __post_init__(self) -> None:
        self.moving = Moving(self.remotes, self.store.common_dir)

    def peer(self, url: str) -> Peer:
        """The remote as an exchange knows it. Raises UnsupportedRemote, UnsafeCredentials."""
        address = self.remotes.address(url)
        outside = [self.store.common_dir, *([self.store.worktree] if self.store.worktree else [])]
        settings = self.workspace.snapshot().config.remote
        return Peer(
            name=self.meant.name,
            address=address,
            login=self.access.login(address, outside),
            has_agent=self.access.has_agent,
            ssh_keys=self.access.ssh_keys,
            answer_seconds=settings.answer_seconds,
            seconds=settings.seconds,
            fetch_bytes=settings.fetch_bytes,
        )

    def seen(self) -> Mapping[str, str]:
        """Where the remote's branches were when they were last seen, and what it lost, by branch."""
        lost = self.remotes.refs(lost_ref(self.meant.name, ""))
        return lost | self.remotes.refs(tracking_ref(self.meant.name, ""))

    def stand(self, branch: str) -> Stand:
        """How a branch stands to the remote's. Raises ShallowHistory, DamagedRepository."""
        ours = self.workspace.tip(branch) if branch == self.branch else self.store.tip(branch)
        theirs = self.remotes.commit_at(tracking_ref(self.meant.name, branch))
        name = lost_ref(self.meant.name, branch)
        lost = self.remotes.commit_at(name)
        state = state_of(self.store, ours, theirs, lost)
        if lost is not None and state is not State.REWOUND:
            # It is back there, or ours has given it up too.
            self.moving.move(name, None, was=lost)
        return Stand(ours, theirs, state)

    def fetch(self, peer: Peer) -> dict[str, WorkspaceError]:
        """Fetch all branches that travel, and say which of them were left aside, and why.

        Raises ShallowHere, and what `RemoteProcess.run` raises; the refs then tell what they told before.
        """
        if self.store.is_shallow and peer.address.transport is Transport.FILE:
            raise ShallowHere
        into = fetched_ref(peer.name, "")
        known = self.remotes.refs(tracking_ref(peer.name, ""))
        refused: dict[str, WorkspaceError] = {}
        self._free(into)
        try:
            found = self.remotes.fetch(peer, Wanted((self.branch,), PATTERN, known), into, self.progress)
            tips = self.remotes.refs(into)
            self._keep(tips, known)
            seen = {*known.values(), *([tip] if (tip := self.store.tip(self.branch)) else [])}
            for branch in (self.branch, *travelling({*known, *found}, self.branch)):
                try:
                    self._note(peer, branch, tips.get(branch, found.get(branch)), known.get(branch), seen)
                except WorkspaceError as error:
                    refused[branch] = error
        finally:
            self._free(into)
        return refused

    def _keep(self, tips: Mapping[str, str], known: Mapping[str, str]) -> None:
        """Keep what was fetched from a `git gc` that may have read the refs before that was there."""
        served = self.store.tip(self.branch)
        bases = {tip: known.get(branch) or served for branch, tip in tips.items()}
        # What was pruned already is refused as not whole, and fetched again by the next synchronisation.
        with suppress(WorkspaceError, OSError):
            keep_fetched(self.store, {tip: base for tip, base in bases.items() if base not in (None, tip)})

    def _note(self, peer: Peer, branch: str, theirs: str | None, before: str | None, seen: set[str]) -> None:
        """Move the remote-tracking ref of a branch. `seen` are commits known whole. Raises RemoteDamaged."""
        if theirs == before:
            return
        if theirs is not None:
            check_whole(self.store, peer.name, theirs, before or self.store.tip(self.branch), seen)
        tracking = tracking_ref(peer.name, branch)
        if before is not None:
            self._remember_loss(lost_ref(peer.name, branch), before, theirs)
        self.moving.move(tracking, theirs, was=before)

    def _remember_loss(self, name: str, before: str, theirs: str | None) -> None:
        if theirs is not None and self.store.descends(theirs, before):
            return
        kept = self.remotes.commit_at(name)
        if kept is None or not self.store.descends(kept, before):
            self.moving.move(name, before, was=kept)

    def _free(self, into: str) -> None:
        """Remove what was fetched to. Only who holds the turn writes it: its locks are of one that died.

        libgit2 takes the lock of FETCH_HEAD whether or not it is held, and Git itself makes none.
        """
        (self.store.git_dir / "FETCH_HEAD.lock").unlink(missing_ok=True)
        for lock in (self.store.common_dir / into).rglob("*.lock"):
            lock.unlink(missing_ok=True)
        for branch, commit in self.remotes.refs(into).items():
            self.moving.move(into + branch, None, was=commit)

    def push(self, peer: Peer, wanted: Mapping[str, str]) -> dict[str, WorkspaceError]:
        """Push commits to branches in one exchange, and return why some were not taken, by branch.

        One that was taken, of which that could not be noted here, is among them. Raises what
        `RemoteProcess.run` raises.
        """
        try:
            refused = self.remotes.push(peer, wanted, self.progress)
        except (RemoteUnreachable, RemoteTooSlow):
            # An error is no proof that it did not arrive: the remote is asked.
            arrived = self._arrived(peer, wanted)
            untold = self._track(peer, arrived)
            if arrived != wanted:
                raise
            return untold
        untold = self._track(peer, {branch: id for branch, id in wanted.items() if branch not in refused})
        return {**refused, **untold}

    def _arrived(self, peer: Peer, wanted: Mapping[str, str]) -> dict[str, str]:
        with suppress(RemoteUnreachable, RemoteTooSlow):
            there = self.remotes.listed(peer, Wanted(tuple(wanted)))
            return {branch: id for branch, id in wanted.items() if there.get(branch) == id}
        return {}

    def _track(self, peer: Peer, pushed: Mapping[str, str]) -> dict[str, WorkspaceError]:
        refused: dict[str, WorkspaceError] = {}
        for branch, commit in pushed.items():
            ref = tracking_ref(peer.name, branch)
            try:
                self.moving.move(ref, commit, was=self.remotes.commit_at(ref))
            except WorkspaceError as error:
                refused[branch] = error
        return refused
