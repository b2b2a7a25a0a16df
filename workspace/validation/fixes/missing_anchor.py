"""missing-anchor: each section's present address, written into its heading.

Only bytes are put in, and only into the heading's own lines: spaces, closing #s, underlines and line endings
stay. The title keeps what it has, because its address is always `_preamble`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.heading_text import anchor_splice
from workspace.document.headings import inline_span, rewritten
from workspace.document.splices import Splice
from workspace.edits.content import taken_names
from workspace.markdown import anchors
from workspace.markdown.inline import plain_text
from workspace.markdown.slugs import Names
from workspace.validation.fixes.change import Left, Mend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm

RULE = "missing-anchor"

# What gives a name to a place that is no heading: an attribute of HTML, a footnote. `&` begins an entity.
_NAME = re.compile(rb"\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)|\[\^([^\]\s]+)\]", re.IGNORECASE)
_FOOTNOTE_NAMES = ("fn-{}", "user-content-fn-{}")
_SHOWN = 200


def missing_anchors(document: Document, form: AnchorForm) -> Iterator[Mend | Left]:
    """An anchor for each section that has none, in the document's own form, else in the one that is given.

    An address that several sections share stays with the first of them; the others get one with a number. A
    section whose address names something else already, for a browser, is left.
    """
    unnamed = [item for item in document.sections if not item.is_preamble and item.anchor is None]
    if not unnamed:
        return
    written_form = document.form or form
    names = Names("-", 1, _taken(document))
    elsewhere = _names_elsewhere(document, {item.address for item in unnamed})
    for section in unnamed:
        if section.heading is None:
            continue
        address = section.address
        if address in elsewhere:
            yield _left(document, section, f"'{_short(address)}' names another place of the document already")
            continue
        name = names.give(address)
        splice = _splice(document, section.heading, name, written_form)
        if splice is None:
            yield _left(document, section, f"its address '{_short(address)}' cannot be written as an anchor")
            continue
        if name != address:
            yield _left(
                document, section, f"it shared '{_short(address)}' with another, and is '{_short(name)}' now"
            )
        yield Mend(RULE, section.line, splice)


def may_be_named_elsewhere(data: bytes, names: set[str]) -> bool:
    """Whether something other than a heading may have one of these names: an element of HTML, a footnote."""
    if b"=" not in data and b"[^" not in data:
        return False
    for name, footnote in set(_NAME.findall(data)):
        spelled = (name or footnote).decode("utf-8", "replace")
        meant = [form.format(spelled) for form in _FOOTNOTE_NAMES] if footnote else [spelled]
        if "&" in spelled or not names.isdisjoint(meant):
            return True
    return False


def _taken(document: Document) -> set[str]:
    """Return the names that something other than a section without an anchor has."""
    unnamed = {item.address for item in document.sections if item.anchor is None and not item.is_preamble}
    explicit = {item.anchor for item in document.sections if item.anchor}
    return taken_names(document) - (unnamed - explicit)


def _names_elsewhere(document: Document, wanted: set[str]) -> set[str]:
    """Names that lead to something else: aliases of headings, the title's anchor, ids of HTML, footnotes.

    Those of HTML and of footnotes are looked for where they may be among the `wanted` ones.
    """
    names = {alias for item in document.sections for alias in item.aliases}
    names |= {item.anchor for item in document.sections if item.is_preamble and item.anchor}
    if may_be_named_elsewhere(document.data, wanted):
        from workspace.links.reader import links_of

        names |= {anchor.name for anchor in links_of(document).anchors}
    return names


def _splice(document: Document, heading: AnchoredHeading, name: str, form: AnchorForm) -> Splice | None:
    """Return the bytes that put an anchor into a heading; None where it would not be read as one."""
    if not anchors.is_valid_name(name):
        return None
    start, end = inline_span(document.lines, heading.block)
    if start == end:
        return Splice(*rewritten(document.lines, heading.block, anchors.write_heading("", name, form)))
    source = heading.block.source
    splice = anchor_splice(document, heading, name, form)
    behind, text = anchors.insertion(source, name, form)
    read = anchors.read_heading(source[: len(source) - len(behind)] + text + behind)
    is_read = read.name == name and plain_text(read.words) == heading.title
    return splice if is_read else None


def _left(document: Document, section: Section, reason: str) -> Left:
    return Left(RULE, document.path, section.line, reason)


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
