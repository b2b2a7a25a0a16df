"""Exit codes of commands that commit: after the commit, an error is reported as a note, and the code is 0."""

from __future__ import annotations

from collections.abc import Callable

import click

from docyard.terminal.exits import Exit
from workspace.escapes import escape_invisible


class CommittingCommand(click.Command):
    """A command that may commit. After a commit, its errors are reported as notes."""

    def invoke(self, ctx: click.Context) -> object:
        return run_committing_command(lambda: super(CommittingCommand, self).invoke(ctx))


def run_committing_command(run_command: Callable[[], object]) -> object:
    """Run a command and return its exit code, which is 0 after a commit, even if a later step fails.

    Otherwise a caller would repeat the failed command, and commit twice. BrokenPipeError is always raised,
    because a closed pipe is not a failure of the command.
    """
    # Imported here because most commands do not need it.
    from workspace.publishing.after_commit import describe_failure, record_commits

    with record_commits() as record:
        try:
            code = run_command()
        except BrokenPipeError:
            raise
        except Exception as error:
            if record.commit is None:
                raise
            reason = describe_failure(error)
            record.caveats.append(f"Committed as {record.commit}, but a later step failed: {reason}")
            code = Exit.DONE
        for caveat in dict.fromkeys(record.caveats):
            click.echo(escape_invisible(f"note: {caveat}"), err=True)
    return code
