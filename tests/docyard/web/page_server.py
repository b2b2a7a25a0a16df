"""A client of the pages of a repository, without an HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from docyard.caller import SCOPES, Caller, Principal
from docyard.web.not_found import build_not_found_handler
from docyard.web.routes import build_routes
from docyard.web.site import Site
from index.service import SearchIndex
from workspace.policy.tokens import Person
from workspace.workspace import Workspace

CSRF = "a value of this session"
PRINCIPAL = Principal("token:reviewer", "Reviewer", scopes=frozenset(SCOPES))


class PageServer(NamedTuple):
    """The pages of a repository, served in this process: a client, the site and the workspace."""

    client: TestClient
    site: Site
    workspace: Workspace

    def get(self, url: str, status: int = 200) -> str:
        """Return a page after checking its status."""
        response = self.client.get(url, follow_redirects=False)
        assert response.status_code == status, (url, response.status_code, response.text[:2000])
        return response.text


@contextmanager
def serve_pages(
    path: Path, *, read_only: bool = False, location: Path | None = None, person: Person | None = None
) -> Iterator[PageServer]:
    """Yield the pages of a repository for a person; by default for a caller with the server's token."""
    workspace = Workspace.open(path, read_only=read_only)
    with serve_index(SearchIndex(workspace, location=location), read_only=read_only, person=person) as server:
        yield server


@contextmanager
def serve_index(
    index: SearchIndex, *, read_only: bool = False, person: Person | None = None
) -> Iterator[PageServer]:
    """Yield the pages of the workspace of an index for a person, or a caller with the server's token."""
    site = Site(lambda: index, read_only=read_only)
    pages = Starlette(
        routes=build_routes(site), exception_handlers={HTTPException: build_not_found_handler(site)}
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = Caller(
            person, CSRF, not read_only, is_session=True, principal=PRINCIPAL
        )
        await pages(scope, receive, send)

    try:
        yield PageServer(TestClient(app), site, index.workspace)
    finally:
        site.close()
        index.close()


class ParsedPage(HTMLParser):
    """A parsed page: its elements, and the errors of their nesting."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.nesting_errors: list[str] = []
        self._open_tags: list[str] = []
        self.feed(html)
        self.nesting_errors += [f"<{name}> is open at the end" for name in self._open_tags]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID_ELEMENTS and self._open_tags[-1:] != ["svg"]:
            self._open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open_tags[-1:] == [tag]:
            self._open_tags.pop()
        elif "svg" not in self._open_tags:
            self.nesting_errors.append(f"</{tag}> closes {self._open_tags[-1:]}")

    def find_all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element with a tag."""
        return [attributes for name, attributes in self.elements if name == tag]


_VOID_ELEMENTS = frozenset(("meta", "link", "input", "br", "hr", "img", "wbr", "source", "col"))
