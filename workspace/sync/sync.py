"""Synchronization: fetch, fast-forward or merge, and push of the served branch and related branches.

A fetch writes to temporary refs first. The remote-tracking ref of a branch moves only after all its objects
were received and checked. An error of one branch does not stop the synchronization of the others.

A branch that diverged from the remote's branch is merged with it, by a structural merge.

Each side has already checked its own changes by the rules. Two kinds of changes are unchecked: new content
that resolves a conflict, and text that the merge moves from an unprotected path to a protected path. Both are
refused like a direct write, unless the branch is that of a proposal. A commit with new content has a trailer
with the person who wrote it, so that this person cannot approve it.

Only one process synchronizes a repository at a time.
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
from workspace.git.messages import DECIDED_BY_TRAILER, SYNC_TOOL, format_commit_message
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
from workspace.merge.trees import FILE_UNIT, FileConflict, PathCollisions, find_file
from workspace.policy.protection import Protected, format_paths
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.event_log import EventLog
from workspace.publishing.locks import Busy
from workspace.publishing.recovery import recover_if_needed
from workspace.publishing.refs import BranchMoved
from workspace.sync.branches import (
    ConfiguredRemote,
    SyncedBranch,
    SyncState,
    TrackedCommits,
    list_branches_to_sync,
    select_remote,
)
from workspace.sync.exchange import RemoteSession, check_attributes, fast_forward
from workspace.sync.status import MissingCommits, count_commits_ahead
from workspace.writing.write import DetachedHead, is_proposal_branch, make_author_signature

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.objects import TreeEntry
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.merge.conflict import Resolution, UnitId
    from workspace.merge.trees import Merge, Resolutions
    from workspace.policy.unreviewed_commits import UnreviewedCommit
    from workspace.proposals.unreviewed import UnreviewedChange
    from workspace.snapshot.snapshot import Snapshot

ChooseResolutions = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""A function that returns resolutions for all or some conflicts; its argument is all conflicts so far."""

_MAX_LISTED_CHANGES = 20
_MAX_MERGE_ATTEMPTS = 10  # resolved conflicts may reveal further conflicts


class _Versions(NamedTuple):
    """The entries of a file on both sides, for a choice between them."""

    ours: TreeEntry | None
    theirs: TreeEntry | None


class _SideChoice(NamedTuple):
    """The side whose file is chosen, and the versions between which the choice was made."""

    choice: ResolutionChoice
    versions: _Versions


class UnreviewedMerge(Protected):
    """An error: a merge would put unreviewed text under a protection rule, so nothing is merged.

    `conflicts` has one conflict for each file: a person may choose the version of the reviewed side.
    `versions` are the files of both sides, by path.
    """

    def __init__(
        self,
        unreviewed_changes: Sequence[UnreviewedChange],
        conflicts: Sequence[FileConflict],
        versions: Mapping[str, _Versions],
    ) -> None:
        change = unreviewed_changes[0]
        paths = list(dict.fromkeys(change.path for change in unreviewed_changes))
        side, side_option = ("here", "--theirs") if change.is_ours else ("in the remote", "--ours")
        target_text = f" to {change.changed_path}" if change.changed_path != change.path else ""
        super().__init__(
            paths,
            message=f"{format_paths(paths)} is protected by rule {change.number} of {CONFIG_PATH}, and a "
            "merge with the remote would add changes without a review, made "
            f"{side}{target_text}",
            fix=f"Run docyard sync {side_option} {shlex.quote(change.path)} to keep the reviewed text, and "
            "propose the change; or review the changes, and run git pull.",
        )
        self.details["unreviewed"] = [
            _format_unreviewed(change) for change in unreviewed_changes[:_MAX_LISTED_CHANGES]
        ]
        self.conflicts = tuple(conflicts)
        self.versions = versions


def _format_unreviewed(change: UnreviewedChange) -> dict[str, object]:
    side = "ours" if change.is_ours else "theirs"
    return {"path": change.path, "source": change.changed_path, "rule": change.number, "side": side}


