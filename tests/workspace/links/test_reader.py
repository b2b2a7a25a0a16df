"""Links are read as in the examples of tests/cases/reading_links.md, with every line ending."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from workspace.document.document import Document
from workspace.links.link import LinksAndNames
from workspace.links.reader import read_cached_links, read_links, read_links_by_parser

pytestmark = pytest.mark.smoke


def format_links(links: LinksAndNames) -> list[str]:
    """Return the links and names in the format of the examples, in order of position."""
    rows = [
        (link.start, 0, f"{link.line} {'!' * link.is_image}{link.kind} {link.destination}".rstrip())
        for link in links.links
    ]
    rows += [(anchor.offset, 1, f"{anchor.line} name {anchor.name}") for anchor in links.names]
    return [text for _, _, text in sorted(rows, key=lambda row: row[0])]


@loop_over("ending", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@loop_over("case", read_cases("reading_links.md"))
def test_links_of_a_document_are_read(case: Case, ending: bytes) -> None:
    document = Document.parse(case.data("document").replace(b"\n", ending), "doc.md")
    for fence, wiki in (("links", False), ("wiki", True)):
        if fence in case.fences:
            expected = sorted(case.fences[fence].splitlines())
            assert sorted(format_links(read_links(document, wiki=wiki))) == expected
            assert read_links_by_parser(document, wiki=wiki) == read_links(document, wiki=wiki)


def test_links_are_read_once_for_a_document() -> None:
    document = Document.parse(b"[[a]] [b](c.md)")
    assert read_cached_links(document) is read_cached_links(document)
    assert read_cached_links(document, wiki=True) is read_cached_links(document, wiki=True)
    assert len(read_cached_links(document).links) + 1 == len(read_cached_links(document, wiki=True).links)


def test_positions_are_byte_offsets() -> None:
    data = "---\na: é\n---\n# Ü\n\n> é [ä](<ö ü.md> 'ß')\n> <a href='é.md'>\n".encode()
    first_link, second_link = read_cached_links(Document.parse(data)).links
    assert data[first_link.start : first_link.end].decode() == "[ä](<ö ü.md> 'ß')"
    assert (
        data[first_link.destination_start : first_link.destination_end].decode()
        == first_link.destination
        == "ö ü.md"
    )
    assert data[second_link.start : second_link.end].decode() == "<a href='é.md'>"
    assert (
        data[second_link.destination_start : second_link.destination_end].decode()
        == second_link.destination
        == "é.md"
    )
    assert (first_link.line, second_link.line) == (6, 7)


def test_empty_destination_is_between_its_marks() -> None:
    data = b"[a]() ![b](<>) [c]( )"
    spans = [
        (link.destination_start, link.destination_end)
        for link in read_cached_links(Document.parse(data)).links
    ]
    assert spans == [(4, 4), (12, 12), (20, 20)]
