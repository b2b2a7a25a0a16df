"""Checks of what proposals rest on: the tokens of people, the words that are kept, and the branches.

Checks of how the served branch stands to its remote, as that was last seen: nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, format_count, format_some
from workspace.errors import WorkspaceError
from workspace.git.merge_bases import ShallowHistory

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git.reader import GitReader
    from workspace.sync.status import TrackedState
    from workspace.workspace import Workspace

AREA = "repository"


def check_proposals(git: GitReader) -> Iterator[Finding]:
    """Yield what keeps proposals from being read, approved or merged. Changes nothing."""
    from workspace.proposal_ids import BRANCH, parse_branch_id
    from workspace.proposals.event_log import EventLog

    yield from _tokens(git.common_dir)
    said = EventLog(git).read()
    unreadable = [id for id in said.proposals if said.of(id).unreadable]
    if unreadable:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"words of {format_count(unreadable, 'proposal', 'proposals')} cannot be read, and are left out: "
            f"{format_some(unreadable)}",
            f"git log --stat {BRANCH} shows which commit brought the files; upgrade docyard if it is older",
        )
    silent = [name for name in git.branches() if parse_branch_id(name) not in (None, *said.proposals)]
    if silent:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(silent, 'branch is', 'branches are')} named like a proposal's, and "
            "nothing is said of "
            f"{'it' if len(silent) == 1 else 'them'}: {format_some(silent)}",
            "docyard sync fetches the words; what was not meant as a proposal is removed with "
            f"git branch -D {quote(silent[0])}",
        )


def check_approvals(workspace: Workspace) -> Iterator[Finding]:
    """Yield the open proposals whose approvals do not cover what a merge would bring under a rule."""
    from workspace.proposals.approvals import Void
    from workspace.proposals.events import ReviewDecision

    proposing, reviewing = workspace.proposing(), workspace.reviewing()
    uncovered = [
        one.id
        for one in proposing.all()
        if one.is_open
        and any(review.verdict is ReviewDecision.APPROVE for review in one.words.reviews)
        and Void.UNSEEN in proposing.lacking(one, reviewing.preview(one)).void.values()
    ]
    if uncovered:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"approvals of {format_count(uncovered, 'proposal', 'proposals')} are void, because "
            "a merge would bring "
            f"changes under a rule that no reviewer has seen: {format_some(uncovered)}",
            f"docyard proposals refresh {uncovered[0]} takes them in; then approve it as it is",
        )


def _tokens(common_dir: Path) -> Iterator[Finding]:
    from workspace.policy.tokens import Tokens

    try:
        Tokens(common_dir).list()
    except WorkspaceError as error:
        yield Finding(
            Severity.ERROR, AREA, f"{error.message}, so nobody can approve a proposal here", error.fix
        )


def check_remote(workspace: Workspace) -> Iterator[Finding]:
    """Yield what keeps the branch and its remote apart, and what the remote lacks."""
    from workspace.sync.branches import SyncState, chosen

    settings = workspace.snapshot().config.remote
    if settings.is_automatic or settings.name is not None:
        try:
            chosen(workspace, settings.name)
        except WorkspaceError as error:
            yield Finding(
                Severity.ERROR,
                AREA,
                f"docyard.toml asks for an exchange with a remote, and {error.message}",
                error.fix,
            )
            return
    seen = workspace.standing().look()
    if seen is None:
        return
    if seen.stand.state is SyncState.DIVERGED:
        yield _diverged(workspace, seen)
    if seen.stand.state is SyncState.REWOUND:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"'{seen.remote}' no longer has what it had of the branch",
            "docyard sync --push brings it back, if it was not meant to go",
        )
    if (unpushed := seen.unpushed) is not None:
        more = " or more" if unpushed.is_more else ""
        commits = "commit was" if unpushed.commits == 1 and not more else "commits were"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{unpushed.commits:,}{more} {commits} not pushed to '{seen.remote}' yet, since "
            f"{unpushed.since:%Y-%m-%d %H:%M}",
            "docyard sync",
        )


def _diverged(workspace: Workspace, seen: TrackedState) -> Finding:
    """Return why the branch and the remote's are apart, as far as that can be found without the remote."""
    from workspace.merge.commits import UnrelatedHistories
    from workspace.policy.protection import Protected
    from workspace.sync.sync import check_reviewed

    assert seen.stand.theirs is not None
    try:
        check_reviewed(workspace, seen.stand.theirs)
    except Protected as error:
        return Finding(Severity.ERROR, AREA, error.message, error.fix)
    except (ShallowHistory, UnrelatedHistories) as error:
        return Finding(Severity.WARNING, AREA, error.message, error.fix)
    return Finding(
        Severity.WARNING,
        AREA,
        f"the branch and that of '{seen.remote}' have each gone on",
        "docyard sync joins them, or shows what is in conflict",
    )
