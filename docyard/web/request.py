"""One request: what was asked, answered in a worker thread; what went wrong is a page too."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from docyard.web.errors import failed
from docyard.web.forms import FormRefused, fields_of
from docyard.web.templates import render
from docyard.web.urls import PageUrls
from workspace.branch import RepositoryGone
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import describe_failure, record_commits

if TYPE_CHECKING:
    from starlette.requests import Request

    from docyard.caller import Caller
    from docyard.web.site import Site
    from index.service import SearchIndex
    from workspace.proposals import Proposal
    from workspace.proposals.actions import Actor
    from workspace.publishing.after_commit import CommitRecord
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")

# Pages that are made at once. More would take from each other, and from calls of tools; those that wait to
# write do not keep others from reading.
_AT_ONCE = 8
_READERS: RunVar[anyio.CapacityLimiter] = RunVar("readers of pages")
_WRITERS: RunVar[anyio.CapacityLimiter] = RunVar("writers of pages")


@dataclass
class Asked:
    """A request, as what answers it sees it: the parts of its address, its query, and the fields of its form.

    It reads one index and one workspace to its end. Answers are made with `page` and `redirect`. `known` are
    the tags of what the browser has of this address (RFC 9110 §13.1.2).
    """

    site: Site
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)
    known: str = ""

    @cached_property
    def index(self) -> SearchIndex:
        """The index that serves this request."""
        return self.site.index()

    @property
    def workspace(self) -> Workspace:
        """The workspace that serves this request."""
        return self.index.workspace

    @property
    def ref(self) -> str | None:
        """The ref that is read; None for the tip of the served branch."""
        return self.query.get("ref", "").strip() or None

    @cached_property
    def snapshot(self) -> Snapshot:
        """The commit that is read. Raises as `Workspace.at` does."""
        return self.workspace.at(self.ref)

    @cached_property
    def version(self) -> str:
        """The version of the state that the page shows; empty for one of the past, which stays as it is."""
        return self.site.versions.now(self.workspace) if self.ref is None else ""

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Every proposal, the one that was opened last first, as of the version of the state."""
        return self.site.proposals_at(self.workspace, self.version)

    @property
    def name(self) -> str:
        """What the pages are called."""
        try:
            return self.workspace.name
        except WorkspaceError:  # what cannot be served is told on the page itself
            return "Docyard"

    @property
    def urls(self) -> PageUrls:
        """Addresses that keep the ref of this request."""
        return PageUrls(self.ref)

    @property
    def actor(self) -> Actor:
        """Who acts."""
        return self.site.actor(self.workspace, self.caller)

    @property
    def may_write(self) -> bool:
        """Whether pages offer what changes something."""
        return self.caller.may_write and not self.site.read_only

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page of a template. Each has `asked`, `urls` and `workspace_name` beside its own values."""
        given = {
            "asked": self,
            "urls": self.urls,
            "workspace_name": self.name,
            "version": self.version if status < 400 else "",
            **values,
        }
        # A path that is not UTF-8 is shown, with a mark for what is not.
        return HTMLResponse(render(template, given).encode("utf-8", "replace"), status)

    def redirect(self, url: str) -> Response:
        """The browser is sent to another page of ours, after a form."""
        return RedirectResponse(url, 303)


Answer = Callable[[Asked], Response]


def getting(site: Site, answer: Answer) -> Callable[[Request], Any]:
    """An endpoint that reads."""

    async def endpoint(request: Request) -> Response:
        known = request.headers.get("if-none-match", "")
        asked = Asked(site, request.state.caller, request.path_params, request.query_params, known=known)
        return await in_thread(partial(_answered, asked, answer))

    return endpoint


def posting(site: Site, answer: Answer) -> Callable[[Request], Any]:
    """An endpoint that changes something: its form is checked, and what it does runs to its end."""

    async def endpoint(request: Request) -> Response:
        asked = Asked(site, request.state.caller, request.path_params, request.query_params)
        try:
            asked.fields = await fields_of(request)
            if not asked.may_write:
                raise FormRefused(
                    "this server only reads", fix="Serve without --read-only to let people write here."
                )
        except FormRefused as error:
            asked.fields = asked.fields or error.fields
            return await in_thread(partial(failed, asked, error))
        with anyio.CancelScope(shield=True):
            made = partial(_answered, asked, answer, written=True)
            response = await in_thread(made, _WRITERS)
        return response

    return endpoint


async def in_thread(make: Callable[[], Response], kind: RunVar[anyio.CapacityLimiter] = _READERS) -> Response:
    """An answer that is made in one of the few threads of its kind."""
    limiter = kind.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        kind.set(limiter)
    return await anyio.to_thread.run_sync(make, limiter=limiter)


def _answered(asked: Asked, answer: Answer, *, written: bool = False) -> Response:
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


def _made(asked: Asked, answer: Answer, record: CommitRecord | None = None) -> Response:
    asked.site.summaries.pause()
    try:
        # First, so that a page is never older than the version that it claims to show.
        asked.version  # noqa: B018
        return answer(asked)
    except Exception as error:
        if record is not None and record.commit is not None:
            return _committed(asked, record, describe_failure(error))
        if isinstance(error, WorkspaceError):
            return failed(asked, error)
        gone = _gone(asked)
        if gone is not None:
            return failed(asked, gone)
        reference = secrets.token_hex(4)
        log.exception("a page failed, reference %s", reference)
        return asked.page("error.html", status=500, error=None, reference=reference, nearest=())


def _committed(asked: Asked, record: CommitRecord, reason: str) -> Response:
    """Return the page for a form that was committed and whose own page failed, as plain text if need be."""
    try:
        return asked.page("committed.html", record=record, reason=reason)
    except Exception:
        log.exception("the page of a commit failed")
        return PlainTextResponse(f"Your change is committed as {record.commit}. Do not send it again.\n")


def _gone(asked: Asked) -> RepositoryGone | None:
    """Why nothing can be read any more: whoever reads a repository that goes meanwhile meets other errors."""
    try:
        asked.workspace.tip()
    except RepositoryGone as error:
        return error
    except WorkspaceError:  # whatever it is, it does not say why the page failed
        return None
    return None
