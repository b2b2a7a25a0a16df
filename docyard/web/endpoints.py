"""Endpoints that answer a request in a worker thread, with a page for an error."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from starlette.responses import PlainTextResponse, Response

from docyard.web.errors import render_error_page
from docyard.web.forms import FormRefused, read_fields, read_form
from docyard.web.page_request import PageRequest
from workspace.errors import WorkspaceError
from workspace.git.repository import RepositoryMissing
from workspace.publishing.after_commit import describe_failure, record_commits

if TYPE_CHECKING:
    from starlette.requests import Request

    from docyard.web.site import Site
    from workspace.publishing.after_commit import CommitRecord

log = logging.getLogger("docyard")

# More threads would slow down each other and tool calls. Writers, which may wait, have their own threads.
_MAX_THREADS = 8
_READER_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("readers of pages")
_WRITER_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("writers of pages")
Handler = Callable[[PageRequest], Response]


def build_get_endpoint(site: Site, handle: Handler) -> Callable[[Request], Any]:
    """Return an endpoint for GET requests."""
    return build_request_endpoint(site, lambda page_request, request: handle(page_request))


def build_request_endpoint(
    site: Site, handle: Callable[[PageRequest, Request], Response]
) -> Callable[[Request], Any]:
    """Return an endpoint for GET requests whose handler also reads the request itself, such as its host."""

    async def endpoint(request: Request) -> Response:
        if_none_match = request.headers.get("if-none-match", "")
        page_request = PageRequest(
            site,
            request.state.caller,
            request.path_params,
            request.query_params,
            known_etags=if_none_match,
            cookies=request.cookies,
            url=f"{request.url.path}?{request.url.query}".rstrip("?"),
        )
        return await run_in_thread(
            partial(_render, page_request, lambda page_request: handle(page_request, request))
        )

    return endpoint


def build_post_endpoint(
    site: Site, handle: Handler, *, accepts_files: bool = False, is_write: bool = True
) -> Callable[[Request], Any]:
    """Return an endpoint for POST requests, which completes even if the client disconnects.

    With `is_write=False`, the form changes nothing on the server, and a read-only server accepts it.
    """

    async def endpoint(request: Request) -> Response:
        page_request = PageRequest(
            site, request.state.caller, request.path_params, request.query_params, cookies=request.cookies
        )
        try:
            if accepts_files:
                page_request.fields, page_request.files = await read_form(request)
            else:
                page_request.fields = await read_fields(request)
            if is_write and not page_request.may_write:
                raise FormRefused("this server is read-only", fix="Serve without --read-only.")
        except FormRefused as error:
            page_request.fields = page_request.fields or error.fields
            return await run_in_thread(partial(render_error_page, page_request, error))
        with anyio.CancelScope(shield=True):
            render_page = partial(_render, page_request, handle, is_write=is_write)
            response = await run_in_thread(render_page, _WRITER_LIMITER)
        return response

    return endpoint


async def run_in_thread(
    render: Callable[[], Response], limiter_variable: RunVar[anyio.CapacityLimiter] = _READER_LIMITER
) -> Response:
    """Return a response that is rendered in one of a limited number of threads."""
    limiter = limiter_variable.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(_MAX_THREADS)
        limiter_variable.set(limiter)
    return await anyio.to_thread.run_sync(render, limiter=limiter)


def _render(page_request: PageRequest, handle: Handler, *, is_write: bool = False) -> Response:
    if not is_write:
        return _render_once(page_request, handle)
    with record_commits() as record:
        response = _render_once(page_request, handle, record)
        for step in (page_request.site.versions.invalidate, page_request.site.notify_write):
            try:
                step()
            except Exception:
                if record.commit is None:
                    raise
                log.exception("a step after a commit failed; pages and the remote show the commit later")
    return response


def _render_once(page_request: PageRequest, handle: Handler, record: CommitRecord | None = None) -> Response:
    page_request.site.summaries.delay_read_ahead()
    try:
        # The version is read before the page, so that a page is never older than its version.
        page_request.version  # noqa: B018
        return handle(page_request)
    except Exception as error:
        if record is not None and record.commit is not None:
            return _answer_after_commit(page_request, record, describe_failure(error))
        if isinstance(error, WorkspaceError):
            return render_error_page(page_request, error)
        repository_error = _find_repository_error(page_request)
        if repository_error is not None:
            return render_error_page(page_request, repository_error)
        reference = secrets.token_hex(4)
        log.exception("a page failed, reference %s", reference)
        return page_request.page("error.html", status=500, error=None, reference=reference, nearest=())


def _answer_after_commit(page_request: PageRequest, record: CommitRecord, reason: str) -> Response:
    """Return the page for a committed form whose own page failed; plain text if this page fails, too."""
    try:
        return page_request.page("committed.html", record=record, reason=reason)
    except Exception:
        log.exception("the page of a commit failed")
        return PlainTextResponse(f"Your change is committed as {record.commit}. Do not send it again.\n")


def _find_repository_error(page_request: PageRequest) -> RepositoryMissing | None:
    """Return the error of a deleted repository, which causes other errors during a request; else None."""
    try:
        page_request.workspace.tip()
    except RepositoryMissing as error:
        return error
    except WorkspaceError:  # this error does not explain why the page failed
        return None
    return None
