"""Addresses that Docyard 0.1.0 derived from headings whose attribute lists it took for words.

`## First steps { #first-steps }` was `first-steps--first-steps-`, and what stood below it
`first-steps--first-steps-/…`. Calls, comments and links that carry such an address name the section still,
unless the address names another one by now. Only the reading is kept here; nothing writes these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm, is_escaped
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section

_BRACES = re.compile(r"\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}")
_ANGLE = re.compile(r"<#(?P<name>[^\s<>\[\]]+)>")


def find_earlier_names(sections: Sequence[Section]) -> Mapping[str, Sequence[Section]]:
    """Return the sections of a document by each address, anchor and slug that only 0.1.0 gave them.

    A name that has several sections is ambiguous. Addresses come before slugs, as in the resolver.
    """
    # Imported here because it builds sections, which have these names.
    from workspace.document.sections import assign_addresses, assign_keys

    if not any(section.heading and _reads_otherwise(section.heading) for section in sections):
        return {}
    read = [_as_earlier(section) for section in sections]
    names = [
        (at.anchor if at else None, at.slug if at else section.slug)
        for at, section in zip(read, sections, strict=True)
    ]
    levels, parents = [section.level for section in sections], [section.parent for section in sections]
    addresses = assign_addresses(names, levels, parents)
    found: dict[str, list[Section]] = {}
    for section, address, key in zip(sections, addresses, assign_keys(addresses), strict=True):
        for name in dict.fromkeys((address, key)):
            if not section.is_preamble and name not in (section.address, section.key):
                found.setdefault(name, []).append(section)
    slugs: dict[str, list[Section]] = {}
    for section, heading in zip(sections, read, strict=True):
        if heading is None:
            continue
        others = {*heading.aliases, heading.anchor} - {None, section.anchor}
        if not section.is_preamble:
            others |= {heading.slug} - {section.slug}
        for other in others:
            slugs.setdefault(other or "", []).append(section)
    return {**slugs, **found}


def _reads_otherwise(heading: AnchoredHeading) -> bool:
    """Return True if 0.1.0 read a heading in another way."""
    source = heading.block.source
    if heading.below:
        return True
    if not source.endswith(("}", ">")) or anchors.is_usual(source):
        return False
    return _read_heading(source) != heading.text


def _as_earlier(section: Section) -> AnchoredHeading | None:
    heading = section.heading
    if heading is None or not _reads_otherwise(heading):
        return heading
    text = _read_heading(heading.block.source)
    title = to_plain_text(text.words)
    return heading._replace(text=text, title=title, slug=make_heading_slug(title), below=())


def _read_heading(source: str) -> anchors.HeadingText:
    """Return a heading's words and anchors as 0.1.0 read them; it knew only lists that begin with `{#`."""
    source = source.strip()
    words, suffix, name = source, "", None
    form: AnchorForm | None = None
    for pattern, opening, candidate in (
        (_BRACES, "{#", AnchorForm.BRACES),
        (_ANGLE, "<#", AnchorForm.ANGLE),
    ):
        start = source.rfind(opening)
        found = pattern.fullmatch(source, start) if start >= 0 else None
        if found and not is_escaped(source, start):
            words, name, form = source[:start].rstrip(" \t"), found["name"], candidate
            suffix = source[len(words) :]
            break
    prefix, words, html_suffix = anchors.split_html(words)
    names = anchors.find_html_names(prefix + html_suffix)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(dict.fromkeys(alias for alias in names if alias != name))
    return anchors.HeadingText(prefix, words.strip(), html_suffix + suffix, name, form, aliases)
