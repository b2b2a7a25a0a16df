"""Suggested commands, with the options of the current invocation, so that they work as they are printed."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPTIONS = ("repo", "branch", "remote", "config", "token_file")
"""The parameters that a suggested command takes over, if it has them."""

_GIT_COMMAND = re.compile(
    "add|branch|commit|config|diff|fetch|fsck|gc|lfs|log|merge|pack-refs|prune|pull|push|reflog|remote|repack"
    "|replace|reset|restore|revert|show|sparse-checkout|stash|status|switch|unpack-objects|update-index"
    "|update-ref|worktree"
)
"""The commands of Git that Docyard suggests in a repository; after other words, "git" is prose."""

_COMMAND = re.compile(r"(?<![\w./-])(docyard|git)((?: [a-z][a-z-]*(?![\w./-]))+)")
_COMMAND_END = re.compile("[`\n]")


class _GivenOption(NamedTuple):
    """An option on the command line of the current invocation."""

    parameter: str
    value: str


def complete_commands(text: str) -> str:
    """Return a text whose commands have the options of the invocation, such as `-C` or `--token-file`.

    A command gets the options that it has, after its name, unless the text gives them already. `git` gets
    `-C`. Without an invocation, as on a server, the text is unchanged.
    """
    context = click.get_current_context(silent=True)
    options = [] if context is None else list(_list_given_options(context))
    if context is None or not options:
        return text
    parts, position = [], 0
    matches = list(_COMMAND.finditer(text))
    for match, next_match in zip_longest(matches, matches[1:]):
        assert match is not None
        end = len(text) if next_match is None else next_match.start()
        if (delimiter := _COMMAND_END.search(text, match.end(), end)) is not None:
            end = delimiter.start()
        name_end, flags = _select_flags(context, match, text[match.start() : end].split(), options)
        parts += [text[position:name_end], *flags]
        position = name_end
    return "".join([*parts, text[position:]])


def _list_given_options(context: click.Context) -> Iterator[_GivenOption]:
    """Yield the options of the command, or of a command that called it, in the order of `_OPTIONS`."""
    from shlex import quote

    for parameter in _OPTIONS:
        ancestor: click.Context | None = context
        while ancestor is not None:
            value = ancestor.params.get(parameter)
            source = ancestor.get_parameter_source(parameter)
            if value is not None and source is click.core.ParameterSource.COMMANDLINE:
                yield _GivenOption(parameter, quote(str(value)))
                break
            ancestor = ancestor.parent


def _select_flags(
    context: click.Context, match: re.Match[str], words: Sequence[str], options: Sequence[_GivenOption]
) -> tuple[int, list[str]]:
    """Return the position after the name of a command, and the options to insert there."""
    if match[1] == "git":
        is_command = _GIT_COMMAND.fullmatch(match[2].split()[0])
        folders = [option.value for option in options if option.parameter == "repo" and is_command]
        return match.end(1), [f" -C {folder}" for folder in folders]
    command, position = context.find_root().command, match.end(1)
    for name in match[2].split():
        subcommand = command.get_command(context, name) if isinstance(command, click.Group) else None
        if subcommand is None:
            break
        command, position = subcommand, position + 1 + len(name)
    flags_by_parameter = {
        parameter.name: parameter.opts
        for parameter in command.params
        if isinstance(parameter, click.Option) and not isinstance(command, click.Group)
    }
    return position, [
        f" {flags[0]} {option.value}"
        for option in options
        if (flags := flags_by_parameter.get(option.parameter)) and not {*flags, option.value} & set(words)
    ]
