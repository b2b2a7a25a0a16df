"""Checks of what proposals rest on: the tokens of people, the words that are kept, and the branches."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, count, some
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git import GitReader
    from workspace.workspace import Workspace

AREA = "repository"


def check_proposals(git: GitReader) -> Iterator[Finding]:
    """What keeps proposals from being read, approved or merged. Changes nothing."""
    from workspace.proposal_ids import id_of_branch
    from workspace.proposals import BRANCH, EventLog

    yield from _tokens(git.common_dir)
    said = EventLog(git).read()
    unreadable = [id for id in said.proposals if said.of(id).unreadable]
    if unreadable:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"words of {count(unreadable, 'proposal', 'proposals')} cannot be read, and are left out: "
            f"{some(unreadable)}",
            f"git log --stat {BRANCH} shows which commit brought the files; upgrade docyard if it is older",
        )
    silent = [name for name in git.branches() if id_of_branch(name) not in (None, *said.proposals)]
    if silent:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(silent, 'branch is', 'branches are')} named like a proposal's, and nothing is said of "
            f"{'it' if len(silent) == 1 else 'them'}: {some(silent)}",
            "docyard sync fetches the words; what was not meant as a proposal is removed with "
            f"git branch -D {quote(silent[0])}",
        )


def check_approvals(workspace: Workspace) -> Iterator[Finding]:
    """Yield the open proposals whose approvals do not cover what a merge would bring under a rule."""
    from workspace.proposals import Verdict
    from workspace.proposals.approvals import Void

    proposing, reviewing = workspace.proposing(), workspace.reviewing()
    uncovered = [
        one.id
        for one in proposing.all()
        if one.is_open
        and any(review.verdict is Verdict.APPROVE for review in one.words.reviews)
        and Void.UNSEEN in proposing.lacking(one, reviewing.preview(one)).void.values()
    ]
    if uncovered:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"approvals of {count(uncovered, 'proposal', 'proposals')} are void, because a merge would bring "
            f"changes under a rule that no reviewer has seen: {some(uncovered)}",
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
