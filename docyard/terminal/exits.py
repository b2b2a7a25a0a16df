"""The exit codes of commands, and the format of errors and their fixes."""

from __future__ import annotations

import sys
from enum import IntEnum

from docyard.terminal.suggested_commands import complete_commands
from workspace.errors import SuggestionKind, SuggestionSource, WorkspaceError
from workspace.escapes import escape_invisible


class Exit(IntEnum):
    """The exit codes of all commands: success, problems found, wrong usage, and a command that cannot run."""

    DONE = 0
    PROBLEMS = 1
    USAGE = 2
    CANNOT_RUN = 3


class CommandError(WorkspaceError):
    """A command cannot run; its exit code is 3."""

    code = "CANNOT"


def suggest_fix(error: WorkspaceError) -> str:
    """Return the fix of an error for the user of a shell, with the command that lists valid names.

    Commands have the options of the current invocation.
    """
    return complete_commands(_build_fix(error))


def _build_fix(error: WorkspaceError) -> str:
    if error.code == "PROPOSAL_ENDED" and error.details["state"] == "closed":
        return f"Reopen the proposal with `docyard proposals reopen {error.details['proposal']}`."
    if error.code == "PROPOSAL_NOT_FOUND":
        return f"{error.fix} `docyard proposals list` shows the ids."
    if error.code == "NOTHING_PROPOSED":
        import shlex

        branch, proposal = shlex.quote(str(error.details["branch"])), error.details["proposal"]
        return (
            f"Commit changes on its branch (`git switch {branch}`), then run "
            f"`docyard proposals submit {proposal}`; or run `docyard proposals close {proposal}`."
        )
    if error.code == "PROPOSAL_MOVED":
        return f"{error.fix} `docyard proposals show {error.details['proposal']}` shows the proposal."
    listing_hint = "" if error.suggestion_source is None else _find_list_command(error.suggestion_source)
    return f"{error.fix} {listing_hint}".strip()


def _find_list_command(source: SuggestionSource) -> str:
    import shlex

    address = shlex.quote(f"{source.path}#{source.slug}" if source.slug else source.path)
    match source.kind:
        case SuggestionKind.DOCUMENTS:
            return "`docyard search WORDS` finds documents."
        case SuggestionKind.SECTIONS:
            return f"`docyard read {address} --sections` lists the sections."
        case SuggestionKind.TASKS:
            return f"`docyard read {address}` shows the tasks."
        case SuggestionKind.COMMITS:
            return f"`docyard log {address}` shows the history."
        case SuggestionKind.MISSING:
            return f"Write and commit {address}."


def print_error(message: str, fix: str = "") -> None:
    """Print an error and its fix to standard error, with invisible characters escaped."""
    _print_problem("error", message, fix)


def print_warning(message: str, fix: str = "") -> None:
    """Print a warning and its fix to standard error, with invisible characters escaped.

    Commands in the fix get the options of the current invocation.
    """
    _print_problem("warning", message, complete_commands(fix))


def _print_problem(severity: str, message: str, fix: str) -> None:
    sys.stderr.write(escape_invisible(f"{severity}: {message}\n" + (f"  fix: {fix}\n" if fix else "")))
    sys.stderr.flush()
