"""A small repository of documents, and a client of its pages in this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import Caller
from docyard.web.routes import build_routes
from docyard.web.site import Site
from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

CSRF = "a-token-of-the-page"
API = """---
type: spec
tags: [search, api]
---
# Search & find

What it is, see [limits](#rate-limits).

## Endpoints

Two of them.

### Errors

- [x] Name them
- [ ] Explain them

## Rate limits

Sixty in a minute.
"""
FILES = {
    "README.md": "# Handbook\n\nStart with [the API](specs/api.md#rate-limits).\n",
    "specs/api.md": API,
    "specs/crlf.md": b"# Lines\r\n\r\n## A\r\n\r\none\r\ntwo\r\n\r\n## B\r\n\r\nthree",
    "specs/twice.md": "# Twice\n\n## Same {#same}\n\na\n\n## Other {#same}\n\nb\n",
    "notes.txt": "Plain text.\n",
    "odd/a b#c?.md": "# Odd & <named>\n\n## Its é section\n\nText.\n",
}


class _CallerMiddleware:
    """Middleware that authenticates every request as one caller."""

    def __init__(self, app: ASGIApp, caller: Caller) -> None:
        self._app, self._caller = app, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["caller"] = self._caller
        await self._app(scope, receive, send)


class DocumentPages:
    """The pages of a repository for one caller."""

    def __init__(self, repo: Repo, site: Site, *, may_write: bool) -> None:
        self.repo, self.site = repo, site
        caller = Caller(None, CSRF, may_write, False)
        app = Starlette(routes=build_routes(site), middleware=[Middleware(_CallerMiddleware, caller=caller)])
        self.client = TestClient(app, follow_redirects=False, raise_server_exceptions=True)

    @property
    def workspace(self) -> Workspace:
        """Return the served workspace."""
        return self.site.index().workspace

    def get(self, url: str, status: int = 200) -> str:
        """Return the HTML of a page."""
        response = self.client.get(url)
        assert response.status_code == status, response.text
        return response.text

    def get_redirect(self, url: str) -> str:
        """Return the target of a redirect."""
        response = self.client.get(url)
        assert response.status_code == 302, response.text
        return response.headers["location"]

    def get_form(self, url: str) -> dict[str, str]:
        """Return the fields of the form on a page, as a browser sends them."""
        return parse_form(self.get(url))

    def post(self, url: str, form: dict[str, str], status: int = 303) -> str:
        """Send a form; return the page, or the target of a redirect."""
        response = self.client.post(url, data=form)
        assert response.status_code == status, response.text
        return response.headers["location"] if status == 303 else response.text


def parse_form(page: str) -> dict[str, str]:
    """Return the fields of the edit form on a page."""
    form = page[page.index('<form method="post" action="/edit') :]
    form_fields = {
        name: unescape(value)
        for name, value in re.findall(r'<input[^>]* name="(\w+)"[^>]* value="([^"]*)"', form)
    }
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL)
    form_fields |= {name: unescape(value).replace("\n", "\r\n") for name, value in areas}
    selection = re.search(r'<option value="(\w+)" selected', form)
    return form_fields | ({"proposal": selection[1]} if selection else {})


@contextmanager
def serve_documents(
    path: Path, *, read_only: bool = False, may_write: bool = True
) -> Iterator[DocumentPages]:
    """Yield the pages of a repository, which is created if it does not exist."""
    repo = Repo(path) if path.exists() else create_repository(path, FILES)
    workspace = Workspace.open(path, read_only=read_only)
    index = SearchIndex(workspace)
    site = Site(lambda: index, read_only)
    try:
        with close_index(index):
            yield DocumentPages(repo, site, may_write=may_write)
    finally:
        site.close()


@contextmanager
def close_index(index: SearchIndex) -> Iterator[None]:
    """Close an index when the block ends."""
    try:
        yield
    finally:
        index.close()
