"""Names: the fragments by which links reach places of a document.

What an author wrote comes first: anchors of headings, ids of HTML, footnotes. Then come the fragments that
the dialect's renderer derives from all headings together, then Docyard's own addresses, those of earlier
versions last. A name that several places have leads to the first of them, as in a browser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.tables import Dialect
from workspace.document.sections import PREAMBLE
from workspace.links.headings import all_headings, derived, with_braces
from workspace.links.reader import links_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.document.document import Document
    from workspace.document.sections import Section

# GitHub writes this before every id of a document, and finds them with and without it.
_USER_CONTENT = "user-content-"
# The URL Fragment Text Directives draft: what follows is text to look for, not a name.
_DIRECTIVE = ":~:"
# Without `[^`, `id=` or `name=` a document has no names but those of its headings. The rarest letter of each
# comes first and looks back at the others, so that it is tried at these alone.
_MAY_BE_NAMED = re.compile(
    rb"[\[dDmM](?:(?<=\[)\^|(?<=[iI][dD])[ \t\r\n]*=|(?<=[nN][aA][mM])[eE][ \t\r\n]*=)"
)


class Place(NamedTuple):
    """Where a fragment leads: a byte of the document, and the position of the section there.

    A heading's place is where its own line begins (`Section.heading_start`). Without a section it is the
    document itself.
    """

    offset: int
    section: int | None


TOP = "top"
"""HTML §7.4.6.3: leads to the top in any letter case, unless something is named so."""

DOCUMENT = Place(0, None)
"""The document itself: where its empty fragment, `top` and `_preamble` lead."""


def names_of(document: Document, dialect: Dialect) -> Mapping[str, Place]:
    """Each name of a document with its place; read once for each dialect."""
    return document.derive(_names, dialect)


def find_place(names: Mapping[str, Place], fragment: str) -> Place | None:
    """The place that a decoded fragment leads to; None if there is none. Letter case counts."""
    name = fragment.partition(_DIRECTIVE)[0]
    found = names.get(name)
    if found is None and name.startswith(_USER_CONTENT):
        found = names.get(name.removeprefix(_USER_CONTENT))
    return DOCUMENT if found is None and name.lower() == TOP else found


def name_at(document: Document, offset: int, fragment: str | None, dialect: Dialect) -> str | None:
    """The best name of a place: the one that it had in a link, else what its author gave it, else any."""
    names = names_of(document, dialect)
    if fragment is not None and (known := find_place(names, fragment)) and known.offset == offset:
        return fragment
    found = [name for name, place in names.items() if place.offset == offset and place != DOCUMENT]
    preamble = document.preamble
    if not found and preamble is not None and preamble.heading_start == offset:
        # The title, whose own words name another heading by now.
        return name_of_top(document, TOP, dialect)
    return found[0] if found else None


def name_of_top(document: Document, fragment: str, dialect: Dialect) -> str:
    """A name of the whole document: the one that it had in a link, unless that names a section by now."""
    names = names_of(document, dialect)
    free = (name for name in (fragment, TOP, PREAMBLE) if find_place(names, name) == DOCUMENT)
    return next(free, "")


def _names(document: Document, dialect: Dialect) -> dict[str, Place]:
    starts = [section.start for section in document.sections]

    def place_at(offset: int) -> Place:
        return Place(offset, max(0, bisect_right(starts, offset) - 1) if starts else None)

    explicit = sorted(_explicit(document), key=lambda item: item[1])
    headings = all_headings(document)
    written = {name for name, _ in explicit}
    names: dict[str, Place] = {"": DOCUMENT, PREAMBLE: DOCUMENT}
    for name, offset in (*explicit, *derived(headings, dialect, written)):
        if name not in names:
            names[name] = place_at(offset)
    for section in document.sections:
        names.setdefault(section.address, _place(section))
    if dialect is Dialect.GITHUB:
        for name, offset in with_braces(headings):
            if name not in names:
                names[name] = place_at(offset)
    for name, sections in document.earlier_names.items():
        if len(sections) == 1:
            names.setdefault(name, _place(sections[0]))
    return names


def _place(section: Section) -> Place:
    return Place(section.heading_start, section.position)


def _explicit(document: Document) -> Iterator[tuple[str, int]]:
    """The names that an author wrote, each with its byte. Those in or above a heading are the heading's."""
    of_headings: dict[str, list[Section]] = {}
    for section in document.sections:
        for name in (*filter(None, (section.anchor,)), *section.aliases):
            of_headings.setdefault(name, []).append(section)
            yield name, section.heading_start
    if not _MAY_BE_NAMED.search(document.data):
        return
    for anchor in links_of(document).anchors:
        # The sections are in order of place, and there may be many of one name.
        sections = of_headings.get(anchor.name, [])
        above = bisect_right(sections, anchor.offset, key=_start) - 1
        if above < 0 or anchor.offset >= sections[above].body:
            yield anchor.name, anchor.offset


def _start(section: Section) -> int:
    return section.start
