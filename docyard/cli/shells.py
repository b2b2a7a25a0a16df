"""Completion scripts for bash, zsh and fish, and the responses to their requests.

Click's own scripts pass words as the shell splits them, and bash splits words at `:` and `=`. With Click's
scripts a shell expands `[0]` in a candidate, and adds a space to each candidate. The scripts of this module
pass the whole line, and insert each candidate unchanged.
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

from docyard.cli.completion import PARTIAL
from docyard.environment import COMPLETION, copy_variables

if TYPE_CHECKING:
    from click import Command

_LINE_VARIABLE = "_DOCYARD_LINE"
_WORD_VARIABLE = "_DOCYARD_WORD"

# Characters that the shell interprets are escaped; `#` and `~` only at the start of a word.
_SPECIAL_CHARACTER = re.compile(r"""[\s\\"'`$&|;<>()\[\]{}*?!]|^[#~]""")

_BASH_SCRIPT = """\
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

_ZSH_SCRIPT = """\
#compdef %(prog_name)s
# Once, in ~/.zshrc after compinit: eval "$(docyard completion zsh)"
_docyard_completion() {
    local -a final_values partial_values final_lines
    local line kind value help
    local -a tokens=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    local lines="$(%(complete_var)s=zsh_complete _DOCYARD_LINE="${(pj:\\n:)tokens}" $words[1] 2>/dev/null)"
    for line in "${(@f)lines}"; do
        kind=${line%%%%$'\\t'*} value=${line#*$'\\t'}
        help=${value#*$'\\t'} value=${value%%%%$'\\t'*}
        case $kind in
            dir) _files -/ ;;
            file) _files ;;
            part) partial_values+=("$value") ;;
            plain) final_values+=("$value"); final_lines+=("${value}${help:+  $help}") ;;
        esac
    done
    (( $#partial_values )) && compadd -U -S '' -a partial_values
    (( $#final_values )) && compadd -U -l -d final_lines -a final_values
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _docyard_completion "$@"
else
    compdef _docyard_completion %(prog_name)s
fi
"""

_FISH_SCRIPT = """\
# Once: docyard completion fish > ~/.config/fish/completions/docyard.fish
function _docyard_completion
    set --local tokens (commandline --tokenize --cut-at-cursor --current-process)
    set --local current_word (commandline --current-token --cut-at-cursor)
    for line in (%(complete_var)s=fish_complete _DOCYARD_LINE=(string join \\n -- $tokens | string collect) \\
            _DOCYARD_WORD="$current_word" $tokens[1] 2>/dev/null)
        set --local fields (string split --max 1 \\t -- $line)
        switch $fields[1]
            case dir
                __fish_complete_directories "$current_word"
            case file
                __fish_complete_path "$current_word"
            case '*'
                echo $fields[2]
        end
    end
end
complete --command %(prog_name)s --no-files --arguments '(_docyard_completion)'
"""


def _join_lines(text: str) -> str:
    """Return a help text on one line."""
    return " ".join(text.split())


def _add_option_prefix(typed_word: str, value: str) -> str:
    """Return the whole word: the value, after the `--option=` that is already typed, if any."""
    option, equals, _ = typed_word.partition("=")
    return f"{option}={value}" if equals and option.startswith("--") else value


class Bash(ShellComplete):
    """The completion of bash, which expects candidates without the prefixes that bash splits off."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH_SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the arguments before the word to complete, and that word."""
        words = split_arg_string(self._get_line())
        if not _get_last_word(self._get_line()):
            words.append("")
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind and the value, quoted for bash and without the prefix that is already typed."""
        typed_word = _get_last_word(self._get_line())
        value = item.value
        if typed_word[:1] in ("'", '"'):
            typed_word = typed_word[1:]
        else:
            value = _SPECIAL_CHARACTER.sub(lambda match: f"\\{match[0]}", value)
        value = _add_option_prefix(typed_word, value)
        prefix = typed_word[: max(0, len(typed_word) - len(copy_variables().get(_WORD_VARIABLE, typed_word)))]
        return f"{item.type}\t{value.removeprefix(prefix)}"

    def _get_line(self) -> str:
        return copy_variables().get(_LINE_VARIABLE, "")


class Zsh(ShellComplete):
    """The completion of zsh, which quotes candidates and shows help texts next to them."""

    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = _ZSH_SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the arguments before the word to complete, and that word."""
        words = copy_variables().get(_LINE_VARIABLE, "").split("\n")
        return words[1:-1], words[-1] if len(words) > 1 else ""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind, the whole word and its help text."""
        value = _add_option_prefix(self.get_completion_args()[1], item.value)
        return f"{item.type}\t{value}\t{_join_lines(item.help or '')}"


class Fish(ShellComplete):
    """The completion of fish, which quotes candidates, and adds a space after a single candidate."""

    name: ClassVar[str] = "fish"
    source_template: ClassVar[str] = _FISH_SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the arguments before the word to complete, and that word."""
        words = split_arg_string(copy_variables().get(_WORD_VARIABLE, ""))
        return copy_variables().get(_LINE_VARIABLE, "").split("\n")[1:], words[-1] if words else ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the candidates; for a single file also the file with `#`, so that fish adds no space."""
        items = super().get_completions(args, incomplete)
        if len(items) == 1 and items[0].type == PARTIAL and not items[0].value.endswith("/"):
            return [*items, CompletionItem(f"{items[0].value}#", type=PARTIAL)]
        return items

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the kind, the whole word and its help text."""
        value = _add_option_prefix(copy_variables().get(_WORD_VARIABLE, ""), item.value)
        return f"{item.type}\t{value}\t{_join_lines(item.help or '')}".rstrip("\t")


def _get_last_word(line: str) -> str:
    """Return the last word of a line as typed, with its quotes and backslashes."""
    start, quote, is_escaped = 0, "", False
    for position, character in enumerate(line):
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character.isspace():
            start = position + 1
    return line[start:]


def register_shells() -> None:
    """Replace Click's own completion classes."""
    for shell in _CLASSES.values():
        add_completion_class(shell)


def get_script(shell: str, command: Command) -> str:
    """Return the completion script of a shell."""
    return _CLASSES[shell](command, {}, command.name or "docyard", COMPLETION).source()


_CLASSES: dict[str, type[ShellComplete]] = {shell.name: shell for shell in (Bash, Zsh, Fish)}
SHELLS = tuple(_CLASSES)
"""The names of the supported shells."""
