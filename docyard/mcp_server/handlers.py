"""Documents and sections as resources of the protocol: listed by pages, and read by their URIs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp_types import (
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from docyard.mcp_server.answers import encodable
from docyard.mcp_server.requests import Requests
from docyard.mcp_server.watching import Watching
from tools.resources import MIME_TYPE

if TYPE_CHECKING:
    from tools.context import Context
    from tools.resources.contents import Source
    from tools.resources.list import Page

Request = ServerRequestContext[Any, Any]


class Resources:
    """The handlers of one server; `watching` is told which list a client has."""

    def __init__(self, requests: Requests, watching: Watching) -> None:
        self._requests = requests
        self._watching = watching

    async def list(self, request: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answer `resources/list`."""
        page = await self._requests.answer(partial(_page, params.cursor if params else None))
        self._watching.told(page.snapshot, request.session)
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=found.uri,
                    name=encodable(found.path),
                    title=encodable(found.title),
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
        return ReadResourceResult(contents=list(contents_of(source, params.uri)))


def contents_of(source: Source, uri: str) -> tuple[TextResourceContents, ...]:
    """The exact text; and where it had to be cut, a note of its own, which says how to have the rest."""
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
        uri=encodable(uri), text=text, mime_type=mime_type, _meta=encodable(meta) if meta else None
    )


def _page(cursor: str | None, context: Context) -> Page:
    from tools.resources.list import list_resources

    return list_resources(context, cursor)


def _source(uri: str, context: Context) -> Source:
    from tools.resources.contents import read_resource

    return read_resource(context, uri)
