"""Actions on proposals: their results, the next step, the author, the text and the place."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from docyard.cli.proposals.changes import Paper, StyledText
from docyard.cli.proposals.list import proposal_to_data
from docyard.environment import copy_variables, is_terminal
from docyard.terminal import console
from docyard.terminal.exits import CannotError
from docyard.wording import shorten_id
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from workspace.proposals.actions.actions import PullRequestReport
    from workspace.proposals.actions.repository import ActionResult, Actor
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_AT_COMMIT = ("approved", "submitted")  # printed with the tip, which may have later commits
_BY_COMMIT = {"merged": "as", "refreshed": "as"}

_ALREADY = {
    "edited": "has this title and description",
    "submitted": "was submitted as it is",
    "refreshed": "contains all commits of its target",
    "reopened": "is open",
}


def print_action_result(
    acted: ActionResult,
    done: str,
    *,
    as_json: bool,
    decided: Mapping[str, str] | None = None,
    announced: PullRequestReport | None = None,
) -> None:
    """Print the action `done`, such as "approved", or that it was done before, and the next step.

    `decided` maps the names of conflicts to their decisions; `announced` is the result on a forge.
    """
    one = acted.proposal
    if as_json:
        data = {**proposal_to_data(one), "commit": acted.commit, "new": acted.is_new}
        if decided is not None:
            data["decided"] = dict(decided)
        if announced is not None:
            data["pull_request"] = _announced_data(announced)
        console.print_json({**data, "next_step": suggest_next_step(one)})
        return
    paper = Paper()
    if acted.is_new:
        commit = acted.commit if done in _BY_COMMIT else one.tip if done in _AT_COMMIT else None
        at = f" {_BY_COMMIT.get(done, 'at')} {shorten_id(commit)}" if commit else ""
        paper.line(
            f"{done.capitalize()} ",
            StyledText(one.id, "yellow"),
            f"{at}: ",
            StyledText(one.content.title, "bold"),
            hang=2,
        )
    else:
        paper.line(
            "Nothing to do: ",
            StyledText(one.id, "yellow"),
            f" {_ALREADY.get(done, 'was ' + done)} already.",
            hang=2,
        )
    for name, choice in (decided or {}).items():
        paper.line(f"{name} was resolved with {choice}", indent=2, hang=2)
    if announced is not None:
        _print_announced(paper, announced)
    paper.command(f"next: {suggest_next_step(one)}", indent=2)


def _announced_data(announced: PullRequestReport) -> dict[str, object]:
    error = announced.error
    if error is not None:
        return {"error": {"code": error.details["reason"], "message": error.message, "fix": error.fix}}
    return {
        "forge": announced.forge,
        "number": announced.number,
        "url": announced.url,
        "new": announced.is_new,
    }


def _print_announced(paper: Paper, announced: PullRequestReport) -> None:
    if announced.error is not None:
        paper.line(f"But {announced.error.message}.", indent=2, hang=2)
        paper.line(announced.error.fix, indent=2, hang=2)
        return
    verb = "Opened" if announced.is_new else "Up to date:"
    paper.line(f"{verb} pull request {announced.number}, {announced.url}", indent=2, hang=2)
    if announced.send_error is not None:
        paper.line(
            f"Its comments are not on the forge yet: {announced.send_error.message}.", indent=2, hang=2
        )


def print_created(one: Proposal, *, as_json: bool) -> None:
    """Print the id and the branch of a new proposal, and how to write to it."""
    if as_json:
        console.print_json(
            {**proposal_to_data(one), "commit": one.tip, "next_step": f"{format_switch_command(one)}"}
        )
        return
    paper = Paper()
    paper.line("Created ", StyledText(one.id, "yellow"), ": ", StyledText(one.content.title, "bold"), hang=2)
    paper.command(
        f"next: {format_switch_command(one)}, commit there, then docyard proposals submit {one.id}", indent=2
    )


def suggest_next_step(one: Proposal) -> str:
    """Return the usual next command for a proposal's state, and a reason if it is not obvious."""
    id, name = one.id, "docyard proposals"
    match one.state:
        case ProposalState.DRAFT:
            return f"{name} submit {id}"
        case ProposalState.OPEN:
            return f"{name} show {id}"
        case ProposalState.CHANGES_REQUESTED:
            return f"{format_switch_command(one)}, commit the requested changes, then {name} submit {id}"
        case ProposalState.APPROVED:
            return f"{name} merge {id}"
        case ProposalState.CLOSED:
            return f"{name} reopen {id} reopens it"
        case ProposalState.GONE:
            commit = one.content.known_commits[-1] if one.content.known_commits else "COMMIT"
            return f"git branch {shlex.quote(one.content.branch)} {shorten_id(commit)} restores its branch"
        case ProposalState.MERGED:
            return "git log --graph shows it, and docyard sync shares it"


