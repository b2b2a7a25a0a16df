"""What was done with a proposal, and what is to be done next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from docyard.cli.commits import short
from docyard.cli.proposals.lines import Paper, Piece
from docyard.cli.proposals.list import listed
from docyard.terminal import console
from workspace.proposals import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.proposals import Proposal
    from workspace.proposals.actions import Acted, Announced

_AT_COMMIT = ("approved", "submitted")  # what is said of a commit, from which others may go on
_BY_COMMIT = {"merged": "as", "refreshed": "as"}
_ALREADY = {
    "edited": "has this title and description",
    "submitted": "was submitted as it is",
    "refreshed": "holds all that its target has",
    "reopened": "is open",
}


def show_acted(
    acted: Acted,
    done: str,
    *,
    as_json: bool,
    decided: Mapping[str, str] | None = None,
    announced: Announced | None = None,
) -> None:
    """Print what was `done` ("approved", say), or that it was so already, and what is done next.

    `decided` are conflicts by their names, each with what it was decided for; `announced` is what became of
    it on a forge.
    """
    one = acted.proposal
    if as_json:
        data = {**listed(one), "commit": acted.commit, "new": acted.is_new}
        if decided is not None:
            data["decided"] = dict(decided)
        if announced is not None:
            data["pull_request"] = _announced_data(announced)
        console.print_json({**data, "next_step": next_step(one)})
        return
    paper = Paper()
    if acted.is_new:
        commit = acted.commit if done in _BY_COMMIT else one.tip if done in _AT_COMMIT else None
        at = f" {_BY_COMMIT.get(done, 'at')} {short(commit)}" if commit else ""
        paper.line(
            f"{done.capitalize()} ",
            Piece(one.id, "yellow"),
            f"{at}: ",
            Piece(one.words.title, "bold"),
            hang=2,
        )
    else:
        paper.line(
            "Nothing to do: ",
            Piece(one.id, "yellow"),
            f" {_ALREADY.get(done, 'was ' + done)} already.",
            hang=2,
        )
    for name, choice in (decided or {}).items():
        paper.line(f"{name} was decided for {choice}", indent=2, hang=2)
    if announced is not None:
        _show_announced(paper, announced)
    paper.command(f"next: {next_step(one)}", indent=2)


def _announced_data(announced: Announced) -> dict[str, object]:
    error = announced.error
    if error is not None:
        return {"error": {"code": error.details["reason"], "message": error.message, "fix": error.fix}}
    return {
        "forge": announced.forge,
        "number": announced.number,
        "url": announced.url,
        "new": announced.is_new,
    }


def _show_announced(paper: Paper, announced: Announced) -> None:
    if announced.error is not None:
        paper.line(f"But {announced.error.message}.", indent=2, hang=2)
        paper.line(announced.error.fix, indent=2, hang=2)
        return
    verb = "Opened" if announced.is_new else "Up to date:"
    paper.line(f"{verb} pull request {announced.number}, {announced.url}", indent=2, hang=2)
    if announced.unsent is not None:
        paper.line(f"Its words wait here: {announced.unsent.message}.", indent=2, hang=2)


def show_created(one: Proposal, *, as_json: bool) -> None:
    """Print the id and the branch of a proposal that was just made, and how to write to it."""
    if as_json:
        console.print_json({**listed(one), "commit": one.tip, "next_step": f"{switch(one)}"})
        return
    paper = Paper()
    paper.line("Made ", Piece(one.id, "yellow"), ": ", Piece(one.words.title, "bold"), hang=2)
    paper.command(f"next: {switch(one)}, commit there, then docyard proposals submit {one.id}", indent=2)


def next_step(one: Proposal) -> str:
    """What is usually done with a proposal in its state: a command, and why where that is not plain."""
    id, name = one.id, "docyard proposals"
    match one.state:
        case State.DRAFT:
            return f"{name} submit {id}"
        case State.OPEN:
            return f"{name} show {id}"
        case State.CHANGES_REQUESTED:
            return f"{switch(one)}, commit what was asked for, then {name} submit {id}"
        case State.APPROVED:
            return f"{name} merge {id}"
        case State.CLOSED:
            return f"{name} reopen {id} takes it up again"
        case State.GONE:
            commit = one.words.commits[-1] if one.words.commits else "COMMIT"
            return f"git branch {shlex.quote(one.words.branch)} {short(commit)} brings its branch back"
        case State.MERGED:
            return "git log --graph shows it, and docyard sync shares it"


def switch(one: Proposal) -> str:
    """The command by which a person goes to the branch of a proposal."""
    return f"git switch {shlex.quote(one.words.branch)}"


def approve(one: Proposal) -> str:
    """The command by which a person approves what they have seen, and nothing else."""
    return f"docyard proposals approve {one.id} --commit {short(one.tip or '')}"
