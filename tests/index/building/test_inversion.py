"""Inversion: the posting lists contain the words, headings, facets and dates of each section."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis.terms import (
    MAX_HEADING_ABOVE_LENGTH,
    MAX_WEIGHT,
    count_heading_terms,
    weigh_section_terms,
)
from index.building import inversion
from index.building.inversion import Inversion
from index.building.vocabulary import get_shared_vocabulary
from index.documents import IndexedDocument
from index.segments.segment import PostingLists
from workspace.document.document import Document

HEADINGS = ["# Retry guide", "# Why", "## Retry", "## Not the `limit`", "### b-a a/b", "#### 使用"]
LINES = [
    "retry retries the limit.",
    "[a](b) RateLimitError",
    "a.b::c café",
    "使用 docker",
    "<!-- a",
    "a\0b",
    "\udce9",
]
TEXTS = st.lists(st.one_of(st.sampled_from(HEADINGS + LINES), st.text(max_size=5)), max_size=12).map(
    "\n\n".join
)
FACETS = st.dictionaries(
    st.sampled_from(["type", "tags"]), st.lists(st.sampled_from(["a", "sdk", "é"])).map(tuple), max_size=2
)


DATES = st.dictionaries(
    st.sampled_from(["created", "a.b"]), st.sampled_from(["2026-01-31", "0999-12-31"]), max_size=2
)


def make_document(
    text: str, facets: dict[str, tuple[str, ...]] | None = None, dates: dict[str, str] | None = None
) -> IndexedDocument:
    document = Document.parse(text.encode("utf-8", "surrogateescape"), "a.md")
    return IndexedDocument(
        "a.md", "0" * 40, document.title, facets or {}, document.data, document.sections, dates or {}
    )


DOCUMENT_LISTS = st.lists(st.builds(make_document, TEXTS, FACETS, DATES), max_size=6)


def compute_weights(posting_lists: PostingLists) -> list[dict[bytes, int]]:
    """Return the weight of each key in each section."""
    sections: list[dict[bytes, int]] = [{} for _ in posting_lists.lengths]
    for position, key in enumerate(posting_lists.terms):
        posting_range = slice(posting_lists.starts[position], posting_lists.starts[position + 1])
        for number, weight in zip(
            posting_lists.ids[posting_range], posting_lists.weights[posting_range], strict=True
        ):
            assert key not in sections[number]
            sections[number][key] = int(weight)
    return sections


def compute_word_weights(posting_lists: PostingLists) -> list[dict[bytes, int]]:
    """Return the weight of each key of the text field in each section."""
    return [
        {key: weight for key, weight in weights.items() if key.startswith(b"\0")}
        for weights in compute_weights(posting_lists)
    ]


def compute_expected_weights(documents: list[IndexedDocument]) -> list[dict[bytes, int]]:
    return [
        {b"\0" + term.encode(): weight for term, weight in weigh_section_terms(document, section).items()}
        | {
            b"#title\0" + term.encode(): n
            for term, n in count_heading_terms(document.title[:MAX_HEADING_ABOVE_LENGTH]).items()
        }
        | {b"#heading\0" + term.encode(): n for term, n in count_heading_terms(section.title).items()}
        | {f"{key}\0{value}".encode(): 1 for key, values in document.facets.items() for value in values}
        | {f"#date:{key}\0{day}".encode(): 1 for key, day in document.dates.items()}
        for document in documents
        for section in document.sections_by_key
    ]


@given(DOCUMENT_LISTS, st.integers(1, 60), st.integers(1, 9999), st.integers(1, 200))
def test_posting_lists_equal_section_weights_for_any_batch_size(
    documents: list[IndexedDocument], batch_size: int, limit: int, portion_size: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(inversion, "MAX_PORTION_SIZE", portion_size)
        builder = Inversion(batch_size, limit)
        for document in documents:
            builder.add(document)
        posting_lists = builder.finish()
    assert compute_weights(posting_lists) == compute_expected_weights(documents)
    assert posting_lists.lengths.tolist() == [
        sum(weight for key, weight in weights.items() if key.startswith(b"\0"))
        for weights in compute_expected_weights(documents)
    ]
    assert posting_lists.terms == sorted(set(posting_lists.terms))
    assert posting_lists.starts[0] == 0
    assert (
        posting_lists.starts[-1]
        == len(posting_lists.ids)
        == len(posting_lists.weights)
        == builder.posting_count
    )
    assert (np.diff(posting_lists.starts) > 0).all()
    for start, end in zip(posting_lists.starts, posting_lists.starts[1:], strict=False):
        assert (np.diff(posting_lists.ids[start:end].astype(np.int64)) > 0).all()


@given(DOCUMENT_LISTS)
def test_shared_vocabulary_gives_correct_lists_repeatedly(documents: list[IndexedDocument]) -> None:
    for document in documents:
        inversion = Inversion()
        inversion.add(document)
        assert compute_weights(inversion.finish()) == compute_expected_weights([document])


def test_text_longer_than_a_batch_leaves_no_words_in_vocabulary() -> None:
    size_before = get_shared_vocabulary().size
    inversion = Inversion(batch_bytes=1)
    inversion.add(make_document("first of all"))
    size_after_first_batch = get_shared_vocabulary().size
    inversion.add(make_document("second to none"))
    inversion.finish()
    assert size_before <= get_shared_vocabulary().size == size_after_first_batch


def test_no_documents_give_empty_posting_lists() -> None:
    posting_lists = Inversion().finish()
    assert posting_lists.terms == []
    assert posting_lists.starts.tolist() == [0]
    assert [len(array) for array in (posting_lists.ids, posting_lists.weights, posting_lists.lengths)] == [
        0,
        0,
        0,
    ]


def test_section_without_words_gets_a_number() -> None:
    inversion = Inversion()
    inversion.add(make_document("# ...\n\n## b\n\n## d"))
    inversion.add(make_document("# ..."))
    assert inversion.finish().lengths.tolist() == [0, 2, 2, 0]


def test_sections_are_numbered_by_key() -> None:
    inversion = Inversion()
    inversion.add(make_document("text\n\n## two\n\n## one\n\n## three"))
    titles = [max(weights, key=weights.__getitem__) for weights in compute_word_weights(inversion.finish())]
    assert titles == [b"\0text", b"\0one", b"\0three", b"\0two"]


def test_added_weights_are_capped() -> None:
    inversion = Inversion()
    inversion.add(make_document("# word\n\n" + "word " * 254 + "\n\n# " + "word " * 10_000))
    posting_lists = inversion.finish()
    assert compute_word_weights(posting_lists) == [{b"\0word": MAX_WEIGHT}, {b"\0word": MAX_WEIGHT}]
    assert posting_lists.lengths.tolist() == [MAX_WEIGHT, MAX_WEIGHT]


def test_long_heading_is_truncated_in_sections_below() -> None:
    heading = " ".join(f"w{number}" for number in range(1000))
    inversion = Inversion()
    document = make_document(f"# {heading}\n\n## below\n\n# {heading}\n\n## below")
    inversion.add(document)
    posting_lists = inversion.finish()
    assert compute_weights(posting_lists) == compute_expected_weights([document])
    assert [len(weights) for weights in compute_word_weights(posting_lists)] == [1000, 28, 1000, 28]


def test_posting_count_grows_with_each_document() -> None:
    inversion = Inversion(batch_bytes=1)
    inversion.add(make_document("one two\n\nthree"))
    title_postings = 1
    assert inversion.posting_count == 3 + title_postings
    inversion.add(make_document("four"))
    assert inversion.posting_count == 4 + 2 * title_postings


def test_packed_postings_preserve_highest_section_and_term_numbers() -> None:
    max_number = inversion.PACKED_CAPACITY - 1
    terms, sections = (
        np.array([0, 1, max_number], np.uint32),
        np.array([max_number, 0, max_number], np.uint32),
    )
    packed_postings = inversion.pack_postings(terms, sections, np.array([1, 254, MAX_WEIGHT], np.uint8))
    assert inversion.unpack_terms(packed_postings).tolist() == terms.tolist()
    assert inversion.unpack_sections(packed_postings).tolist() == sections.tolist()
    assert inversion.unpack_weights(packed_postings).tolist() == [1, 254, MAX_WEIGHT]
    inversion.renumber_terms(packed_postings[:2], np.array([max_number, 5], np.uint64))
    inversion.shift_sections(packed_postings[1:2], 1 << 20)
    assert inversion.unpack_terms(packed_postings).tolist() == [max_number, 5, max_number]
    assert inversion.unpack_sections(packed_postings).tolist() == [max_number, 1 << 20, max_number]
    assert inversion.unpack_weights(packed_postings).tolist() == [1, 254, MAX_WEIGHT]


def test_more_sections_than_capacity_raise_overflow_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.building.inversion.PACKED_CAPACITY", 2)
    inversion = Inversion(batch_bytes=1)
    with pytest.raises(OverflowError, match="limit 2"):
        inversion.add(make_document("# a\n\n## b\n\n## c"))
