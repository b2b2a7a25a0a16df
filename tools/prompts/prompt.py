"""Prompts as data: what a person may choose in a host, what it asks for, and the message that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments, nearest_field
from workspace.nearest import find_nearest
from workspace.paths import CONTROL

if TYPE_CHECKING:
    from tools.completion import Candidates
    from tools.resources.contents import ResourceSource
    from tools.tool import Context

_SHOWN = 80  # characters of a name that there is not

Completer = Callable[["Context", str, Mapping[str, str]], "Candidates"]
"""Gives candidates for what was typed, with the arguments that are given already."""


class UnknownPrompt(InvalidArguments):
    """No prompt of this name is offered; `nearest` are names that are."""

    code = "UNKNOWN_PROMPT"


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt, which is always a text, of at most `most` characters."""

    name: str
    title: str
    description: str
    required: bool = False
    complete: Completer | None = None
    most: int = 500


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with its arguments filled in: a text, and the source that it speaks of, if it names one."""

    text: str
    source: ResourceSource | None = None
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    `write` makes its message. It is offered where the client has one of the tools in each group of `needs`.
    """

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    write: Callable[[Context, Mapping[str, str]], FilledPrompt]
    needs: tuple[tuple[str, ...], ...]

    def is_offered(self, context: Context) -> bool:
        """Return True if the client has the tools that the message speaks of."""
        return all(any(context.offers(tool) for tool in group) for group in self.needs)

    def argument(self, name: str) -> PromptArgument | None:
        """Return the argument of a name."""
        return next((argument for argument in self.arguments if argument.name == name), None)

    def read(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the arguments that are not blank. Raises InvalidArguments with the field that is wrong."""
        names = [argument.name for argument in self.arguments]
        for name in given:
            if name not in names:
                raise unknown_argument_error(name, names)
        found: dict[str, str] = {}
        for argument in self.arguments:
            value = given.get(argument.name, "").strip()
            if not value and argument.required:
                raise InvalidArguments(
                    f"'{argument.name}' is missing", fix=f"Give '{argument.name}'.", field=argument.name
                )
            if len(value) > argument.most:
                raise InvalidArguments(
                    f"'{argument.name}' is longer than {argument.most:,} characters",
                    fix=f"Shorten '{argument.name}'.",
                    field=argument.name,
                )
            if CONTROL.search(value.replace("\n", " ").replace("\t", " ").replace("\r", " ")):
                raise InvalidArguments(
                    f"'{argument.name}' holds a control character",
                    fix=f"Give '{argument.name}' as plain text.",
                    field=argument.name,
                )
            if value:
                found[argument.name] = value
        return found


def choose(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """Return the prompt of a name. Raises UnknownPrompt with the nearest."""
    prompt = prompts.get(name)
    if prompt is None:
        near = find_nearest(name, prompts) if prompts else []
        shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
        fix = f"Did you mean '{near[0]}'?" if near else "prompts/list names the prompts."
        raise UnknownPrompt(f"unknown prompt '{shown}'", fix=fix, nearest=near)
    return prompt


def unknown_argument_error(name: str, known: Sequence[str]) -> InvalidArguments:
    """Return the error for an argument that there is not, with the nearest."""
    near = nearest_field(name, known)
    fix = f"Did you mean '{near[0]}'?" if near else f"Known arguments: {', '.join(known)}."
    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    return InvalidArguments(f"unknown argument '{shown}'", fix=fix, field=shown, nearest=near)


def number_steps(steps: list[str]) -> str:
    """Return steps as a numbered list, a line each."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
