"""The result of a synchronisation, as data for programs and as text for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from workspace.errors import WorkspaceError
    from workspace.sync.branches import SyncedBranch
    from workspace.sync.status import Unpushed
    from workspace.sync.sync import SyncResult

_NAMED = 10
_SYNC = "docyard sync"


def needs_decision(found: SyncResult) -> bool:
    """Return True if a branch and the remote's stay diverged until a user decides."""
    return found.state.value in ("diverged", "rewound") or any(one.needs_someone for one in found.beside)


def sync_to_data(found: SyncResult) -> dict[str, object]:
    """Return the actions, the state of both sides, and the conflicts, ready to be decided."""
    from docyard.cli.proposals.conflicts import conflict_to_data

    unpushed = found.unpushed
    return {
        "remote": found.remote,
        "branch": found.branch,
        "state": found.state.value,
        "commit": found.commit,
        "remote_commit": found.theirs,
        "fetched": found.fetched,
        "followed": found.is_followed,
        "followed_from": found.followed,
        "merged": found.merged,
        "pushed": found.pushed,
        "unpushed": None
        if unpushed is None
        else {
            "commits": unpushed.commits,
            "more": unpushed.is_more,
            "since": unpushed.since.isoformat(),
        },
        "conflicts": list(map(conflict_to_data, found.conflicts)),
        "apart": None if found.apart is None else _reason(found.apart),
        "beside": [_branch_to_data(one) for one in found.beside],
    }


def print_sync(found: SyncResult, remote: str | None = None) -> None:
    """Print the actions, the problems, and the next command, for the given remote."""
    from tools.errors import escape_invisible

    command = f"{_SYNC} --remote {shlex.quote(remote)}" if remote else _SYNC
    for line in _lines(found):
        click.echo(escape_invisible(line.replace(_SYNC, command)))


def _branch_to_data(one: SyncedBranch) -> dict[str, object]:
    return {
        "branch": one.branch,
        "state": one.state.value,
        "commit": one.commit,
        "there": one.is_there,
        "done": list(one.done),
        "conflicts": list(one.conflicts),
        "error": None if one.error is None else _reason(one.error),
    }


def _reason(error: WorkspaceError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "fix": error.fix}


def _lines(found: SyncResult) -> list[str]:
    lines = []
    if found.is_followed:
        lines.append(f"{found.branch} followed {found.remote} to {_short(found.commit)}.")
    if found.merged is not None:
        lines.append(f"{found.branch} was merged with that of {found.remote}: {_short(found.merged)}.")
    if found.pushed:
        lines.append(f"Pushed {_commits(found.pushed)} to {found.remote}, {found.place}.")
    return [*lines, *_describe_status(found), *_list_other_branches(found)]


def _describe_status(found: SyncResult) -> list[str]:
    """Return the state of both sides, and the possible next steps."""
    branch, remote = found.branch, found.remote
    match found.state.value:
        case "diverged":
            return [
                f"{branch} has diverged: ours is at {_short(found.commit)}, that of {remote} at "
                f"{_short(found.theirs)}, and each has commits that the other lacks. Neither was moved.",
                *_conflicts(found),
            ]
        case "rewound":
            return [
                f"{remote} no longer has commits that it had and {branch} still has. Nothing was moved.",
                f"  next: docyard sync --push --branch {shlex.quote(branch)} brings them back there; "
                f"git switch {shlex.quote(branch)} && git reset --keep {shlex.quote(f'{remote}/{branch}')} "
                "gives them up here too",
            ]
        case "behind":
            return [f"{branch} is behind {remote}.", "  next: docyard sync"]
    if found.unpushed is not None:
        return [_describe_unpushed(found.unpushed, remote), "  next: docyard sync"]
    return [f"{branch} is level with {remote} at {_short(found.commit)}."]


def _conflicts(found: SyncResult) -> list[str]:
    """Return the conflicts of both sides, and how to decide them."""
    from docyard.cli.proposals.conflicts import format_conflict_name

    if found.apart is not None:
        return [f"  {found.apart.message}.", f"  next: {found.apart.fix}"]
    if not found.conflicts:
        return [f"  next: {_format_rerun_command(found.branch)}"]
    names = [format_conflict_name(path, conflict.unit) for path, conflict in found.conflicts]
    more = len(names) - _NAMED
    path, again = shlex.quote(found.conflicts[0].path), _format_rerun_command(found.branch)
    return [
        "Both changed these differently; other documents can be written meanwhile:",
        *(f"  {name}" for name in names[:_NAMED]),
        *([f"  and {more:,} more"] if more > 0 else []),
        f"  next: {again} --ours {path} or --theirs {path}, for each of them at once;",
        f"        {again} --json shows all versions, and --resolve FILE takes what was decided there",
    ]


def _format_rerun_command(branch: str) -> str:
    """Return the command for the same branch; a proposal's branch is rarely checked out."""
    from workspace.proposal_ids import BRANCHES

    return f"docyard sync --branch {shlex.quote(branch)}" if branch.startswith(BRANCHES) else "docyard sync"


def _list_other_branches(found: SyncResult) -> list[str]:
    """Return lines about the discussion and the proposals that need a report."""
    counts = {
        "took in": sum("followed" in one.done or "merged" in one.done for one in found.beside),
        "pushed": sum("pushed" in one.done for one in found.beside),
    }
    told = [f"{verb} {_branches(count)}" for verb, count in counts.items() if count]
    lines = [f"Of proposals and their discussion: {', '.join(told)}."] if told else []
    for one in found.beside:
        if one.needs_someone:
            lines += _describe_diverged(one, found.remote)
    return lines


def _describe_diverged(one: SyncedBranch, remote: str) -> list[str]:
    if one.conflicts:
        named = ", ".join(one.conflicts[:_NAMED])
        switch = f"docyard sync --branch {shlex.quote(one.branch)}"
        return [f"{one.branch} has diverged, in {named}.", f"  next: {switch} shows it, and decides it"]
    if one.error is not None:
        return [f"{one.branch} did not travel: {one.error.message}.", f"  next: {one.error.fix}"]
    if one.is_discussion:
        return [
            f"{remote} no longer has words that it had; ours are all kept, and wait.",
            "  next: docyard sync --push brings them back there",
        ]
    if not one.is_there:
        return [
            f"{one.branch} was deleted in {remote}; ours is left.",
            f"  next: git branch -D {shlex.quote(one.branch)}, if it is not needed here either",
        ]
    return [
        f"{one.branch} was rewritten in {remote}; ours is left as it is.",
        f"  next: docyard sync --branch {shlex.quote(one.branch)} shows what can be done",
    ]


def _describe_unpushed(unpushed: Unpushed, remote: str) -> str:
    since = unpushed.since.strftime("%Y-%m-%d %H:%M UTC")
    more = "more than " if unpushed.is_more else ""
    return f"{more}{_commits(unpushed.commits)} not pushed to {remote}, since {since}."


def _commits(count: int) -> str:
    return f"{count:,} commit{'' if count == 1 else 's'}"


def _branches(count: int) -> str:
    return f"{count:,} branch{'' if count == 1 else 'es'}"


def _short(commit: str | None) -> str:
    return "no commit" if commit is None else commit[:12]
