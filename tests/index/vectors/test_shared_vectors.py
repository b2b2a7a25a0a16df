"""Two nodes with clones of one repository share the vectors of its sections in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psycopg
import pygit2
import pytest
from psycopg.sql import SQL, Identifier, Literal

from index.postgres.database import RETRY_AFTER_S, Database
from index.postgres.options import EngineOptions
from index.service import SearchIndex
from index.vectors.options import EmbeddingOptions
from index.vectors.postgres_vectors import UNUSED_DAYS, PostgresVectors
from index.vectors.provider import Provider
from tests.databases import postgres  # noqa: F401
from tests.index.vectors.embedders import TopicEmbedder
from tests.index.vectors.test_vector_search import DOCUMENTS, get_ids, list_embedded_texts
from tests.postgres_server import PostgresServer
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

QUERIES = ("please retry", "an automobile", "what to pay", "nothing of note")

OpenNode = Callable[[str, TopicEmbedder], SearchIndex]


@pytest.fixture
def url(postgres: PostgresServer) -> str:  # noqa: F811
    return postgres.create_database()


@pytest.fixture
def open_node(url: str, tmp_path: Path) -> Iterator[OpenNode]:
    """Return a function that opens the index of a node with a clone of its own."""
    origin = create_repository(tmp_path / "docs", DOCUMENTS)
    opened: list[SearchIndex] = []

    def open_one(name: str, embedder: TopicEmbedder) -> SearchIndex:
        clone = tmp_path / name
        pygit2.clone_repository(str(origin.path), str(clone))
        index = SearchIndex(
            Workspace.open(clone),
            location=tmp_path / f"{name}-index",
            embedding=EmbeddingOptions(Provider(embedder, 5.0), in_background=False),
            engine=EngineOptions(Database(url)),
        )
        opened.append(index)
        return index

    yield open_one
    for index in opened:
        index.close()


def test_second_node_embeds_no_section_and_finds_the_same(open_node: OpenNode) -> None:
    embedders = TopicEmbedder(), TopicEmbedder()
    first, second = (open_node(name, embedder) for name, embedder in zip("ab", embedders, strict=True))
    for node in (first, second):
        report = node.embed_sections()
        assert report.coverage.covered == report.coverage.total > 0
    assert list_embedded_texts(embedders[0])
    assert list_embedded_texts(embedders[1]) == []
    for query in QUERIES:
        pages = [node.search(query, search_type="vector") for node in (first, second)]
        assert get_ids(pages[0]) == get_ids(pages[1]) != []
        assert [hit.score for hit in pages[0].hits] == [hit.score for hit in pages[1].hits]


def test_node_whose_clone_lacks_a_document_does_not_embed_it(open_node: OpenNode, tmp_path: Path) -> None:
    """Its vector would be that of a section without text, for all nodes."""
    first = open_node("a", TopicEmbedder())
    first.update_to_tip()
    late = open_node("b", embedder := TopicEmbedder())
    Repo(tmp_path / "docs").commit({"new.md": "# New\n\n## Okapi\n\nWhat an automobile costs.\n"})
    Repo(tmp_path / "a").git("pull", "-q")
    first.update_to_tip()
    report = late.embed_sections()
    assert report is not None
    assert 0 < report.coverage.covered < report.coverage.total
    assert not [text for text in list_embedded_texts(embedder) if "Okapi" in text]
    Repo(tmp_path / "b").git("pull", "-q")
    late.embed_sections()
    assert "New > Okapi\n\nWhat an automobile costs." in list_embedded_texts(embedder)


def test_vectors_made_while_the_database_was_away_are_shared_later(
    open_node: OpenNode,
    postgres: PostgresServer,  # noqa: F811
    url: str,
) -> None:
    first = open_node("a", TopicEmbedder())
    first.search("price")
    allow_connections(postgres, url, allowed=False)
    first.embed_sections()
    allow_connections(postgres, url, allowed=True)
    time.sleep(RETRY_AFTER_S)
    first.embed_sections()
    second = open_node("b", embedder := TopicEmbedder())
    second.embed_sections()
    assert list_embedded_texts(embedder) == []


def test_another_model_of_the_same_name_has_vectors_of_its_own(open_node: OpenNode) -> None:
    changed = TopicEmbedder()
    changed.shift = 3.0
    open_node("a", TopicEmbedder()).embed_sections()
    open_node("b", changed).embed_sections()
    assert list_embedded_texts(changed)


def test_vectors_that_no_node_uses_are_deleted_after_a_month(url: str) -> None:
    probe = np.ones(4, np.float32)
    vectors = PostgresVectors(Database(url), "model", probe)
    digests = [bytes([number]) * 16 for number in range(3)]
    vectors.add(digests, np.ones((3, 4), np.float16))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "UPDATE docyard_index_vectors SET used_on = used_on - %s::integer WHERE digest <> %s",
            (UNUSED_DAYS + 1, digests[0]),
        )
    assert vectors.mark_used(digests[1:2]) == []
    assert vectors.mark_used(digests) == [digests[2]]
    assert [digest for found, _ in vectors.read(digests) for digest in sorted(found)] == digests[:2]


def test_erasure_removes_the_vectors_that_nodes_share(open_node: OpenNode, url: str) -> None:
    node = open_node("a", TopicEmbedder())
    node.embed_sections()
    node.erase()
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM docyard_index_vectors").fetchall() == [(0,)]


def allow_connections(postgres: PostgresServer, url: str, *, allowed: bool) -> None:  # noqa: F811
    """Let a database accept connections or refuse them; those that exist are closed."""
    name = url.rpartition("/")[2]
    with psycopg.connect(postgres.build_url("postgres"), autocommit=True) as connection:
        connection.execute(
            SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(Identifier(name), Literal(allowed))
        )
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
