"""The routes of the pages of records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from docyard.web.endpoints import run_in_thread
from docyard.web.forms import FormRefused, read_fields
from docyard.web.records.records import (
    PAGE_PATH,
    RecordsAccess,
    propose_missing_document,
    render_records_error,
    render_records_page,
    resolve_reader_report,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute


def build_records_routes(access: RecordsAccess) -> list[BaseRoute]:
    """Return the routes of the pages of records.

    Their endpoints read `request.state.caller`. For a caller who may see no records they raise HTTPException
    with status 404, so that the response is that of an unknown page.
    """

    async def show(request: Request) -> Response:
        return await run_in_thread(
            partial(render_records_page, access, request.state.caller, dict(request.query_params))
        )

    def propose(request: Request, fields: Any) -> Response:
        return propose_missing_document(access, request.state.caller, fields)

    def resolve(request: Request, fields: Any) -> Response:
        return resolve_reader_report(access, request.state.caller, request.path_params["id"], fields)

    return [
        Route(PAGE_PATH, show),
        Route(f"{PAGE_PATH}/proposals", _build_form_endpoint(access, propose), methods=["POST"]),
        Route(f"{PAGE_PATH}/reports/{{id}}", _build_form_endpoint(access, resolve), methods=["POST"]),
    ]


def _build_form_endpoint(access: RecordsAccess, handle: Callable[[Request, Any], Response]) -> Any:
    async def endpoint(request: Request) -> Response:
        ids = access.list_organization_ids(request.state.caller)
        if ids is not None and not ids:
            from starlette.exceptions import HTTPException

            raise HTTPException(404)
        try:
            fields = await read_fields(request)
        except FormRefused as error:
            return await run_in_thread(partial(render_records_error, access, request.state.caller, error))
        return await run_in_thread(partial(handle, request, fields))

    return endpoint
