"""Completions of the protocol: for the URIs of resources, and for the arguments of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp_types import CompleteRequestParams, CompleteResult, Completion, PromptReference

from docyard.mcp_server.answers import encodable
from docyard.mcp_server.requests import Requests

if TYPE_CHECKING:
    from tools.completion import Candidates
    from tools.context import Context
    from tools.prompts.prompt import Completer

Request = ServerRequestContext[Any, Any]


class Completions:
    """The handler of one server."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def complete(self, request: Request, params: CompleteRequestParams) -> CompleteResult:
        """Answer `completion/complete`."""
        given = (params.context.arguments if params.context else None) or {}
        is_prompt = isinstance(params.ref, PromptReference)
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        argument = params.argument
        found = await self._requests.answer(
            partial(_candidates, is_prompt, of, argument.name, argument.value, given)
        )
        return CompleteResult(
            completion=Completion(
                values=[encodable(value) for value in found.values],
                total=found.total,
                has_more=found.total > len(found.values),
            )
        )


def _candidates(
    is_prompt: bool, of: str, name: str, typed: str, given: Mapping[str, str], context: Context
) -> Candidates:
    from tools.completion import NONE

    complete = _of_prompt(context, of, name) if is_prompt else _of_template(of, name)
    return complete(context, typed, given) if complete else NONE


def _of_prompt(context: Context, of: str, name: str) -> Completer | None:
    """What completes an argument of a prompt; None where anything may stand. Raises for what there is not."""
    from tools.prompts import prompts_for
    from tools.prompts.prompt import choose, unknown_argument

    prompt = choose(prompts_for(context), of)
    argument = prompt.argument(name)
    if argument is None:
        raise unknown_argument(name, [argument.name for argument in prompt.arguments])
    return argument.complete


def _of_template(of: str, name: str) -> Completer:
    """What completes a variable of a template. Raises InvalidUri, InvalidArguments."""
    from tools.completion import complete_path, complete_ref, complete_section
    from tools.prompts.prompt import unknown_argument
    from tools.resources.list import TEMPLATES
    from tools.resources.uris import InvalidUri

    known = [template.uri for template in TEMPLATES]
    if of not in known:
        raise InvalidUri(
            "no template of resources has this form", fix=f"Use {' or '.join(known)}.", nearest=known
        )
    variables = {"path": complete_path, "ref": complete_ref, "section": complete_section}
    variables = {variable: complete for variable, complete in variables.items() if variable in of}
    if name not in variables:
        raise unknown_argument(name, list(variables))
    return variables[name]