def merge_remote(
    workspace: Branch, branch: str, theirs: str, remote: str, choose: ChooseResolutions | None = None
) -> MergeResult:
    """Merge the remote's commit into a branch: first parent ours, second theirs.

    Raises MergeConflict with the unresolved conflicts, UnreviewedMerge, Protected, WorktreeBusy, and the
    errors of `commit_merge`.
    """
    conflicts: dict[tuple[str, UnitId], FileConflict] = {}
    resolutions: dict[str, dict[UnitId, Resolution]] = {}
    side_choices: dict[str, _SideChoice] = {}
    versions: dict[str, _Versions] = {}  # the versions for which resolutions were chosen, by path

    def check(merge: Merge) -> None:
        check_attributes(workspace.git, branch, merge.changes, "merge @{upstream}")
        if any(
            _find_versions_at(merge.ours, merge.theirs, path) != expected_versions
            for path, expected_versions in versions.items()
        ):
            raise Busy("a file changed while its conflict was being resolved; nothing was merged")
        if not is_proposal_branch(branch):
            _check_content(merge, resolutions)
            _check_reviewed(merge)

    def try_merge() -> MergeResult:
        return commit_merge(
            workspace,
            branch,
            theirs,
            build_message=lambda _: _format_message(branch, remote, has_resolutions=bool(resolutions)),
            resolutions=resolutions,
            adjust_merge=lambda merge: _replace_with_side(merge, side_choices),
            check_merge=check,
        )

    for _ in range(_MAX_MERGE_ATTEMPTS):
        try:
            return try_merge()
        except MergeConflict as error:
            conflicts |= {(conflict.path, conflict.conflict.unit): conflict for conflict in error.conflicts}
            new_resolutions = choose(tuple(conflicts.values())) if choose is not None else {}
            if not any(
                conflict.conflict.unit in new_resolutions.get(conflict.path, {})
                for conflict in error.conflicts
            ):
                raise
            for path, units in new_resolutions.items():
                resolutions.setdefault(path, {}).update(units)
                if error.tip is not None:
                    versions[path] = _find_versions_at(
                        workspace.snapshot(error.tip), workspace.snapshot(theirs), path
                    )
        except UnreviewedMerge as error:
            conflicts |= {(conflict.path, conflict.conflict.unit): conflict for conflict in error.conflicts}
            new_resolutions = choose(tuple(conflicts.values())) if choose is not None else {}
            new_choices = {
                path: _SideChoice(new_resolutions[path][FILE_UNIT].choice, error.versions[path])
                for path in error.versions
                if FILE_UNIT in new_resolutions.get(path, {})
            }
            has_new_choice = not new_choices.items() <= side_choices.items()
            if not has_new_choice or any(
                not side_choice.choice.is_side for side_choice in new_choices.values()
            ):
                raise
            side_choices.update(new_choices)
    return try_merge()


def check_reviewed(workspace: Branch, theirs: str) -> None:
    """Raise UnreviewedMerge if a merge of the remote's commit would put unreviewed text under a rule.

    A merge with conflicts cannot be checked, so nothing is raised for it.
    """
    merge = merge_commits(workspace.snapshot(), workspace.snapshot(theirs))
    if not merge.conflicts:
        _check_reviewed(merge)


def _check_reviewed(merge: Merge) -> None:
    """Raise UnreviewedMerge if the merge puts text under a rule that did not govern the text before."""
    # Imported here because a server answers its first requests without the rules.
    from workspace.proposals.unreviewed import find_unreviewed_on_both_sides

    unreviewed_changes = find_unreviewed_on_both_sides(merge)
    if unreviewed_changes:
        paths = dict.fromkeys(change.path for change in unreviewed_changes)
        raise UnreviewedMerge(
            unreviewed_changes,
            [_build_conflict(merge, path) for path in paths],
            {path: _find_versions(merge, path) for path in paths},
        )


def _build_conflict(merge: Merge, path: str) -> FileConflict:
    """Return the files of both sides at a path as a conflict; None for a side that moved its file."""
    versions = (find_file(side, path) for side in (merge.ours, merge.theirs))
    ours, theirs = (merge.ours.git.blob(entry.id) if entry and entry.is_blob else None for entry in versions)
    return FileConflict(path, UnitConflict(FILE_UNIT, None, ours, theirs))


