"""Pages that are at hand are used again, and what is made of them and the rest is small and whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from index import overlays
from index.overlays import CachedParts, add_remaining, reuse_pages
from index.page import IndexedDocument, UnreadableDocument
from index.segments.generation import SegmentReader
from tests.index.pages import page, segment
from tests.index.segments.test_merge import alike

PAGES = {
    path: page(path, f"# {path}\n\nalpha\n\n## One\n\nbeta {path}\n") for path in ("a.md", "b.md", "c.md")
}
BLOBS = {path: found.blob for path, found in PAGES.items()}


def nothing(path: str) -> Mapping[str, tuple[str, ...]]:
    """No manifest says anything."""
    return {}


def live(parts: Iterable[SegmentReader]) -> list[str]:
    return sorted(
        part.segment.path(number)
        for part in parts
        for number in range(part.segment.pages)
        if number not in part.dead_pages
    )


def test_a_document_of_the_same_path_blob_and_manifests_is_taken() -> None:
    part = SegmentReader.of(segment(PAGES.values()))
    wanted = {"a.md": BLOBS["a.md"], "b.md": "0" * 40, "d.md": BLOBS["c.md"]}
    taken = reuse_pages(wanted, nothing, [CachedParts([part], nothing)])
    assert live(taken.parts) == ["a.md"]
    assert taken.remaining == {"b.md": "0" * 40, "d.md": BLOBS["c.md"]}


def test_what_manifests_say_otherwise_or_are_not_known_to_say_is_not_taken() -> None:
    part = SegmentReader.of(segment(PAGES.values()))
    said = {"a.md": {"language": ("go",)}, "b.md": {}}
    taken = reuse_pages(BLOBS, nothing, [CachedParts([part], said.get)])
    assert live(taken.parts) == ["b.md"]
    assert sorted(taken.remaining) == ["a.md", "c.md"]


def test_each_is_taken_once_and_never_from_the_dead() -> None:
    first = SegmentReader.of(segment(PAGES.values()), [0])
    second = SegmentReader.of(segment([PAGES["a.md"], PAGES["b.md"]]))
    taken = reuse_pages(BLOBS, nothing, [CachedParts([first], nothing), CachedParts([second], nothing)])
    assert [live([part]) for part in taken.parts] == [["b.md", "c.md"], ["a.md"]]
    assert taken.remaining == {}


def test_a_little_of_a_large_segment_is_not_worth_keeping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "SMALL", 10)
    pages = [page(f"{number:02}.md", "# A\n\nalpha\n") for number in range(40)]
    part = SegmentReader.of(segment(pages))
    few = {one.path: one.blob for one in pages[:4]}
    assert reuse_pages(few, nothing, [CachedParts([part], nothing)]) == ((), few)
    more = {one.path: one.blob for one in pages[:5]}
    assert live(reuse_pages(more, nothing, [CachedParts([part], nothing)]).parts) == sorted(more)


def test_small_parts_become_one_that_keeps_nothing_dead() -> None:
    part = SegmentReader.of(segment([PAGES["a.md"], PAGES["c.md"]]), [0])
    lost = UnreadableDocument("x.md", "1" * 40)
    rest: list[IndexedDocument | UnreadableDocument] = [PAGES["a.md"], PAGES["b.md"], lost]
    parts, unreadable = add_remaining([part], rest)
    assert unreadable == {"x.md": "1" * 40}
    [joined] = parts
    assert not joined.dead_pages
    assert alike(joined.segment, segment(PAGES.values()))


def test_large_parts_are_kept_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "SMALL", 2)
    part = SegmentReader.of(segment([PAGES["a.md"], PAGES["c.md"]]), [0])
    parts, _ = add_remaining([part], [PAGES["b.md"]])
    assert parts[0] is part
    assert live(parts) == ["b.md", "c.md"]


def test_nothing_is_made_of_nothing() -> None:
    assert add_remaining([], []) == ((), {})
