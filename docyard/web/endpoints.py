"""One request: what was asked, answered in a worker thread; what went wrong is a page too."""

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

from docyard.web.asked import PageRequest
from docyard.web.errors import render_error_page
from docyard.web.forms import FormRefused, read_fields
from workspace.branch import RepositoryGone
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import describe_failure, record_commits

if TYPE_CHECKING:
    from starlette.requests import Request

    from docyard.web.site import Site
    from workspace.publishing.after_commit import CommitRecord

log = logging.getLogger("docyard")

# Pages that are made at once. More would take from each other, and from calls of tools; those that wait to
# write do not keep others from reading.
_AT_ONCE = 8
_READERS: RunVar[anyio.CapacityLimiter] = RunVar("readers of pages")
_WRITERS: RunVar[anyio.CapacityLimiter] = RunVar("writers of pages")
Answer = Callable[[PageRequest], Response]


def answer_get(site: Site, answer: Answer) -> Callable[[Request], Any]:
    """Return an endpoint that reads."""

    async def endpoint(request: Request) -> Response:
        known = request.headers.get("if-none-match", "")
        asked = PageRequest(
            site, request.state.caller, request.path_params, request.query_params, known=known
        )
        return await run_in_thread(partial(_answered, asked, answer))

    return endpoint


def answer_post(site: Site, answer: Answer) -> Callable[[Request], Any]:
    """Return an endpoint that changes something: its form is checked, and what it does runs to its end."""

    async def endpoint(request: Request) -> Response:
        asked = PageRequest(site, request.state.caller, request.path_params, request.query_params)
        try:
            asked.fields = await read_fields(request)
            if not asked.may_write:
                raise FormRefused(
                    "this server only reads", fix="Serve without --read-only to let people write here."
                )
        except FormRefused as error:
            asked.fields = asked.fields or error.fields
            return await run_in_thread(partial(render_error_page, asked, error))
        with anyio.CancelScope(shield=True):
            made = partial(_answered, asked, answer, written=True)
            response = await run_in_thread(made, _WRITERS)
        return response

    return endpoint


async def run_in_thread(
    make: Callable[[], Response], kind: RunVar[anyio.CapacityLimiter] = _READERS
) -> Response:
    """Return an answer that is made in one of the few threads of its kind."""
    limiter = kind.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        kind.set(limiter)
    return await anyio.to_thread.run_sync(make, limiter=limiter)


def _answered(asked: PageRequest, answer: Answer, *, written: bool = False) -> Response:
    if not written:
        return _made(asked, answer)
    with record_commits() as record:
        response = _made(asked, answer, record)
        for step in (asked.site.versions.forget, asked.site.written):
            try:
                step()
            except Exception:
                if record.commit is None:
                    raise
                log.exception("a step after a commit failed; pages and the remote show the commit later")
    return response


def _made(asked: PageRequest, answer: Answer, record: CommitRecord | None = None) -> Response:
    asked.site.summaries.pause()
    try:
        # First, so that a page is never older than the version that it claims to show.
        asked.version  # noqa: B018
        return answer(asked)
    except Exception as error:
        if record is not None and record.commit is not None:
            return _answer_after_commit(asked, record, describe_failure(error))
        if isinstance(error, WorkspaceError):
            return render_error_page(asked, error)
        gone = _find_missing_reason(asked)
        if gone is not None:
            return render_error_page(asked, gone)
        reference = secrets.token_hex(4)
        log.exception("a page failed, reference %s", reference)
        return asked.page("error.html", status=500, error=None, reference=reference, nearest=())


def _answer_after_commit(asked: PageRequest, record: CommitRecord, reason: str) -> Response:
    """Return the page for a form that was committed and whose own page failed, as plain text if need be."""
    try:
        return asked.page("committed.html", record=record, reason=reason)
    except Exception:
        log.exception("the page of a commit failed")
        return PlainTextResponse(f"Your change is committed as {record.commit}. Do not send it again.\n")


def _find_missing_reason(asked: PageRequest) -> RepositoryGone | None:
    """Why nothing can be read any more: whoever reads a repository that goes meanwhile meets other errors."""
    try:
        asked.workspace.tip()
    except RepositoryGone as error:
        return error
    except WorkspaceError:  # whatever it is, it does not say why the page failed
        return None
    return None
