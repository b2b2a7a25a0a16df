"""The group of all commands, which imports the module of a command on demand.

Each agent session starts `docyard serve`, so modules of other commands are not imported, not even for the
help. For an unknown command the group suggests a similar name.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from docyard import __version__, environment
from docyard.open_workspace import select_repository
from docyard.terminal import console
from docyard.terminal.exits import Exit, print_error
from docyard.terminal.styles import HelpContext
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class SuggestingGroup(click.Group):
    """A group whose error for an unknown command suggests a similar name, if there is one.

    The help of the group and of its commands has styles.
    """

    context_class = HelpContext

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name; None if there is none."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = HelpContext
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command. Raises click.UsageError with a similar name if it is unknown."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not name.startswith("-") and not ctx.resilient_parsing:
            from workspace.nearest import find_nearest

            similar_names = find_nearest(name, self.list_commands(ctx))
            suggestion = f"; did you mean '{similar_names[0]}'?" if similar_names else ""
            raise click.UsageError(f"no command '{name[:100]}'{suggestion}", ctx)
        if command is not None and not ctx.resilient_parsing:
            _check_repository_option(ctx, command)
        return super().resolve_command(ctx, args)


def _check_repository_option(context: click.Context, command: click.Command) -> None:
    """Raise UsageError if `-C` is before the name of a command that reads no repository, or several."""
    if context.find_root().params.get("repo") is None or isinstance(command, click.Group):
        return
    if all(parameter.name != "repo" for parameter in command.params):
        advice = (
            "give it after the name"
            if any("-C" in parameter.opts for parameter in command.params)
            else "the command reads no repository"
        )
        raise click.UsageError(f"-C before '{command.name}' has no effect: {advice}", context)


class LazyGroup(SuggestingGroup):
    """A group that imports a command's module on demand.

    `package` has a module for each name in `short_helps`, which are in the order of the help. The help and
    the completion of the group read the short helps, and import no command.
    """

    package: ClassVar[str]
    short_helps: ClassVar[Mapping[str, str]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.short_helps)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.short_helps.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the names of commands and options that begin with a text."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=short_help)
            for name, short_help in self.short_helps.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.short_helps:
            return None
        module = import_module(self.get_module_name(cmd_name))
        command: click.Command = module.command
        command.context_class = HelpContext
        return command

    def get_module_name(self, command_name: str) -> str:
        """Return the name of a command's module."""
        return f"{self.package}.{command_name.replace('-', '_')}"


COMMANDS = {
    "init": "Make a folder a workspace, and print how to connect an agent.",
    "serve": "Serve a repository to an MCP host, or as web pages.",
    "demo": "Watch an agent work in a repository created for it.",
    "build": "Build an artifact that is served without a repository.",
    "export": "Write the documents as static HTML, with llms.txt.",
    "index": "Show the state of the search index, or rebuild it.",
    "engine": "Move the search index to a database, or back to files.",
    "list": "List the documents, with their titles.",
    "new": "Create a document from a template.",
    "show": "Show a document, section, task, commit or proposal.",
    "search": "Search the committed documents.",
    "read": "Read a document, a section or a task.",
    "log": "Show the commits that changed a document or section.",
    "diff": "Show the changes between two versions, word by word.",
    "blame": "Show who last changed each line of a document or section.",
    "drift": "List sections whose code changed after they last did.",
    "links": "List links from and to a document or section.",
    "metadata": "Print and check a metadata.json.",
    "tasks": "Show the tasks of all documents.",
    "trace": "Show where requirements are designed, tasked and tested.",
    "report": "Print numbers over time, and write charts of them.",
    "validate": "Check the Markdown.",
    "fix": "Apply safe fixes in one commit; --anchors adds anchors to headings.",
    "eval": "Measure search quality with known questions.",
    "proposals": "Show, review and merge proposals.",
    "comments": "Show, add and resolve comments.",
    "tokens": "Create, rotate and revoke the tokens of people.",
    "sync": "Fetch the branch and the proposals from a remote, and push them.",
    "sources": "Show the sources of `serve --sources`.",
    "admin": "Administer a server and its records.",
    "config": "Show and check the configuration of a server.",
    "doctor": "Report problems and how to fix them.",
    "completion": "Print the script that completes commands in a shell.",
    "version": "Print the version.",
}
"""The commands in the order of the help, each with its short help.

`docyard/commands/` or a folder of it has a module of each name.
"""

