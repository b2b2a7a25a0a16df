"""A source whose sections are embedded when they are indexed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from index.building.build import build_in_processes
from index.segments.generation import SegmentReader
from index.snippets import SectionTexts
from index.source import GitSource
from index.vectors.embedded_source import EmbeddedSource
from index.vectors.embedder import Vectors
from index.vectors.hash_embedder import HashEmbedder
from index.vectors.provider import Provider
from index.vectors.store import VectorStore
from index.vectors.vector_index import VectorIndex
from tests.index.document_sources import NumberedSource
from tests.index.vectors.embedders import TopicEmbedder
from tests.repositories import create_repository
from workspace.workspace import Workspace

DIMENSIONS = 256
RELEASE = "## Release\n\nBy its owner.\n\n"
DOCUMENTS = {
    "a.md": f"Text before.\n\n# Locks\n\nA lock.\n\n{RELEASE}{RELEASE}### Late\n",
    "b.md": "---\ntitle: Titled\n---\n## Größe\n\n- [ ] a task\n\n```\ncode\n```\n",
    "empty.md": "",
    "no-heading.md": "One paragraph.\n",
}


class CountingEmbedder(HashEmbedder):
    """The provider `hash`, with a record of its calls."""

    batch_size = 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return super().embed_documents(texts)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


def read_vectors(file: Path) -> dict[bytes, bytes]:
    store = VectorStore(file, DIMENSIONS)
    vectors: dict[bytes, bytes] = {}
    for rows in store.read_codes():
        for digest, id in zip(rows.digests, rows.ids, strict=True):
            assert digest not in vectors
            vectors[digest] = store.read_vectors([id])[id].tobytes()
    store.close()
    return vectors


def test_vectors_equal_those_of_an_index_that_is_embedded_later(tmp_path: Path, file: Path) -> None:
    workspace = Workspace.open(create_repository(tmp_path / "docs", DOCUMENTS).path)
    source = GitSource(workspace.snapshot())
    segments = build_in_processes(EmbeddedSource(source, HashEmbedder(), file, DIMENSIONS), None).segments
    readers = [SegmentReader.of(segment) for segment in segments]
    folder = tmp_path / "later"
    folder.mkdir(mode=0o700)
    vectors = VectorIndex(Provider(HashEmbedder()), lambda: [folder])
    report = vectors.embed_all(readers, SectionTexts(workspace.git.blob).read_span)
    [later_file] = folder.glob("*.sqlite")
    assert len(read_vectors(file)) == report.coverage.total - 1  # two sections have the same text
    assert read_vectors(file) == read_vectors(later_file)
    vectors.close()


def test_known_sections_are_not_embedded_again(file: Path) -> None:
    source = NumberedSource(6)
    first, second = CountingEmbedder(), CountingEmbedder()
    list(EmbeddedSource(source, first, file, DIMENSIONS).read_documents(source.paths()[:3]))
    vectors = read_vectors(file)
    assert sum(map(len, first.calls)) == len(vectors) > 0
    list(EmbeddedSource(source, second, file, DIMENSIONS).read_documents(source.paths()))
    assert sum(map(len, second.calls)) == len(read_vectors(file)) - len(vectors) > 0
    assert max(map(len, [*first.calls, *second.calls])) == CountingEmbedder.batch_size


@pytest.mark.process
def test_processes_of_a_build_embed_each_section_once(tmp_path: Path, file: Path) -> None:
    source = NumberedSource(300)
    VectorStore(file, DIMENSIONS).close()
    built = build_in_processes(
        EmbeddedSource(source, HashEmbedder(), file, DIMENSIONS), tmp_path, processes=2
    )
    digests = {row.tobytes() for segment in built.segments for row in segment.digests}
    assert read_vectors(file).keys() == digests
    assert len(built.segments) == 2


def test_only_a_single_threaded_provider_embeds_with_the_index(tmp_path: Path) -> None:
    source = NumberedSource(3)
    for embedder, folders, is_embedded in (
        (HashEmbedder(), [tmp_path], True),
        (HashEmbedder(), [], False),
        (TopicEmbedder(), [tmp_path], False),
    ):
        vectors = VectorIndex(Provider(embedder), lambda: folders)  # noqa: B023
        assert isinstance(vectors.embed_with_index(source), EmbeddedSource) == is_embedded
        vectors.close()
