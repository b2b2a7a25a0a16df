"""Carrying addresses: from the document that a caller knew to the one that stands there now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.cases import Case, read_cases
from tests.workspace.documents import documents
from workspace.addresses import task_address
from workspace.carry import Conflict, Twins, carry
from workspace.document import Document
from workspace.errors import WorkspaceError

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("case", read_cases("carry.md"))
def test_an_address_is_carried(case: Case) -> None:
    old, new = (Document.parse(case.data(name), "doc.md") for name in ("old", "new"))
    expected = [line.split(" -> ") for line in case.fences["carried"].splitlines()]
    carried = []
    for address, _ in expected:
        try:
            carried.append([address, carry(old, new, address) or "none"])
        except WorkspaceError as error:
            carried.append([address, error.code if error.fix else "no fix"])
    assert carried == expected


def test_a_conflict_names_what_may_be_meant() -> None:
    old = Document.parse(b"## Tasks\n\n- [ ] Write\n", "doc.md")
    new = Document.parse(b"## Tasks\n\n- [ ] Write\n- [ ] Write\n", "doc.md")
    with pytest.raises(Conflict) as caught:
        carry(old, new, "tasks[0]")
    assert caught.value.details["candidates"] == ["tasks[0]", "tasks[1]"]
    assert "Write" not in caught.value.message


@given(documents, st.data())
def test_each_section_has_at_most_one_twin_and_each_twin_one_origin(
    old: Document, data: st.DataObject
) -> None:
    sources = [old.source(item) for item in old.sections]
    kept = data.draw(st.permutations(sources)) if sources else []
    new = Document.parse(b"".join(kept), "doc.md")
    twins = Twins(old, new)
    found: dict[int, int] = {}
    for section in old.sections:
        try:
            twin = twins.of(section)
        except WorkspaceError:
            continue
        assert twin.position not in found.values()
        found[section.position] = twin.position
        origin = twins.origin(twin)
        assert origin is not None
        assert origin.position == section.position
        if section.anchor and not section.is_preamble:
            assert section.anchor == twin.address or section.slug == twin.slug


@given(documents)
def test_in_an_unchanged_document_every_address_is_carried_to_itself(document: Document) -> None:
    for section in document.sections:
        if len(document.sections_by_address(section.address)) > 1:
            continue
        assert carry(document, document, section.address) == section.address
        for task in document.tasks(section):
            address = task_address(section, task)
            assert carry(document, document, address) == address
