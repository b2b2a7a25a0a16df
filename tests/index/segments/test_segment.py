"""The contents of segments in memory and in files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from index.analysis.terms import weigh_section_terms
from index.documents import IndexedDocument, SectionRecord
from index.segments.arrays import FlatArrays
from index.segments.segment import Segment, make_file_name
from index.storage.manifest import FileStamp, IndexDamaged
from tests.index.documents import PATHS, make_document, make_random_document, make_segment
from tests.loops import loop_over

NESTED_TEXT = """# Title

Text.

## Errors

### Errors

#### Codes {#codes}

##### Inner

## errors/x

### Deep {#errors/deep}

## Errors

## Own {#own}

### Zeta

### Alpha
"""


def make_documents() -> list[IndexedDocument]:
    rng = Random(5)
    documents = [make_random_document(rng, path, rng.randrange(12)) for path in PATHS]
    return [
        *documents,
        make_document("nested.md", NESTED_TEXT, type="guide", tags=["b", "a"]),
        make_document("nothing.md", ""),
        make_document("untitled.md", "## Alone\n\nText.\n\n### Below\n\n## zeta\n"),
        make_document("introduced.md", "Text before any heading.\n\n## Alone\n"),
        make_document("late.md", "## Early\n\n# The title\n\n## Later\n"),
        make_document("later.md", "Text.\n\n## Early\n\n# The title\n\n## Later\n"),
        make_document("blank.md", "---\ntitle: Named in front matter\n---\n#\n\nText.\n\n## Below\n"),
        make_document("front.md", "---\ntitle: Named in front matter\n---\n## Below\n"),
        make_document("\udcff.md", "# Odd\n"),
    ]


@pytest.fixture(params=["memory", "file"])
def segment(request: pytest.FixtureRequest, tmp_path: Path) -> Segment:
    segment = make_segment(make_documents())
    return segment if request.param == "memory" else segment.save(tmp_path)


def make_sorted_documents() -> list[IndexedDocument]:
    return sorted(make_documents(), key=lambda document: document.path)


def make_expected_records() -> list[SectionRecord]:
    return [
        SectionRecord(
            document.path,
            section.key,
            document.blob,
            section.start,
            section.heading_start,
            section.body_start,
            section.end,
            section.line,
            section.end_line,
            section.title,
            document.breadcrumb(section),
            document.facets,
            section.position + 1,
            len(document.sections),
        )
        for document in make_sorted_documents()
        for section in document.sections_by_key
    ]


def test_sections_are_numbered_by_address_with_their_records(segment: Segment) -> None:
    records = [segment.record(number) for number in range(segment.size)]
    assert records == make_expected_records()
    assert any("/" in record.key for record in records)
    addresses = [segment.address(number) for number in range(segment.size)]
    assert addresses == [(record.path, record.key) for record in records] == sorted(addresses)


def test_breadcrumb_begins_with_title_of_document(segment: Segment) -> None:
    records = [segment.record(number) for number in range(segment.size)]
    titles = {document.path: document.title for document in make_sorted_documents()}
    assert len(set(titles.values())) > 5
    for record in records:
        assert record.breadcrumb[0] == titles[record.path]
        assert len(record.breadcrumb) == 1 or record.breadcrumb[-1] == record.heading
    breadcrumbs = {(record.path, record.key): record.breadcrumb for record in records}
    assert breadcrumbs["untitled.md", "alone/below"] == ("untitled", "Alone", "Below")
    assert breadcrumbs["blank.md", "below"] == ("Named in front matter", "Below")
    assert breadcrumbs["late.md", "_preamble"] == ("The title",)


def test_documents_are_found_by_path_with_their_sections(segment: Segment) -> None:
    documents = make_sorted_documents()
    assert segment.document_count == len(documents)
    assert [segment.path(number) for number in range(segment.document_count)] == [
        document.path for document in documents
    ]
    assert [segment.blob(number) for number in range(segment.document_count)] == [
        document.blob for document in documents
    ]
    for number, document in enumerate(documents):
        assert segment.find(document.path) == number
        assert len(segment.sections_of(number)) == len(document.sections)
        assert all(segment.document_of[section] == number for section in segment.sections_of(number))
    assert segment.find("none.md") is None


def test_posting_lists_equal_weights_of_sections(segment: Segment) -> None:
    weights_of_sections = [
        weigh_section_terms(document, section)
        for document in make_sorted_documents()
        for section in document.sections_by_key
    ]
    term_counts = Counter(term for terms in weights_of_sections for term in terms)
    assert dict(Counter({term: last - first for term, first, last in segment.terms("")})) == term_counts
    for term in term_counts:
        ids, weights = segment.postings(b"\0" + term.encode())
        expected_weights = {
            number: terms[term] for number, terms in enumerate(weights_of_sections) if term in terms
        }
        assert dict(zip(ids.tolist(), weights.tolist(), strict=True)) == expected_weights
        assert ids.tolist() == sorted(expected_weights)
    assert segment.lengths.tolist() == [sum(terms.values()) for terms in weights_of_sections]
    assert segment.total_length == sum(segment.lengths.tolist())


def test_terms_of_a_field_have_their_posting_ranges(segment: Segment) -> None:
    tags = {term: segment.ids[first:last].tolist() for term, first, last in segment.terms("tags")}
    assert list(tags) == sorted(tags)
    records = make_expected_records()
    for tag, numbers in tags.items():
        assert numbers == [n for n, record in enumerate(records) if tag in record.facets.get("tags", ())]
    assert "b" in tags
    assert list(segment.terms("none")) == []


@loop_over("key", [b"", b"\0", b"\0nowhere", b"tags", b"tags\0", b"zzz\0zzz", b"\xff"])
def test_unknown_term_has_empty_posting_list(segment: Segment, key: bytes) -> None:
    ids, weights = segment.postings(key)
    assert (ids.dtype, weights.dtype) == (np.uint32, np.uint8)
    assert len(ids) == len(weights) == 0


def test_segment_contains_documents_without_sections(tmp_path: Path) -> None:
    segment = make_segment([make_document("a.md", ""), make_document("b.md", "")]).save(tmp_path)
    assert (segment.size, segment.document_count, segment.total_length) == (0, 2, 0)
    assert segment.find("b.md") == 1


def test_saved_segment_equals_segment_in_memory(tmp_path: Path) -> None:
    memory_segment = make_segment(make_documents())
    saved_segment = memory_segment.save(tmp_path, durable=True)
    assert saved_segment.id == memory_segment.id
    assert memory_segment.arrays.keys() == saved_segment.arrays.keys()
    for name, array in memory_segment.arrays.items():
        assert np.array_equal(array, saved_segment.arrays[name])
    assert memory_segment.stamp is memory_segment.checksum is None
    assert memory_segment.is_untouched()
    file = tmp_path / make_file_name(saved_segment.id)
    assert saved_segment.stamp == FileStamp.of(file)
    assert saved_segment.is_untouched()
    data = file.read_bytes()
    assert saved_segment.checksum is not None
    assert saved_segment.checksum.size == len(data)
    file.write_bytes(data[:-1])
    assert not saved_segment.is_untouched()


@loop_over("name", sorted(make_segment([make_document("a.md", "# A\n\n## B\n")]).arrays))
def test_arrays_of_mismatched_lengths_raise_index_damaged(name: str) -> None:
    segment = make_segment(
        [make_document("a.md", "# A\n\nText.\n\n## B\n", tags=["t"]), make_document("b.md", "# B\n")]
    )
    for array in (
        segment.arrays[name][:-1],
        np.concatenate((segment.arrays[name], segment.arrays[name][-1:])),
    ):
        with pytest.raises(IndexDamaged):
            Segment("0", FlatArrays({**segment.arrays, name: array}, {"total": segment.total_length}))
    other_arrays = {other_name: array for other_name, array in segment.arrays.items() if other_name != name}
    with pytest.raises(IndexDamaged):
        Segment("0", FlatArrays(other_arrays, {"total": segment.total_length}))
