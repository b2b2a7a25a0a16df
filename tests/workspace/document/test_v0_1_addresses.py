"""Addresses that version 0.1.0 wrote still resolve to their sections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loops import loop_over
from workspace.config.names import Dialect
from workspace.document.addresses import AmbiguousAddress, resolve_section
from workspace.document.document import Document
from workspace.links.fragments import find_names, find_target

# Documents, each with its addresses in version 0.1.0 and the lines of their sections.
DOCUMENTS_OF_0_1_0 = json.loads((Path(__file__).parent / "addresses_0_1_0.json").read_text())


@loop_over("number", range(len(DOCUMENTS_OF_0_1_0)))
def test_first_version_address_resolves_to_its_section(number: int) -> None:
    document = Document.parse(DOCUMENTS_OF_0_1_0[number]["document"].encode(), "a.md")
    lines = {
        address: resolve_section(document, address).line
        for address in DOCUMENTS_OF_0_1_0[number]["addresses"]
    }
    assert lines == DOCUMENTS_OF_0_1_0[number]["addresses"]


@loop_over("dialect", Dialect)
def test_link_by_a_first_version_address_resolves_to_its_section(dialect: Dialect) -> None:
    document = Document.parse(DOCUMENTS_OF_0_1_0[0]["document"].encode(), "a.md")
    for address, line in DOCUMENTS_OF_0_1_0[0]["addresses"].items():
        target = find_target(find_names(document, dialect), address)
        assert target is not None
        assert document.sections[target.section or 0].line == line


def test_current_names_precede_those_of_the_first_version() -> None:
    document = Document.parse(
        b"## A { #b }\n\n## A b\n\n## C {#a--b-}\n\n## X { #y }\n\n## X {: #y }\n", "a.md"
    )
    assert resolve_section(document, "a-b").title == "A b"
    assert resolve_section(document, "a--b-").title == "C"
    assert resolve_section(document, "a--b--1").title == "A"
    assert [resolve_section(document, name).line for name in ("x--y-", "x--y--1")] == [7, 9]
    with pytest.raises(AmbiguousAddress):
        resolve_section(document, "y")


def test_document_without_attribute_lists_has_no_earlier_names() -> None:
    for text in (
        "# T\n\n## A {#a}\n\n## B <#b>\n\n## C\n",
        '## <a id="x"></a>X\n',
        "## A { not an id }\n",
        "",
    ):
        assert Document.parse(text.encode(), "a.md").earlier_names == {}
