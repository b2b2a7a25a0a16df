"""A request for a page, as the handlers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from docyard.web.templates import render_template
from docyard.web.urls import PageUrls
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.web.site import Site
    from index.service import SearchIndex
    from workspace.proposals.actions.register import Actor
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


@dataclass
class PageRequest:
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
        """Return True if pages offer what changes something."""
        return self.caller.may_write and not self.site.read_only

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page of a template.

        Each has `asked`, `urls` and `workspace_name` beside its own values.
        """
        given = {
            "asked": self,
            "urls": self.urls,
            "workspace_name": self.name,
            "version": self.version if status < 400 else "",
            **values,
        }
        # A path that is not UTF-8 is shown, with a mark for what is not.
        return HTMLResponse(render_template(template, given).encode("utf-8", "replace"), status)

    def redirect(self, url: str) -> Response:
        """Return the browser is sent to another page of ours, after a form."""
        return RedirectResponse(url, 303)
