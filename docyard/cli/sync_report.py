"""The result of a synchronisation, as data for programs and as text for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from docyard.terminal.exits import print_warning
from docyard.terminal.suggested_commands import complete_commands

if TYPE_CHECKING:
    from workspace.errors import WorkspaceError
    from workspace.sync.branches import SyncedBranch
    from workspace.sync.status import MissingCommits
    from workspace.sync.sync import SyncResult

_MAX_CONFLICT_NAMES = 10
_MAX_SHOWN_COMMITS = 5


def needs_resolution(result: SyncResult) -> bool:
    """Return True if a local branch and its remote branch stay diverged until a user decides."""
    return result.state.value in ("diverged", "rewound") or any(
        branch.needs_resolution for branch in result.other_branches
    )


def sync_to_data(result: SyncResult) -> dict[str, object]:
    """Return the result as data for JSON. The user can fill in decisions in the field `conflicts`."""
    from docyard.cli.proposals.conflicts import conflict_to_data

    unpushed_info = result.unpushed
    return {
        "remote": result.remote,
        "branch": result.branch,
        "state": result.state.value,
        "commit": result.commit,
        "remote_commit": result.theirs,
        "fetched": result.has_fetched,
        "followed": result.is_fast_forwarded,
        "followed_from": result.old_commit,
        "merged": result.merge_commit,
        "pushed": result.pushed_count,
        "unpushed": None
        if unpushed_info is None
        else {
            "commits": unpushed_info.commit_count,
            "more": unpushed_info.has_more,
            "since": unpushed_info.since.isoformat(),
        },
        "conflicts": list(map(conflict_to_data, result.conflicts)),
        "apart": None if result.merge_error is None else _error_to_data(result.merge_error),
        "unreviewed": [
            {"commit": unreviewed.commit, "paths": list(unreviewed.paths), "rule": unreviewed.number}
            for unreviewed in result.unreviewed_commits
        ],
        "beside": [_branch_to_data(branch) for branch in result.other_branches],
    }


def print_sync(result: SyncResult) -> None:
    """Print the actions, the problems, and the next command."""
    from workspace.escapes import escape_invisible

    for line in _format_lines(result):
        click.echo(escape_invisible(complete_commands(line)))
    for unreviewed in result.unreviewed_commits[:_MAX_SHOWN_COMMITS]:
        print_warning(unreviewed.message, unreviewed.fix)
    omitted_count = len(result.unreviewed_commits) - _MAX_SHOWN_COMMITS
    if omitted_count > 0:
        print_warning(f"{omitted_count:,} more pushed commits change protected paths; --json lists them")


def _branch_to_data(synced_branch: SyncedBranch) -> dict[str, object]:
    return {
        "branch": synced_branch.branch,
        "state": synced_branch.state.value,
        "commit": synced_branch.commit,
        "there": synced_branch.is_on_remote,
        "done": list(synced_branch.actions),
        "conflicts": list(synced_branch.conflicts),
        "error": None if synced_branch.error is None else _error_to_data(synced_branch.error),
    }


def _error_to_data(error: WorkspaceError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "fix": error.fix}


def _format_lines(result: SyncResult) -> list[str]:
    lines = []
    if result.is_fast_forwarded:
        lines.append(
            f"{result.branch} was fast-forwarded to {result.remote} at {_shorten_id(result.commit)}."
        )
    if result.merge_commit is not None:
        lines.append(
            f"{result.branch} was merged with the branch on {result.remote}: "
            f"{_shorten_id(result.merge_commit)}."
        )
    if result.pushed_count:
        lines.append(f"Pushed {_format_commit_count(result.pushed_count)} to {result.remote}, {result.url}.")
    return [*lines, *_describe_status(result), *_list_other_branches(result)]


def _describe_status(result: SyncResult) -> list[str]:
    """Return the state of both sides, and the possible next steps."""
    branch, remote = result.branch, result.remote
    match result.state.value:
        case "diverged":
            return [
                f"{branch} has diverged: the local branch is at {_shorten_id(result.commit)}, the branch on "
                f"{remote} at {_shorten_id(result.theirs)}. "
                "Each has commits that the other lacks. Neither was changed.",
                *_describe_conflicts(result),
            ]
        case "rewound":
            return [
                f"{remote} was force-pushed and lacks commits that {branch} still has. Nothing was changed.",
                f"  next: docyard sync --push --branch {shlex.quote(branch)} pushes them again; "
                f"git switch {shlex.quote(branch)} && git reset --keep {shlex.quote(f'{remote}/{branch}')} "
                "discards them locally too",
            ]
        case "behind":
            return [f"{branch} is behind {remote}.", "  next: docyard sync"]
    if result.unpushed is not None:
        return [_describe_unpushed(result.unpushed, remote), "  next: docyard sync"]
    return [f"{branch} is up to date with {remote} at {_shorten_id(result.commit)}."]


def _describe_conflicts(result: SyncResult) -> list[str]:
    """Return the conflicts, and the commands that decide them."""
    from docyard.cli.proposals.conflicts import format_conflict_name

    if result.merge_error is not None:
        return [f"  {result.merge_error.message}.", f"  next: {result.merge_error.fix}"]
    if not result.conflicts:
        return [f"  next: {_format_rerun_command(result.branch)}"]
    names = [format_conflict_name(path, conflict.unit) for path, conflict in result.conflicts]
    omitted_count = len(names) - _MAX_CONFLICT_NAMES
    path, rerun = shlex.quote(result.conflicts[0].path), _format_rerun_command(result.branch)
    return [
        "Both sides changed these sections or files differently; other documents can still be written:",
        *(f"  {name}" for name in names[:_MAX_CONFLICT_NAMES]),
        *([f"  and {omitted_count:,} more"] if omitted_count > 0 else []),
        f"  next: {rerun} --ours {path} or --theirs {path}, with an option for each conflict;",
        f"        {rerun} --json shows all versions, and --resolve FILE reads the decisions from a file",
    ]


def _format_rerun_command(branch: str) -> str:
    """Return the command that synchronises a branch again.

    It names a proposal's branch, which is rarely checked out.
    """
    from workspace.proposal_ids import PROPOSAL_BRANCH_PREFIX

    return (
        f"docyard sync --branch {shlex.quote(branch)}"
        if branch.startswith(PROPOSAL_BRANCH_PREFIX)
        else "docyard sync"
    )


def _list_other_branches(result: SyncResult) -> list[str]:
    """Return lines about the branches of proposals and the branch of their discussions."""
    counts = {
        "updated": sum(
            "followed" in synced_branch.actions or "merged" in synced_branch.actions
            for synced_branch in result.other_branches
        ),
        "pushed": sum("pushed" in synced_branch.actions for synced_branch in result.other_branches),
    }
    parts = [f"{verb} {_format_branch_count(count)}" for verb, count in counts.items() if count]
    lines = [f"Proposals and their discussion: {', '.join(parts)}."] if parts else []
    for synced_branch in result.other_branches:
        if synced_branch.needs_resolution:
            lines += _describe_diverged(synced_branch, result.remote)
    return lines


def _describe_diverged(synced_branch: SyncedBranch, remote: str) -> list[str]:
    if synced_branch.conflicts:
        names = ", ".join(synced_branch.conflicts[:_MAX_CONFLICT_NAMES])
        command = f"docyard sync --branch {shlex.quote(synced_branch.branch)}"
        return [f"{synced_branch.branch} has diverged, in {names}.", f"  next: {command} shows the conflicts"]
    if synced_branch.error is not None:
        return [
            f"{synced_branch.branch} was not synchronised: {synced_branch.error.message}.",
            f"  next: {synced_branch.error.fix}",
        ]
    if synced_branch.is_discussion:
        return [
            f"{remote} no longer has some events of the discussion; the local branch still has all of them.",
            "  next: docyard sync --push pushes them again",
        ]
    if not synced_branch.is_on_remote:
        return [
            f"{synced_branch.branch} was deleted on {remote}; the local branch is unchanged.",
            f"  next: git branch -D {shlex.quote(synced_branch.branch)} deletes the local branch too",
        ]
    return [
        f"{synced_branch.branch} was rewritten on {remote}; the local branch is unchanged.",
        f"  next: docyard sync --branch {shlex.quote(synced_branch.branch)} shows the possible next steps",
    ]


def _describe_unpushed(unpushed_info: MissingCommits, remote: str) -> str:
    since = unpushed_info.since.strftime("%Y-%m-%d %H:%M UTC")
    prefix = "more than " if unpushed_info.has_more else ""
    verb = "has" if unpushed_info.commit_count == 1 and not unpushed_info.has_more else "have"
    return (
        f"{prefix}{_format_commit_count(unpushed_info.commit_count)} {verb} not been pushed to {remote} "
        f"since {since}."
    )


def _format_commit_count(count: int) -> str:
    return f"{count:,} commit{'' if count == 1 else 's'}"


def _format_branch_count(count: int) -> str:
    return f"{count:,} branch{'' if count == 1 else 'es'}"


def _shorten_id(commit: str | None) -> str:
    return "no commit" if commit is None else commit[:12]
