"""Addresses that Docyard 0.1.0 derived from headings with attribute lists, which it read as text.

The address of `## First steps { #first-steps }` was `first-steps--first-steps-`, and its subsections were
`first-steps--first-steps-/…`. Such addresses in calls, comments and links still resolve to the section,
unless another section now has the address. They are only read, never written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.sections import assign_addresses, assign_keys
from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm, is_escaped
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section

_BRACES_LIST = re.compile(r"\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}")
_ANGLE_LIST = re.compile(r"<#(?P<name>[^\s<>\[\]]+)>")


def find_earlier_names(sections: Sequence[Section]) -> Mapping[str, Sequence[Section]]:
    """Return the sections of a document by each address, anchor and slug that only 0.1.0 assigned.

    A name with several sections is ambiguous. Addresses come before slugs, as in the resolver.
    """
    if not any(section.heading and _is_read_differently(section.heading) for section in sections):
        return {}
    headings = [_find_heading_of_0_1_0(section) for section in sections]
    anchors_and_slugs = [
        (heading.anchor if heading else None, heading.slug if heading else section.slug)
        for heading, section in zip(headings, sections, strict=True)
    ]
    levels, parents = [section.level for section in sections], [section.parent for section in sections]
    addresses = assign_addresses(anchors_and_slugs, levels, parents)
    sections_by_address: dict[str, list[Section]] = {}
    for section, address, key in zip(sections, addresses, assign_keys(addresses), strict=True):
        for name in dict.fromkeys((address, key)):
            if not section.is_preamble and name not in (section.address, section.key):
                sections_by_address.setdefault(name, []).append(section)
    sections_by_slug: dict[str, list[Section]] = {}
    for section, heading in zip(sections, headings, strict=True):
        if heading is None:
            continue
        other_names = {*heading.aliases, heading.anchor} - {None, section.anchor}
        if not section.is_preamble:
            other_names |= {heading.slug} - {section.slug}
        for other_name in other_names:
            sections_by_slug.setdefault(other_name or "", []).append(section)
    return {**sections_by_slug, **sections_by_address}


def _is_read_differently(heading: AnchoredHeading) -> bool:
    """Return True if Docyard 0.1.0 read another title or other anchors from a heading."""
    source = heading.block.source
    if heading.names_below:
        return True
    if not source.endswith(("}", ">")) or anchors.is_plain_braces_heading(source):
        return False
    return _read_heading_as_0_1_0(source) != heading.text


def _find_heading_of_0_1_0(section: Section) -> AnchoredHeading | None:
    """Return a section's heading as Docyard 0.1.0 read it."""
    heading = section.heading
    if heading is None or not _is_read_differently(heading):
        return heading
    text = _read_heading_as_0_1_0(heading.block.source)
    title = to_plain_text(text.title)
    return heading._replace(text=text, title=title, slug=make_heading_slug(title), names_below=())


def _read_heading_as_0_1_0(source: str) -> anchors.HeadingText:
    """Return a heading's title and anchors as in 0.1.0, which read only lists that begin with `{#`."""
    source = source.strip()
    title, suffix, name = source, "", None
    form: AnchorForm | None = None
    for pattern, opening, anchor_form in (
        (_BRACES_LIST, "{#", AnchorForm.BRACES),
        (_ANGLE_LIST, "<#", AnchorForm.ANGLE),
    ):
        start = source.rfind(opening)
        match = pattern.fullmatch(source, start) if start >= 0 else None
        if match and not is_escaped(source, start):
            title, name, form = source[:start].rstrip(" \t"), match["name"], anchor_form
            suffix = source[len(title) :]
            break
    prefix, title, html_suffix = anchors.split_html(title)
    names = anchors.find_html_names(prefix + html_suffix)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(dict.fromkeys(alias for alias in names if alias != name))
    return anchors.HeadingText(prefix, title.strip(), html_suffix + suffix, name, form, aliases)
