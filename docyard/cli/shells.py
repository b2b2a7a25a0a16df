"""How bash, zsh and fish ask for completions, and how they are answered.

Click's own scripts hand over words as the shell has cut them, and bash cuts at `:` and `=`; they have a shell
expand the `[0]` in what is proposed, and end each proposal with a space. These scripts hand over the whole
line, and take each proposal as it is written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    split_arg_string,
)

from docyard.cli.completion import PART
from docyard.environment import COMPLETION, variables

if TYPE_CHECKING:
    from click import Command

_LINE = "_DOCYARD_LINE"
_WORD = "_DOCYARD_WORD"

# What a shell takes for itself stands behind a backslash; `#` and `~` only where a word begins with them.
_SPECIAL = re.compile(r"""[\s\\"'`$&|;<>()\[\]{}*?!]|^[#~]""")

_BASH = """\
# Once, in ~/.bashrc: eval "$(docyard completion bash)"
_docyard_completion() {
    local kind value
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            part) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(%(complete_var)s=bash_complete _DOCYARD_LINE="${COMP_LINE:0:COMP_POINT}" _DOCYARD_WORD="$2" \\
        "$1" 2>/dev/null)
}
complete -o nosort -F _docyard_completion %(prog_name)s 2>/dev/null ||
    complete -F _docyard_completion %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s
# Once, in ~/.zshrc behind compinit: eval "$(docyard completion zsh)"
_docyard_completion() {
    local -a whole parts told
    local line kind value help
    local -a given=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    local lines="$(%(complete_var)s=zsh_complete _DOCYARD_LINE="${(pj:\\n:)given}" $words[1] 2>/dev/null)"
    for line in "${(@f)lines}"; do
        kind=${line%%%%$'\\t'*} value=${line#*$'\\t'}
        help=${value#*$'\\t'} value=${value%%%%$'\\t'*}
        case $kind in
            dir) _files -/ ;;
            file) _files ;;
            part) parts+=("$value") ;;
            plain) whole+=("$value"); told+=("${value}${help:+  $help}") ;;
        esac
    done
    (( $#parts )) && compadd -U -S '' -a parts
    (( $#whole )) && compadd -U -l -d told -a whole
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _docyard_completion "$@"
else
    compdef _docyard_completion %(prog_name)s
fi
"""

_FISH = """\
# Once: docyard completion fish > ~/.config/fish/completions/docyard.fish
function _docyard_completion
    set --local given (commandline --tokenize --cut-at-cursor --current-process)
    set --local begun (commandline --current-token --cut-at-cursor)
    for line in (%(complete_var)s=fish_complete _DOCYARD_LINE=(string join \\n -- $given | string collect) \\
            _DOCYARD_WORD="$begun" $given[1] 2>/dev/null)
        set --local told (string split --max 1 \\t -- $line)
        switch $told[1]
            case dir
                __fish_complete_directories "$begun"
            case file
                __fish_complete_path "$begun"
            case '*'
                echo $told[2]
        end
    end
end
complete --command %(prog_name)s --no-files --arguments '(_docyard_completion)'
"""


def _quiet(text: str) -> str:
    """Return a help text of one line."""
    return " ".join(text.split())


def _behind_option(typed: str, value: str) -> str:
    """Return the whole word for a value, where `--option=` is typed before it."""
    option, equals, _ = typed.partition("=")
    return f"{option}={value}" if equals and option.startswith("--") else value


class Bash(ShellComplete):
    """Bash, which is given whole words less what it takes for words of their own (`COMP_WORDBREAKS`)."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last, and the last."""
        words = split_arg_string(self._line())
        if not _last_word(self._line()):
            words.append("")
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind and the value, written as bash wants to have it behind what is typed already."""
        typed = _last_word(self._line())
        value = item.value
        if typed[:1] in ("'", '"'):
            typed = typed[1:]
        else:
            value = _SPECIAL.sub(lambda found: f"\\{found[0]}", value)
        value = _behind_option(typed, value)
        kept = typed[: max(0, len(typed) - len(variables().get(_WORD, typed)))]
        return f"{item.type}\t{value.removeprefix(kept)}"

    def _line(self) -> str:
        return variables().get(_LINE, "")


class Zsh(ShellComplete):
    """Zsh, which quotes what it is given, and shows what helps to choose beside it."""

    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = _ZSH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last, and the last."""
        words = variables().get(_LINE, "").split("\n")
        return words[1:-1], words[-1] if len(words) > 1 else ""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind, the whole word and what it stands for."""
        value = _behind_option(self.get_completion_args()[1], item.value)
        return f"{item.type}\t{value}\t{_quiet(item.help or '')}"


class Fish(ShellComplete):
    """Fish, which quotes what it is given, shows what helps to choose, and ends a single one with a space."""

    name: ClassVar[str] = "fish"
    source_template: ClassVar[str] = _FISH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last, and the last."""
        begun = split_arg_string(variables().get(_WORD, ""))
        return variables().get(_LINE, "").split("\n")[1:], begun[-1] if begun else ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the candidates; of a single file also what follows it, so that no space does."""
        found = super().get_completions(args, incomplete)
        if len(found) == 1 and found[0].type == PART and not found[0].value.endswith("/"):
            return [*found, CompletionItem(f"{found[0].value}#", type=PART)]
        return found

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind, the whole word and what it stands for."""
        value = _behind_option(variables().get(_WORD, ""), item.value)
        return f"{item.type}\t{value}\t{_quiet(item.help or '')}".rstrip("\t")


def _last_word(line: str) -> str:
    """Return the word at the end of a line as it is typed, with its quotes and backslashes."""
    start, quote, skip = 0, "", False
    for place, character in enumerate(line):
        if skip:
            skip = False
        elif character == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character.isspace():
            start = place + 1
    return line[start:]


def register() -> None:
    """Let these answer in place of click's own."""
    for shell in _CLASSES.values():
        add_completion_class(shell)


def script(shell: str, command: Command) -> str:
    """Return the script that a shell reads once, by the shell's name."""
    return _CLASSES[shell](command, {}, command.name or "docyard", COMPLETION).source()


_CLASSES: dict[str, type[ShellComplete]] = {shell.name: shell for shell in (Bash, Zsh, Fish)}
SHELLS = tuple(_CLASSES)
"""The shells that can complete."""
