"""`docyard comments`: a group that imports the module of a command on demand.

add.py      `docyard comments add`: a comment on a document, or a reply
list.py     `docyard comments list`: the open comments on documents and proposals
resolve.py  `docyard comments resolve`: resolves or reopens threads
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = {
    "list": "List open comments, each with where its text is now.",
    "add": "Comment on a document or a section, or reply to a comment.",
    "resolve": "Resolve or reopen comments.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS


@click.group(cls=_Group, name="comments")
def command() -> None:
    """Show, add and resolve comments on documents. Those of proposals are listed and resolved too.

    \b
    Example:
        docyard comments list
        docyard comments add guides/setup.md#install -m "Which version?"
        docyard comments resolve 9f2c51d0a7b3e846 -m "The last one."
    """
