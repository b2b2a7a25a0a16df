"""The routes of the pages of administrators, which answer everyone else like an unknown page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router

from docyard.database.errors import DatabaseUnavailable
from docyard.organizations.objects import Kind, ObjectKey
from docyard.web.administration.object_forms import PAGE_PATH, SETTINGS_PART
from docyard.web.administration.pages import KINDS_BY_PATH, AdministrationAccess, AdministrationPage
from docyard.web.endpoints import run_in_thread
from docyard.web.forms import FormRefused, read_fields
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from docyard.caller import Caller

log = logging.getLogger("docyard")

_PAGE = "docyard.administration"
"""The key of the page in the scope of a request."""

_RenderPage = Callable[[AdministrationPage, Mapping[str, str]], "Response"]
_HandleForm = Callable[[AdministrationPage, Mapping[str, str], Mapping[str, str]], "Response"]


def build_administration_routes(access: AdministrationAccess) -> list[BaseRoute]:
    """Return the routes of the pages. Their endpoints read `request.state.caller`.

    For a caller who administers nothing, each path and method raises HTTPException with status 404, so that
    the response is that of an unknown page.
    """
    endpoint = _AdministrationEndpoint(access)
    return [Route(PAGE_PATH, endpoint), Route(f"{PAGE_PATH}/{{rest:path}}", endpoint)]


class _AdministrationEndpoint:
    """The application of all pages, behind the check of the caller."""

    def __init__(self, access: AdministrationAccess) -> None:
        self._access = access
        organization, kind = f"{PAGE_PATH}/{{organization}}", f"{PAGE_PATH}/{{organization}}/{{kind}}"
        settings, object_path = f"{organization}/{SETTINGS_PART}", f"{kind}/{{name:path}}"
        self._router = Router(
            [
                _show(PAGE_PATH, lambda page, path: page.render_organizations()),
                _handle(PAGE_PATH, lambda page, path, form: page.add("", Kind.ORGANIZATION, form)),
                _show(organization, lambda page, path: page.render_organization(path["organization"])),
                _show(settings, lambda page, path: page.render_object(_read_key(path))),
                _handle(settings, lambda page, path, form: page.change(_read_key(path), form)),
                _show(
                    kind, lambda page, path: page.render_new_object(path["organization"], _read_kind(path))
                ),
                _handle(
                    kind, lambda page, path, form: page.add(path["organization"], _read_kind(path), form)
                ),
                _show(object_path, lambda page, path: page.render_object(_read_key(path))),
                _handle(object_path, lambda page, path, form: page.change(_read_key(path), form)),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slug = scope["path"].removeprefix(PAGE_PATH).strip("/").partition("/")[0]
        caller = scope.get("state", {}).get("caller")
        page = await anyio.to_thread.run_sync(self._open_page, caller, slug)
        if page is None:
            raise HTTPException(404)
        await self._router({**scope, _PAGE: page}, receive, send)

    def _open_page(self, caller: Caller | None, slug: str) -> AdministrationPage | None:
        """Return the pages of a caller; None if the caller administers nothing, or that is unknown.

        `slug` is that of the requested organization; empty for the first page.
        """
        try:
            administrator = None if caller is None else self._access.find_administrator(caller, slug)
        except DatabaseUnavailable as error:
            log.warning("the pages of administrators cannot be shown: %s", error.message)
            return None
        if caller is None or administrator is None:
            return None
        return AdministrationPage(self._access, caller, administrator)


def _show(path: str, render: _RenderPage) -> Route:
    async def endpoint(request: Request) -> Response:
        return await _respond(request, lambda page: render(page, request.path_params))

    return Route(path, endpoint)


def _handle(path: str, handle: _HandleForm) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            form = await read_fields(request)
        except FormRefused as error:
            refusal = error
            return await _respond(request, lambda page: page.render_error(refusal))
        with anyio.CancelScope(shield=True):
            response = await _respond(request, lambda page: handle(page, request.path_params, form))
        return response

    return Route(path, endpoint, methods=["POST"])


async def _respond(request: Request, render: Callable[[AdministrationPage], Response]) -> Response:
    page: AdministrationPage = request.scope[_PAGE]

    def render_or_explain() -> Response:
        try:
            return render(page)
        except WorkspaceError as error:
            return page.render_error(error)

    return await run_in_thread(render_or_explain)


def _read_kind(path_params: Mapping[str, str]) -> Kind:
    kind = KINDS_BY_PATH.get(path_params["kind"])
    if kind is None:
        raise HTTPException(404)
    return kind


def _read_key(path_params: Mapping[str, str]) -> ObjectKey:
    if "kind" not in path_params:
        return ObjectKey(path_params["organization"])
    return ObjectKey(path_params["organization"], _read_kind(path_params), path_params["name"])
