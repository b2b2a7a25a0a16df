"""The author, the text and the address of an action on a proposal, and its printed result."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.cli.proposals.list import proposal_to_data
from docyard.environment import copy_variables, is_terminal
from docyard.terminal import console, styles
from docyard.terminal.exits import CommandError
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import format_author, shorten_id
from workspace.escapes import escape_invisible
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from workspace.proposals.actions.actions import PullRequestReport
    from workspace.proposals.actions.repository import ActionResult, Actor
    from workspace.proposals.approvals import NeedsPerson
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_ACTIONS_ON_TIP = ("approved", "submitted")  # printed with the proposal's tip
_COMMIT_PREPOSITIONS = {"merged": "as", "refreshed": "as"}

_REVIEWS = ("approved", "requested changes to")
_AUTHOR_STATES = (ProposalState.DRAFT, ProposalState.CHANGES_REQUESTED)  # the author has the next step

_UNCHANGED_STATES = {
    "edited": "has this title and description",
    "submitted": "was submitted at this commit",
    "refreshed": "contains all commits of its target",
    "reopened": "is open",
}


def print_action_result(
    result: ActionResult,
    action: str,
    *,
    as_json: bool,
    decisions: Mapping[str, str] | None = None,
    pull_request_report: PullRequestReport | None = None,
    hints: Sequence[str] = (),
    may_push: bool = False,
) -> None:
    """Print the result of `action`, such as "approved", and the next step.

    `decisions` maps the names of the resolved conflicts to the choices. `pull_request_report` describes the
    proposal's pull request on a forge. `hints` are printed before the next step. `may_push` is True if a
    merge can be pushed to a remote.
    """
    proposal = result.proposal
    next_step = _suggest_step_after(action, proposal, may_push=may_push)
    if as_json:
        data = {**proposal_to_data(proposal), "commit": result.commit, "new": result.is_new}
        if decisions is not None:
            data["decided"] = dict(decisions)
        if pull_request_report is not None:
            data["pull_request"] = _pull_request_to_data(pull_request_report)
        if hints:
            data["hints"] = [*hints]
        console.print_json({**data, "next_step": next_step})
        return
    printer = PagePrinter()
    if result.is_new:
        commit = (
            result.commit
            if action in _COMMIT_PREPOSITIONS
            else proposal.tip
            if action in _ACTIONS_ON_TIP
            else None
        )
        commit_text = f" {_COMMIT_PREPOSITIONS.get(action, 'at')} {shorten_id(commit)}" if commit else ""
        printer.print_line(
            f"{action.capitalize()} ",
            StyledText(proposal.id, styles.ID),
            f"{commit_text}: ",
            StyledText(proposal.content.title, styles.TITLE),
            hang=2,
        )
    else:
        printer.print_line(
            "Nothing to do: ",
            StyledText(proposal.id, styles.ID),
            f" {_UNCHANGED_STATES.get(action, 'was ' + action)} already.",
            hang=2,
        )
    for name, choice in (decisions or {}).items():
        printer.print_line(f"{name} was resolved with {choice}", indent=2, hang=2)
    if decisions:
        printer.print_line(
            "You are an author of the proposal now, and cannot approve it: ask another person.",
            indent=2,
            hang=2,
        )
    if pull_request_report is not None:
        _print_pull_request(printer, pull_request_report)
    for hint in hints:
        printer.print_line(f"{hint[:1].upper()}{hint[1:]}.", indent=2, hang=2)
    printer.print_command(f"next: {next_step}", indent=2)


def _pull_request_to_data(pull_request_report: PullRequestReport) -> dict[str, object]:
    error = pull_request_report.error
    if error is not None:
        return {"error": {"code": error.details["reason"], "message": error.message, "fix": error.fix}}
    return {
        "forge": pull_request_report.forge,
        "number": pull_request_report.number,
        "url": pull_request_report.url,
        "new": pull_request_report.is_new,
    }


def _print_pull_request(printer: PagePrinter, pull_request_report: PullRequestReport) -> None:
    if pull_request_report.error is not None:
        printer.print_line(f"But {pull_request_report.error.message}.", indent=2, hang=2)
        printer.print_line(pull_request_report.error.fix, indent=2, hang=2)
        return
    verb = "Opened" if pull_request_report.is_new else "Up to date:"
    printer.print_line(
        f"{verb} pull request {pull_request_report.number}, {pull_request_report.url}", indent=2, hang=2
    )
    if pull_request_report.send_error is not None:
        printer.print_line(
            f"The proposal's comments are not on the forge yet: {pull_request_report.send_error.message}.",
            indent=2,
            hang=2,
        )


def print_created(proposal: Proposal, *, as_json: bool) -> None:
    """Print the id and the branch of a new proposal, and how to write to it."""
    if as_json:
        console.print_json(
            {
                **proposal_to_data(proposal),
                "commit": proposal.tip,
                "next_step": complete_commands(format_switch_command(proposal)),
            }
        )
        return
    printer = PagePrinter()
    printer.print_line(
        "Created ",
        StyledText(proposal.id, styles.ID),
        ": ",
        StyledText(proposal.content.title, styles.TITLE),
        hang=2,
    )
    next_step = (
        f"{format_switch_command(proposal)}, commit there, then docyard proposals submit {proposal.id}"
    )
    printer.print_command(f"next: {complete_commands(next_step)}", indent=2)


def _suggest_step_after(action: str, proposal: Proposal, *, may_push: bool) -> str:
    """Return the next step; after a review, it names the author if the reviewer has nothing to do.

    The author has other options than the reviewer: another clone, and another token.
    """
    step = suggest_next_step(proposal)
    if action in _REVIEWS and proposal.state in _AUTHOR_STATES:
        author = escape_invisible(format_author(proposal.content.author))
        return f"for the author, {author}: {step}"
    if may_push and proposal.state is ProposalState.MERGED:
        step += ", and docyard sync pushes it"
    return complete_commands(step)


def suggest_next_step(proposal: Proposal) -> str:
    """Return the usual next command for a proposal's state, and its effect if that is not obvious."""
    id, name = proposal.id, "docyard proposals"
    match proposal.state:
        case ProposalState.DRAFT:
            return f"{name} submit {id}"
        case ProposalState.OPEN:
            return f"{name} show {id}"
        case ProposalState.CHANGES_REQUESTED:
            return f"{format_switch_command(proposal)}, commit the requested changes, then {name} submit {id}"
        case ProposalState.APPROVED:
            return f"{name} merge {id}"
        case ProposalState.CLOSED:
            return f"{name} reopen {id} reopens it"
        case ProposalState.GONE:
            commit = proposal.content.known_commits[-1] if proposal.content.known_commits else "COMMIT"
            return (
                f"git branch {shlex.quote(proposal.content.branch)} {shorten_id(commit)} restores its branch"
            )
        case ProposalState.MERGED:
            return "git log --graph shows the merge"