def format_switch_command(one: Proposal) -> str:
    """Return the command that checks out a proposal's branch."""
    return f"git switch {shlex.quote(one.content.branch)}"


def format_approve_command(one: Proposal) -> str:
    """Return the command that approves exactly the commit that was shown."""
    return f"docyard proposals approve {one.id} --commit {shorten_id(one.tip or '')}"


TOOL, CLIENT = "proposals", "command line"
TOKEN_FIX = "Give your token by DOCYARD_TOKEN or --token-file; `docyard tokens add NAME` creates one."
"""The fix at a shell if a person's token is required."""

_MOST = 1 << 20  # bytes of a text from a pipe or a file; no proposal stores a longer text
_SCISSORS = "<!-- docyard: "


def identify_actor(workspace: Workspace, token_file: Path | None, *, prompt: bool = False) -> Actor:
    """Return the author of the command: the owner of the token, else Git's own identity.

    With `prompt`, a user at a terminal is prompted for the token. Raises the errors of `identify_person`.
    """
    from docyard.terminal.authors import identify_person
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.events import Author, KnownBy

    person = identify_person(workspace, token_file, prompt=prompt)
    if person is None:
        return Actor(Author(*workspace.author(), KnownBy.GIT), TOOL, CLIENT)
    return Actor(Author(person.name, person.email, KnownBy.TOKEN, person.token), TOOL, CLIENT, person)


def read_text(message: str | None, about: str, *, may_be_empty: bool = False) -> str:
    """Return the text of an option, else of standard input, else of the editor that Git uses.

    `about` is a line that explains the text to the editor's user. Raises CannotError for an empty
    text, unless `may_be_empty` is true.
    """
    text = message if message is not None else _edit_text(about) if is_terminal(sys.stdin) else _read_stdin()
    if not text.strip() and not may_be_empty:
        raise CannotError("the text is empty", fix="Give the text with -m TEXT.")
    return text


def read_text_file(file: str) -> str:
    """Return the text of a file; `-` is standard input. Raises CannotError if it cannot be read."""
    if file == "-":
        return _read_stdin()
    try:
        with open(file, "rb") as stream:
            data = stream.read(_MOST + 1)
    except OSError as error:
        raise CannotError(
            f"the file cannot be read: {error.strerror or type(error).__name__}",
            fix="Name an existing file.",
        ) from error
    return _decode_text(data)


def _read_stdin() -> str:
    stream = getattr(sys.stdin, "buffer", None)
    return _decode_text(stream.read(_MOST + 1) if stream is not None else sys.stdin.read().encode())


def _decode_text(data: bytes) -> str:
    if len(data) > _MOST:
        raise CannotError(
            "the text is over 1 MiB", fix="Shorten the text, and write the details in a document."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotError("the text is not UTF-8", fix="Save the text as UTF-8, and try again.") from error


def _edit_text(about: str) -> str:
    """Return a text from an editor, above the line that explains it."""
    import click

    lead = f"{_SCISSORS}{about} Text below this line is removed; an empty text cancels. -->\n"
    editor = copy_variables().get("GIT_EDITOR")
    written = click.edit(f"\n\n{lead}", editor=editor, extension=".md") or ""
    return written.partition(_SCISSORS)[0].strip()


_LEAST = 7  # characters of an abbreviated commit id


def get_proposal_snapshot(workspace: Workspace, one: Proposal) -> Snapshot:
    """Return the proposal's documents: at its tip, else at its merge, else the target's."""
    merged_tip = one.merge_record.tip if one.merge_record is not None else None
    return workspace.snapshot(one.tip or merged_tip)


def resolve_place(
    workspace: Workspace, one: Proposal, place: str | None, folder: Path
) -> tuple[str | None, str | None]:
    """Return the path and section address of a place, which may be relative to a folder. Both may be None."""
    if place is None:
        return None, None
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    snapshot = get_proposal_snapshot(workspace, one)
    return split_address(
        resolve_relative_address(place, workspace, snapshot, folder), LazyFilePaths(snapshot)
    )


def expand_commit_prefix(one: Proposal, commit: str | None) -> str | None:
    """Return the proposal's tip if the text is a prefix of its id; else the text."""
    tip = one.tip or ""
    typed = (commit or "").lower()
    return tip if len(typed) >= _LEAST and tip.startswith(typed) else commit
