"""Hints of searches without hits: each suggested query and each suggested filter has hits."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.hints import Hint
from index.port import Query, Results
from index.service import SearchIndex
from tests.example_counts import scale_examples
from tests.index.conftest import GUIDES
from tests.loops import loop_over
from tests.repositories import Repo

MISSPELT_WORDS = (
    "exponentail",
    "backof",
    "herdes",
    "prevnt",
    "jiter",
    "erors",
    "requsts",
    "secnd",
    "strategi",
)


def get_hint(
    index: SearchIndex, query: str, *, path: str | None = None, filters: dict[str, str] | None = None
) -> Hint:
    """Return the hint of a search without hits, and check that each suggestion has hits."""
    page = index.search(query, path=path, filters=filters)
    assert page.hits == ()
    assert page.hint is not None
    for suggested_query in page.hint.suggested_queries:
        assert index.search(suggested_query, path=path, filters=filters).hits
    replaces_all_filters = "in place of them all" in page.hint.message
    for key, values in page.hint.suggested_filters.items():
        for value in values:
            if replaces_all_filters:
                filter_only = {"path": value} if key == "path" else {"filters": {key: value}}
                assert index.search(query, **filter_only).hits  # type: ignore[arg-type]
            elif key == "path":
                assert index.search(query, path=value, filters=filters).hits
            else:
                assert index.search(query, path=path, filters={**(filters or {}), key: value}).hits
    return page.hint


def test_hint_names_the_path_without_hits(index: SearchIndex) -> None:
    hint = get_hint(index, "jitter", path="notes")
    assert hint.message == (
        "0 results found for path 'notes'. Leave it out, or use one of suggested_filters."
    )
    assert hint.suggested_filters == {"path": ("guides",)}


def test_similarly_named_folders_are_suggested_first(index: SearchIndex, repo: Repo) -> None:
    repo.commit({f"a{number}/x.md": "jitter jitter" for number in range(12)} | {"top.md": "jitter"})
    hint = get_hint(index, "jitter", path="/guidez/")
    assert hint.suggested_filters["path"][0] == "guides"
    assert len(hint.suggested_filters["path"]) == 10
    assert "top.md" in get_hint(index, "jitter", path="tap.md").suggested_filters["path"]


def test_hint_names_filter_and_path_alone_or_together(index: SearchIndex) -> None:
    hint = get_hint(index, "jitter", path="guides/l*", filters={"type": "api_spec"})
    assert (
        hint.message
        == "0 results found for type 'api_spec' and path 'guides/l*' together. Leave these filters out, or "
        "use one of suggested_filters in place of them all."
    )
    assert hint.suggested_filters == {"type": ("runbook",), "path": ("guides",)}
    hint = get_hint(index, "second", path="notes", filters={"type": "api_spec"})
    assert hint.message.startswith("0 results found for path 'notes'.")
    hint = get_hint(index, "errors", path="guides/limits.md", filters={"type": "runbook"})
    assert hint.message.startswith("0 results found for type 'runbook' and for path 'guides/limits.md'.")
    assert hint.suggested_filters == {"type": ("api_spec",), "path": ("guides",)}


def test_folders_with_glob_characters_are_suggested_unescaped(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"[a]*?/[b].md": "wombat", "[c].md": "wombat"})
    assert get_hint(index, "wombat", path="guides").suggested_filters == {"path": ("[a]*?", "[c].md")}


@pytest.mark.parametrize("path", ["", "/"])
def test_path_of_the_whole_tree_is_not_suggested(index: SearchIndex, path: str) -> None:
    assert "path" not in get_hint(index, "quagga", path=path).suggested_filters


def test_hint_message_contains_no_control_characters(index: SearchIndex) -> None:
    message = get_hint(index, "jitter", path="no\n\u202ewhere\ud800" + "x" * 900).message
    assert message.isprintable()
    assert len(message) < 250
    assert get_hint(index, "quagga", path="no\nwhere").message.isprintable()


def test_misspelt_word_is_corrected_in_spelling_of_documents(index: SearchIndex) -> None:
    hint = get_hint(index, "exponentail")
    assert hint.suggested_queries == ("exponential",)
    assert hint.message == (
        "0 results found: no section contains a word with this spelling. Did you mean 'exponential'?"
    )
    assert get_hint(index, "ratelimiteror").suggested_queries == ("RateLimitError",)
    assert get_hint(index, "RATELIMITEROR zzzzz").suggested_queries == ("RateLimitError zzzzz",)


@pytest.mark.parametrize(
    ("word", "correction"),
    [
        ("аутентификацыя", "аутентификация"),
        ("αρχιτεκτονκη", "αρχιτεκτονική"),
        ("Größenänderng", "Größenänderung"),
        ("kayttolittyma", "Käyttöliittymä"),
        ("الخوارزمبة", "الخوارزمية"),
        ("प्रमाणिकरण", "प्रमाणीकरण"),
    ],
)
def test_misspelt_word_of_any_script_is_corrected(
    index: SearchIndex, repo: Repo, word: str, correction: str
) -> None:
    repo.commit({"notes/words.md": f"# Words\n\nOne is {correction}, another is not.\n"})
    assert get_hint(index, word).suggested_queries == (correction,)


def test_several_misspelt_words_are_corrected_together(index: SearchIndex) -> None:
    assert get_hint(index, "exponentail jiter").suggested_queries == ("exponential jitter",)
    assert get_hint(index, "the  “exponentail\nbackof” -zzz").suggested_queries == (
        "the “exponential backoff” -zzz",
    )


def test_misspelt_phrase_is_corrected_before_hint_mentions_quotes(index: SearchIndex) -> None:
    hint = get_hint(index, '"exponentail backoff"')
    assert hint.suggested_queries == ('"exponential backoff"',)
    assert "Leave the quotes out" in get_hint(index, '"backoff exponential"').message
    assert "Leave the quotes out" in get_hint(index, '"jiter backoff"').message


def test_corrections_respect_path_and_filters(index: SearchIndex) -> None:
    assert get_hint(index, "jiter", path="guides", filters={"type": "runbook"}).suggested_queries == (
        "jitter",
    )
    for path, filters in (("notes", None), (None, {"type": "api_spec"})):
        hint = get_hint(index, "jiter", path=path, filters=filters)
        assert hint.suggested_queries == ()
        assert "no section contains any of these words" in hint.message


@loop_over(
    "query",
    [
        "jit",
        "jiter2",
        "ji_ter",
        "jiter\ud800",
        "jiter " * 50,
        "jiter exponentail prevnt secnd erors",
        "x" * 40,
    ],
)
def test_queries_without_reliable_correction_get_no_suggestion(index: SearchIndex, query: str) -> None:
    assert get_hint(index, query).suggested_queries == ()


@settings(
    max_examples=scale_examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(st.sampled_from(MISSPELT_WORDS), min_size=1, max_size=4),
    query_format=st.sampled_from(["{}", '"{}"', "({}),", "{} -zzz", "+{}*", "x {}"]),
    path=st.sampled_from([None, "guides", "notes", "guides/*"]),
    filters=st.sampled_from([None, {"type": "runbook"}, {"tags": "network", "type": "api_spec"}]),
)
def test_every_suggested_query_has_hits(
    index: SearchIndex, words: list[str], query_format: str, path: str | None, filters: dict[str, str] | None
) -> None:
    if not index.search(query := query_format.format(" ".join(words)), path=path, filters=filters).hits:
        get_hint(index, query, path=path, filters=filters)


def test_present_words_are_not_reported_as_missing(index: SearchIndex) -> None:
    for query in ("jitter -herds", '"applied jitter"', '"applied jitter" -herds'):
        message = get_hint(index, query, filters={"type": "api_spec"}).message
        assert message == (
            "0 results found: the words occur, but not with these filters and marks. "
            "Leave filters, quotes and dashes out."
        )
        assert "the words occur" in get_hint(index, query, path="notes").message


@settings(
    max_examples=scale_examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(st.sampled_from(["jitter", "herds", "zzz", "backoff", "nothing"]), min_size=1, max_size=3),
    query_format=st.sampled_from(
        ["{}", '"{}"', "{} -herds", '"{}" -jitter', "{} -exponential -jitter -nothing"]
    ),
    path=st.sampled_from([None, "guides", "notes", "nowhere"]),
    filters=st.sampled_from([None, {"type": "runbook"}, {"tags": "network", "type": "api_spec"}]),
)
def test_words_reported_as_missing_have_no_hits(
    index: SearchIndex, words: list[str], query_format: str, path: str | None, filters: dict[str, str] | None
) -> None:
    page = index.search(query_format.format(" ".join(words)), path=path, filters=filters)
    if page.hint and "no section contains any" in page.hint.message:
        assert not index.search(" ".join(words)).hits


def test_most_words_with_one_typo_are_corrected(index: SearchIndex) -> None:
    rng, corrected_count = random.Random(1), 0
    words = sorted(
        {word for text in GUIDES.values() for word in text.split() if word.isalpha() and len(word) > 6}
    )
    for word in words:
        position = rng.randrange(2, len(word))
        hint = index.search(word[:position] + word[position + 1 :]).hint
        corrected_count += hint is None or word in hint.suggested_queries
    assert corrected_count >= 0.9 * len(words)


class ChangingLiveIndex:
    """A live index of a branch that gets `commit_count` commits while the hint of a search is computed."""

    def __init__(self, index: SearchIndex, repo: Repo, commit_count: int) -> None:
        self._live, self._repo, self._remaining_commits = index._live, repo, commit_count

    def __getattr__(self, name: str) -> object:
        return getattr(self._live, name)

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        if generation is not None and self._remaining_commits:
            self._remaining_commits -= 1
            self._repo.commit({f"new{self._remaining_commits}.md": "# New\n"})
            self._live.update_to_tip()
        return self._live.search(query, offset, limit, generation)


def test_hint_describes_the_commit_of_its_page(index: SearchIndex, repo: Repo) -> None:
    index.search("errors")
    index.__dict__["_live"] = ChangingLiveIndex(index, repo, 1)
    page = index.search("jitter", path="notes")
    assert page.commit == repo.head()
    assert page.hint is not None
    assert page.hint.suggested_filters == {"path": ("guides",)}
    index.__dict__["_live"] = ChangingLiveIndex(index, repo, 2)
    page = index.search("jitter", path="notes")
    assert page.hint is not None
    assert page.hint.message == (
        "0 results found: the documents are changing just now. Search again in a moment."
    )


@loop_over(
    ("query", "message"),
    [
        ("jitter type:runbok", "no section satisfies 'type:runbok'. Did you mean type:runbook?"),
        ("tag:skd AND jitter", "no section satisfies 'tag:skd'. Did you mean tag:sdk?"),
        # The nearest value has no hits with the other words.
        ("tag:skd AND note", "no section satisfies 'tag:skd'. Leave it out, or use another value."),
        ("tag:zebra limits", "no section satisfies 'tag:zebra'. Leave it out, or use another value."),
        (
            "title:zebra* OR path:nowhere",
            "no section satisfies 'title:zebra*' and 'path:nowhere'. Leave them out, or use other values.",
        ),
        (
            "jitter AND type:api_spec",
            "no section satisfies all fields and operators of the query. Leave some out.",
        ),
        ("type:api_spec -tag:network", "no section satisfies the query. Use fewer words and operators."),
    ],
)
def test_hint_names_unsatisfied_fields(index: SearchIndex, query: str, message: str) -> None:
    hint = get_hint(index, query)
    assert hint.message == f"0 results found: {message}"
    assert hint.suggested_filters == {}


@loop_over(
    ("query", "suggestion"),
    [
        ("jiter AND type:runbook", "jitter AND type:runbook"),
        ("title:retries AND (herdz OR jiter)", "title:retries AND (herds OR jitter)"),
        ("jiter NOT errors", "jitter NOT errors"),
    ],
)
def test_misspelt_words_of_expressions_are_corrected(index: SearchIndex, query: str, suggestion: str) -> None:
    assert get_hint(index, query).suggested_queries[0] == suggestion