def _find_versions_at(ours: Snapshot, theirs: Snapshot, path: str) -> _Versions:
    return _Versions(find_file(ours, path), find_file(theirs, path))


def _find_versions(merge: Merge, path: str) -> _Versions:
    sides = (merge.ours, merge.theirs)
    return _Versions(*(find_file(side, merge.find_path_on_side(path, side)) for side in sides))


def _replace_with_side(merge: Merge, side_choices: Mapping[str, _SideChoice]) -> Merge:
    """Return a merge in which some files are those of one side, at the paths of that side.

    A choice is ignored if this merge has other versions of the file. Raises InvalidResolution.
    """
    replacements: dict[str, WholeEntry] = {}
    for path, side_choice in side_choices.items():
        if side_choice.versions == _find_versions(merge, path):
            side = merge.ours if side_choice.choice is ResolutionChoice.OURS else merge.theirs
            for replaced_path in (path, merge.find_path_on_side(path, side)):
                replacements[replaced_path] = WholeEntry(find_file(side, replaced_path))
    if not replacements:
        return merge
    changes = {**merge.changes, **replacements}
    removed_paths = {path for path, change in changes.items() if change == WholeEntry(None)}
    collisions = PathCollisions(merge.ours, merge.theirs, removed_paths)
    for path, change in replacements.items():
        is_new = change != WholeEntry(None) and find_file(merge.ours, path) is None
        blocking_path = collisions.find_blocking_path(path) if is_new else None
        if blocking_path is not None:
            raise InvalidResolution(
                f"'{path}' cannot be chosen, because '{blocking_path}' blocks its path",
                fix=f"Rename or remove '{blocking_path}' first.",
            )
    return merge._replace(changes=dict(sorted(changes.items())))


def _check_content(merge: Merge, resolutions: Resolutions) -> None:
    """Raise Protected for new content that requires a proposal."""
    new_paths = {
        changed_path
        for path, units in resolutions.items()
        if any(not resolution.choice.is_side for resolution in units.values())
        for changed_path in (path, merge.moved_paths.get(path, path))
    }
    new_changes = {path: merge.changes[path] for path in new_paths if path in merge.changes}
    if new_changes:
        from workspace.policy.protection import check_direct_write

        for side in (merge.ours, merge.theirs):
            check_direct_write(side, new_changes)


def _format_message(branch: str, remote: str, *, has_resolutions: bool) -> str:
    subject = f"Merge '{branch}' of {remote}"
    trailers = {DECIDED_BY_TRAILER: "git"} if has_resolutions else None
    return format_commit_message(
        [subject], paths=[], message=None, tool=SYNC_TOOL, client="docyard", trailers=trailers
    )


LOCK_PATH = "docyard/sync.lock"
_LOCK_TIMEOUT_S = 10.0
_LOCK_RETRY_PAUSE_S = 0.05


class SyncBusy(WorkspaceError):
    """An error: another process did not release the sync lock of this repository within the timeout."""

    code: ClassVar[str] = "SYNC_BUSY"

    def __init__(self) -> None:
        super().__init__(
            "another docyard process is synchronizing this repository",
            fix="Try again when the other process has finished.",
            retry_after_ms=1000,
        )


@contextmanager
def sync_lock(common_dir: Path, timeout_s: float = _LOCK_TIMEOUT_S) -> Iterator[None]:
    """Acquire the sync lock; the system releases it if the process dies. Raises SyncBusy, OSError."""
    file = common_dir / LOCK_PATH
    handle = open_lock(common_dir, file.name)
    try:
        deadline = time.monotonic() + timeout_s
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise SyncBusy
            time.sleep(_LOCK_RETRY_PAUSE_S)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_MAX_ROUNDS = 5


