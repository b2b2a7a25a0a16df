"""A request for a page, with the index, snapshot and caller that its handler needs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from starlette.responses import HTMLResponse, RedirectResponse, Response

from docyard.caller import is_operator
from docyard.proposals.inbox import get_inbox
from docyard.web.templates import render_template
from docyard.web.urls import PageUrls
from workspace.errors import WorkspaceError
from workspace.rendering.code_colours import PAGE_WAIT_S

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.web.forms import UploadedFile
    from docyard.web.site import Site
    from index.service import SearchIndex
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.participants import Participants
    from workspace.proposals.proposal import Proposal
    from workspace.rendering.code_colours import ColouredHtml
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


T = TypeVar("T")


class ListSlice(NamedTuple, Generic[T]):
    """The items of one page of a list, the number of the page, and that of the last page, from 1."""

    items: Sequence[T]
    number: int
    last_number: int


@dataclass
class PageRequest:
    """A request: the parameters of its path, its query, and the fields and files of its form.

    The index and the workspace stay the same during a request. `page` and `redirect` build responses.
    `known_etags` has the entity tags that the browser has cached for this URL (RFC 9110 §13.1.2). `cookies`
    are the browser's. `url` is the path and query of a GET request, to which a sign-in returns.
    """

    site: Site
    caller: Caller
    path_params: Mapping[str, str]
    query: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, UploadedFile] = field(default_factory=dict)
    known_etags: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)
    url: str = "/"
    _remaining_colour_wait_s: float = field(default=PAGE_WAIT_S, init=False)

    @cached_property
    def index(self) -> SearchIndex:
        """Return the index that serves this request."""
        return self.site.index()

    @property
    def workspace(self) -> Workspace:
        """Return the workspace that serves this request."""
        return self.index.workspace

    @property
    def ref(self) -> str | None:
        """Return the requested ref; None for the tip of the served branch."""
        return self.query.get("ref", "").strip() or None

    @property
    def page_number(self) -> int:
        """Return the requested page of a list, from 1; the text may be invalid, which means page 1."""
        text = self.query.get("page", "")
        return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else 1

    def select_page(self, items: Sequence[T], page_size: int) -> ListSlice[T]:
        """Return the requested page of a list; the last page if there are fewer."""
        last_number = max(1, -(-len(items) // page_size))
        number = min(self.page_number, last_number)
        return ListSlice(items[(number - 1) * page_size : number * page_size], number, last_number)

    @cached_property
    def snapshot(self) -> Snapshot:
        """Return the requested commit. Raises the errors of `Workspace.at`."""
        return self.workspace.at(self.ref)

    @cached_property
    def version(self) -> str:
        """Return the version of the state that the page shows; empty for a past state, which is constant."""
        return self.site.versions.get_current(self.workspace) if self.ref is None else ""

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Return every proposal, the newest first, in the state of `version`."""
        return self.site.list_proposals(self.workspace, self.version)

    @cached_property
    def participants(self) -> Participants:
        """Return the people whom a text can mention."""
        return get_inbox(self.workspace).list_people(self.proposals)

    def add_code_colours(self, html: str) -> ColouredHtml:
        """Return sanitized HTML with colours of its code; all texts of a page wait PAGE_WAIT_S together."""
        start = time.monotonic()
        coloured_html = self.site.code_colours.add_colours(html, max_wait_s=self._remaining_colour_wait_s)
        self._remaining_colour_wait_s -= min(time.monotonic() - start, self._remaining_colour_wait_s)
        return coloured_html

    @property
    def workspace_name(self) -> str:
        """Return the workspace's name, which is part of the title of each page."""
        try:
            return self.workspace.repository_name
        except WorkspaceError:  # the page itself shows the error
            return "Docyard"

    @property
    def urls(self) -> PageUrls:
        """Return the URLs of pages; the URLs keep the ref of this request."""
        return PageUrls(self.ref)

    @property
    def actor(self) -> Actor:
        """Return the author of changes that this request makes."""
        return self.site.build_actor(self.workspace, self.caller)

    @property
    def may_write(self) -> bool:
        """Return True if pages offer actions that write."""
        return self.caller.may_write and not self.site.read_only

    @property
    def lacks_person(self) -> bool:
        """Return True if the session of a browser may write and names no person, who could approve."""
        return self.may_write and self.caller.is_session and self.caller.person is None

    @property
    def may_see_records(self) -> bool:
        """Return True if the server has a page of recorded searches that the caller can open."""
        return self.site.has_records and is_operator(self.caller)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return the page of a template.

        Each template has `request`, `urls`, `workspace_name` and `version` in addition to `values`.
        """
        variables = {
            "request": self,
            "urls": self.urls,
            "workspace_name": self.workspace_name,
            "version": self.version if status < 400 else "",
            **values,
        }
        # Bytes of a path that are not UTF-8 are shown as question marks.
        return HTMLResponse(render_template(template, variables).encode("utf-8", "replace"), status)

    def redirect(self, url: str) -> Response:
        """Return a redirect to another page, after a form was sent."""
        return RedirectResponse(url, 303)
