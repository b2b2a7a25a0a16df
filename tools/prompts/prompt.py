"""Prompts as data: arguments that a user fills in a host, and the message that a model gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments, find_nearest_fields
from workspace.nearest import find_nearest
from workspace.paths import CONTROL

if TYPE_CHECKING:
    from tools.completion import Candidates
    from tools.resources.contents import ResourceSource
    from tools.tool import Context

_MAX_NAME_CHARACTERS = 80  # the limit of an unknown name in an error

Completer = Callable[["Context", str, Mapping[str, str]], "Candidates"]
"""A function that returns candidates for a typed text; it also gets the other arguments."""


class UnknownPrompt(InvalidArguments):
    """The server does not offer a prompt of this name; `nearest` are similar names."""

    code = "UNKNOWN_PROMPT"


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt: a text of at most `max_characters` characters."""

    name: str
    title: str
    description: str
    required: bool = False
    complete: Completer | None = None
    max_characters: int = 500


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A message for a model, and the attached source with its URI if there is one."""

    text: str
    source: ResourceSource | None = None
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    `write` returns its message. A client is offered the prompt if it has a tool of each group in
    `required_tools`.
    """

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    write: Callable[[Context, Mapping[str, str]], FilledPrompt]
    required_tools: tuple[tuple[str, ...], ...]

    def is_offered(self, context: Context) -> bool:
        """Return True if the client has the tools that the message names."""
        return all(any(context.offers(tool) for tool in group) for group in self.required_tools)

    def find_argument(self, name: str) -> PromptArgument | None:
        """Return the argument with a name; None if it does not exist."""
        return next((argument for argument in self.arguments if argument.name == name), None)

    def parse_arguments(self, arguments: Mapping[str, str]) -> dict[str, str]:
        """Return the arguments that are not blank. Raises InvalidArguments with the invalid field."""
        names = [argument.name for argument in self.arguments]
        for name in arguments:
            if name not in names:
                raise make_unknown_argument_error(name, names)
        values: dict[str, str] = {}
        for argument in self.arguments:
            value = arguments.get(argument.name, "").strip()
            if not value and argument.required:
                raise InvalidArguments(
                    f"'{argument.name}' is missing", fix=f"Give '{argument.name}'.", field=argument.name
                )
            if len(value) > argument.max_characters:
                raise InvalidArguments(
                    f"'{argument.name}' has {len(value):,} characters; "
                    f"at most {argument.max_characters:,} are allowed",
                    fix=f"Shorten '{argument.name}'.",
                    field=argument.name,
                )
            if CONTROL.search(value.replace("\n", " ").replace("\t", " ").replace("\r", " ")):
                raise InvalidArguments(
                    f"'{argument.name}' must not contain control characters",
                    fix=f"Give '{argument.name}' as plain text.",
                    field=argument.name,
                )
            if value:
                values[argument.name] = value
        return values


def find_prompt(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """Return the prompt with a name. Raises UnknownPrompt with the nearest names."""
    prompt = prompts.get(name)
    if prompt is None:
        nearest = find_nearest(name, prompts) if prompts else []
        shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"
        fix = f"Did you mean '{nearest[0]}'?" if nearest else "prompts/list lists the prompts."
        raise UnknownPrompt(f"unknown prompt '{shown_name}'", fix=fix, nearest=nearest)
    return prompt


def make_unknown_argument_error(name: str, known_names: Sequence[str]) -> InvalidArguments:
    """Return the error for an unknown argument, with the nearest names."""
    nearest = find_nearest_fields(name, known_names)
    fix = f"Did you mean '{nearest[0]}'?" if nearest else f"Known arguments: {', '.join(known_names)}."
    shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"
    return InvalidArguments(f"unknown argument '{shown_name}'", fix=fix, field=shown_name, nearest=nearest)


def number_steps(steps: list[str]) -> str:
    """Return steps as a numbered list with one line for each step."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
