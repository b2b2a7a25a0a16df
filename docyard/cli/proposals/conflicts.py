"""Conflicts of a proposal with its target: names to type, data to fill in, and a page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.cli.proposals.lines import Paper, Piece, counted
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.merge.conflict import UnitId
    from workspace.merge.trees_package import FileConflict
    from workspace.proposals import Proposal
    from workspace.workspace import Workspace

_LINES = 12  # of each version
_NAMED = 4  # conflicts in an example, else files
_LONGEST = 2_000  # characters of a version that a page shows


class Found(NamedTuple):
    """Conflicts, and the commits of a proposal and of its target that they are of."""

    commit: str | None
    target_commit: str | None
    conflicts: tuple[FileConflict, ...]


def conflicts_of(workspace: Workspace, proposal: Proposal) -> Found:
    """What a refresh of a proposal has to decide: ours is the proposal, theirs its target.

    Nothing for a proposal that is merged. Raises what reading, or merging, the commits raises, and
    CannotError for a branch that is gone.
    """
    from workspace.proposals import State

    target = workspace.git.tip(proposal.words.target)
    if proposal.state is not State.MERGED:
        for branch, tip in ((proposal.words.branch, proposal.tip), (proposal.words.target, target)):
            if tip is None:
                raise CannotError(
                    f"the branch '{branch}' is gone", fix="Fetch it, or make it again with git branch."
                )
    return Found(proposal.tip, target, workspace.reviewing().conflicts(proposal, target))


def conflict_name(path: str, unit: UnitId) -> str:
    """What a conflict is called on the command line: `text:guide.md#retries`, `document:guide.md`."""
    where = f"#{unit.where}" if unit.where else ""
    part = f"~{unit.part}" if unit.part else ""
    return f"{unit.kind}:{path}{where}{part}"


def conflicts_data(proposal: Proposal, found: Found) -> dict[str, Any]:
    """The conflicts as data; with each `choice` filled in, it is what decides them, at these commits."""
    return {
        "proposal": proposal.id,
        "ours": proposal.words.branch,
        "theirs": proposal.words.target,
        "commit": found.commit,
        "target_commit": found.target_commit,
        "conflicts": list(map(conflict_data, found.conflicts)),
    }


def conflict_data(found: FileConflict) -> dict[str, Any]:
    """A conflict as data, with a `choice` to fill in."""
    path, conflict = found
    unit = conflict.unit
    return {
        "name": conflict_name(path, unit),
        "file": path,
        "kind": unit.kind.value,
        "where": unit.where,
        "part": unit.part,
        "base": _text(conflict.base),
        "ours": _text(conflict.ours),
        "theirs": _text(conflict.theirs),
        "choice": None,
    }


def _text(version: bytes | None) -> str | None:
    return None if version is None else version.decode("utf-8", "replace")


def tell_conflicts(proposal: Proposal, found: Found, *, as_json: bool, decided: Sequence[str] = ()) -> int:
    """Print the conflicts as data or as a page; gives the exit code, 1 if there is one.

    `decided` are options that decided others: none of it is kept, so they stand in the next command too.
    """
    if as_json:
        console.print_json(conflicts_data(proposal, found))
    else:
        show_conflicts(proposal, found.conflicts, decided)
    return Exit.PROBLEMS if found.conflicts else Exit.DONE


def show_conflicts(proposal: Proposal, found: Sequence[FileConflict], decided: Sequence[str] = ()) -> None:
    """Print the conflicts, each with its versions, and how they are decided."""
    paper = Paper()
    id, target = proposal.id, proposal.words.target
    if not found:
        paper.line(f"Proposal {id} has no conflict with {target}.")
        return
    paper.line(f"{counted(len(found), 'conflict')} of proposal {id} with {target}; nothing was merged.")
    for path, conflict in found:
        paper.head(conflict_name(path, conflict.unit))
        for label, version, style in (
            ("base", conflict.base, "dim"),
            ("ours", conflict.ours, "green"),
            ("theirs", conflict.theirs, "cyan"),
        ):
            _show_version(
                paper, label, version_text(conflict.unit, version), style, is_there=version is not None
            )
    paper.blank()
    once = " all of them in one command" if len(found) > 1 else ""
    paper.line(
        f"ours is the proposal, theirs is {target}. Decide{once or ' it'} for one of the two, such as:"
    )
    sides = [" --ours", " --theirs"]
    names = [shlex.quote(conflict_name(path, conflict.unit)) for path, conflict in found[:_NAMED]]
    if len(found) > _NAMED:
        names = [shlex.quote(path) for path in dict.fromkeys(path for path, _ in found)]
    choices = "".join(f"{sides[place % 2]} {name}" for place, name in enumerate(names[:_NAMED]))
    more = " …" if len(names) > _NAMED else ""
    before = "".join(f" {shlex.quote(word)}" for word in decided)
    paper.command(f"docyard proposals refresh {id}{before}{choices}{more}", indent=2)
    paper.line("or, also by new content, in a file:")
    paper.command(f"docyard proposals conflicts {id} --json > decisions.json", indent=2)
    paper.command(f"docyard proposals refresh {id} --resolve decisions.json", indent=2)


def _show_version(paper: Paper, label: str, text: str, style: str, *, is_there: bool) -> None:
    paper.line(Piece(label, "bold"), indent=2)
    if not is_there:
        paper.line(Piece("(not there)", "dim"), indent=4)
    else:
        cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        paper.text(cut, indent=4, most=_LINES, style=style)


def version_text(unit: UnitId, version: bytes | None) -> str:
    """A version as text; for a place, where that is."""
    text = _text(version) or ""
    if unit.kind is not UnitKind.PLACE or not unit.where:
        return text
    below, _, behind = text.partition("\n")
    lead = f"below {below}" if below else "at the top level"
    return f"{lead}, behind {behind}" if behind else f"{lead}, first"