_FOLDERS = {
    "list": "documents",
    "new": "documents",
    "show": "documents",
    "log": "history",
    "diff": "history",
    "blame": "history",
    "drift": "history",
    "report": "reports",
}
"""The folders of the commands whose modules are in a folder of `docyard/commands/`."""

_NO_SPACE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _MainGroup(LazyGroup):
    """The group of all commands, which ends without an error if its output is no longer read."""

    package = "docyard.commands"
    short_helps = COMMANDS

    def get_module_name(self, command_name: str) -> str:
        if command_name in _FOLDERS:
            return f"{self.package}.{_FOLDERS[command_name]}.{command_name}"
        return super().get_module_name(command_name)

    def invoke(self, ctx: click.Context) -> object:
        with console.ignore_broken_pipe():
            return super().invoke(ctx)
        return Exit.DONE


@click.group(
    cls=_MainGroup, context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="docyard", message="%(prog)s %(version)s")
@click.option(
    "--pager/--no-pager", default=None, help="Print the output of the command in a pager, or in none."
)
@click.option(
    "-C",
    "--repo",
    "repo",
    metavar="PATH",
    type=click.Path(path_type=Path),
    multiple=True,
    callback=select_repository,
    help="The repository, or a folder in it; also after the command. [default: the current folder]",
)
def docyard(pager: bool | None, repo: Path | None) -> None:
    """Serve a Git-native workspace in which agents write Markdown and people review it.

    \b
    Example:
        docyard init            make the folder a workspace, and print how to connect
        docyard serve           the server that an MCP host starts
        docyard demo            watch an agent work in a temporary repository
    """


_SERVER_MODULES = ("alembic", "cryptography", "jwt", "prometheus_client", "pydantic_settings", "sqlalchemy")
"""The modules of the extra `server`, which commands import when they need them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Return its exit code: 0 done, 1 problems reported, 2 wrong usage, 3 cannot run."""
    environment.disable_blas_threads()
    if environment.is_completion_request():
        from docyard.cli.shells import register_shells

        register_shells()
    return _run_command(arguments)


def _run_command(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape characters that the encoding lacks
            stream.reconfigure(errors="backslashreplace")
    color = environment.read_color_choice()
    try:
        code = docyard.main(
            args=None if arguments is None else list(arguments),
            prog_name="docyard",
            standalone_mode=False,
            color=color,
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True, color=color)
        return Exit.USAGE
    except click.UsageError as error:
        print_error(error.format_message().rstrip("."), _suggest_help(error))
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.CANNOT_RUN
    except WorkspaceError as error:
        print_error(error.message or "an unknown error occurred", error.fix)
        return Exit.CANNOT_RUN
    except click.ClickException as error:
        print_error(error.message or "an unknown error occurred")
        return Exit.CANNOT_RUN
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _SERVER_MODULES:
            raise
        from docyard.doctor.installation import format_extra_command

        print_error(
            f"a server with a database needs the module {module}, which is not installed",
            f"Install it with `{format_extra_command('server')}`.",
        )
        return Exit.CANNOT_RUN
    except OSError as error:
        if error.errno not in _NO_SPACE_ERRORS:
            try:
                environment.get_current_directory()  # libraries read it too
            except WorkspaceError as folder_error:
                print_error(folder_error.message, folder_error.fix)
                return Exit.CANNOT_RUN
            raise
        console.discard_stdout()
        print_error(
            f"the output is incomplete: {error.strerror}", "Free some space, then run the command again."
        )
        return Exit.CANNOT_RUN
    return code if isinstance(code, int) else Exit.DONE


_USAGE_HINTS = {
    "proposal_id": "ID is one id, as `docyard proposals list` shows them.",
    "ours": "`docyard proposals conflicts ID` shows the names of conflicts.",
    "title": "A title with spaces needs quotes.",
    "type_name": "A type is given as --type TYPE, and --types lists the types.",
}
"""Hints for wrong usage, by the name of a parameter of the command."""


def _suggest_help(error: click.UsageError) -> str:
    context = error.ctx
    fix = f"Run `{context.command_path if context else 'docyard'} --help`."
    names = [parameter.name for parameter in context.command.params] if context else []
    return " ".join((fix, *(_USAGE_HINTS[name] for name in names if name in _USAGE_HINTS)))
