"""What a page adds to rendered text: its title apart, and beside each heading what to do with its section.

The text comes from `workspace.rendering`, which wrote the headings of sections itself, as
`<h2 id="address">…</h2>`, and has balanced all tags. What is added here holds nothing that a document wrote
but these ids, and only headings of sections have something beside them.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from docyard.web.templates import trusted
from docyard.web.urls import PageUrls
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from workspace.rendering import Rendered

# A heading that holds another, as raw HTML can have it, is left as it is.
_WORDS = r"(?:(?!</?h[1-6][ >]).)*"
_HEADING = re.compile(rf'<(h[1-6]) id="([^"]*)"[^>]*>{_WORDS}</\1>', re.DOTALL)
_TITLE = re.compile(rf"\s*(<h1[ >]{_WORDS}</h1>)", re.DOTALL)
_KEPT = 16_000_000  # characters
# Filled with escaped texts: `Markup.format` takes ten times as long, and a document may have thousands.
_LINK = '<a data-key="{}" href="{}">{}<span class="hidden"> {}</span></a>'


class Dressed(NamedTuple):
    """The heading that is the title (None: the text begins otherwise), and the text below it."""

    title: Markup | None
    body: Markup


class Doors(NamedTuple):
    """Where the links beside a heading lead: to the history at a ref, and to the form, unless there is none.

    `proposal` is the one that is read, and to which an edit is added; empty for none.
    """

    path: str
    ref: str | None
    has_history: bool
    may_edit: bool
    proposal: str

    def beside(self, address: str) -> str:
        """The links that belong to a section, as HTML."""
        links: list[str] = []
        if self.has_history:
            url = PageUrls(self.ref).history(self.path, address)
            links.append(_LINK.format("h", escape(url), "History", f"of {escape(address)}"))
        if self.may_edit:
            url = PageUrls().edit(self.path, address, self.proposal)
            links.append(_LINK.format("e", escape(url), "Edit", escape(address)))
        return f'<span class="beside">{" ".join(links)}</span>' if links else ""


_dressed: LRUCache[tuple[Rendered, Doors], Dressed] = LRUCache(_KEPT, lambda value: len(value.body) + 1_000)


def dressed(rendered: Rendered, doors: Doors) -> Dressed:
    """A rendered document as its page shows it."""
    return _dressed.get((rendered, doors), lambda: _make(rendered, doors))


def _make(rendered: Rendered, doors: Doors) -> Dressed:
    sections = {entry.id for entry in rendered.outline}
    title, text = None, rendered.html
    if found := _TITLE.match(text):
        title, text = trusted(found[1]), text[found.end() :]

    def entry(heading: re.Match[str]) -> str:
        """A section's heading as an entry that keys go to, with the links beside it."""
        section = unescape(heading[2])
        if section not in sections:
            return heading[0]
        return f'<div class="titled {heading[1]}" data-entry>{heading[0]}{doors.beside(section)}</div>'

    return Dressed(title, trusted(_HEADING.sub(entry, text)))
