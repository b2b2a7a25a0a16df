"""Checks of people's tokens, the events of proposals, proposal branches, and the remote.

The remote is compared in its state of the last fetch; nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from docyard.doctor.finding import MAX_LISTED_ITEMS, Finding, Severity, format_count, format_list
from workspace.errors import WorkspaceError
from workspace.git.merge_bases import ShallowHistory

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.policy.tokens import Tokens
    from workspace.sync.status import TrackedState
    from workspace.workspace import Workspace

AREA = "repository"
_BUNDLE_HEADER = re.compile(rb"# v\d+ git bundle\n")


def check_proposals(workspace: Workspace) -> Iterator[Finding]:
    """Yield the problems that prevent reading, approving or merging proposals."""
    from workspace.proposal_ids import DISCUSSION_BRANCH, parse_branch_id
    from workspace.proposals.event_log import EventLog

    git = workspace.git
    yield from _check_tokens(workspace.tokens)
    log = EventLog(git).read()
    unreadable_ids = [id for id in log.proposals if log.events_of(id).unreadable_count]
    if unreadable_ids:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"events of {format_count(unreadable_ids, 'proposal', 'proposals')} cannot be read, and are "
            f"ignored: {format_list(unreadable_ids)}",
            f"git log --stat {DISCUSSION_BRANCH} shows the commits that added the files; "
            "upgrade docyard if it is older",
        )
    branches_without_events = [
        name for name in git.branches() if parse_branch_id(name) not in (None, *log.proposals)
    ]
    if branches_without_events:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(branches_without_events, 'branch has', 'branches have')} the name of a "
            f"proposal's branch, but no events in the discussion: {format_list(branches_without_events)}",
            "docyard sync fetches the events; to delete a branch that is not a proposal: "
            f"git branch -D {quote(branches_without_events[0])}",
        )


def check_approvals(workspace: Workspace) -> Iterator[Finding]:
    """Yield the open proposals whose approvals do not cover all protected changes of a merge."""
    from workspace.proposals.approvals import VoidReason
    from workspace.proposals.events import ReviewDecision

    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    uncovered_ids = [
        proposal.id
        for proposal in proposal_actions.list_all()
        if proposal.is_open
        and any(review.verdict is ReviewDecision.APPROVE for review in proposal.content.reviews)
        and VoidReason.UNSEEN
        in proposal_actions.find_merge_requirements(
            proposal, proposal_reviews.preview(proposal)
        ).void_reasons.values()
    ]
    if uncovered_ids:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"approvals of {format_count(uncovered_ids, 'proposal', 'proposals')} are void, because "
            f"a merge has protected changes that no reviewer has seen: {format_list(uncovered_ids)}",
            f"docyard proposals refresh {uncovered_ids[0]} merges the changes; then approve it again",
        )


def _is_bundle(file: Path) -> bool:
    """Return True if a file has the first line of a bundle; a missing file is recognized by its name."""
    try:
        with file.open("rb") as stream:
            return _BUNDLE_HEADER.match(stream.read(32)) is not None
    except FileNotFoundError:
        return file.suffix == ".bundle"
    except (OSError, ValueError):  # a folder, a URL that is no path, or a file that cannot be read
        return False


def _check_tokens(tokens: Tokens) -> Iterator[Finding]:
    try:
        owners = tokens.list_owners()
    except WorkspaceError as error:
        yield Finding(
            Severity.ERROR, AREA, f"{error.message}, so no proposal can be approved here", error.fix
        )
        return
    expired_names = [owner.person.token for owner in owners if owner.has_expired()]
    if expired_names:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{format_count(expired_names, 'token has', 'tokens have')} expired: "
            f"{format_list(expired_names)}",
            f"docyard tokens rotate {expired_names[0]} --expires 90d; or docyard tokens revoke "
            f"{expired_names[0]}, which voids its approvals of open proposals",
        )


def check_remote_urls(git: GitReader) -> Iterator[Finding]:
    """Yield each remote whose URL is a bundle: such a file is a backup, which no synchronization reaches."""
    for name, url in git.remotes().items():
        file = (git.worktree or git.common_dir) / Path(url.removeprefix("file://"))
        if _is_bundle(file):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"the remote '{name}' is a bundle, as after a restore of a backup",
                f"git config --remove-section remote.{quote(name)}, then git remote add {quote(name)} URL",
            )


def check_remote(workspace: Workspace) -> Iterator[Finding]:
    """Yield the differences between the branch and its remote branch, and problems of synchronisation."""
    from workspace.sync.branches import SyncState, select_remote

    settings = workspace.snapshot().config.remote
    if settings.is_automatic or settings.name is not None:
        try:
            select_remote(workspace, settings.name)
        except WorkspaceError as error:
            yield Finding(
                Severity.ERROR,
                AREA,
                f"docyard.toml enables synchronisation with a remote, but {error.message}",
                error.fix,
            )
            return
    tracked_state = workspace.sync_status().read()
    if tracked_state is None:
        return
    if tracked_state.tracked.state is SyncState.DIVERGED:
        yield _explain_divergence(workspace, tracked_state)
    if tracked_state.tracked.state is SyncState.FORCE_PUSHED:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"'{tracked_state.remote}' no longer has some commits of the branch",
            "docyard sync --push restores them, if they were not removed on purpose",
        )
    if (unpushed_info := tracked_state.unpushed) is not None:
        more_text = " or more" if unpushed_info.has_more else ""
        is_single_commit = unpushed_info.commit_count == 1 and not more_text
        commits_text = "commit has" if is_single_commit else "commits have"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{unpushed_info.commit_count:,}{more_text} {commits_text} not been pushed to "
            f"'{tracked_state.remote}' since {unpushed_info.since:%Y-%m-%d %H:%M}",
            "docyard sync",
        )
    yield from _check_unpushed_commits(workspace, tracked_state)


def _check_unpushed_commits(workspace: Workspace, tracked_state: TrackedState) -> Iterator[Finding]:
    """Yield the unpushed commits made with Git that change protected paths."""
    from workspace.policy.unreviewed_commits import find_unreviewed_commits

    tracked = tracked_state.tracked
    if tracked.ours is not None:
        commits = find_unreviewed_commits(workspace.git, tracked.ours, tracked.theirs)
        for unreviewed in commits[:MAX_LISTED_ITEMS]:
            yield Finding(
                Severity.NOTE,
                AREA,
                f"{unreviewed.message}; it has not been pushed to '{tracked_state.remote}'",
                unreviewed.fix,
            )


def _explain_divergence(workspace: Workspace, tracked_state: TrackedState) -> Finding:
    """Return a finding with the reason why the branch has diverged, from local data only."""
    from workspace.merge.commits import UnrelatedHistories
    from workspace.policy.protection import Protected
    from workspace.sync.sync import check_reviewed

    assert tracked_state.tracked.theirs is not None
    try:
        check_reviewed(workspace, tracked_state.tracked.theirs)
    except Protected as error:
        return Finding(Severity.ERROR, AREA, error.message, error.fix)
    except (ShallowHistory, UnrelatedHistories) as error:
        return Finding(Severity.WARNING, AREA, error.message, error.fix)
    return Finding(
        Severity.WARNING,
        AREA,
        f"the local branch and the branch of '{tracked_state.remote}' have diverged",
        "docyard sync merges them, or shows the conflicts",
    )
