"""The texts of sections: a blob is read once and sliced by bytes, and read errors are never cached."""

from __future__ import annotations

import pytest

from index.documents import SectionRecord
from index.snippets import SectionTexts
from workspace.git.repository import DamagedRepository


class BlobStore(dict[str, bytes]):
    def __init__(self, **blobs: bytes) -> None:
        super().__init__(blobs)
        self.read_ids: list[str] = []

    def blob(self, id: str) -> bytes:
        self.read_ids.append(id)
        return self[id]


def test_blob_is_read_once_for_all_its_sections() -> None:
    blobs = BlobStore(a="é one two".encode())
    texts = SectionTexts(blobs.blob)
    assert [texts.read_range("a", 3, 6), texts.read_range("a", 7, 10), texts.read_range("a", 0, 2)] == [
        b"one",
        b"two",
        "é".encode(),
    ]
    assert blobs.read_ids == ["a"]


def test_recently_used_blobs_are_cached_within_limit() -> None:
    blobs = BlobStore(**{name: bytes(10_000) for name in "abc"})
    texts = SectionTexts(blobs.blob, max_cache_bytes=25_000)
    for name in "abac":
        texts.read_range(name, 0, 1)
    assert blobs.read_ids == ["a", "b", "c"]
    texts.read_range("a", 0, 1)
    texts.read_range("b", 0, 1)
    assert blobs.read_ids == ["a", "b", "c", "b"]


def test_blob_over_the_limit_is_cached_until_the_next_read() -> None:
    blobs = BlobStore(a=b"x" * 1_000, b=b"y" * 1_000)
    texts = SectionTexts(blobs.blob, max_cache_bytes=100)
    assert texts.read_range("a", 0, 3) == texts.read_range("a", 0, 3) == b"xxx"
    assert texts.read_range("b", 0, 1) + texts.read_range("a", 0, 1) == b"yx"
    assert blobs.read_ids == ["a", "b", "a"]


def test_read_errors_are_raised_each_time() -> None:
    blobs = BlobStore()
    texts = SectionTexts(blobs.blob)
    for _ in range(2):
        with pytest.raises(KeyError):
            texts.read_range("a", 0, 1)
    blobs["a"] = b"repaired"
    assert texts.read_range("a", 0, 8) == b"repaired"


class FaultyBlobStore(dict[str, bytes]):
    def blob(self, id: str) -> bytes:
        try:
            return self[id]
        except KeyError:
            raise DamagedRepository(f"{id} is missing", fix="Fetch it.") from None


def test_text_of_lost_blob_is_empty() -> None:
    blobs = FaultyBlobStore()
    texts = SectionTexts(blobs.blob)
    assert texts.read(make_record("a")) == b""
    blobs["a"] = b"# Head\n\xff text\n"
    assert texts.read(make_record("a")) == b"\xff text\n"


def make_record(blob: str) -> SectionRecord:
    return SectionRecord("a.md", "head", blob, 0, 0, 7, 100, 1, 2, "Head", ("Head",), {}, 1, 1)
