"""Prompts as data: arguments that a user fills in a host, and the message that a model gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tools.arguments import InvalidArguments, find_nearest_fields
from tools.completion import NO_CANDIDATES
from workspace.nearest import find_nearest
from workspace.paths import UNPRINTABLE_CHARACTER

if TYPE_CHECKING:
    from tools.completion import Candidates
    from tools.resources.contents import ResourceSource

_MAX_NAME_CHARACTERS = 80  # the limit of an unknown name in an error


class PromptContext(Protocol):
    """The context in which prompts are written: of one workspace, or of many sources."""

    def offers(self, tool: str) -> bool:
        """Return True if the client has this tool."""
        ...


C = TypeVar("C", bound=PromptContext)

Completer = Callable[[C, str, Mapping[str, str]], "Candidates"]
"""A function that returns candidates for a typed text; it also gets the other arguments."""


class UnknownPrompt(InvalidArguments):
    """The server does not offer a prompt of this name; `nearest` are similar names."""

    code = "UNKNOWN_PROMPT"


@dataclass(frozen=True, slots=True)
class PromptArgument(Generic[C]):
    """An argument of a prompt: a text of at most `max_characters` characters."""

    name: str
    title: str
    description: str
    required: bool = False
    complete: Completer[C] | None = None
    max_characters: int = 500


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A message for a model, and the attached source with its URI if there is one."""

    text: str
    source: ResourceSource | None = None
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Prompt(Generic[C]):
    """A prompt.

    `write` returns its message. A client is offered the prompt if it has a tool of each group in
    `required_tools`.
    """

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument[C], ...]
    write: Callable[[C, Mapping[str, str]], FilledPrompt]
    required_tools: tuple[tuple[str, ...], ...]

    def is_offered(self, context: C) -> bool:
        """Return True if the client has the tools that the message names."""
        return all(any(context.offers(tool) for tool in group) for group in self.required_tools)

    def find_argument(self, name: str) -> PromptArgument[C]:
        """Return the argument with a name. Raises InvalidArguments with the nearest names."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        raise make_unknown_argument_error(name, [argument.name for argument in self.arguments])

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
            if UNPRINTABLE_CHARACTER.search(value.replace("\n", " ").replace("\t", " ").replace("\r", " ")):
                raise InvalidArguments(
                    f"'{argument.name}' must not contain control characters",
                    fix=f"Give '{argument.name}' as plain text.",
                    field=argument.name,
                )
            if value:
                values[argument.name] = value
        return values


class OfferedPrompts(Generic[C]):
    """The prompts of a client whose messages name only its tools, and the context that writes them.

    `may_change` is True if a commit may change the list.
    """

    def __init__(self, context: C, prompts: Sequence[Prompt[C]], *, may_change: bool = False) -> None:
        self.context = context
        self.prompts = tuple(prompt for prompt in prompts if prompt.is_offered(context))
        self.may_change = may_change

    @property
    def descriptions(self) -> list[tuple[str, str, str]]:
        """The name, title and description of each prompt, which differ if the list has changed."""
        return [(prompt.name, prompt.title, prompt.description) for prompt in self.prompts]

    def find(self, name: str) -> Prompt[C]:
        """Return the prompt with a name. Raises UnknownPrompt with the nearest names."""
        for prompt in self.prompts:
            if prompt.name == name:
                return prompt
        nearest = find_nearest(name, [prompt.name for prompt in self.prompts]) if self.prompts else []
        shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"
        fix = f"Did you mean '{nearest[0]}'?" if nearest else "prompts/list lists the prompts."
        raise UnknownPrompt(f"unknown prompt '{shown_name}'", fix=fix, nearest=nearest)

    def fill(self, name: str, arguments: Mapping[str, str]) -> tuple[Prompt[C], FilledPrompt]:
        """Return a prompt and its message. Raises UnknownPrompt, and the errors of the prompt."""
        prompt = self.find(name)
        return prompt, prompt.write(self.context, prompt.parse_arguments(arguments))

    def complete(
        self, name: str, argument_name: str, typed_text: str, arguments: Mapping[str, str]
    ) -> Candidates:
        """Return candidates for an argument of a prompt, none if any value is valid.

        Raises UnknownPrompt, InvalidArguments.
        """
        complete = self.find(name).find_argument(argument_name).complete
        return complete(self.context, typed_text, arguments) if complete else NO_CANDIDATES


def make_unknown_argument_error(name: str, known_names: Sequence[str]) -> InvalidArguments:
    """Return the error for an unknown argument, with the nearest names."""
    nearest = find_nearest_fields(name, known_names)
    if nearest:
        fix = f"Did you mean '{nearest[0]}'?"
    else:
        fix = f"Known arguments: {', '.join(known_names)}." if known_names else "Give no arguments."
    shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"
    return InvalidArguments(f"unknown argument '{shown_name}'", fix=fix, field=shown_name, nearest=nearest)


def number_steps(steps: list[str]) -> str:
    """Return steps as a numbered list with one line for each step."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
