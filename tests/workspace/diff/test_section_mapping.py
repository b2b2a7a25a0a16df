"""Mapping of section addresses from an earlier version of a document to the current one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.documents import documents
from workspace.diff.section_mapping import map_address
from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.addresses import format_task_address
from workspace.document.document import Document
from workspace.errors import ConcurrentChange, WorkspaceError

pytestmark = pytest.mark.smoke


@loop_over("case", read_cases("carry.md"))
def test_addresses_are_mapped_as_in_the_examples(case: Case) -> None:
    old, new = (Document.parse(case.data(name), "doc.md") for name in ("old", "new"))
    expected = [line.split(" -> ") for line in case.fences["carried"].splitlines()]
    mapped_addresses = []
    for address, _ in expected:
        try:
            mapped_addresses.append([address, map_address(old, new, address) or "none"])
        except WorkspaceError as error:
            mapped_addresses.append([address, error.code if error.fix else "no fix"])
    assert mapped_addresses == expected


def test_error_of_ambiguous_task_lists_the_candidates() -> None:
    old_document = Document.parse(b"## Tasks\n\n- [ ] Write\n", "doc.md")
    new_document = Document.parse(b"## Tasks\n\n- [ ] Write\n- [ ] Write\n", "doc.md")
    with pytest.raises(ConcurrentChange) as error_info:
        map_address(old_document, new_document, "tasks[0]")
    assert error_info.value.details["candidates"] == ["tasks[0]", "tasks[1]"]
    assert "Write" not in error_info.value.message


@given(documents, st.data(), st.sampled_from(Evidence))
def test_section_match_is_one_to_one(old: Document, data: st.DataObject, evidence: Evidence) -> None:
    sources = [old.source(section) for section in old.sections]
    new_sources = data.draw(st.permutations(sources)) if sources else []
    new_document = Document.parse(b"".join(new_sources), "doc.md")
    match = SectionMatch(old, new_document, evidence)
    positions: dict[int, int] = {}
    for section in old.sections:
        successor = match.find_successor(section)
        if successor is None:
            continue
        assert successor.position not in positions.values()
        positions[section.position] = successor.position
        origin = match.find_origin(successor)
        assert origin is not None
        assert origin.position == section.position
        if evidence is Evidence.NAME and section.anchor and not section.is_preamble:
            assert section.anchor == successor.address or section.slug == successor.slug


def test_sections_are_matched_by_the_given_evidence() -> None:
    old_document = Document.parse(b"# A\n\n## One\n\nTBD\n\n## Two\n\nTBD\n\n## Old\n\nAlone.\n", "a.md")
    new_document = Document.parse(b"# A\n\n## Three\n\nTBD\n\n## Two\n\nTBD\n\n## New\n\nAlone.\n", "a.md")
    positions_by_evidence = {
        evidence: SectionMatch(old_document, new_document, evidence).pairs for evidence in Evidence
    }
    assert positions_by_evidence[Evidence.NAME] == {0: 0, 2: 2}
    # "One" and "Two" have the same text, so the text alone does not identify "One".
    assert positions_by_evidence[Evidence.TEXT] == {0: 0, 2: 2, 3: 3}
    assert positions_by_evidence[Evidence.SIMILARITY] == {0: 0, 1: 1, 2: 2, 3: 3}


@given(documents)
def test_addresses_of_an_unchanged_document_map_to_themselves(document: Document) -> None:
    for section in document.sections:
        if len(document.sections_by_address(section.address)) > 1:
            continue
        assert map_address(document, document, section.address) == section.address
        for task in document.tasks(section):
            address = format_task_address(section.key, task)
            assert map_address(document, document, address) == address
