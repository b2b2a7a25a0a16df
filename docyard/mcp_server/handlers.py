"""Handlers for resources, prompts and completions of the protocol.

Resources are documents and sections: a client lists them page by page and reads them by URI. A prompt is a
text for the model, with the document that the text is about. Completions serve URIs of resources and
arguments of prompts.
"""

from __future__ import annotations

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
from docyard.mcp_server.notifications import ListAnnouncer, ResourceSubscriptions
from docyard.mcp_server.requests import Requests
from tools.resources import MIME_TYPE
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from tools.prompts.prompt import Completer
    from tools.resources.contents import ResourceSource
    from tools.resources.list import Resource as ListedResource
    from tools.resources.list import ResourcePage
    from tools.tool import Context

Request = ServerRequestContext[Any, Any]

LIST_TTL_MS = 30_000
"""The time for which a client may keep a list that a commit can change."""

FIXED_TTL_MS = 3_600_000
"""The time for which a client may keep a list that does not change while a server runs."""


class Resources:
    """The resource handlers of one server; `subscriptions` stores the list that a client received."""

    def __init__(self, requests: Requests, subscriptions: ResourceSubscriptions) -> None:
        self._requests = requests
        self._subscriptions = subscriptions

    async def list(self, request: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answer `resources/list`."""
        page = await self._requests.run_with_context(
            partial(_list_resources, params.cursor if params else None)
        )
        self._subscriptions.record_documents(page.documents, request.session)
        return ListResourcesResult(
            resources=[_build_resource(resource) for resource in page.resources],
            next_cursor=page.next_cursor,
        )

    async def list_templates(
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
        source = await self._requests.run_with_context(partial(_read_source, params.uri))
        return ReadResourceResult(contents=list(build_contents(source, params.uri)))


def _build_resource(resource: ListedResource) -> Resource:
    """Return a resource of the list. A skill has its own name, its description, and the highest priority.

    The Skills extension of MCP (SEP-2640), "Resource Metadata": the name and the description are those of
    the skill.
    """
    listed_resource = Resource(
        uri=resource.uri,
        name=escape_surrogates(resource.path),
        title=escape_surrogates(resource.title),
        mime_type=MIME_TYPE,
        size=resource.size,
        annotations=Annotations(audience=["user", "assistant"]),
    )
    if resource.skill is None:
        return listed_resource
    skill_fields = {
        "name": resource.skill.name,
        "description": escape_surrogates(f"Skill: {escape_invisible(resource.skill.description)}"),
        "annotations": Annotations(audience=["assistant"], priority=1.0),
    }
    return listed_resource.model_copy(update=skill_fields)


def build_contents(source: ResourceSource, uri: str) -> tuple[TextResourceContents, ...]:
    """Return the exact text; if it is truncated, add a note on how to read the rest."""
    location = source.location
    meta: dict[str, Any] = {"commit": location.snapshot.commit, "address": location.address}
    if location.moved_to is not None:
        meta["moved_to"] = location.moved_to
    if not source.is_cut:
        return (_build_text_contents(uri, source.text, MIME_TYPE, meta),)
    next_calls = " ".join(source.next_uris) or "read it section by section"
    note = (
        f"The text above is the beginning of {location.address}, which is too long for one answer. "
        f"Next: {next_calls}"
    )
    return (
        _build_text_contents(
            uri, source.text, MIME_TYPE, {**meta, "truncated": True, "rest": list(source.next_uris)}
        ),
        _build_text_contents(uri, note, "text/plain", None),
    )


def _build_text_contents(
    uri: str, text: str, mime_type: str, meta: dict[str, Any] | None
) -> TextResourceContents:
    return TextResourceContents(
        uri=escape_surrogates(uri),
        text=text,
        mime_type=mime_type,
        _meta=escape_surrogates(meta) if meta else None,
    )


def _list_resources(cursor: str | None, context: Context) -> ResourcePage:
    from tools.resources.list import list_resources

    return list_resources(context, cursor)


def _read_source(uri: str, context: Context) -> ResourceSource:
    from tools.resources.contents import read_resource

    return read_resource(context, uri)


class Prompts:
    """The prompt handlers of one server; `announcer` stores the list that a client received."""

    def __init__(self, requests: Requests, announcer: ListAnnouncer) -> None:
        self._requests = requests
        self._announcer = announcer

    async def list(self, request: Request, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """Answer `prompts/list`."""
        offered_prompts = await self._requests.run_with_prompts(lambda offered: offered)
        self._announcer.record_list(offered_prompts.descriptions, request.session)
        ttl_ms = LIST_TTL_MS if offered_prompts.may_change else FIXED_TTL_MS
        return ListPromptsResult(
            ttl_ms=ttl_ms,
            cache_scope="private",
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
                for prompt in offered_prompts.prompts
            ],
        )

    async def get(self, request: Request, params: GetPromptRequestParams) -> GetPromptResult:
        """Answer `prompts/get`."""
        prompt, filled_prompt = await self._requests.run_with_prompts(
            lambda offered: offered.fill(params.name, params.arguments or {})
        )
        contents: list[ContentBlock] = [TextContent(type="text", text=escape_surrogates(filled_prompt.text))]
        if filled_prompt.source is not None:
            contents += [
                EmbeddedResource(resource=resource)
                for resource in build_contents(filled_prompt.source, filled_prompt.uri)
            ]
        return GetPromptResult(
            description=prompt.description,
            messages=[PromptMessage(role="user", content=content) for content in contents],
        )


class Completions:
    """The completion handler of one server."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def complete(self, request: Request, params: CompleteRequestParams) -> CompleteResult:
        """Answer `completion/complete`."""
        arguments = (params.context.arguments if params.context else None) or {}
        reference, argument = params.ref, params.argument
        if isinstance(reference, PromptReference):
            name = reference.name
            candidates = await self._requests.run_with_prompts(
                lambda offered: offered.complete(name, argument.name, argument.value, arguments)
            )
        else:
            uri = reference.uri
            candidates = await self._requests.run_with_context(
                lambda context: _find_template_completer(uri, argument.name)(
                    context, argument.value, arguments
                )
            )
        return CompleteResult(
            completion=Completion(
                values=[escape_surrogates(value) for value in candidates.values],
                total=candidates.total,
                has_more=candidates.total > len(candidates.values),
            )
        )


def _find_template_completer(template_uri: str, name: str) -> Completer[Context]:
    """Return the completer of a template's variable. Raises InvalidUri, InvalidArguments."""
    from tools.completion import complete_path, complete_ref, complete_section
    from tools.prompts.prompt import make_unknown_argument_error
    from tools.resources.contents import InvalidUri
    from tools.resources.list import TEMPLATES

    template_uris = [template.uri for template in TEMPLATES]
    if template_uri not in template_uris:
        raise InvalidUri(
            "the template URI is unknown",
            fix=f"Use {' or '.join(template_uris)}.",
            nearest=template_uris,
        )
    completers = {"path": complete_path, "ref": complete_ref, "section": complete_section}
    completers = {variable: complete for variable, complete in completers.items() if variable in template_uri}
    if name not in completers:
        raise make_unknown_argument_error(name, list(completers))
    return completers[name]
