"""Fixes of headings without an anchor: the section's address is written into its heading.

Bytes are only inserted, and only into the heading's own lines: spaces, closing #s, underlines and line
endings stay. The title is unchanged, because its address is always `_preamble`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.heading_splices import make_anchor_splice
from workspace.document.headings import find_inline_span, plan_inline_replacement
from workspace.document.splices import Splice
from workspace.edits.content import collect_anchor_names
from workspace.markdown import anchors
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import UniqueNames
from workspace.validation.fixes.change import Fix, FixRemark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm

RULE = "missing-anchor"

# The names of targets that are not headings: HTML attributes and footnotes. `&` begins an entity.
_OTHER_TARGET_NAME = re.compile(rb"\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)|\[\^([^\]\s]+)\]", re.IGNORECASE)
_FOOTNOTE_NAMES = ("fn-{}", "user-content-fn-{}")
_MAX_NAME_LENGTH = 200


def add_missing_anchors(document: Document, form: AnchorForm) -> Iterator[Fix | FixRemark]:
    """Yield a fix for each section without an anchor, in the document's own form, else in `form`.

    If several sections share an address, it becomes the anchor of the first section. The other sections get
    the address with a number, which a `FixRemark` states. A section is skipped if its address is already
    the name of another target for a browser, or cannot be written as an anchor.
    """
    sections_without_anchor = [
        candidate for candidate in document.sections if not candidate.is_preamble and candidate.anchor is None
    ]
    if not sections_without_anchor:
        return
    anchor_form = document.anchor_form or form
    names = UniqueNames("-", 1, _collect_used_names(document))
    other_names = _collect_ambiguous_names(
        document, {candidate.address for candidate in sections_without_anchor}
    )
    for section in sections_without_anchor:
        if section.heading is None:
            continue
        address = section.address
        if address in other_names:
            yield _make_remark(
                document,
                section,
                f"'{_shorten(address)}' is already the name of another target in the document",
            )
            continue
        name = names.make_unique(address)
        splice = _make_splice(document, section.heading, name, anchor_form)
        if splice is None:
            yield _make_remark(
                document, section, f"its address '{_shorten(address)}' cannot be written as an anchor"
            )
            continue
        if name != address:
            yield _make_remark(
                document,
                section,
                f"its address was shared: '{_shorten(address)}' is now '{_shorten(name)}'",
            )
        yield Fix(RULE, section.line, splice)


def may_be_named_elsewhere(data: bytes, names: set[str]) -> bool:
    """Return True if an HTML element or a footnote may have one of these names."""
    if b"=" not in data and b"[^" not in data:
        return False
    for name, footnote in set(_OTHER_TARGET_NAME.findall(data)):
        decoded_name = (name or footnote).decode("utf-8", "replace")
        spellings = [form.format(decoded_name) for form in _FOOTNOTE_NAMES] if footnote else [decoded_name]
        if "&" in decoded_name or not names.isdisjoint(spellings):
            return True
    return False


def _collect_used_names(document: Document) -> set[str]:
    """Return the names of targets other than sections without an anchor."""
    implicit_addresses = {
        section.address for section in document.sections if section.anchor is None and not section.is_preamble
    }
    explicit_anchors = {section.anchor for section in document.sections if section.anchor}
    return collect_anchor_names(document) - (implicit_addresses - explicit_anchors)


def _collect_ambiguous_names(document: Document, addresses: set[str]) -> set[str]:
    """Return the names with several targets: heading aliases, the title's anchor, HTML ids, footnotes.

    Names of HTML and of footnotes are only read if one of the `addresses` may be among them.
    """
    names = {alias for section in document.sections for alias in section.aliases}
    names |= {section.anchor for section in document.sections if section.is_preamble and section.anchor}
    if may_be_named_elsewhere(document.data, addresses):
        from workspace.links.reader import read_cached_links

        names |= {defined_name.name for defined_name in read_cached_links(document).names}
    return names


def _make_splice(document: Document, heading: AnchoredHeading, name: str, form: AnchorForm) -> Splice | None:
    """Return the splice that inserts an anchor into a heading; return None if the result has no anchor."""
    if not anchors.is_valid_name(name):
        return None
    start, end = find_inline_span(document.lines, heading.block)
    if start == end:
        return Splice(
            *plan_inline_replacement(document.lines, heading.block, anchors.write_heading("", name, form))
        )
    source = heading.block.source
    splice = make_anchor_splice(document, heading, name, form)
    suffix, text = anchors.plan_anchor_insertion(source, name, form)
    parsed_heading = anchors.read_heading(source[: len(source) - len(suffix)] + text + suffix)
    is_anchor = parsed_heading.name == name and to_plain_text(parsed_heading.title) == heading.title
    return splice if is_anchor else None


def _make_remark(document: Document, section: Section, reason: str) -> FixRemark:
    return FixRemark(RULE, document.path, section.line, reason)


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else name[:_MAX_NAME_LENGTH] + "…"
