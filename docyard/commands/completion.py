"""`docyard completion`: the script that completes commands, addresses and refs in a shell."""

from __future__ import annotations

import click

from docyard.cli.shells import SHELLS, get_script
from docyard.terminal.exits import Exit


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the script that completes commands, addresses and refs in a shell.

    \b
    Example:
        eval "$(docyard completion bash)"      in ~/.bashrc
        eval "$(docyard completion zsh)"       in ~/.zshrc, after compinit
        docyard completion fish > ~/.config/fish/completions/docyard.fish
    """
    from docyard.cli.main import docyard

    click.echo(get_script(shell, docyard), nl=False)
    return Exit.DONE
