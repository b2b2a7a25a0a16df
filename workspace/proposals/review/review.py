"""The review of a proposal: changes, overlaps, comments, and a preview of its merge.

The preview has the current conflicts of the merge, and the problems that the merge would add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.lru_cache import LRUCache
from workspace.paths import fold_name
from workspace.policy.protection import TouchedPath, find_governing_rules, read_types_before
from workspace.proposals.approvals import evaluate_reviews, find_commit_authors
from workspace.proposals.comments import (
    MAX_CHECKED_THREADS,
    MAX_THREADS_PER_PAGE,
    MAX_TRACKED_TEXTS,
    CommentPage,
    LocatedThread,
    LocationFilter,
    TargetFilter,
    find_comment_location_safely,
)
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import (
    CommitChanges,
    MergeBases,
    ProposedCommit,
    compare_commits,
    list_changed_paths,
    list_proposed_commits,
)
from workspace.proposals.review.checks import check_merge, make_unchecked_results
from workspace.proposals.review.overlaps import (
    Overlap,
    TouchedSections,
    find_common_addresses,
    find_touched_sections,
)
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.branch import Branch
    from workspace.config.config import WorkspaceConfig
    from workspace.merge.trees import FileConflict, Merge
    from workspace.policy.tokens import Keyring
    from workspace.proposals.comments import CommentLocation
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Comment, Proposal
    from workspace.proposals.review.checks import CheckResult
    from workspace.proposals.review.overlaps import Address
    from workspace.proposals.review.since_review import ChangesSinceReview


class Preview(NamedTuple):
    """A preview of the merge of a proposal's tip into its target's tip.

    `merge` is None if no merge is possible, and `reason` is the cause. For example, the proposal is merged
    already, or a branch was deleted. `conflicts` must be resolved first. `checks` are the results for a merge
    that takes the target's text for each conflict. `behind` is the number of the target's first-parent
    commits since the base, up to 10,000. `is_empty` is True if the proposal has no commit of its own.
    """

    merge: Merge | None
    conflicts: tuple[FileConflict, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    behind: int = 0
    reason: str | None = None
    is_empty: bool = False

    @property
    def is_clean(self) -> bool:
        """Return True if the merge has no conflict, and adds no problem."""
        return self.merge is not None and not self.conflicts and all(check.passed for check in self.checks)


_MAX_CACHED_CHANGES = 32
_MAX_CACHED_PREVIEWS = 16
_MAX_CACHED_PATHS = 5_000
_MAX_CACHED_LOCATIONS = 10_000
ComparedCommits = tuple[str | None, str]
"""The two commits that are compared: the old commit (None for an empty tree), and the proposal's commit."""

TargetTips = dict[str, "str | None"]
"""The tips of target branches, read once for several proposals."""


def get_proposal_review(branch: Branch) -> ProposalReview:
    """Return the review of the proposals of a branch's repository; all branches have the same object."""
    return branch.shared(ProposalReview, lambda: ProposalReview(branch.served_branch))


