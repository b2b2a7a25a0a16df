"""Merges: the choice of segments, and their result, which equals a segment of the live documents."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np

from index.segments.generation import SegmentReader
from index.segments.merge import (
    MAX_MERGED_SEGMENT_SECTIONS,
    MAX_SMALL_SEGMENTS,
    SectionCounts,
    choose_segments,
    compact_segments,
    merge_segments,
)
from index.segments.segment import Segment
from tests.index.documents import GrowingIndex, make_document, make_random_document, make_segment
from tests.loops import loop_over


def are_equal(left_segment: Segment, right_segment: Segment) -> bool:
    return left_segment.total_length == right_segment.total_length and all(
        np.array_equal(left_segment.arrays[name], right_segment.arrays[name])
        and left_segment.arrays[name].dtype == right_segment.arrays[name].dtype
        for name in {*left_segment.arrays, *right_segment.arrays}
    )


@loop_over("seed", range(12))
def test_merged_segment_equals_segment_of_live_documents(seed: int) -> None:
    rng = Random(seed)
    index = GrowingIndex()
    paths = [f"{rng.choice('abé')}/{number % 7}{rng.choice(('', '-x'))}.md" for number in range(20)]
    for _ in range(rng.randint(1, 8)):
        changed_paths = rng.sample(sorted(set(paths)), 5)
        index.change(
            (make_random_document(rng, path, rng.randrange(6)) for path in changed_paths[:4]),
            changed_paths[4:],
        )
    assert are_equal(merge_segments(index.segment_readers), make_segment(index.documents.values()))
    first = rng.randrange(len(index.segment_readers))
    index.merge(slice(first, first + 2))
    assert are_equal(merge_segments(index.segment_readers), make_segment(index.documents.values()))


@loop_over("seed", range(6))
def test_values_count_only_live_documents(seed: int) -> None:
    rng = Random(seed)
    index = GrowingIndex()
    for _ in range(6):
        changed_paths = [f"{number}.md" for number in range(8) if rng.random() < 0.5]
        index.change(
            (make_random_document(rng, path, rng.randrange(4)) for path in changed_paths[1:]),
            changed_paths[:1],
        )
        for key in ("type", "tags", "none"):
            value_counts: Counter[str] = Counter()
            for segment_reader in index.segment_readers:
                value_counts.update(segment_reader.get_value_counts(key))
            documents = index.documents.values()
            assert value_counts == Counter(
                value
                for document in documents
                for value in document.facets.get(key, ())
                for _ in document.sections
            )


def test_merge_drops_terms_of_deleted_sections() -> None:
    segment_reader = SegmentReader.of(
        make_segment([make_document("a.md", "# Zebra\n", tags=["t"]), make_document("b.md", "# Yak\n")])
    )
    merged_segment = merge_segments([segment_reader.with_dead_documents([0])])
    assert merged_segment.term_keys() == [b"\0yak", b"#heading\0yak", b"#title\0yak"]
    assert merged_segment.document_count == merged_segment.size == 1


def test_deleting_a_document_deletes_its_sections() -> None:
    segment_reader = SegmentReader.of(
        make_segment(
            [
                make_document("a.md", "# A\n\n## B\n"),
                make_document("b.md", ""),
                make_document("c.md", "# C\n\n## D\n\n## E\n"),
            ]
        )
    )
    assert (segment_reader.document_count, segment_reader.size, segment_reader.dead_sections.tolist()) == (
        3,
        5,
        [],
    )
    assert segment_reader.with_dead_documents([]) is segment_reader
    segment_reader = segment_reader.with_dead_documents([2]).with_dead_documents([1]).with_dead_documents([2])
    assert segment_reader.dead_sections.tolist() == [2, 3, 4]
    assert segment_reader.dead_documents == {1, 2}
    assert (segment_reader.document_count, segment_reader.size) == (1, 2)
    assert segment_reader.total_length == segment_reader.segment.lengths[:2].sum()
    assert segment_reader.find("c.md") is None
    assert segment_reader.find("a.md") == 0
    assert (
        SegmentReader.of(segment_reader.segment, [2, 1]).dead_sections.tolist()
        == segment_reader.dead_sections.tolist()
    )


def test_few_segments_are_not_merged() -> None:
    assert choose_segments([]) == set()
    assert choose_segments([SectionCounts(100_000, 0), *[SectionCounts(5, 0)] * MAX_SMALL_SEGMENTS]) == set()


def test_small_segments_of_similar_size_are_merged() -> None:
    sizes = [
        SectionCounts(MAX_MERGED_SEGMENT_SECTIONS, 0),
        SectionCounts(9, 0),
        SectionCounts(900, 0),
        SectionCounts(20, 3),
        SectionCounts(10, 1),
        SectionCounts(100_000, 0),
        SectionCounts(8, 0),
    ]
    assert choose_segments(sizes) == {1, 3, 4, 6}


def test_mostly_deleted_segments_of_any_size_are_rewritten() -> None:
    assert choose_segments(
        [SectionCounts(50_000, 50_001), SectionCounts(50_000, 50_000), SectionCounts(3, 4)]
    ) == {0, 2}


def test_number_of_small_segments_stays_within_limit() -> None:
    sizes = [SectionCounts(16 * 3**power, 0) for power in range(12)]
    small_numbers = [
        number for number, size in enumerate(sizes) if size.live_count <= MAX_MERGED_SEGMENT_SECTIONS
    ]
    chosen_numbers = choose_segments(sizes)
    assert chosen_numbers < set(small_numbers)
    assert len(small_numbers) - len(chosen_numbers) + 1 <= MAX_SMALL_SEGMENTS


@loop_over("commit_count", [300, 1000])
@loop_over("base_sizes", [[14_000], [80_000, 80_000]])
def test_few_segments_remain_after_many_commits(base_sizes: list[int], commit_count: int) -> None:
    """Check also that merges copy fewer than twelve times as many sections as the commits add."""
    rng = Random(1)
    sizes = [SectionCounts(live, 0) for live in base_sizes]
    copied_count = added_count = 0
    for _ in range(commit_count):
        old_number = rng.choices(range(len(sizes)), [size.live_count for size in sizes])[0]
        new_size = min(rng.choice((1, 5, 10, 40)), sizes[old_number].live_count)
        sizes[old_number] = SectionCounts(
            sizes[old_number].live_count - new_size, sizes[old_number].dead_count + new_size
        )
        sizes.append(SectionCounts(new_size, 0))
        added_count += new_size
        if chosen_numbers := choose_segments(sizes):
            merged_size = sum(sizes[number].live_count for number in chosen_numbers)
            sizes = [size for number, size in enumerate(sizes) if number not in chosen_numbers] + [
                SectionCounts(merged_size, 0)
            ]
            copied_count += merged_size
        assert len(sizes) <= 8
    assert copied_count < 12 * added_count


def test_compaction_drops_only_deleted_segments() -> None:
    segment_readers = [
        SegmentReader.of(make_segment([make_document(f"{number}.md", f"# N{number}\n")]))
        for number in range(3)
    ]
    assert compact_segments(segment_readers) == tuple(segment_readers)
    assert compact_segments([segment_readers[0], segment_readers[1].with_dead_documents([0])]) == (
        segment_readers[0],
    )
    assert compact_segments([]) == ()


def test_compaction_returns_one_segment_for_merged_ones() -> None:
    segment_readers = [
        SegmentReader.of(make_segment([make_document(f"{number}.md", f"# N{number}\n")]))
        for number in range(MAX_SMALL_SEGMENTS + 1)
    ]
    [segment_reader] = compact_segments(segment_readers)
    assert [segment_reader.segment.path(number) for number in range(segment_reader.document_count)] == [
        f"{n}.md" for n in range(MAX_SMALL_SEGMENTS + 1)
    ]
    assert segment_reader.dead_documents == frozenset()
