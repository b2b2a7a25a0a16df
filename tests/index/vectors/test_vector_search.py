"""Searches by meaning in a repository: lists, coverage, failures of the provider, and commits."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from index.cursors import StaleCursor
from index.service import SearchIndex, SearchPage, VectorSearchUnavailable
from index.storage.files import IndexUnwritable
from index.vectors.embedder import PROBE_TEXT, EmbeddingUnavailable
from index.vectors.hash_embedder import HashEmbedder
from index.vectors.options import EmbeddingOptions
from index.vectors.provider import Provider
from index.vectors.store import VectorStore
from index.vectors.vector_index import VectorIndex
from tests.index.vectors.embedders import TopicEmbedder
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

DOCUMENTS = {
    "guides/cars.md": (
        "# Cars\n\nEvery vehicle has an engine.\n\n## Price {#price}\n\nWhat an automobile costs.\n"
    ),
    "guides/money.md": (
        "---\ntype: guide\n---\n# Money\n\nThe payment of a price.\n\n## Cost\n\nThe cost of it.\n"
    ),
    "guides/retries.md": "# Failures\n\nThe client makes another attempt, with a backoff.\n",
    "notes/other.md": "# Other\n\nNothing of note.\n",
}

OpenIndex = Callable[..., SearchIndex]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", DOCUMENTS)


@pytest.fixture
def embedder() -> TopicEmbedder:
    return TopicEmbedder()


@pytest.fixture
def open_index(repo: Repo, embedder: TopicEmbedder) -> Iterator[OpenIndex]:
    """Return a function that opens an index as another process does; each is closed at the end."""
    opened: list[SearchIndex] = []

    def open_one(other: object = None, *, in_background: bool = False, timeout_s: float = 5.0) -> SearchIndex:
        provider = Provider(other or embedder, timeout_s)
        index = SearchIndex(Workspace.open(repo.path), embedding=EmbeddingOptions(provider, in_background))
        opened.append(index)
        return index

    yield open_one
    for index in opened:
        index.close()


def get_ids(page: SearchPage) -> list[str]:
    return [hit.chunk_id for hit in page.hits]


def list_embedded_texts(embedder: TopicEmbedder) -> list[str]:
    return [text for call in embedder.calls for text in call if text != PROBE_TEXT]


def wait_for(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.01)


def test_words_of_the_same_meaning_are_found_by_vectors_and_not_by_words(open_index: OpenIndex) -> None:
    index = open_index()
    index.embed_sections()
    assert get_ids(index.search("please retry", search_type="bm25")) == []
    page = index.search("please retry")
    assert page.search_type == "hybrid"
    assert page.embedding is not None
    assert (page.embedding.note, page.embedding.coverage) == (None, (6, 6))
    assert page.hits[0].chunk_id == "guides/retries.md#_preamble"
    assert index.search("please retry", search_type="vector").hits[0].chunk_id == page.hits[0].chunk_id


def test_index_without_provider_searches_words_and_refuses_vectors(repo: Repo) -> None:
    index = SearchIndex(Workspace.open(repo.path))
    page = index.search("price", search_type="hybrid")
    assert (page.search_type, page.embedding) == ("bm25", None)
    assert page == index.search("price")
    with pytest.raises(VectorSearchUnavailable):
        index.search("price", search_type="vector")


def test_search_by_words_is_the_same_with_and_without_a_provider(repo: Repo, open_index: OpenIndex) -> None:
    index, plain_index = open_index(), SearchIndex(Workspace.open(repo.path))
    index.embed_sections()
    for query in ("price", '"a price"', "cost -engine", "type:guide", "nowhere", "pric*"):
        page = index.search(query, search_type="bm25")
        assert page.hits == plain_index.search(query).hits
        assert page.embedding is None


@pytest.mark.parametrize(
    ("query", "arguments", "paths"),
    [
        ("automobile engine", {"filters": {"type": "guide"}}, {"guides/money.md"}),
        ("automobile engine", {"path": "notes"}, {"notes/other.md"}),
        (
            "automobile -vehicle",
            {},
            {*DOCUMENTS},
        ),
        ("automobile AND engine", {}, set()),
        ('"an automobile"', {}, {"guides/cars.md"}),
        (
            'engine "of note"',
            {},
            {*DOCUMENTS},
        ),
    ],
)
@pytest.mark.parametrize("search_type", ["vector", "hybrid"])
def test_conditions_of_a_query_hold_for_hits_by_meaning(
    open_index: OpenIndex, query: str, arguments: dict[str, object], paths: set[str], search_type: str
) -> None:
    index = open_index()
    index.embed_sections()
    hits = index.search(query, search_type=search_type, **arguments).hits
    assert {hit.filepath for hit in hits} == paths
    if "-vehicle" in query:
        assert "guides/cars.md#_preamble" not in [hit.chunk_id for hit in hits]


@pytest.mark.parametrize("query", ["price", '"price"', "cost_of", "RateLimit api_key"])
def test_single_words_phrases_and_names_keep_the_order_of_words(open_index: OpenIndex, query: str) -> None:
    index = open_index()
    index.embed_sections()
    by_words = get_ids(index.search(query, search_type="bm25"))
    assert get_ids(index.search(query))[: len(by_words)] == by_words


def test_hits_by_words_alone_are_in_the_pages_and_each_hit_is_on_one_page(repo: Repo) -> None:
    repo.commit(
        {f"many/{number:03}.md": f"# Page {number}\n\nword engine{number}\n" for number in range(300)}
    )
    index = SearchIndex(
        Workspace.open(repo.path), embedding=EmbeddingOptions(Provider(HashEmbedder()), False)
    )
    index.embed_sections()
    expected = get_ids(index.search("some word in a page", limit=2_000))
    assert len(expected) == len(set(expected)) >= 300
    ids: list[str] = []
    cursor = None
    while True:
        page = index.search("some word in a page", limit=7, cursor=cursor)
        ids += get_ids(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert ids == expected
    index.close()


def test_sections_that_are_embedded_later_do_not_change_the_pages_of_a_search(
    repo: Repo, open_index: OpenIndex
) -> None:
    repo.commit({f"many/{number:02}.md": f"# Page {number}\n\nSome engine.\n" for number in range(20)})
    index = open_index()
    index.embed_sections()
    repo.commit({"new.md": "# Automobile\n\nVehicle vehicle car.\n"})
    expected = get_ids(index.search("which engine is it", limit=50, search_type="vector"))
    assert "new.md#_preamble" not in expected
    page = index.search("which engine is it", limit=5, search_type="vector")
    open_index().embed_sections()
    assert "new.md#_preamble" in get_ids(index.search("which engine is it", limit=50, search_type="vector"))
    ids, cursor = get_ids(page), page.next_cursor
    while cursor is not None:
        page = index.search("which engine is it", limit=5, cursor=cursor, search_type="vector")
        ids, cursor = [*ids, *get_ids(page)], page.next_cursor
    assert ids == expected


def test_cursor_of_another_search_type_is_refused_and_one_without_vectors_stays_without(
    open_index: OpenIndex, embedder: TopicEmbedder
) -> None:
    index = open_index()
    page = index.search("engine price", limit=1)  # nothing is embedded yet
    assert page.search_type == "bm25"
    index.embed_sections()
    assert index.search("engine price", limit=1, cursor=page.next_cursor).search_type == "bm25"
    page = index.search("engine price", limit=1)
    assert page.search_type == "hybrid"
    assert index.search("engine price", limit=1, cursor=page.next_cursor).search_type == "hybrid"
    restarted_index = open_index(TopicEmbedder())
    restarted_index.connect_provider()
    assert get_ids(restarted_index.search("engine price", limit=1, cursor=page.next_cursor)) == get_ids(
        index.search("engine price", limit=1, cursor=page.next_cursor)
    )
    embedder.failure = EmbeddingUnavailable("failed")
    failing_index = open_index()
    failing_index.connect_provider()
    with pytest.raises(StaleCursor, match="failed"):
        failing_index.search("engine price", limit=1, cursor=page.next_cursor)


def test_edit_of_one_section_embeds_one_text(
    repo: Repo, open_index: OpenIndex, embedder: TopicEmbedder
) -> None:
    index = open_index()
    index.embed_sections()
    assert len(list_embedded_texts(embedder)) == 6
    embedder.calls.clear()
    repo.commit({"guides/cars.md": DOCUMENTS["guides/cars.md"].replace("costs", "is worth")})
    index.embed_sections()
    assert embedder.calls == [["Cars > Price\n\nWhat an automobile is worth."]]
    embedder.calls.clear()
    repo.commit({"guides/cars.md": DOCUMENTS["guides/cars.md"]})
    repo.git("mv", "guides/retries.md", "guides/attempts.md")
    repo.commit({})
    index.embed_sections()
    assert embedder.calls == []


def test_sections_are_embedded_in_the_background_and_by_one_process(
    repo: Repo, open_index: OpenIndex, embedder: TopicEmbedder
) -> None:
    embedder.permission.clear()
    index = open_index(in_background=True)
    start = time.monotonic()
    index.update_to_tip()
    page = index.search("please retry")
    assert time.monotonic() - start < 2
    assert page.search_type == "bm25"
    assert page.embedding is not None
    assert page.embedding.note is not None
    embedder.permission.set()
    wait_for(lambda: index.search("please retry").search_type == "hybrid")
    other = TopicEmbedder()
    other_index = open_index(other, in_background=True)
    other_index.update_to_tip()
    wait_for(lambda: other_index.search("please retry").search_type == "hybrid")
    assert list_embedded_texts(other) == ["please retry"]


def test_other_commits_are_searched_by_meaning(repo: Repo, open_index: OpenIndex) -> None:
    repo.git("switch", "-q", "-c", "proposal")
    repo.commit({"new.md": "# New\n\nPlease try again after a failure: another attempt.\n"})
    repo.git("switch", "-q", "main")
    index = open_index(in_background=True)
    index.embed_sections()
    assert "new.md#_preamble" not in get_ids(index.search("please retry"))
    wait_for(lambda: "new.md#_preamble" in get_ids(index.search("please retry", ref="proposal")))
    first = get_ids(index.search("retry it please", ref="proposal", limit=1))
    assert first == ["new.md#_preamble"]


@pytest.mark.parametrize(
    ("failure", "note"),
    [
        (EmbeddingUnavailable("is away", retry_after_s=0.0), "the embedding provider is away"),
        (EmbeddingUnavailable("refused the key"), "the embedding provider refused the key"),
    ],
)
def test_failing_provider_leaves_a_search_by_words_that_reports_it(
    open_index: OpenIndex, embedder: TopicEmbedder, failure: EmbeddingUnavailable, note: str
) -> None:
    index = open_index()
    index.embed_sections()
    embedder.failure = failure
    page = index.search("engine price")
    assert (page.search_type, page.embedding and page.embedding.note) == ("bm25", note)
    assert get_ids(page) == get_ids(index.search("engine price", search_type="bm25"))
    count = len(embedder.calls)
    index.search("engine price of another car")  # the next call waits
    assert len(embedder.calls) == count
    embedder.failure = None
    wait_for(lambda: index.search("engine price of a car").search_type == "hybrid")


def test_slow_provider_delays_a_search_only_briefly(open_index: OpenIndex, embedder: TopicEmbedder) -> None:
    index = open_index(timeout_s=0.1)
    index.embed_sections()
    embedder.permission.clear()
    start = time.monotonic()
    page = index.search("engine price")
    assert time.monotonic() - start < 1
    assert page.search_type == "bm25"
    assert page.embedding is not None
    assert page.embedding.note == "the embedding provider did not answer within 100 ms"
    embedder.permission.set()
    wait_for(lambda: index.search("engine price").search_type == "hybrid")


def test_interrupted_work_continues(open_index: OpenIndex, embedder: TopicEmbedder) -> None:
    embedder.batch_size = 1
    index = open_index()

    def interrupt(done: int, total: int, message: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.embed_sections(interrupt)
    texts = list_embedded_texts(embedder)
    assert len(texts) == 3
    open_index().embed_sections()
    all_texts = list_embedded_texts(embedder)
    assert len(all_texts) == len(set(all_texts)) == 6


def test_refused_text_has_no_meaning_and_the_others_do(
    repo: Repo, open_index: OpenIndex, embedder: TopicEmbedder
) -> None:
    embedder.refused = "backoff"
    index = open_index()
    report = index.embed_sections()
    assert report is not None
    assert report.coverage == (6, 6)
    refused_id = "guides/retries.md#_preamble"
    assert refused_id not in get_ids(index.search("attempt failure", search_type="vector"))
    assert refused_id not in get_ids(index.search("automobile prices"))
    assert refused_id in get_ids(index.search("client backoff"))
    count = len(embedder.calls)
    index.embed_sections()
    assert len(embedder.calls) == count


def test_model_that_changes_under_the_same_name_has_new_vectors(
    open_index: OpenIndex, embedder: TopicEmbedder
) -> None:
    open_index().embed_sections()
    changed = TopicEmbedder()
    changed.shift = 5.0
    open_index(changed).embed_sections()
    assert len(list_embedded_texts(changed)) == 6
    unchanged = TopicEmbedder()
    open_index(unchanged).embed_sections()
    assert list_embedded_texts(unchanged) == []


def test_vectors_of_another_model_do_not_replace_the_old_ones(open_index: OpenIndex) -> None:
    old_index = open_index()
    old_index.embed_sections()
    other = TopicEmbedder(model="topics-2")
    open_index(other).embed_sections()
    assert len(list_embedded_texts(other)) == 6
    assert old_index.search("please retry").search_type == "hybrid"


def test_damaged_vectors_are_made_again(repo: Repo, open_index: OpenIndex, embedder: TopicEmbedder) -> None:
    index = open_index()
    index.embed_sections()
    index.close()
    [file] = (repo.path / ".git" / "docyard" / "index").glob("vectors-*/vectors-*.sqlite")
    file.write_bytes(b"no database" * 1_000)
    embedder.calls.clear()
    index = open_index()
    index.embed_sections()
    assert len(list_embedded_texts(embedder)) == 6
    assert index.search("please retry").search_type == "hybrid"


@pytest.mark.parametrize("column", ["vectors", "codes"])
def test_vectors_that_are_damaged_while_they_are_served_end_no_search_and_are_made_again(
    repo: Repo, open_index: OpenIndex, embedder: TopicEmbedder, column: str
) -> None:
    index = open_index(in_background=True)
    index.embed_sections()
    [file] = (repo.path / ".git" / "docyard" / "index").glob("vectors-*/vectors-*.sqlite")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"UPDATE blocks SET {column} = zeroblob(length({column}))")
        connection.commit()
    embedder.calls.clear()
    if column == "codes":  # which another process loads, and this one has in memory
        index = open_index(in_background=True)
    index.search("please retry")
    wait_for(lambda: index.search("please retry").search_type == "hybrid")
    embedded_texts = [text for text in list_embedded_texts(embedder) if text != "please retry"]
    assert len(embedded_texts) == 6


def test_closed_vectors_end_no_search(open_index: OpenIndex) -> None:
    index = open_index()
    index.embed_sections()
    vectors = index._vectors
    assert vectors is not None
    vectors.close()
    page = index.search("please retry")
    assert page.search_type == "bm25"
    assert page.embedding is not None
    assert page.embedding.note == "the vectors were closed or replaced"


def test_vectors_that_cannot_be_stored_are_embedded_again_after_growing_delays(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise IndexUnwritable.with_reason(OSError(28, "No space left on device"))

    delays: list[float] = []

    def postpone(index: VectorIndex, task: Any, least_s: float) -> None:
        delays.append(least_s)
        index._tasks.append(task)
        if len(delays) == 8:
            index._is_closed = True

    monkeypatch.setattr(VectorStore, "add", refuse)
    monkeypatch.setattr(VectorIndex, "_postpone", postpone)
    open_index(in_background=True).update_to_tip()
    wait_for(lambda: len(delays) == 8)
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_related_sections_are_near_in_meaning_in_other_documents_and_not_linked(
    repo: Repo, open_index: OpenIndex
) -> None:
    repo.commit({"guides/engines.md": "# Engines\n\nThe engine of an automobile.\n"})
    index = open_index()
    index.embed_sections()
    snapshot = index.workspace.snapshot()
    related = index.find_related(snapshot, snapshot.document("guides/engines.md"))
    assert related[0].path == "guides/cars.md"
    repo.commit({"guides/engines.md": "# Engines\n\nThe engine of an automobile, see [cars](cars.md).\n"})
    index.embed_sections()
    snapshot = index.workspace.snapshot()
    related = index.find_related(snapshot, snapshot.document("guides/engines.md"))
    assert "guides/cars.md" not in [section.path for section in related]


def test_empty_repository_and_blank_sections_need_no_provider(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "empty", {"a.md": "", "b.md": "\n\n"})
    embedder = TopicEmbedder()
    index = SearchIndex(Workspace.open(repo.path), embedding=EmbeddingOptions(Provider(embedder), False))
    report = index.embed_sections()
    assert report is not None
    assert report.coverage == (0, 0)
    assert index.search("anything").search_type == "hybrid"
    index.close()