def format_switch_command(proposal: Proposal) -> str:
    """Return the command that checks out a proposal's branch."""
    return f"git switch {shlex.quote(proposal.content.branch)}"


def format_approve_command(proposal: Proposal) -> str:
    """Return the command that approves exactly the commit that was shown."""
    return f"docyard proposals approve {proposal.id} --commit {shorten_id(proposal.tip or '')}"


TOOL, CLIENT = "proposals", "command line"
TOKEN_FIX = "Pass your token in DOCYARD_TOKEN or by --token-file; `docyard tokens add NAME` creates a token."
"""The fix at a shell if a person's token is required."""


def describe_needed_person(error: NeedsPerson, token_file: Path | None) -> str:
    """Return the fix at a shell for an action that needs a person's token.

    If a token was given, it has no scope for reviews, as the tokens of agents.
    """
    if error.details.get("scope") is None:
        return TOKEN_FIX
    source = "DOCYARD_TOKEN" if token_file is None else "--token-file"
    return (
        f"The token in {source} lacks the scope {error.details['scope']}, as the token of an agent does. "
        "Pass a person's own token by --token-file, or in DOCYARD_TOKEN."
    )


_MAX_TEXT_BYTES = 1 << 20  # the limit for a text from a pipe or a file; no proposal stores a longer text
_EDITOR_MARK = "<!-- docyard: "


