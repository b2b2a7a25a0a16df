"""The URLs of pages, for tests of the renderer."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote


class PlainUrls(NamedTuple):
    """The URLs of pages, each with the ref as its query if the ref is not empty."""

    ref: str = ""

    def document(self, path: str, section: str = "", /) -> str:
        return f"/doc/{quote(path)}{self._query}" + (f"#{quote(section)}" if section else "")

    def folder(self, path: str, /) -> str:
        return f"/folder/{quote(path)}{self._query}"

    def raw(self, path: str, /) -> str:
        return f"/raw/{quote(path)}{self._query}"

    @property
    def _query(self) -> str:
        return f"?ref={quote(self.ref, safe='')}" if self.ref else ""
