"""The contract of search engines (`index.port`), which is tested with every engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from index.documents import UnreadableDocument
from index.port import BaseMoved, GenerationGone, NotIndexed, Query, State
from index.query import parse_query
from index.ranking.results import MAX_VERIFIED_SECTIONS
from tests.databases import installed_postgres, postgres  # noqa: F401
from tests.index.documents import PATHS, make_document, make_random_document, make_random_query
from tests.index.engines import Commit, History
from tests.index.reference import make_entries

BLOB = "ab" * 20


@pytest.fixture(
    params=[
        "reference",
        "whoosh",
        pytest.param("postgres", marks=pytest.mark.process),
        pytest.param("installed_postgres", marks=pytest.mark.slow),
    ]
)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    """Return a history for each engine; PostgreSQL is the newest release, and the one of Debian."""
    tmp_path.chmod(0o700)
    if request.param not in ("postgres", "installed_postgres"):
        return History(request.param, tmp_path)
    return History("postgres", tmp_path, request.getfixturevalue(request.param).create_database())


def test_search_before_first_commit_raises_not_indexed(history: History) -> None:
    assert history.state() is None
    with pytest.raises(NotIndexed):
        history.search("retry")
    assert history.engine.count_values("type") == {}


def test_commit_without_documents_gives_an_empty_index(history: History) -> None:
    history.commit()
    assert history.state() == State("c1", 0, 0, 0, "")
    results = history.search("retry")
    assert (results.hits, results.has_more, results.is_partial) == ((), False, False)


def test_state_has_commit_and_counts_of_index(history: History) -> None:
    documents = [
        make_document("a.md", "# One\n\nretry\n\n## Two\n"),
        make_document("empty.md", ""),
        make_document("b.md", "words, words"),
    ]
    state = history.commit(*documents)
    length = sum(entry.length for document in documents for entry in make_entries(document))
    assert history.state() == replace(state, indexed_at="") == State("c1", 3, 3, length, "")
    assert history.search("retry").state == history.engine.state()


def test_hit_has_the_record_of_its_section(history: History) -> None:
    document = make_document(
        "docs/a.md", "# Title\n\n## Back *off*\n\nretry\n\n### Deep\n\nwaits\n", type="guide", tags=["x", "y"]
    )
    history.commit(document)
    for entry in make_entries(document):
        assert history.search(entry.section.title).hits[0].record == entry.record


def test_change_from_another_base_raises_base_moved(history: History) -> None:
    history.commit(make_document("a.md", "retry"))
    with pytest.raises(BaseMoved) as error:
        history.engine.apply("c7", "c8", [make_document("b.md", "retry")], ["a.md"])
    assert error.value.details["commit"] == "c1"
    with pytest.raises(BaseMoved):
        history.engine.apply(None, "c8", [make_document("b.md", "retry")], ())
    assert history.search_ids("retry") == ["a.md#_preamble"]


def test_indexed_commit_is_not_applied_again(history: History) -> None:
    history.commit(make_document("a.md", "retry"))
    history.commit(make_document("b.md", "retry"))
    before, generation = history.engine.state(), history.search("retry").generation
    assert history.engine.apply("c1", "c2", [make_document("c.md", "retry")], ["a.md"]) == before
    assert history.search("retry").generation == generation
    assert history.search_ids("retry") == ["a.md#_preamble", "b.md#_preamble"]


def test_deleted_sections_are_not_found(history: History) -> None:
    history.commit(
        make_document("a.md", "# A\n\n## Backoff\n\nretry\n\n## Limits\n\njitter"),
        make_document("b.md", "retry jitter"),
    )
    history.commit(make_document("a.md", "# A\n\n## Limits\n\njitter"))
    assert history.search_ids("retry backoff") == ["b.md#_preamble"]
    renamed_document = make_document("c.md", "retry jitter")
    history.commit(renamed_document, deletes=["b.md"])
    assert history.search_ids("retry") == ["c.md#_preamble"]
    assert sorted(history.search_ids("jitter")) == ["a.md#limits", "c.md#_preamble"]
    history.commit(deletes=["a.md", "c.md", "never.md"])
    assert history.search_ids("jitter") == []
    assert history.state() == State("c4", 0, 0, 0, "")


def test_query_words_are_joined_by_or(history: History) -> None:
    history.commit(
        make_document("a.md", "retry"),
        make_document("b.md", "jitter"),
        make_document("c.md", "retry jitter"),
        make_document("d.md", "none"),
    )
    assert history.search_ids("retry jitter") == ["c.md#_preamble", "a.md#_preamble", "b.md#_preamble"]


def test_equal_scores_are_ordered_by_address(history: History) -> None:
    for name in "dbca":
        history.commit(make_document(f"same/{name}.md", "## B\n\nwombat\n\n## A\n\nwombat"))
    history.commit(make_document("same/aa.md", "## B\n\nwombat\n\n## A\n\nwombat"))
    expected = [f"same/{name}.md#{key}" for name in ("a", "aa", "b", "c", "d") for key in ("a", "b")]
    assert history.search_ids("wombat") == expected
    assert history.search_ids("wombat", limit=3) == expected[:3]
    history.rebuild()
    assert history.search_ids("wombat") == expected


def test_exact_filters_are_applied_before_limit(history: History) -> None:
    history.commit(
        make_document("docs/a.md", "retry", type="guide", tags=["net work", "sdk"]),
        make_document("docs/deep/b.md", "retry", type="note", tags=["sdk"]),
        make_document("docs-c.md", "retry retry", type="guide"),
    )
    a, b, c = "docs/a.md#_preamble", "docs/deep/b.md#_preamble", "docs-c.md#_preamble"
    terms = {"retri": 1}
    for filters, expected in (
        ({"type": "guide"}, {a, c}),
        ({"tags": "sdk"}, {a, b}),
        ({"tags": "net work", "type": "guide"}, {a}),
        ({"tags": "net"}, set()),
        ({"other": "sdk"}, set()),
    ):
        assert set(history.search_ids(Query(terms, filters=filters))) == expected
    for path, expected in (
        ("docs", {a, b}),
        ("docs/", {a, b}),
        ("docs/a.md", {a}),
        ("docs/a", set()),
        ("docs*", {a, b, c}),
        ("*/b.md", {b}),
        ("DOCS", set()),
    ):
        assert set(history.search_ids(Query(terms, path=path))) == expected
    assert history.search_ids(Query(terms, filters={"type": "note"}), limit=1) == [b]


def test_excluded_words_and_phrases_limit_and_order_results(history: History) -> None:
    history.commit(
        make_document("a.md", "# A\n\nthe exponential backoff of a retry"),
        make_document("b.md", "# B\n\nbackoff that is exponential"),
        make_document("c.md", "# C\n\nbackoff, exponential backoff and jitter"),
    )
    a, b, c = (f"{name}.md#_preamble" for name in "abc")
    assert set(history.search_ids("backoff -jitter")) == {a, b}
    assert set(history.search_ids('"exponential backoff"')) == {a, c}
    assert history.search_ids('"exponential backoff" -jitter') == [a]
    assert history.search_ids('"exponential backoff" "of a retry"') == [a]
    assert history.search_ids('"backoff exponential jitter"') == []
    assert history.search_ids('"exponential backoff" jitter') == [c, a, b]
    assert history.search_ids('"exponential backoff" jitter', limit=1) == [c]
    assert history.search_ids('"exponential backoff" jitter -retry') == [c, b]
    first, second, third = history.search('"exponential backoff" jitter').hits
    assert first.score > second.score > third.score


def test_short_phrase_among_words_counts_as_a_term(history: History) -> None:
    history.commit(
        make_document("a.md", "# A\n\nreplica sets"),
        make_document("b.md", "# B\n\nsets of a replica, cleanup cleanup"),
        make_document("c.md", "# C\n\nreplica and sets"),
    )
    a, b, c = (f"{name}.md#_preamble" for name in "abc")
    assert history.search_ids('cleanup "replica sets"') == [b, a, c]
    assert history.search_ids("cleanup replica sets")[0] == b
    assert history.search_ids('cleanup "a replica sets"') == history.search_ids("cleanup replica sets")
    assert history.search_ids('cleanup "sets of a replica"')[0] == b
    history.commit(make_document("d.md", "# D\n\nreplica sets, replica sets"), deletes=["a.md"])
    assert history.search_ids('"replica sets" cleanup', limit=1) == ["d.md#_preamble"]
    assert history.search_ids('"replica sets"') == ["d.md#_preamble"]


def test_phrase_check_beyond_limit_gives_partial_results(history: History) -> None:
    many_sections = "\n\n".join(f"## S{number}\n\nbeta alpha" for number in range(MAX_VERIFIED_SECTIONS))
    history.commit(
        make_document("a.md", many_sections), make_document("b.md", "alpha beta, " + "more words " * 20)
    )
    results = history.search('"alpha beta"')
    assert (results.hits, results.has_more, results.is_partial) == ((), False, True)
    assert not history.search(replace(parse_query('"alpha beta"'), excluded=("s7",))).is_partial
    mixed_results = history.search('gamma "alpha beta"')
    assert mixed_results.is_partial
    assert mixed_results.hits == history.search("gamma beta alpha").hits
    assert history.search('gamma "alpha beta"', limit=1, offset=500).hits
    filtered_results = history.search(replace(parse_query('gamma "alpha beta"'), path="b.md"))
    assert not filtered_results.is_partial
    assert (
        filtered_results.hits[0].score
        > history.search(replace(parse_query("gamma alpha beta"), path="b.md")).hits[0].score
    )


def test_pages_cover_all_results_once(history: History) -> None:
    rng = Random(1)
    for start in (0, 40):
        history.commit(*(make_random_document(rng, f"{number}.md", 4) for number in range(start, start + 40)))
    query = Query({"alpha": 1, "beta": 2, "gamma": 1})
    full_results = history.search(query, limit=1000)
    assert not full_results.has_more
    paged_hits: list[object] = []
    has_more = True
    for size in (1, 7, 40, 2, 1, 1, 13, 500):
        assert has_more
        page_results = history.search(
            query, offset=len(paged_hits), limit=size, generation=full_results.generation
        )
        paged_hits += page_results.hits
        has_more = page_results.has_more
    assert not has_more
    assert tuple(paged_hits) == full_results.hits
    assert history.search(query, offset=5000).hits == ()


def test_page_of_an_old_generation_is_refused(history: History) -> None:
    history.commit(make_document("a.md", "retry"), make_document("b.md", "retry"))
    generation = history.search("retry", limit=1).generation
    assert history.search_ids("retry", offset=1, generation=generation) == ["b.md#_preamble"]
    history.commit(make_document("aa.md", "retry"))
    with pytest.raises(GenerationGone):
        history.search("retry", offset=1, generation=generation)
    assert history.search_ids("retry", generation=history.search("retry").generation)


def test_unreadable_documents_are_omitted_and_reported(history: History) -> None:
    history.commit(make_document("a.md", "retry"), make_document("b.md", "retry"))
    state = history.commit(UnreadableDocument("a.md", BLOB))
    assert (state.files, state.chunks, state.unreadable) == (2, 1, {"a.md": BLOB})
    assert history.search_ids("retry") == ["b.md#_preamble"]
    history.commit(make_document("c.md", "retry"))
    state = history.state()
    assert state is not None
    assert state.unreadable == {"a.md": BLOB}
    history.rebuild()
    assert history.state() == state

    generation = history.search("retry").generation
    repaired_document = make_document("a.md", "retry retry")
    history.blobs[repaired_document.blob] = repaired_document.data
    state = history.engine.apply("c3", "c3", [repaired_document], ())
    assert (state.commit, state.files, state.unreadable) == ("c3", 3, {})
    assert "a.md#_preamble" in history.search_ids("retry")
    assert history.search("retry").generation != generation


def test_unreadable_document_can_be_deleted(history: History) -> None:
    history.commit(UnreadableDocument("a.md", BLOB))
    assert history.commit(deletes=["a.md"]).unreadable == {}
    assert history.state() == State("c2", 0, 0, 0, "")


def test_branch_without_commits_gives_an_empty_index(history: History) -> None:
    history.commit(make_document("a.md", "retry"))
    state = history.engine.apply("c1", None, (), ["a.md"])
    assert (state.commit, state.files) == (None, 0)
    assert history.search_ids("retry") == []
    history.engine.apply(None, "c2", [make_document("b.md", "retry")], ())
    assert history.search_ids("retry") == ["b.md#_preamble"]


def test_values_count_only_live_sections(history: History) -> None:
    history.commit(
        make_document("a.md", "# A\n\n## B\n", type="guide", tags=["sdk", "net"]),
        make_document("b.md", "text", type="note", tags=["net"]),
    )
    assert history.engine.count_values("type") == {"guide": 2, "note": 1}
    assert history.engine.count_values("tags") == {"sdk": 2, "net": 3}
    history.commit(make_document("a.md", "# A\n", type="note"))
    assert history.engine.count_values("type") == {"note": 2}
    assert history.engine.count_values("tags") == {"net": 1}
    assert history.engine.count_values("other") == {}


def test_misspelt_word_gives_similar_terms_of_live_sections(history: History) -> None:
    assert history.engine.find_similar_terms("paginaton", 5) == ()
    history.commit(
        make_document("a.md", "# Pagination\n\n## Pages\n\nretry the retries\n\n## Jitter\n\nretired"),
        make_document("b.md", "Paginating. Weiß, schön, exponential, C++, 検索"),
    )
    similar = history.engine.find_similar_terms
    assert similar("paginaton", 5) == ("pagin",)
    assert similar("agination", 5) == ("pagin",)
    assert similar("retyr", 5) == ("retir", "retri")
    assert similar("retyr", 1) == ("retir",)
    assert similar("retry", 5) == ("retir",)
    assert similar("expnentil", 5) == ("exponenti",)
    assert similar("schon", 5) == ()
    assert similar("schom", 5) == similar("schn", 5) == ("schon",)
    for word in ("", "c+", "node.j", "x" * 10_000, "検索", "zzzz", "\ud800"):
        assert similar(word, 5) == ()
    history.commit(
        make_document("b.md", "# B"),
        make_document("a.md", "retired retries"),
        make_document("c.md", "retired"),
    )
    assert similar("paginaton", 5) == ()
    assert similar("retrie", 5) == ("retir",)
    history.rebuild()
    assert similar("retrie", 5) == ("retir",)


def test_rebuild_is_skipped_if_condition_is_true(history: History) -> None:
    history.commit(make_document("a.md", "retry"))
    checked_states: list[State] = []
    source = Commit("c2", {"b.md": make_document("b.md", "retry")})

    def accept(state: State) -> bool:
        checked_states.append(state)
        return True

    old_state = history.engine.rebuild(source, unless=accept)
    assert (old_state.commit, [state.commit for state in checked_states]) == ("c1", ["c1"])
    assert history.engine.rebuild(source, unless=lambda state: False).commit == "c2"
    assert history.search_ids("retry") == ["b.md#_preamble"]


def test_failed_rebuild_leaves_the_old_index(history: History) -> None:
    class CommitWithMissingDocument(Commit):
        def paths(self) -> tuple[str, ...]:
            return ("a.md", "lost.md")

    history.commit(make_document("a.md", "retry"))
    with pytest.raises(KeyError):
        history.engine.rebuild(CommitWithMissingDocument("c2", {"a.md": make_document("a.md", "jitter")}))
    assert history.search_ids("retry") == ["a.md#_preamble"]


def test_persistent_index_is_reopened_unchanged(history: History) -> None:
    if history.engine_name == "reference":
        pytest.skip("this engine stores nothing")
    history.commit(make_document("a.md", "retry"), UnreadableDocument("b.md", BLOB))
    before, results = history.engine.state(), history.search("retry")
    history.engine.close()
    assert history.search("retry") == results
    history.engine = history.open()
    assert history.engine.state() == before
    assert history.search("retry") == results
    history.commit(make_document("b.md", "retry"))
    assert history.search_ids("retry") == ["a.md#_preamble", "b.md#_preamble"]


@pytest.mark.parametrize("seed", range(3))
def test_incremental_index_equals_reference_engine_and_rebuild(history: History, seed: int) -> None:
    rng = Random(seed)
    reference_history = History("reference", history.folder)
    paths = [*PATHS, *(f"docs/{number}.md" for number in range(12))]
    for _ in range(12):
        documents = [make_random_document(rng, path, rng.randrange(12)) for path in rng.sample(paths, 4)]
        deleted_paths = set(rng.sample(paths, 2)) - {document.path for document in documents}
        for engine_history in (reference_history, history):
            engine_history.commit(*documents, deletes=deleted_paths)
    assert history.state() == reference_history.state()
    queries = [make_random_query(rng) for _ in range(12)]
    expected = [reference_history.search(query, limit=60) for query in queries]
    for _ in range(2):
        for query, reference_results in zip(queries, expected, strict=True):
            results = history.search(query, limit=60)
            assert (results.hits, results.has_more, results.is_partial) == (
                reference_results.hits,
                reference_results.has_more,
                reference_results.is_partial,
            )
        for word in ("alhpa", "gama", "betas", "rare", "deltta", "ratelimiteror", "mega", "snak"):
            assert history.engine.find_similar_terms(word, 9) == reference_history.engine.find_similar_terms(
                word, 9
            )
        history.rebuild()
    assert history.state() == reference_history.state()
