"""Where each thing is found on the page. Paths of the repository are percent-encoded segment by segment."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlencode


def quote_path(path: str) -> str:
    """Return a path of the repository as it stands in a URL."""
    # Names that are not UTF-8 hold what Git has, byte by byte.
    return quote(path.encode("utf-8", "surrogateescape"), safe="/-._~!$&'(*)+,;=:@")


def add_query(url: str, /, **values: str | int | None) -> str:
    """Return a URL with the values that are not None or empty; names may be keys of a workspace."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{url}?{urlencode(given, errors='surrogateescape')}" if given else url


def quote_fragment(address: str) -> str:
    """Return the address of a section as the fragment of a URL; nothing for a whole document."""
    return "#" + quote(address, safe="/-._~!$&'(*)+,;=:@") if address else ""


class PageUrls(NamedTuple):
    """The addresses of pages as one request sees them: its `ref` stays, so that one reads on in the past."""

    ref: str | None = None

    def library(self) -> str:
        """Return the top folder."""
        return add_query("/", ref=self.ref)

    def folder(self, path: str) -> str:
        """Return a folder of documents; the top one is the empty path."""
        return add_query(f"/folder/{quote_path(path)}", ref=self.ref) if path else self.library()

    def document(self, path: str, section: str = "") -> str:
        """Return a rendered document, at one of its sections."""
        return add_query(f"/doc/{quote_path(path)}", ref=self.ref) + quote_fragment(section)

    def raw(self, path: str) -> str:
        """Return a file as it is."""
        return add_query(f"/raw/{quote_path(path)}", ref=self.ref)

    def history(self, path: str, section: str = "") -> str:
        """Return the changes of a document or section."""
        return add_query(f"/history/{quote_path(path)}", section=section, ref=self.ref)

    def blame(self, path: str, section: str = "") -> str:
        """Return who wrote the lines of a document or section."""
        return add_query(f"/blame/{quote_path(path)}", section=section, ref=self.ref)

    def edit(self, path: str, section: str = "", proposal: str = "") -> str:
        """Return the form in which a section is edited."""
        return add_query(f"/edit/{quote_path(path)}", section=section, proposal=proposal)

    def commit(self, commit: str) -> str:
        """Return what a commit changed."""
        return f"/commit/{quote(commit, safe='')}"

    def search(self, /, **values: str | int | None) -> str:
        """Return a search."""
        return add_query("/search", **{"ref": self.ref, **values})

    def proposals(self, **values: str | int | None) -> str:
        """Return the list of proposals."""
        return add_query("/proposals", **values)

    def proposal(self, id: str, part: str = "", **values: str | int | None) -> str:
        """Return a proposal's page, or a part: "changes", "conflicts", or the action of a form."""
        return add_query(f"/proposals/{quote(id, safe='')}" + (f"/{part}" if part else ""), **values)

    def at(self, ref: str | None) -> PageUrls:
        """Return the same addresses at another ref; None is the tip of the served branch."""
        return PageUrls(ref)