class ProposalReview:
    """The review of the proposals of a repository. Thread-safe.

    The last results of each kind are cached, by the pair of commits.
    """

    def __init__(self, workspace: Branch) -> None:
        self._workspace = workspace
        self._graph = Graph(workspace.git)
        self._bases = MergeBases(workspace.git, self._graph)
        self._changes: LRUCache[ComparedCommits, CommitChanges] = LRUCache(_MAX_CACHED_CHANGES)
        self._changes_since_review: LRUCache[tuple[str | None, str, str], ChangesSinceReview] = LRUCache(
            _MAX_CACHED_CHANGES
        )
        self._paths: LRUCache[ComparedCommits, frozenset[str]] = LRUCache(_MAX_CACHED_PATHS)
        self._touched_sections: LRUCache[ComparedCommits, TouchedSections] = LRUCache(_MAX_CACHED_PATHS)
        self._compared_commits: LRUCache[tuple[str | None, str], ComparedCommits] = LRUCache(
            _MAX_CACHED_PATHS
        )
        self._previews: LRUCache[tuple[str, str], Preview] = LRUCache(_MAX_CACHED_PREVIEWS)
        self._checks: LRUCache[tuple[str | None, str | None], tuple[CheckResult, ...]] = LRUCache(
            _MAX_CACHED_PREVIEWS
        )
        self._locations: LRUCache[tuple[str | None, str], CommentLocation | None] = LRUCache(
            _MAX_CACHED_LOCATIONS
        )
        self._commit_authors: LRUCache[ComparedCommits, frozenset[str]] = LRUCache(_MAX_CACHED_PATHS)
        self._conflicting: LRUCache[tuple[str, str], bool] = LRUCache(_MAX_CACHED_PATHS)

    def changes(self, proposal: Proposal) -> CommitChanges:
        """Return the changes of a proposal since its base, or of its merge.

        There are no changes if its branch is deleted. If there are several merge bases, the newest in the
        target's first-parent history is used. Raises ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal)
        if compared_commits is None:
            return CommitChanges(None, None)
        return self._changes.get(
            compared_commits, lambda: compare_commits(*self._read_snapshots(compared_commits))
        )

    def changes_since(self, proposal: Proposal, commit: str) -> ChangesSinceReview | None:
        """Return the changes of a proposal since a commit that was reviewed, without those of its target.

        Return None if the commit or the proposal's branch is missing, or if the proposal is merged. Raises
        ShallowHistory, DamagedRepository.
        """
        from workspace.proposals.review.since_review import compare_with_reviewed

        compared_commits = self._find_compared_commits(proposal)
        if compared_commits is None or proposal.merge_record or not self._workspace.has_commit(commit):
            return None
        base, tip = compared_commits

        def compare() -> ChangesSinceReview:
            new = self._workspace.snapshot(tip)
            return compare_with_reviewed(new.at(commit), new, new.at(base) if base is not None else None)

        return self._changes_since_review.get((base, commit, tip), compare)

    def changed_paths(self, proposal: Proposal, tips: TargetTips | None = None) -> frozenset[str]:
        """Return every path that a proposal changes, without a comparison of documents.

        `tips` caches the tips of targets for several proposals. Raises ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal, tips)
        return self._list_paths(compared_commits) if compared_commits is not None else frozenset()

    def touched_sections(self, proposal: Proposal) -> frozenset[Address]:
        """Return the sections that a proposal touches, by path and key; the key is None for the whole file.

        Raises ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal)
        return (
            self._find_touched_sections(compared_commits).addresses
            if compared_commits is not None
            else frozenset()
        )

    def overlaps(self, proposal: Proposal, candidates: Sequence[Proposal]) -> tuple[Overlap, ...]:
        """Return the open candidates with the same target that touch the same sections, in their order.

        Candidates that change none of the proposal's files are not compared. Unreadable candidates are
        omitted. Raises ShallowHistory, DamagedRepository.
        """
        tips: TargetTips = {}
        compared_commits = self._find_compared_commits(proposal, tips)
        if compared_commits is None:
            return ()
        own_paths = self._list_paths(compared_commits)
        overlaps: list[Overlap] = []
        for other in candidates:
            if other.id == proposal.id or not other.is_open:
                continue
            if other.content.target != proposal.content.target:
                continue
            try:
                other_commits = self._find_compared_commits(other, tips)
                if other_commits is None or own_paths.isdisjoint(self._list_paths(other_commits)):
                    continue
                addresses = find_common_addresses(
                    self._find_touched_sections(compared_commits), self._find_touched_sections(other_commits)
                )
            except WorkspaceError:
                continue
            if addresses:
                overlaps.append(Overlap(other.id, other.content.title, addresses))
        return tuple(overlaps)

    def preview(self, proposal: Proposal) -> Preview:
        """Return the current merge of a proposal, without a commit.

        An error is returned as the reason, and never raised.
        """
        if proposal.state is ProposalState.MERGED:
            return Preview(None, reason="the proposal is merged already")
        tip = proposal.tip
        if tip is None:
            return _make_unmergeable_preview("the proposal's branch was deleted")
        self._graph.refresh()
        try:
            target = self._workspace.git.tip(proposal.content.target)
            if target is None:
                return _make_unmergeable_preview(f"the target branch '{proposal.content.target}' was deleted")
            return self._previews.get((target, tip), lambda: self._build_preview(target, tip))
        except WorkspaceError as error:
            return _make_unmergeable_preview(error.message)

    def conflicts(self, proposal: Proposal, target_commit: str | None = None) -> tuple[FileConflict, ...]:
        """Return the conflicts of a refresh: ours is the proposal, and theirs is its target.

        `target_commit` is the commit of the target, by default its tip. There are no conflicts if the
        proposal is merged or a branch is deleted. Raises the errors of `merge_commits`.
        """
        from workspace.merge.commits import merge_commits

        target_commit = target_commit or self._workspace.git.tip(proposal.content.target)
        if proposal.state is ProposalState.MERGED or proposal.tip is None or target_commit is None:
            return ()
        workspace = self._workspace
        return merge_commits(workspace.snapshot(proposal.tip), workspace.snapshot(target_commit)).conflicts

    def has_conflicts(
        self, proposal: Proposal, tips: TargetTips | None = None, *, may_merge: bool = True
    ) -> bool | None:
        """Return True if the merge of an open proposal has conflicts; None if it is unknown.

        The merge is computed only if both sides changed the same paths, and if `may_merge` is True. `tips`
        caches the tips of targets for several proposals.
        """
        if not proposal.is_open or proposal.tip is None:
            return False
        try:
            target = self._find_target_tip(proposal, {} if tips is None else tips)
            if target is None:
                return None
            tip = proposal.tip
            is_known = self._conflicting.find((target, tip))
            if is_known is not None:
                return is_known
            if self._may_conflict(proposal, target, tip):
                if not may_merge:
                    return None
                return self._conflicting.get((target, tip), lambda: bool(self.conflicts(proposal, target)))
        except WorkspaceError:  # such as unrelated histories; the page of the proposal states the reason
            return None
        self._conflicting.put((target, tip), False)
        return False

    def _may_conflict(self, proposal: Proposal, target: str, tip: str) -> bool:
        """Return False if the two sides changed no path in common, and none below a path of the other."""
        base = self._bases.find(target, tip)
        if base in (None, target, tip):
            return base is None
        own_paths = {fold_name(path) for path in self._list_paths((base, tip))}
        target_paths = {fold_name(path) for path in self._list_paths((base, target))}
        return not (
            own_paths.isdisjoint(_list_with_folders(target_paths))
            and target_paths.isdisjoint(_list_with_folders(own_paths))
        )

    def commit_authors(self, proposal: Proposal, tips: TargetTips | None = None) -> frozenset[str]:
        """Return the case-folded addresses of people who wrote a proposal's commits by hand.

        `tips` caches the tips of targets for several proposals. Raises ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal, tips)
        if compared_commits is None or proposal.merge_record is not None:
            return frozenset()
        base, tip = compared_commits
        if base is None:
            return frozenset()
        return self._commit_authors.get(
            compared_commits, lambda: find_commit_authors(self._workspace.git, self._graph, tip, base)
        )

    def is_author(self, proposal: Proposal, person: Author) -> bool:
        """Return True if a person opened a proposal or wrote a commit of it, and so cannot approve it.

        Raises ShallowHistory, DamagedRepository.
        """
        is_opener = person.is_same(proposal.content.author)
        return is_opener or person.email.casefold() in self.commit_authors(proposal)

    def find_touched_paths(
        self, proposal: Proposal, config: WorkspaceConfig, tips: TargetTips | None = None
    ) -> tuple[TouchedPath, ...]:
        """Return the paths that a proposal changes, with the types of documents if a rule requires them.

        `tips` caches the tips of targets for several proposals. Raises InvalidConfig, LimitExceeded,
        ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal, tips)
        if compared_commits is None:
            return ()
        paths = sorted(self._list_paths(compared_commits))
        if not any(rule.types for rule in config.protect):
            return tuple(map(TouchedPath, paths))
        old, new = self._read_snapshots(compared_commits)
        return tuple(
            TouchedPath(path, read_types_before(old, path) | read_types_before(new, path)) for path in paths
        )

    def has_required_approvals(
        self,
        proposal: Proposal,
        events: Sequence[Event],
        tokens: Keyring,
        tips: TargetTips | None = None,
    ) -> bool:
        """Return True if each rule that governs a proposal's changes has its approvals.

        The rules are those of the target's tip; without a rule no approval is required. Return False if the
        rules, the changes or the tokens cannot be read. `events` are the proposal's events in order.
        """
        tips = {} if tips is None else tips
        try:
            target = self._find_target_tip(proposal, tips)
            if target is None:
                return True
            config = self._workspace.snapshot(target).config
            if not config.protect:
                return True
            rules = find_governing_rules(config, self.find_touched_paths(proposal, config, tips))
            if not any(governing_rule.rule.approvals for governing_rule in rules):
                return True
            reviews = evaluate_reviews(proposal, events, tokens, self.commit_authors(proposal, tips))
        except WorkspaceError:  # the page of the proposal states the reason
            return False
        return all(
            len(reviews.list_approver_tokens(governing_rule.rule)) >= governing_rule.rule.approvals
            for governing_rule in rules
        )

    def commits(self, proposal: Proposal) -> tuple[ProposedCommit, ...]:
        """Return the commits of a proposal, the newest first, 100 at most.

        There are no commits if its branch is deleted. Raises ShallowHistory, DamagedRepository.
        """
        compared_commits = self._find_compared_commits(proposal)
        if compared_commits is None:
            return ()
        base, tip = compared_commits
        if proposal.merge_record is not None:
            tip = proposal.merge_record.tip
        return list_proposed_commits(self._workspace.git, self._graph, base, tip)

    def check_merge(self, merge: Merge) -> tuple[CheckResult, ...]:
        """Return the checks of a merge; cache the checks of a merge without resolutions."""
        if merge.resolved_units:
            return check_merge(merge, self._workspace.inbound_links)
        key = merge.ours.commit, merge.theirs.commit
        return self._checks.get(key, lambda: check_merge(merge, self._workspace.inbound_links))

    def comments(
        self,
        proposal: Proposal,
        *,
        after: int = 0,
        limit: int = MAX_THREADS_PER_PAGE,
        location: LocationFilter = (None, None),
    ) -> CommentPage:
        """Return a page of a proposal's threads with locations; `location` selects the threads at a location.

        Locations are found in the proposal, or in its state at the merge; they are None if its branch is
        deleted. A page for a location ends early if many texts would have to be tracked.
        """
        threads = proposal.content.threads
        first_number, limit = max(0, after), max(1, min(limit, MAX_THREADS_PER_PAGE))
        max_checked, max_tracked = (
            (MAX_CHECKED_THREADS, MAX_TRACKED_TEXTS) if location[0] is not None else (limit, limit)
        )
        tip = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
        snapshot = self._workspace.snapshot(tip) if tip is not None else None
        target_filter = TargetFilter(snapshot, location)
        located_threads: list[LocatedThread] = []
        tracked_count, number = 0, first_number
        while (
            number < min(len(threads), first_number + max_checked)
            and len(located_threads) < limit
            and tracked_count < max_tracked
        ):
            thread = threads[number]
            if target_filter.may_match(thread.comment):
                tracked_count += thread.comment.target is not None
                location_now = self.find_location(thread.comment, snapshot) if snapshot else None
                located_thread = LocatedThread(thread, location_now, number)
                located_threads += [located_thread] if located_thread.is_at(*location) else []
            number += 1
        return CommentPage(tuple(located_threads), len(threads), number if number < len(threads) else None)

    def find_location(self, comment: Comment, snapshot: Snapshot) -> CommentLocation | None:
        """Return the location of a comment at a commit; None if it has no target, or cannot be read."""
        if comment.target is None:
            return None
        key = snapshot.commit, comment.id
        return self._locations.get(key, lambda: find_comment_location_safely(comment, snapshot))

    def _find_compared_commits(
        self, proposal: Proposal, tips: TargetTips | None = None
    ) -> ComparedCommits | None:
        """Return the two commits to compare for a proposal; `tips` caches the tips of targets."""
        recorded_base = proposal.content.base
        if proposal.merge_record is not None:
            commit, tip = proposal.merge_record
            if commit is not None and commit != tip:
                return self._bases.find_first_parent(commit), commit
            return self._bases.find_base(recorded_base, tip), tip
        if proposal.tip is None:
            return None
        tip = proposal.tip
        target = self._find_target_tip(proposal, {} if tips is None else tips)
        if target is None:
            return self._bases.find_base(recorded_base, tip), tip
        return self._compared_commits.get((target, tip), lambda: (self._bases.find(target, tip), tip))

    def _find_target_tip(self, proposal: Proposal, tips: TargetTips) -> str | None:
        """Return the tip of a proposal's target; the history is read again if the tip is not in `tips`."""
        branch = proposal.content.target
        if branch not in tips:
            self._graph.refresh()
            tips[branch] = self._workspace.git.tip(branch)
        return tips[branch]

    def _list_paths(self, compared_commits: ComparedCommits) -> frozenset[str]:
        return self._paths.get(
            compared_commits, lambda: list_changed_paths(*self._read_snapshots(compared_commits))
        )

    def _find_touched_sections(self, compared_commits: ComparedCommits) -> TouchedSections:
        def find() -> TouchedSections:
            old, new = self._read_snapshots(compared_commits)
            return find_touched_sections(
                self._changes.get(compared_commits, lambda: compare_commits(old, new)), old, new
            )

        return self._touched_sections.get(compared_commits, find)

    def _read_snapshots(self, compared_commits: ComparedCommits) -> tuple[Snapshot, Snapshot]:
        base, tip = compared_commits
        new = self._workspace.snapshot(tip)
        return (Snapshot(new.git, None) if base is None else new.at(base)), new

    def _build_preview(self, target: str, tip: str) -> Preview:
        from workspace.merge.commits import merge_commits

        merge = merge_commits(self._workspace.snapshot(target), self._workspace.snapshot(tip))
        behind, is_empty = self._bases.count_commits_behind(target, tip), self._bases.find(target, tip) == tip
        return Preview(merge, merge.conflicts, self.check_merge(merge), behind, is_empty=is_empty)


def _list_with_folders(paths: Iterable[str]) -> set[str]:
    """Return paths and the folders above them."""
    found: set[str] = set()
    for path in paths:
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return found


def _make_unmergeable_preview(reason: str) -> Preview:
    return Preview(None, checks=make_unchecked_results(reason), reason=reason)