def identify_actor(workspace: Workspace, token_file: Path | None, *, prompt: bool = False) -> Actor:
    """Return the author of the command: the owner of the token, else the user that Git's settings name.

    With `prompt`, a user at a terminal is prompted for the token. Raises the errors of `identify_owner`.
    """
    from docyard.terminal.credentials import identify_owner
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.events import Author, IdentitySource

    owner = identify_owner(workspace, token_file, prompt=prompt)
    if owner is None:
        return Actor(Author(*workspace.author(), IdentitySource.GIT), TOOL, CLIENT)
    person = owner.person
    author = Author(person.name, person.email, IdentitySource.TOKEN, person.token)
    return Actor(author, TOOL, CLIENT, person, owner.may_review())


def read_text(message: str | None, purpose: str, *, allow_empty: bool = False) -> str:
    """Return the text of an option; else of an editor in a terminal, or of standard input elsewhere.

    `purpose` is a line that explains the text to the editor's user. Raises CommandError for an empty
    text, unless `allow_empty` is true.
    """
    text = (
        message if message is not None else _edit_text(purpose) if is_terminal(sys.stdin) else _read_stdin()
    )
    if not text.strip() and not allow_empty:
        raise CommandError("the text is empty", fix="Pass the text with -m TEXT.")
    return text


def read_text_file(file: str) -> str:
    """Return the text of a file; `-` is standard input. Raises CommandError if it cannot be read."""
    if file == "-":
        return _read_stdin()
    try:
        with open(file, "rb") as stream:
            content = stream.read(_MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"the file cannot be read: {error.strerror or type(error).__name__}",
            fix="Name an existing file.",
        ) from error
    return _decode_text(content)


def _read_stdin() -> str:
    stream = getattr(sys.stdin, "buffer", None)
    return _decode_text(stream.read(_MAX_TEXT_BYTES + 1) if stream is not None else sys.stdin.read().encode())


def _decode_text(content: bytes) -> str:
    if len(content) > _MAX_TEXT_BYTES:
        raise CommandError(
            "the text is over 1 MiB", fix="Shorten the text, and write the details in a document."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError("the text is not UTF-8", fix="Save the text as UTF-8, and try again.") from error


def _edit_text(purpose: str) -> str:
    """Return the text that the user writes in an editor. A comment below the text states the purpose.

    The editor is that of GIT_EDITOR, else of VISUAL or EDITOR.
    """
    import click

    instruction = f"{_EDITOR_MARK}{purpose} Text below this line is removed; an empty text cancels. -->\n"
    editor = copy_variables().get("GIT_EDITOR")
    edited_text = click.edit(f"\n\n{instruction}", editor=editor, extension=".md") or ""
    return edited_text.partition(_EDITOR_MARK)[0].strip()


_MIN_PREFIX_LENGTH = 7  # characters of an abbreviated commit id


def get_proposal_snapshot(workspace: Workspace, proposal: Proposal) -> Snapshot:
    """Return the documents at the proposal's tip, else at its merged tip, else at the served branch's tip."""
    merged_tip = proposal.merge_record.tip if proposal.merge_record is not None else None
    return workspace.snapshot(proposal.tip or merged_tip)


def resolve_address_in_proposal(
    workspace: Workspace, proposal: Proposal, address: str | None, folder: Path
) -> tuple[str | None, str | None]:
    """Return the path and section address in a proposal; both are None if `address` is None.

    The address may be relative to a folder.
    """
    if address is None:
        return None, None
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    snapshot = get_proposal_snapshot(workspace, proposal)
    return split_address(
        resolve_relative_address(address, workspace, snapshot, folder), LazyFilePaths(snapshot)
    )


def expand_commit_prefix(proposal: Proposal, commit: str | None) -> str | None:
    """Return the proposal's tip if `commit` is the beginning of its id, of seven digits or more.

    Otherwise, return `commit` unchanged.
    """
    tip = proposal.tip or ""
    prefix = (commit or "").lower()
    return tip if len(prefix) >= _MIN_PREFIX_LENGTH and tip.startswith(prefix) else commit
