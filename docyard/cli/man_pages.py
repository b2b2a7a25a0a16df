"""Manual pages of the commands, generated from their help, in the language of man(7).

Each command has a page. A page of a group describes its subcommands, too. The pages and the completion
scripts are installed below `share/`, where `man` and the shells of a system look for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from docyard.cli.main import docyard
from docyard.cli.shells import get_script

_COMPLETION_FILES = {
    "bash": "bash-completion/completions/docyard",
    "zsh": "zsh/site-functions/_docyard",
    "fish": "fish/vendor_completions.d/docyard.fish",
}

# groff prints these characters of a source as typographic ones, unless they are escaped (groff_char(7)).
_ESCAPES = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
}
_ESCAPED_CHARACTER = re.compile(r"""[\\\-'"`^~]|[^\x00-\x7f]""")
_OPTION = re.compile(r"(?<![\w-])(?:\\-){1,2}\w(?:\w|\\-)*")  # in escaped text

_EXIT_CODES = {"0": "Done.", "1": "Problems were found.", "2": "Wrong usage.", "3": "The command cannot run."}


def render_share_files() -> Mapping[str, str]:
    """Return the text of the manual pages and of the completion scripts, by path below `share/`."""
    context = click.Context(docyard, info_name="docyard", **docyard.context_settings)
    pages = {"man/man1/docyard.1": _render_page(context, "Serve a Git-native workspace of Markdown.")}
    for name, short_help in docyard.short_helps.items():
        command_context = _enter_command(docyard, name, context)
        pages[f"man/man1/docyard-{name}.1"] = _render_page(command_context, short_help)
    scripts = {path: get_script(shell, docyard) for shell, path in _COMPLETION_FILES.items()}
    return {**pages, **scripts}


def _enter_command(group: click.Group, name: str, context: click.Context) -> click.Context:
    command = group.get_command(context, name)
    assert command is not None
    return click.Context(command, info_name=name, parent=context)


def _render_page(context: click.Context, short_help: str) -> str:
    name = context.command_path.replace(" ", "-")
    lines = [
        rf'.TH {escape(name.upper())} 1 "" Docyard "Docyard manual"',
        ".SH NAME",
        rf"{escape(name)} \- {escape(short_help.rstrip('.'))}",
        ".SH SYNOPSIS",
        _format_synopsis(context),
        ".SH DESCRIPTION",
        *_render_description(context),
        ".SH OPTIONS",
        *_render_options(context),
    ]
    if isinstance(context.command, click.Group):
        lines += [".SH COMMANDS", *_render_commands(context.command, context)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in _EXIT_CODES.items():
        lines += [".TP", code, meaning]
    if context.parent is not None:
        lines += [".SH SEE ALSO", ".BR docyard (1)"]
    return "\n".join(lines) + "\n"


def _render_commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield the commands of a group: the names of pages, or all there is to read of each subcommand."""
    for name in group.list_commands(context):
        subcommand_context = _enter_command(group, name, context)
        if group is docyard:
            yield ".TP"
            yield rf".BR docyard\-{escape(name)} (1)"
            yield escape(docyard.short_helps[name])
            continue
        yield f'.SS "{escape(subcommand_context.command_path)}"'
        yield _format_synopsis(subcommand_context)
        yield ".PP"
        yield from _render_description(subcommand_context)
        yield from _render_options(subcommand_context)
        if isinstance(subcommand_context.command, click.Group):
            yield from _render_commands(subcommand_context.command, subcommand_context)


def _format_synopsis(context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return rf"\fB{escape(context.command_path)}\fR {escape(pieces)}".rstrip()


def _render_description(context: click.Context) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples keep their lines."""
    paragraphs = (context.command.help or "").split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        first_line, *lines = paragraph.splitlines()
        if first_line.strip() != "\b":
            yield escape(" ".join(paragraph.split()))
            continue
        title, *examples = lines
        yield escape(title)
        yield ".RS 4"
        yield ".nf"
        yield from (escape(line.removeprefix("    ")) for line in examples)
        yield ".fi"
        yield ".RE"


def _render_options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            term, meaning = record
            yield ".TP"
            yield _OPTION.sub(r"\\fB\g<0>\\fR", escape(term))
            yield escape(" ".join(meaning.split()))


def escape(text: str) -> str:
    """Return a line of text for a manual page, which prints each character as it is."""
    escaped_text = _ESCAPED_CHARACTER.sub(
        lambda match: _ESCAPES.get(match[0]) or rf"\[u{ord(match[0]):04X}]", text
    )
    return rf"\&{escaped_text}" if escaped_text.startswith(".") else escaped_text
