"""Wiki links: `[[Page]]`, `[[Page#Heading|text]]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

WIKI_SCHEME = "docyard-wiki"
"""The scheme of the address that stands for a wiki link until it is resolved."""

# As `workspace.links.inline` reads them.
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\](?!\()")


def read_wiki(state: StateInline, silent: bool) -> bool:
    """The rule of the inline parser."""
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    found = _WIKI.match(state.src, state.pos, state.posMax)
    if found is None or state.linkLevel:
        return False
    page = found[2].removesuffix("\\").strip(" ")
    if not page:
        return False
    if not silent:
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": f"{WIKI_SCHEME}:{page}"}
        token = state.push("text", "", 0)
        token.content = (found[3] or "").strip() or page
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True
