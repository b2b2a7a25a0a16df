"""The pages of proposals of a repository, for callers with and without a person's token."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from docyard.caller import Caller
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


class ProposalPages:
    """The pages of a setup. `as_person` is the person who sends requests, or None for the server's token."""

    def __init__(self, setup: ProposalSetup, *, read_only: bool = False) -> None:
        self.setup = setup
        workspace = (
            Workspace.open(setup.repo.path, read_only=True, durable=False) if read_only else setup.workspace
        )
        self.write_count = 0
        self.site = Site(lambda: SearchIndex(workspace), read_only, notify_write=self._count_write)
        self.as_person: str | None = "bea"
        self._may_write = not read_only
        pages = Starlette(routes=build_routes(self.site))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            person = setup.person(self.as_person).person if self.as_person else None
            scope.setdefault("state", {})["caller"] = Caller(person, CSRF, self._may_write, is_session=True)
            await pages(scope, receive, send)

        self.client = TestClient(app, follow_redirects=False)

    def _count_write(self) -> None:
        self.write_count += 1

    def get(self, url: str, status: int = 200) -> str:
        """Return a page after checking its HTML."""
        response = self.client.get(url)
        assert response.status_code == status, (url, response.status_code, response.text[:2000])
        return check_html(response)

    def show(self, proposal: Proposal, part: str = "", status: int = 200) -> str:
        """Return a page of a proposal, such as `changes?view=inline`."""
        return self.get(f"/proposals/{proposal.id}" + (f"/{part}" if part else ""), status)

    def post(self, proposal: Proposal, action: str, *, key: str = "", **fields: str) -> Response:
        """Send a form of the page, with a new key if `key` is empty."""
        if not key:
            key = _KEY_PATTERN.findall(self.client.get(f"/proposals/{proposal.id}").text)[0]
        return self.client.post(
            f"/proposals/{proposal.id}/{action}", data={"csrf": CSRF, "key": key, **fields}
        )

    def send_form(self, proposal: Proposal, action: str, **fields: str) -> str:
        """Send a form that must succeed; return the target of the redirect."""
        response = self.post(proposal, action, **fields)
        assert response.status_code == 303, (response.status_code, extract_text(response.text))
        return str(response.headers["location"])

    def send_refused_form(self, proposal: Proposal, action: str, status: int, **fields: str) -> str:
        """Send a form that must be refused; return the page."""
        response = self.post(proposal, action, **fields)
        assert response.status_code == status, (response.status_code, extract_text(response.text))
        return check_html(response)

    def reload(self, proposal: Proposal) -> Proposal:
        """Return the current state of a proposal."""
        return self.setup.proposal_actions.find(proposal.id)


def create_pages(path: Path, settings: str = "", *, read_only: bool = False) -> ProposalPages:
    """Return the pages of a new setup."""
    return ProposalPages(ProposalSetup(path / "repo", settings), read_only=read_only)


def check_html(response: Response) -> str:
    """Return the HTML of a response after checking its nesting, its h1, its ids and its inline code."""
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
    """Return the text of a page in one line."""
    main = html.partition("<main")[2] or html
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())
