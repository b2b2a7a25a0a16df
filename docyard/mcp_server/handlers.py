"""Handlers for resources, prompts and completions of the protocol.

Resources are documents and sections: listed by pages, and read by their URIs. A prompt is a text for the
model, together with its source. Completions serve URIs of resources, and arguments of prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp_types import (
    Annotations,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from docyard.mcp_server.calls import escape_surrogates
from docyard.mcp_server.notifications import ResourceSubscriptions
from docyard.mcp_server.requests import Requests
from tools.resources import MIME_TYPE

if TYPE_CHECKING:
    from tools.completion import Candidates
    from tools.prompts.prompt import Completer, FilledPrompt
    from tools.prompts.prompt import Prompt as Choice
    from tools.resources.contents import ResourceSource
    from tools.resources.list import ResourcePage
    from tools.tool import Context

Request = ServerRequestContext[Any, Any]


class Resources:
    """The resource handlers of one server; `watching` records the list that a client received."""

    def __init__(self, requests: Requests, watching: ResourceSubscriptions) -> None:
        self._requests = requests
        self._watching = watching

    async def list(self, request: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answer `resources/list`."""
        page = await self._requests.answer(partial(_page, params.cursor if params else None))
        self._watching.record_documents(page.snapshot, request.session)
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=found.uri,
                    name=escape_surrogates(found.path),
                    title=escape_surrogates(found.title),
                    mime_type=MIME_TYPE,
                    size=found.size,
                    annotations=Annotations(audience=["user", "assistant"]),
                )
                for found in page.resources
            ],
            next_cursor=page.next_cursor,
        )

    async def templates(
        self, request: Request, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Answer `resources/templates/list`."""
        from tools.resources.list import TEMPLATES

        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=template.uri,
                    name=template.name,
                    title=template.title,
                    description=template.description,
                    mime_type=MIME_TYPE,
                )
                for template in TEMPLATES
            ]
        )

    async def read(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answer `resources/read`."""
        source = await self._requests.answer(partial(_source, params.uri))
        return ReadResourceResult(contents=list(build_contents(source, params.uri)))


def build_contents(source: ResourceSource, uri: str) -> tuple[TextResourceContents, ...]:
    """Return the exact text; if it was cut, also a note that explains how to read the rest."""
    place = source.place
    meta: dict[str, Any] = {"commit": place.snapshot.commit, "address": place.address}
    if place.moved_to is not None:
        meta["moved_to"] = place.moved_to
    if not source.is_cut:
        return (_contents(uri, source.text, MIME_TYPE, meta),)
    rest = " ".join(source.rest) or "no section of it by itself"
    note = (
        f"The text above is the beginning of {place.address}, which is too long for one answer. Next: {rest}"
    )
    return (
        _contents(uri, source.text, MIME_TYPE, {**meta, "truncated": True, "rest": list(source.rest)}),
        _contents(uri, note, "text/plain", None),
    )


def _contents(uri: str, text: str, mime_type: str, meta: dict[str, Any] | None) -> TextResourceContents:
    return TextResourceContents(
        uri=escape_surrogates(uri),
        text=text,
        mime_type=mime_type,
        _meta=escape_surrogates(meta) if meta else None,
    )


def _page(cursor: str | None, context: Context) -> ResourcePage:
    from tools.resources.list import list_resources

    return list_resources(context, cursor)


def _source(uri: str, context: Context) -> ResourceSource:
    from tools.resources.contents import read_resource

    return read_resource(context, uri)


class Prompts:
    """The prompt handlers of one server."""

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
        contents: list[ContentBlock] = [TextContent(type="text", text=escape_surrogates(written.text))]
        if written.source is not None:
            contents += [
                EmbeddedResource(resource=found) for found in build_contents(written.source, written.uri)
            ]
        return GetPromptResult(
            description=prompt.description,
            messages=[PromptMessage(role="user", content=content) for content in contents],
        )


def _offered(context: Context) -> tuple[Choice, ...]:
    from tools.prompts import prompts_for

    return tuple(prompts_for(context).values())


def _written(name: str, given: Mapping[str, str], context: Context) -> tuple[Choice, FilledPrompt]:
    from tools.prompts import prompts_for
    from tools.prompts.prompt import choose

    prompt = choose(prompts_for(context), name)
    return prompt, prompt.write(context, prompt.read(given))


class Completions:
    """The completion handler of one server."""

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
                values=[escape_surrogates(value) for value in found.values],
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
    """Return the completions of a prompt's argument; None if any value is valid.

    Raises an error for an unknown prompt or argument.
    """
    from tools.prompts import prompts_for
    from tools.prompts.prompt import choose, unknown_argument_error

    prompt = choose(prompts_for(context), of)
    argument = prompt.argument(name)
    if argument is None:
        raise unknown_argument_error(name, [argument.name for argument in prompt.arguments])
    return argument.complete


def _of_template(of: str, name: str) -> Completer:
    """Return the completions of a template's variable. Raises InvalidUri, InvalidArguments."""
    from tools.completion import complete_path, complete_ref, complete_section
    from tools.prompts.prompt import unknown_argument_error
    from tools.resources.contents import InvalidUri
    from tools.resources.list import TEMPLATES

    known = [template.uri for template in TEMPLATES]
    if of not in known:
        raise InvalidUri(
            "no template of resources has this form", fix=f"Use {' or '.join(known)}.", nearest=known
        )
    variables = {"path": complete_path, "ref": complete_ref, "section": complete_section}
    variables = {variable: complete for variable, complete in variables.items() if variable in of}
    if name not in variables:
        raise unknown_argument_error(name, list(variables))
    return variables[name]
