"""Decide what links, images, headings and formulas of a text become on the page it stands on."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from workspace.rendering.math import Formulas

if TYPE_CHECKING:
    from workspace.markdown.html import Mark
    from workspace.rendering.links import Destination, Destinations
    from workspace.rendering.marks import Marks


class PageContext:
    """Resolve what a page's text leads to; without `marks` it can stand on a page several times.

    `addresses` are the links and images that were made of what the text says.
    """

    def __init__(self, destinations: Destinations, marks: Marks | None, *, has_mermaid: bool = False) -> None:
        self._destinations, self._marks = destinations, marks
        self._formulas = Formulas()
        self._is_in_link = False
        self.has_ids, self.has_mermaid = marks is not None, has_mermaid
        self.addresses: set[str] = set()

    def mark(self, line: int) -> Mark | None:
        """Return the names of the heading on a line, None if it has none."""
        return self._marks.mark(line) if self._marks else None

    def is_dropped(self, line: int) -> bool:
        """Return True if a line holds nothing but the anchors of a heading below it."""
        return self._marks is not None and self._marks.is_dropped(line)

    def open_link(self, attributes: dict[str, str]) -> str:
        """Return the tag that begins a link, leading where its address does."""
        name, href = attributes.pop("name", ""), attributes.pop("href", None)
        attributes.pop("class", None)
        if name:
            attributes.setdefault("id", name)
        self._is_in_link = href is not None
        if href is not None:
            attributes |= self._leading(self._destinations.link(href))
        return _tag("a", attributes)

    def close_link(self) -> str:
        """Return the tag that ends a link."""
        self._is_in_link = False
        return "</a>"

    def image(self, attributes: dict[str, str]) -> str:
        """Return an image of the workspace; a link to one of another host, which is not loaded."""
        source, words = attributes.pop("src", None), attributes.get("alt", "")
        if source is None:
            return _instead(words or "image", "", "An image of this kind is not shown")
        found = self._destinations.image(source)
        if found.href is None:
            return _instead(words or "image", found.kind, found.title or "An image of this kind is not shown")
        if not found.kind:
            self.addresses.add(found.href)
            return _tag("img", {"src": found.href, "alt": words, **attributes, "loading": "lazy"})
        self._destinations.notes.add("Images of other hosts are not loaded; they are shown as links.")
        title = f"An image of {found.host}, which is not loaded"
        if self._is_in_link:
            return _instead(words or found.host, "image-link", title)
        link = self._leading(found._replace(kind="image-link", title=title))
        shown = f"{words} ({found.host})" if words else f"image of {found.host}"
        return f"{_tag('a', link)}{escape(shown)}</a>"

    def formula(self, source: str, *, is_block: bool) -> str:
        """Return a formula as MathML, or as it was written."""
        return self._formulas.write(source, is_block=is_block)

    def _leading(self, found: Destination) -> dict[str, str]:
        if found.href is not None:
            self.addresses.add(found.href)
        given = {"class": found.kind, "href": found.href, "title": found.title}
        return {name: value for name, value in given.items() if value}


def _tag(name: str, attributes: dict[str, str]) -> str:
    written = (f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{''.join(written)}>"


def _instead(words: str, kind: str, title: str) -> str:
    """Return words that stand for an image."""
    return f"{_tag('span', {'class': kind, 'title': title})}{escape(words)}</span>"
