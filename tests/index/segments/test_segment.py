"""Segments: their content, in memory and from a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from index.analysis import weigh_section_terms
from index.documents import IndexedDocument, SectionRecord
from index.segments.arrays import FlatArrays
from index.segments.segment import Segment, file_name
from index.storage.manifest import FileStamp, IndexDamaged
from tests.index.pages import PATHS, make_page, make_segment, random_page
from tests.loops import loop_over

NESTED = """# Title

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


def some_pages() -> list[IndexedDocument]:
    chance = Random(5)
    pages = [random_page(chance, path, chance.randrange(12)) for path in PATHS]
    return [
        *pages,
        make_page("nested.md", NESTED, type="guide", tags=["b", "a"]),
        make_page("nothing.md", ""),
        make_page("untitled.md", "## Alone\n\nText.\n\n### Below\n\n## zeta\n"),
        make_page("introduced.md", "Text before any heading.\n\n## Alone\n"),
        make_page("late.md", "## Early\n\n# The title\n\n## Later\n"),
        make_page("later.md", "Text.\n\n## Early\n\n# The title\n\n## Later\n"),
        make_page("blank.md", "---\ntitle: Named in front matter\n---\n#\n\nText.\n\n## Below\n"),
        make_page("front.md", "---\ntitle: Named in front matter\n---\n## Below\n"),
        make_page("\udcff.md", "# Odd\n"),
    ]


@pytest.fixture(params=["memory", "file"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Segment:
    segment = make_segment(some_pages())
    return segment if request.param == "memory" else segment.save(tmp_path)


def in_order() -> list[IndexedDocument]:
    return sorted(some_pages(), key=lambda page: page.path)


def expected() -> list[SectionRecord]:
    return [
        SectionRecord(
            page.path,
            section.key,
            page.blob,
            section.start,
            section.heading_start,
            section.body,
            section.end,
            section.line,
            section.end_line,
            section.title,
            page.breadcrumb(section),
            page.facets,
            section.position + 1,
            len(page.sections),
        )
        for page in in_order()
        for section in page.sections_by_key
    ]


def test_sections_are_numbered_by_address_with_their_records(made: Segment) -> None:
    records = [made.record(number) for number in range(made.size)]
    assert records == expected()
    assert any("/" in record.key for record in records)
    addresses = [made.address(number) for number in range(made.size)]
    assert addresses == [(record.path, record.key) for record in records] == sorted(addresses)


def test_breadcrumb_begins_with_title_of_document(made: Segment) -> None:
    records = [made.record(number) for number in range(made.size)]
    titles = {page.path: page.title for page in in_order()}
    assert len(set(titles.values())) > 5
    for record in records:
        assert record.breadcrumb[0] == titles[record.path]
        assert len(record.breadcrumb) == 1 or record.breadcrumb[-1] == record.heading
    crumbs = {(record.path, record.key): record.breadcrumb for record in records}
    assert crumbs["untitled.md", "alone/below"] == ("untitled", "Alone", "Below")
    assert crumbs["blank.md", "below"] == ("Named in front matter", "Below")
    assert crumbs["late.md", "_preamble"] == ("The title",)


def test_documents_are_found_by_path_with_their_sections(made: Segment) -> None:
    pages = in_order()
    assert made.document_count == len(pages)
    assert [made.path(number) for number in range(made.document_count)] == [page.path for page in pages]
    assert [made.blob(number) for number in range(made.document_count)] == [page.blob for page in pages]
    for number, page in enumerate(pages):
        assert made.find(page.path) == number
        assert len(made.sections_of(number)) == len(page.sections)
        assert all(made.document_of[section] == number for section in made.sections_of(number))
    assert made.find("none.md") is None


def test_posting_lists_equal_weights_of_sections(made: Segment) -> None:
    weights_of_sections = [
        weigh_section_terms(page, section) for page in in_order() for section in page.sections_by_key
    ]
    everywhere = Counter(term for terms in weights_of_sections for term in terms)
    assert dict(Counter({term: last - first for term, first, last in made.terms("")})) == everywhere
    for term in everywhere:
        ids, weights = made.postings(b"\0" + term.encode())
        expected_weights = {
            number: terms[term] for number, terms in enumerate(weights_of_sections) if term in terms
        }
        assert dict(zip(ids.tolist(), weights.tolist(), strict=True)) == expected_weights
        assert ids.tolist() == sorted(expected_weights)
    assert made.lengths.tolist() == [sum(terms.values()) for terms in weights_of_sections]
    assert made.total_length == sum(made.lengths.tolist())


def test_terms_of_a_field_have_their_posting_ranges(made: Segment) -> None:
    tags = {term: made.ids[first:last].tolist() for term, first, last in made.terms("tags")}
    assert list(tags) == sorted(tags)
    records = expected()
    for tag, numbers in tags.items():
        assert numbers == [n for n, record in enumerate(records) if tag in record.facets.get("tags", ())]
    assert "b" in tags
    assert list(made.terms("none")) == []


@loop_over("key", [b"", b"\0", b"\0nowhere", b"tags", b"tags\0", b"zzz\0zzz", b"\xff"])
def test_unknown_term_has_empty_posting_list(made: Segment, key: bytes) -> None:
    ids, weights = made.postings(key)
    assert (ids.dtype, weights.dtype) == (np.uint32, np.uint8)
    assert len(ids) == len(weights) == 0


def test_segment_contains_documents_without_sections(tmp_path: Path) -> None:
    made = make_segment([make_page("a.md", ""), make_page("b.md", "")]).save(tmp_path)
    assert (made.size, made.document_count, made.total_length) == (0, 2, 0)
    assert made.find("b.md") == 1


def test_saved_segment_equals_segment_in_memory(tmp_path: Path) -> None:
    memory = make_segment(some_pages())
    saved = memory.save(tmp_path, durable=True)
    assert saved.id == memory.id
    assert memory.arrays.keys() == saved.arrays.keys()
    for name, array in memory.arrays.items():
        assert np.array_equal(array, saved.arrays[name])
    assert memory.stamp is memory.checksum is None
    assert memory.is_untouched()
    file = tmp_path / file_name(saved.id)
    assert saved.stamp == FileStamp.of(file)
    assert saved.is_untouched()
    data = file.read_bytes()
    assert saved.checksum is not None
    assert saved.checksum.size == len(data)
    file.write_bytes(data[:-1])
    assert not saved.is_untouched()


@loop_over("name", sorted(make_segment([make_page("a.md", "# A\n\n## B\n")]).arrays))
def test_arrays_of_mismatched_lengths_raise_index_damaged(name: str) -> None:
    made = make_segment([make_page("a.md", "# A\n\nText.\n\n## B\n", tags=["t"]), make_page("b.md", "# B\n")])
    for array in (made.arrays[name][:-1], np.concatenate((made.arrays[name], made.arrays[name][-1:]))):
        with pytest.raises(IndexDamaged):
            Segment("0", FlatArrays({**made.arrays, name: array}, {"total": made.total_length}))
    without = {other_name: array for other_name, array in made.arrays.items() if other_name != name}
    with pytest.raises(IndexDamaged):
        Segment("0", FlatArrays(without, {"total": made.total_length}))