class SyncResult(NamedTuple):
    """The result of a synchronization. Commits are ids of 40 digits, or None.

    `commit` is the tip of the served branch, and `theirs` the last seen tip of the remote's branch. If the
    branch was fast-forwarded, `old_commit` is its earlier tip. `merge_commit` is the id of the merge.
    `pushed_count` is the number of pushed commits, at most 2,000 for one push. `conflicts` prevent the merge
    of a diverged branch; `merge_error` is another reason that prevents it. `other_branches` are the
    synchronized branches except the served branch. `unreviewed_commits` are the pushed commits of the served
    branch that changed protected paths by hand.
    """

    remote: str
    url: str
    branch: str
    state: SyncState
    commit: str | None
    theirs: str | None
    has_fetched: bool
    old_commit: str | None
    is_fast_forwarded: bool
    merge_commit: str | None
    pushed_count: int
    unpushed: MissingCommits | None
    conflicts: tuple[FileConflict, ...] = ()
    merge_error: WorkspaceError | None = None
    other_branches: tuple[SyncedBranch, ...] = ()
    unreviewed_commits: tuple[UnreviewedCommit, ...] = ()


def sync(
    workspace: Branch,
    access: Access,
    *,
    remote: str | None = None,
    fetch: bool = True,
    push: bool = True,
    restore: bool = True,
    choose: ChooseResolutions | None = None,
    progress: Progress | None = None,
) -> SyncResult:
    """Fetch the served branch and related branches, fast-forward or merge them, and push to the remote.

    A diverged branch is merged with the remote's branch. If `choose` leaves conflicts unresolved, the branch
    stays unchanged. If the remote removed commits, the branch stays unchanged too; a call with `restore` that
    only pushes restores these commits. If nodes share the remote, each write has pushed its commit, so the
    branches are only fetched and fast-forwarded.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    and the errors of `RemoteProcess.run`. After all other branches, raises for the served branch
    RemoteDamaged, RemoteMoved, PushRejected, Protected, Busy, and the errors of `Publication`. The work done
    before an error is not undone; the next call continues from there.
    """
    store = require_writable(workspace.git)
    branch = workspace.branch
    if branch is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    configured_remote = select_remote(workspace, remote)
    if store.upstream is not None:
        store.upstream.follow()
        fetch = push = False
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        sync_lock(store.common_dir),
        sync_written_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        # An unfinished fast-forward of a killed process must be completed, even if there is nothing to fetch.
        recover_if_needed(store)
        session = RemoteSession(workspace, store, remotes, branch, configured_remote, access, progress)
        return _Synchronization(workspace, store, session, branch, configured_remote, durable, choose).run(
            fetch=fetch, push=push, restores_commits=restore and not fetch
        )


@dataclass
class _BranchProgress:
    """The actions performed on one branch, and its errors."""

    old_commit: str | None = None
    is_fast_forwarded: bool = False
    merge_commit: str | None = None
    pushed_count: int = 0
    conflicts: tuple[FileConflict, ...] = ()
    merge_error: WorkspaceError | None = None
    error: WorkspaceError | None = None
    unreviewed_commits: tuple[UnreviewedCommit, ...] = ()

    @property
    def actions(self) -> tuple[str, ...]:
        has_performed = {
            "followed": self.is_fast_forwarded,
            "merged": self.merge_commit is not None,
            "pushed": self.pushed_count > 0,
        }
        return tuple(name for name, is_performed in has_performed.items() if is_performed)


