"""What was done with a proposal, and what is to be done next.

Who speaks at the command line, and in which words.

Which place of a proposal a person means.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from docyard.cli.proposals.changes import Paper, Piece
from docyard.cli.proposals.list import listed
from docyard.environment import is_terminal, variables
from docyard.terminal import console
from docyard.terminal.exits import CannotError
from docyard.wording import short
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from workspace.proposals.actions.actions import Announced
    from workspace.proposals.actions.register import ActionResult, Actor
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_AT_COMMIT = ("approved", "submitted")  # what is said of a commit, from which others may go on


_BY_COMMIT = {"merged": "as", "refreshed": "as"}


_ALREADY = {
    "edited": "has this title and description",
    "submitted": "was submitted as it is",
    "refreshed": "holds all that its target has",
    "reopened": "is open",
}


def show_acted(
    acted: ActionResult,
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
        case ProposalState.DRAFT:
            return f"{name} submit {id}"
        case ProposalState.OPEN:
            return f"{name} show {id}"
        case ProposalState.CHANGES_REQUESTED:
            return f"{switch(one)}, commit what was asked for, then {name} submit {id}"
        case ProposalState.APPROVED:
            return f"{name} merge {id}"
        case ProposalState.CLOSED:
            return f"{name} reopen {id} takes it up again"
        case ProposalState.GONE:
            commit = one.words.commits[-1] if one.words.commits else "COMMIT"
            return f"git branch {shlex.quote(one.words.branch)} {short(commit)} brings its branch back"
        case ProposalState.MERGED:
            return "git log --graph shows it, and docyard sync shares it"


def switch(one: Proposal) -> str:
    """Return the command by which a person goes to the branch of a proposal."""
    return f"git switch {shlex.quote(one.words.branch)}"


def approve(one: Proposal) -> str:
    """Return the command by which a person approves what they have seen, and nothing else."""
    return f"docyard proposals approve {one.id} --commit {short(one.tip or '')}"


TOOL, CLIENT = "proposals", "command line"


TOKEN_FIX = "Give your token by DOCYARD_TOKEN or --token-file; `docyard tokens add NAME` makes one."


"""What to do at a shell where only a person's token will do."""


_MOST = 1 << 20  # bytes of a text that is piped in or named: above what any proposal keeps


_SCISSORS = "<!-- docyard: "


def actor_of_caller(workspace: Workspace, token_file: Path | None, *, ask: bool = False) -> Actor:
    """Return who types the command: a person by their token where there is one, else by Git's own identity.

    `ask` lets a person at a terminal be asked for the token. Raises what reading or knowing a token raises.
    """
    from docyard.terminal.authors import person_of_caller
    from workspace.proposals.actions.register import Actor
    from workspace.proposals.events import Author, KnownBy

    person = person_of_caller(workspace, token_file, ask=ask)
    if person is None:
        return Actor(Author(*workspace.author(), KnownBy.GIT), TOOL, CLIENT)
    return Actor(Author(person.name, person.email, KnownBy.TOKEN, person.token), TOOL, CLIENT, person)


def words_of_caller(message: str | None, about: str, *, may_be_empty: bool = False) -> str:
    """A text: that of an option, else what is piped in, else what is written in the editor that Git uses.

    `about` is a line that tells the editor's user what the text is for. Raises CannotError where there is
    none, unless it may be empty.
    """
    text = message if message is not None else _typed(about) if is_terminal(sys.stdin) else _piped()
    if not text.strip() and not may_be_empty:
        raise CannotError("there is no text, so nothing was said", fix="Give it with -m TEXT.")
    return text


def text_of(file: str) -> str:
    """Return the text of a file; `-` is standard input. Raises CannotError for what cannot be read."""
    if file == "-":
        return _piped()
    try:
        with open(file, "rb") as stream:
            data = stream.read(_MOST + 1)
    except OSError as error:
        raise CannotError(
            f"the file cannot be read: {error.strerror or type(error).__name__}",
            fix="Name one that is there.",
        ) from error
    return _decoded(data)


def _piped() -> str:
    stream = getattr(sys.stdin, "buffer", None)
    return _decoded(stream.read(_MOST + 1) if stream is not None else sys.stdin.read().encode())


def _decoded(data: bytes) -> str:
    if len(data) > _MOST:
        raise CannotError("the text is over 1 MiB", fix="Say less of it here, and the rest in a document.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotError("the text is not UTF-8", fix="Save it as UTF-8, and try again.") from error


def _typed(about: str) -> str:
    """Return what a person writes in an editor, above the line that tells them what it is for."""
    import click

    lead = f"{_SCISSORS}{about} What stands from here on is left out; an empty text says nothing. -->\n"
    editor = variables().get("GIT_EDITOR")
    written = click.edit(f"\n\n{lead}", editor=editor, extension=".md") or ""
    return written.partition(_SCISSORS)[0].strip()


_LEAST = 7  # characters of a commit's id that are taken for it


def snapshot_of(workspace: Workspace, one: Proposal) -> Snapshot:
    """Return the proposal's documents: at its tip, else as the target took them in, else the target's own."""
    taken_in = one.landing.tip if one.landing is not None else None
    return workspace.snapshot(one.tip or taken_in)


def place_in(
    workspace: Workspace, one: Proposal, place: str | None, folder: Path
) -> tuple[str | None, str | None]:
    """The path and the section's address of a place, whose path may count from a folder; None for neither."""
    if place is None:
        return None, None
    from docyard.cli.addresses import from_root
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    snapshot = snapshot_of(workspace, one)
    return split_address(from_root(place, workspace, snapshot, folder), LazyFilePaths(snapshot))


def full_commit(one: Proposal, commit: str | None) -> str | None:
    """The proposal's tip where that is what someone has typed the beginning of; else what was typed."""
    tip = one.tip or ""
    typed = (commit or "").lower()
    return tip if len(typed) >= _LEAST and tip.startswith(typed) else commit
