"""Test client of the proposal pages, for callers with and without a person's token."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from docyard.caller import SCOPES, Caller, Principal
from docyard.web.routes import build_routes
from docyard.web.site import Site
from index.service import SearchIndex
from tests.docyard.web.page_server import CSRF, ParsedPage
from tests.workspace.proposals.actions.proposal_setup import ProposalSetup
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from httpx2 import Response

_KEY_PATTERN = re.compile(r'name="key" value="([0-9a-f]{32})"')


PRINCIPAL = Principal("token:reviewer", "Reviewer", scopes=frozenset(SCOPES))


class ProposalPages:
    """A client of the proposal pages of one repository.

    `sender_name` is the name of the person whose token each request has. With None, each request has the
    server's token. `scopes` are those of each request.
    """

    def __init__(self, setup: ProposalSetup, *, read_only: bool = False) -> None:
        self.setup = setup
        workspace = (
            Workspace.open(setup.repo.path, read_only=True, durable=False) if read_only else setup.workspace
        )
        self.write_count = 0
        self.site = Site(lambda: SearchIndex(workspace), read_only, notify_write=self._count_write)
        self.sender_name: str | None = "bea"
        self.scopes = frozenset(SCOPES)
        self._may_write = not read_only
        pages = Starlette(routes=build_routes(self.site))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            person = setup.person(self.sender_name).person if self.sender_name else None
            scope.setdefault("state", {})["caller"] = Caller(
                person,
                CSRF,
                self._may_write,
                is_session=True,
                principal=PRINCIPAL._replace(scopes=self.scopes),
            )
            await pages(scope, receive, send)

        self.client = TestClient(app, follow_redirects=False)

    def _count_write(self) -> None:
        self.write_count += 1

    def get(self, url: str, status: int = 200) -> str:
        """Get a page, check its status and its HTML, and return the HTML."""
        response = self.client.get(url)
        assert response.status_code == status, (url, response.status_code, response.text[:2000])
        return get_checked_html(response)

    def get_proposal_page(self, proposal: Proposal, part: str = "", status: int = 200) -> str:
        """Return the page of a proposal, or its subpage `part`, such as `changes?view=inline`."""
        return self.get(f"/proposals/{proposal.id}" + (f"/{part}" if part else ""), status)

    def post(self, proposal: Proposal, action: str, *, key: str = "", **fields: str) -> Response:
        """Post the form `action` of a proposal. If `key` is empty, use the idempotency key on its page."""
        if not key:
            key = _KEY_PATTERN.findall(self.client.get(f"/proposals/{proposal.id}").text)[0]
        return self.client.post(
            f"/proposals/{proposal.id}/{action}", data={"csrf": CSRF, "key": key, **fields}
        )

    def send_form(self, proposal: Proposal, action: str, **fields: str) -> str:
        """Post a form, check that it is accepted, and return the URL of the redirect."""
        response = self.post(proposal, action, **fields)
        assert response.status_code == 303, (response.status_code, extract_text(response.text))
        return str(response.headers["location"])

    def send_refused_form(self, proposal: Proposal, action: str, status: int, **fields: str) -> str:
        """Post a form, check that it is refused with `status`, and return the HTML of the response."""
        response = self.post(proposal, action, **fields)
        assert response.status_code == status, (response.status_code, extract_text(response.text))
        return get_checked_html(response)

    def reload(self, proposal: Proposal) -> Proposal:
        """Return the current state of a proposal."""
        return self.setup.proposal_actions.find(proposal.id)


def create_pages(path: Path, settings: str = "", *, read_only: bool = False) -> ProposalPages:
    """Return a client of the pages of a new repository with these settings."""
    return ProposalPages(ProposalSetup(path / "repo", settings), read_only=read_only)


def get_checked_html(response: Response) -> str:
    """Check the HTML of a response, and return the HTML.

    Elements must be nested correctly. Ids must be unique. There must be one h1, and no attribute with inline
    CSS or an event handler.
    """
    html = response.text
    page = ParsedPage(html)
    assert page.nesting_errors == []
    assert len(page.find_all("h1")) == 1
    for name, attributes in page.elements:
        assert "style" not in attributes, name
        assert not any(attribute.startswith("on") for attribute in attributes), name
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    return html


def extract_text(html: str) -> str:
    """Return the text of the main element of a page on one line."""
    main = html.partition("<main")[2] or html
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())