@dataclass
class _Synchronization:
    """One run of `sync`."""

    workspace: Branch
    store: GitStore
    session: RemoteSession
    branch: str
    remote: ConfiguredRemote
    durable: bool
    choose: ChooseResolutions | None
    progress_by_branch: dict[str, _BranchProgress] = field(default_factory=dict)

    def run(self, *, fetch: bool, push: bool, restores_commits: bool) -> SyncResult:
        fetch_peer = self.session.build_peer(self.remote.url) if fetch else None
        push_peer = self.session.build_peer(self.remote.push_url) if push else None
        if fetch_peer is not None:
            self._fetch(fetch_peer)
        for _ in range(_MAX_ROUNDS):
            if fetch_peer is not None:
                for branch in self._list_branches():
                    self._update_branch(branch)
            commits = (
                self._select_commits_to_push(restores_commits=restores_commits)
                if push_peer is not None
                else {}
            )
            if push_peer is None or not commits:
                break
            if not self._push(push_peer, commits, is_last=fetch_peer is None) or fetch_peer is None:
                break  # the next call pushes commits that were made since then
            self._fetch(fetch_peer)
        else:
            self._get_progress(self.branch).error = Busy(
                f"other writers moved the branch {_MAX_ROUNDS} times, here or in the remote; "
                "completed steps were preserved"
            )
        error = self._get_progress(self.branch).error
        if error is not None:
            raise error
        return self._build_result(
            fetch_peer or push_peer or self.session.build_peer(self.remote.url), has_fetched=fetch
        )

    def _get_progress(self, branch: str) -> _BranchProgress:
        return self.progress_by_branch.setdefault(branch, _BranchProgress())

    def _list_branches(self) -> tuple[str, ...]:
        branch_names = {*self.store.branches(), *self.session.list_seen_commits(), *self.progress_by_branch}
        return (self.branch, *list_branches_to_sync(branch_names, self.branch))

    def _fetch(self, fetch_peer: Peer) -> None:
        for branch, error in self.session.fetch(fetch_peer).items():
            self._get_progress(branch).error = error

    def _update_branch(self, branch: str) -> None:
        """Fast-forward a branch to the remote's branch, or merge the two; record an error with the branch."""
        progress = self._get_progress(branch)
        if progress.error is not None:
            return
        try:
            for _ in range(_MAX_ROUNDS):
                with suppress(BranchMoved), self.workspace.writer_lock:
                    self._update_branch_once(branch, progress, self.session.compare(branch))
                    return
            raise Busy(f"other writers moved the branch {_MAX_ROUNDS} times; completed steps were preserved")
        except WorkspaceError as error:
            progress.error = error

    def _update_branch_once(self, branch: str, progress: _BranchProgress, tracked: TrackedCommits) -> None:
        if branch == DISCUSSION_BRANCH:
            self._merge_discussion(progress, tracked)
        elif tracked.theirs is None or (tracked.ours is None and branch != self.branch):
            return  # this proposal is read from its remote-tracking ref
        elif tracked.state is SyncState.BEHIND:
            self._fast_forward(branch, progress, tracked.ours, tracked.theirs)
        elif tracked.state is SyncState.DIVERGED:
            self._merge_branch(branch, progress, tracked.theirs)

    def _fast_forward(self, branch: str, progress: _BranchProgress, ours: str | None, theirs: str) -> None:
        fast_forward(self.store, branch, ours, theirs, self.workspace.author(), durable=self.durable)
        progress.old_commit, progress.is_fast_forwarded = ours, True

    def _merge_branch(self, branch: str, progress: _BranchProgress, theirs: str) -> None:
        progress.conflicts, progress.merge_error = (), None
        choose = self.choose if branch == self.branch else None
        try:
            progress.merge_commit = merge_remote(
                self.workspace, branch, theirs, self.remote.name, choose
            ).commit
        except MergeConflict as error:
            progress.conflicts = error.conflicts
        except (UnrelatedHistories, ShallowHistory) as error:
            progress.merge_error = error

    def _merge_discussion(self, progress: _BranchProgress, tracked: TrackedCommits) -> None:
        """Merge the discussion with the remote's, even if the remote removed commits: no event is lost."""
        if tracked.theirs is None or tracked.ours == tracked.theirs:
            return
        if tracked.ours is not None and self.store.is_descendant(tracked.ours, tracked.theirs):
            return
        log = EventLog(self.store, durable=self.durable)
        merge_commit = log.merge_commit(tracked.theirs, make_author_signature(self.workspace))
        if merge_commit == tracked.theirs:
            progress.old_commit, progress.is_fast_forwarded = tracked.ours, True
        else:
            progress.merge_commit = merge_commit

    def _select_commits_to_push(self, *, restores_commits: bool) -> dict[str, str]:
        """Return the commits to push, by branch."""
        commits: dict[str, str] = {}
        for branch in self._list_branches():
            progress = self._get_progress(branch)
            if progress.error is not None:
                continue
            try:
                tracked = self.session.compare(branch)
            except WorkspaceError as error:
                progress.error = error
                continue
            is_pushable = tracked.state is SyncState.AHEAD or (
                tracked.state is SyncState.FORCE_PUSHED and restores_commits
            )
            if tracked.ours is not None and is_pushable:
                commits[branch] = tracked.ours
        return commits

    def _push(self, push_peer: Peer, commits: dict[str, str], *, is_last: bool) -> bool:
        """Push commits, by branch; return True if another client moved a branch of the remote.

        Then a new fetch is needed before the next push.
        """
        commit_counts = {
            branch: self._count_commits_to_push(branch, commit) for branch, commit in commits.items()
        }
        unreviewed_commits = self._find_unreviewed_commits(commits.get(self.branch))
        push_errors = self.session.push(push_peer, commits)
        is_moved = any(isinstance(error, RemoteMoved) for error in push_errors.values())
        if is_moved and is_last and len(commits) > 1:
            # If one branch is rejected, none is pushed, so each is pushed separately.
            push_errors = {}
            for branch, commit in commits.items():
                push_errors |= self.session.push(push_peer, {branch: commit})
        for branch in commits:
            error = push_errors.get(branch)
            if error is None:
                self._get_progress(branch).pushed_count += commit_counts[branch]
                if branch == self.branch:
                    self._get_progress(branch).unreviewed_commits = unreviewed_commits
            elif is_last or not isinstance(error, RemoteMoved):
                self._get_progress(branch).error = error
        return is_moved

    def _count_commits_to_push(self, branch: str, commit: str) -> int:
        commits_ahead = count_commits_ahead(self.store, commit, self.session.compare(branch).theirs)
        return commits_ahead.commit_count if commits_ahead is not None else 0

    def _find_unreviewed_commits(self, commit: str | None) -> tuple[UnreviewedCommit, ...]:
        """Return the commits of the served branch that change protected paths by hand, before their push."""
        if commit is None:
            return ()
        # Imported here because a server answers its first requests without the rules.
        from workspace.policy.unreviewed_commits import find_unreviewed_commits

        return find_unreviewed_commits(self.store, commit, self.session.compare(self.branch).theirs)

    def _build_result(self, peer: Peer, *, has_fetched: bool) -> SyncResult:
        tracked, progress = self.session.compare(self.branch), self._get_progress(self.branch)
        return SyncResult(
            remote=peer.name,
            url=peer.address.format_redacted(),
            branch=self.branch,
            state=tracked.state,
            commit=tracked.ours,
            theirs=tracked.theirs,
            has_fetched=has_fetched,
            old_commit=progress.old_commit,
            is_fast_forwarded=progress.is_fast_forwarded,
            merge_commit=progress.merge_commit,
            pushed_count=progress.pushed_count,
            unpushed=None
            if tracked.ours is None
            else count_commits_ahead(self.store, tracked.ours, tracked.theirs),
            conflicts=progress.conflicts,
            merge_error=progress.merge_error,
            other_branches=tuple(map(self._describe_branch, self._list_branches()[1:])),
            unreviewed_commits=progress.unreviewed_commits,
        )

    def _describe_branch(self, branch: str) -> SyncedBranch:
        progress = self._get_progress(branch)
        error = progress.error or progress.merge_error
        tracked = TrackedCommits(None, None, SyncState.UP_TO_DATE)
        with suppress(WorkspaceError):
            tracked = self.session.compare(branch)
        paths = tuple(dict.fromkeys(conflict.path for conflict in progress.conflicts))
        is_on_remote = tracked.theirs is not None
        is_contained = tracked.state is SyncState.FORCE_PUSHED and self._is_contained(tracked.ours)
        return SyncedBranch(
            branch, tracked.state, tracked.ours, is_on_remote, progress.actions, paths, error, is_contained
        )

    def _is_contained(self, commit: str | None) -> bool:
        """Return True if the served branch contains a commit."""
        tip = self.store.tip(self.branch)
        return tip is not None and commit is not None and self.store.is_descendant(tip, commit)
