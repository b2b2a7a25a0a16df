"""Inversion: the posting lists of pages have the words, headings, facets and dates of each section."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import MAX_HEADING_ABOVE_LENGTH, MAX_WEIGHT, count_heading_terms, weigh_section_terms
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


def page_of(
    text: str, facets: dict[str, tuple[str, ...]] | None = None, dates: dict[str, str] | None = None
) -> IndexedDocument:
    document = Document.parse(text.encode("utf-8", "surrogateescape"), "a.md")
    return IndexedDocument(
        "a.md", "0" * 40, document.title, facets or {}, document.data, document.sections, dates or {}
    )


PAGES = st.lists(st.builds(page_of, TEXTS, FACETS, DATES), max_size=6)


def weights_of(inverted: PostingLists) -> list[dict[bytes, int]]:
    """Return the weight of each key in each section."""
    sections: list[dict[bytes, int]] = [{} for _ in inverted.lengths]
    for position, key in enumerate(inverted.terms):
        posting_range = slice(inverted.starts[position], inverted.starts[position + 1])
        for number, weight in zip(inverted.ids[posting_range], inverted.weights[posting_range], strict=True):
            assert key not in sections[number]
            sections[number][key] = int(weight)
    return sections


def words_of(inverted: PostingLists) -> list[dict[bytes, int]]:
    """Return the weight of each key of the text field in each section."""
    return [
        {key: weight for key, weight in weights.items() if key.startswith(b"\0")}
        for weights in weights_of(inverted)
    ]


def expected(pages: list[IndexedDocument]) -> list[dict[bytes, int]]:
    return [
        {b"\0" + term.encode(): weight for term, weight in weigh_section_terms(page, section).items()}
        | {
            b"#title\0" + term.encode(): n
            for term, n in count_heading_terms(page.title[:MAX_HEADING_ABOVE_LENGTH]).items()
        }
        | {b"#heading\0" + term.encode(): n for term, n in count_heading_terms(section.title).items()}
        | {f"{key}\0{value}".encode(): 1 for key, values in page.facets.items() for value in values}
        | {f"#date:{key}\0{day}".encode(): 1 for key, day in page.dates.items()}
        for page in pages
        for section in page.sections_by_key
    ]


@given(PAGES, st.integers(1, 60), st.integers(1, 9999), st.integers(1, 200))
def test_posting_lists_equal_section_weights_for_any_batch_size(
    pages: list[IndexedDocument], batch_size: int, limit: int, portion_size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "MAX_PORTION_SIZE", portion_size)
        builder = Inversion(batch_size, limit)
        for page in pages:
            builder.add(page)
        inverted = builder.finish()
    assert weights_of(inverted) == expected(pages)
    assert inverted.lengths.tolist() == [
        sum(weight for key, weight in weights.items() if key.startswith(b"\0")) for weights in expected(pages)
    ]
    assert inverted.terms == sorted(set(inverted.terms))
    assert inverted.starts[0] == 0
    assert inverted.starts[-1] == len(inverted.ids) == len(inverted.weights) == builder.postings
    assert (np.diff(inverted.starts) > 0).all()
    for start, end in zip(inverted.starts, inverted.starts[1:], strict=False):
        assert (np.diff(inverted.ids[start:end].astype(np.int64)) > 0).all()


@given(PAGES)
def test_shared_vocabulary_gives_correct_lists_repeatedly(pages: list[IndexedDocument]) -> None:
    for page in pages:
        inversion = Inversion()
        inversion.add(page)
        assert weights_of(inversion.finish()) == expected([page])


def test_text_longer_than_a_batch_leaves_no_words_in_vocabulary() -> None:
    size_before = get_shared_vocabulary().size
    inversion = Inversion(batch=1)
    inversion.add(page_of("first of all"))
    size_after_first_batch = get_shared_vocabulary().size
    inversion.add(page_of("second to none"))
    inversion.finish()
    assert size_before <= get_shared_vocabulary().size == size_after_first_batch


def test_no_documents_give_empty_posting_lists() -> None:
    inverted = Inversion().finish()
    assert inverted.terms == []
    assert inverted.starts.tolist() == [0]
    assert [len(array) for array in (inverted.ids, inverted.weights, inverted.lengths)] == [0, 0, 0]


def test_section_without_words_gets_a_number() -> None:
    inversion = Inversion()
    inversion.add(page_of("# ...\n\n## b\n\n## d"))
    inversion.add(page_of("# ..."))
    assert inversion.finish().lengths.tolist() == [0, 2, 2, 0]


def test_sections_are_numbered_by_key() -> None:
    inversion = Inversion()
    inversion.add(page_of("text\n\n## two\n\n## one\n\n## three"))
    titles = [max(weights, key=weights.__getitem__) for weights in words_of(inversion.finish())]
    assert titles == [b"\0text", b"\0one", b"\0three", b"\0two"]


def test_added_weights_are_capped() -> None:
    inversion = Inversion()
    inversion.add(page_of("# word\n\n" + "word " * 254 + "\n\n# " + "word " * 10_000))
    inverted = inversion.finish()
    assert words_of(inverted) == [{b"\0word": MAX_WEIGHT}, {b"\0word": MAX_WEIGHT}]
    assert inverted.lengths.tolist() == [MAX_WEIGHT, MAX_WEIGHT]


def test_long_heading_is_truncated_in_sections_below() -> None:
    heading = " ".join(f"w{number}" for number in range(1000))
    inversion = Inversion()
    page = page_of(f"# {heading}\n\n## below\n\n# {heading}\n\n## below")
    inversion.add(page)
    inverted = inversion.finish()
    assert weights_of(inverted) == expected([page])
    assert [len(weights) for weights in words_of(inverted)] == [1000, 28, 1000, 28]


def test_posting_count_grows_with_each_document() -> None:
    inversion = Inversion(batch=1)
    inversion.add(page_of("one two\n\nthree"))
    in_title = 1
    assert inversion.postings == 3 + in_title
    inversion.add(page_of("four"))
    assert inversion.postings == 4 + 2 * in_title


def test_packed_postings_preserve_highest_section_and_term_numbers() -> None:
    top = inversion.PACKED_CAPACITY - 1
    terms, sections = np.array([0, 1, top], np.uint32), np.array([top, 0, top], np.uint32)
    packed = inversion.pack(terms, sections, np.array([1, 254, MAX_WEIGHT], np.uint8))
    assert inversion.unpack_terms(packed).tolist() == terms.tolist()
    assert inversion.unpack_sections(packed).tolist() == sections.tolist()
    assert inversion.unpack_weights(packed).tolist() == [1, 254, MAX_WEIGHT]
    inversion.move_terms(packed[:2], np.array([top, 5], np.uint64))
    inversion.move_sections(packed[1:2], 1 << 20)
    assert inversion.unpack_terms(packed).tolist() == [top, 5, top]
    assert inversion.unpack_sections(packed).tolist() == [top, 1 << 20, top]
    assert inversion.unpack_weights(packed).tolist() == [1, 254, MAX_WEIGHT]


def test_more_sections_than_capacity_raise_overflow_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.building.inversion.PACKED_CAPACITY", 2)
    inversion = Inversion(batch=1)
    with pytest.raises(OverflowError, match="limit 2"):
        inversion.add(page_of("# a\n\n## b\n\n## c"))
