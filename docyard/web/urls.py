"""The URLs of pages. Paths of the repository are percent-encoded segment by segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, urlencode

HOME_PATH, LIBRARY_PATH = "/", "/library"

FEED_PREFIX = "/feeds/"
"""The beginning of the paths of feeds."""

PROPOSALS_FEED, CHANGES_FEED = f"{FEED_PREFIX}proposals.atom", f"{FEED_PREFIX}changes.atom"


def quote_path(path: str) -> str:
    """Return a path of the repository, percent-encoded for a URL."""
    # Names that are not UTF-8 are encoded byte by byte.
    return quote(path.encode("utf-8", "surrogateescape"), safe="/-._~!$&'(*)+,;=:@")


def add_query(url: str, /, **values: str | int | None) -> str:
    """Return a URL with a query that contains the values that are not None and not empty."""
    query = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{url}?{urlencode(query, errors='surrogateescape')}" if query else url


def quote_fragment(address: str) -> str:
    """Return the address of a section as the fragment of a URL; empty for the whole document."""
    return "#" + quote(address, safe="/-._~!$&'(*)+,;=:@") if address else ""


class PageUrls(NamedTuple):
    """The URLs of pages for one request.

    URLs of pages that read documents keep its `ref`, so that links stay at the same commit.
    """

    ref: str | None = None

    def home(self) -> str:
        """Return the URL of the home page, which shows the tip of the served branch."""
        return HOME_PATH

    def library(self) -> str:
        """Return the URL of the top folder."""
        return add_query(LIBRARY_PATH, ref=self.ref)

    def folder(self, path: str) -> str:
        """Return the URL of a folder of documents; the empty path is the top folder."""
        return add_query(f"/folder/{quote_path(path)}", ref=self.ref) if path else self.library()

    def document(self, path: str, section: str = "") -> str:
        """Return the URL of a rendered document, or of one of its sections."""
        return add_query(f"/doc/{quote_path(path)}", ref=self.ref) + quote_fragment(section)

    def raw(self, path: str) -> str:
        """Return the URL of a file's bytes."""
        return add_query(f"/raw/{quote_path(path)}", ref=self.ref)

    def history(self, path: str, section: str = "") -> str:
        """Return the URL of the changes of a document or section."""
        return add_query(f"/history/{quote_path(path)}", section=section, ref=self.ref)

    def blame(self, path: str, section: str = "") -> str:
        """Return the URL of the blame of a document or section."""
        return add_query(f"/blame/{quote_path(path)}", section=section, ref=self.ref)

    def edit(self, path: str, section: str = "", proposal: str = "") -> str:
        """Return the URL of the form that edits a document or section, in a proposal if one is named."""
        return add_query(f"/edit/{quote_path(path)}", section=section, proposal=proposal)

    def create(self, folder: str = "", **values: str | int | None) -> str:
        """Return the URL of the form that creates a document in a folder."""
        return add_query("/new", folder=folder, **values)

    def move(self, path: str, proposal: str = "") -> str:
        """Return the URL of the form that moves or renames a document, in a proposal if one is named."""
        return add_query(f"/move/{quote_path(path)}", proposal=proposal)

    def remove(self, path: str, proposal: str = "") -> str:
        """Return the URL of the form that removes a document, in a proposal if one is named."""
        return add_query(f"/remove/{quote_path(path)}", proposal=proposal)

    def task_form(self) -> str:
        """Return the URL of the form that completes and reopens tasks."""
        return "/tasks"

    def commit(self, commit: str) -> str:
        """Return the URL of a commit's changes."""
        return f"/commit/{quote(commit, safe='')}"

    def search(self, /, **values: str | int | None) -> str:
        """Return the URL of a search."""
        return add_query("/search", **{"ref": self.ref, **values})

    def proposals(self, **values: str | int | None) -> str:
        """Return the URL of the list of proposals."""
        return add_query("/proposals", **values)

    def proposal(self, id: str, part: str = "", **values: str | int | None) -> str:
        """Return the URL of a proposal, or of a part: "changes", "conflicts", or the action of a form."""
        return add_query(f"/proposals/{quote(id, safe='')}" + (f"/{part}" if part else ""), **values)

    def comment_form(self) -> str:
        """Return the URL of the forms for comments on documents, without the action."""
        return "/comments"

    def tasks(self, **values: str | int | None) -> str:
        """Return the URL of the tasks."""
        return add_query("/tasks", **{"ref": self.ref, **values})

    def drift(self, **values: str | int | None) -> str:
        """Return the URL of the sections whose code changed later."""
        return add_query("/drift", **{"ref": self.ref, **values})

    def trace(self, id: str = "", **values: str | int | None) -> str:
        """Return the URL of the matrix of traces, or of one identifier."""
        return add_query("/trace" + (f"/{quote(id, safe='')}" if id else ""), **{"ref": self.ref, **values})

    def statistics(self, **values: str | int | None) -> str:
        """Return the URL of the statistics over time."""
        return add_query("/statistics", **{"ref": self.ref, **values})

    def proposals_feed(self) -> str:
        """Return the URL of the feed of the activity of proposals."""
        return PROPOSALS_FEED

    def changes_feed(self) -> str:
        """Return the URL of the feed of the commits of the served branch."""
        return CHANGES_FEED

    def at(self, ref: str | None) -> PageUrls:
        """Return the URLs at another ref; None is the tip of the served branch."""
        return PageUrls(ref)


def make_review_url_builder(page_url: str | None) -> Callable[[str], str] | None:
    """Return a function that returns the full URL of a proposal's page; None if no pages are known.

    `page_url` is the URL of the first page, without a slash at the end.
    """
    return None if page_url is None else lambda id: page_url + PageUrls().proposal(id)
