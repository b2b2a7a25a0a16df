"""Prompts of the protocol: a text for the model, and the source that it speaks of beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp_types import (
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from docyard.mcp_server.answers import encodable
from docyard.mcp_server.handlers import contents_of
from docyard.mcp_server.requests import Requests

if TYPE_CHECKING:
    from tools.context import Context
    from tools.prompts.prompt import Prompt as Choice
    from tools.prompts.prompt import Written

Request = ServerRequestContext[Any, Any]


class Prompts:
    """The handlers of one server."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def list(self, request: Request, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """Answer `prompts/list`."""
        found = await self._requests.answer(_offered)
        return ListPromptsResult(
            prompts=[
                Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                    arguments=[
                        PromptArgument(
                            name=argument.name,
                            title=argument.title,
                            description=argument.description,
                            required=argument.required,
                        )
                        for argument in prompt.arguments
                    ],
                )
                for prompt in found
            ]
        )

    async def get(self, request: Request, params: GetPromptRequestParams) -> GetPromptResult:
        """Answer `prompts/get`."""
        prompt, written = await self._requests.answer(partial(_written, params.name, params.arguments or {}))
        contents: list[ContentBlock] = [TextContent(type="text", text=encodable(written.text))]
        if written.source is not None:
            contents += [
                EmbeddedResource(resource=found) for found in contents_of(written.source, written.uri)
            ]
        return GetPromptResult(
            description=prompt.description,
            messages=[PromptMessage(role="user", content=content) for content in contents],
        )


def _offered(context: Context) -> tuple[Choice, ...]:
    from tools.prompts import prompts_for

    return tuple(prompts_for(context).values())


def _written(name: str, given: Mapping[str, str], context: Context) -> tuple[Choice, Written]:
    from tools.prompts import prompts_for
    from tools.prompts.prompt import choose

    prompt = choose(prompts_for(context), name)
    return prompt, prompt.write(context, prompt.read(given))
