"""The query grammar: what a query means is what `tests/cases/queries.md` says, and no text breaks it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import STOP_WORDS, count_heading_terms, expand
from index.port import Query
from index.query import MAX_CHARACTERS, MAX_PHRASES, MAX_TERMS, EmptyQuery, QueryTooBroad, parse
from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from workspace.errors import WorkspaceError

MARKS = '-"“”„«»'
ANY_TEXT = st.text(
    st.characters() | st.sampled_from(MARKS + "'a B_.\0\ud800\u0301容") | st.just(" "), max_size=80
)
UNMARKED = st.text(
    st.characters(exclude_characters=MARKS + "\u201f\uff02\uff0d\ufe63", exclude_categories=("Cs",))
)
NAMES = st.from_regex(r"[a-z]{3,8}([A-Z][a-z]{2,6}|_[a-z]{2,6})?", fullmatch=True)


def weights(terms: Iterable[str] = ()) -> dict[str, int]:
    """Write a query as a case does: `retri`, or with its weight `ratelimiterror^4`."""
    return {term: int(weight or 1) for term, _, weight in (word.partition("^") for word in terms)}


@loop_over("case", read_cases("queries.md"))
def test_a_query_means_what_its_example_says(case: Case) -> None:
    text = case.data("query").decode().removesuffix("\n")
    lines = [line.partition(": ") for line in case.fences["meaning"].splitlines()]
    said = {kind: [rest.split() for other, _, rest in lines if other == kind] for kind, _, _ in lines}
    if "error" in said:
        with pytest.raises((EmptyQuery, QueryTooBroad)) as caught:
            parse(text)
        assert [[caught.value.code]] == said["error"]
        return
    query = parse(text)
    assert query.terms == weights(*said.get("terms", []))
    assert list(query.excluded) == [term for terms in said.get("not", []) for term in terms]
    assert [list(phrase) for phrase in query.phrases] == said.get("phrase", [])
    assert [list(phrase) for phrase in query.scored_phrases] == said.get("scored", [])


def test_filters_and_path_are_the_query_s() -> None:
    assert parse("retry", {"type": "guide"}, "docs/*") == Query(
        {"retri": 1}, filters={"type": "guide"}, path="docs/*"
    )


def read(text: str) -> Query | WorkspaceError:
    try:
        return parse(text)
    except (EmptyQuery, QueryTooBroad) as error:
        return error


@given(ANY_TEXT)
def test_any_text_is_a_query_or_a_clear_error(text: str) -> None:
    query = read(text)
    if isinstance(query, WorkspaceError):
        expected = "a phrase cannot be excluded, only a word" if text.strip() else "the query is empty"
        assert query.message == expected
    else:
        assert all(count > 0 for count in query.terms.values())
        words = [word for phrase in query.phrases + query.scored_phrases for word in phrase]
        assert all([*query.terms, *query.excluded, *words])
        " ".join([*query.terms, *query.excluded, *words]).encode()


@given(UNMARKED.filter(str.strip))
def test_the_terms_of_a_query_are_those_that_a_text_has(text: str) -> None:
    known = count_heading_terms(text)
    query = parse(text)
    assert set(query.terms) == ({term for term in known if term not in STOP_WORDS} or set(known))
    assert all(weight >= known[term] for term, weight in query.terms.items())


@given(UNMARKED.filter(str.strip))
def test_quotes_change_no_term(text: str) -> None:
    assert parse(f'"{text}"').terms == parse(text).terms


@given(st.lists(NAMES, min_size=1, max_size=5), st.lists(NAMES, max_size=5))
def test_a_dash_excludes_the_whole_word_and_nothing_else(wanted: list[str], unwanted: list[str]) -> None:
    query = parse(" ".join([*wanted, *(f"-{word}" for word in unwanted)]))
    if query.excluded:
        assert query.terms == parse(" ".join(wanted)).terms
    assert set(query.excluded) == {expand(word)[0] for word in unwanted} - STOP_WORDS


@loop_over(
    ("within", "beyond"),
    [
        ("é" * MAX_CHARACTERS, "é" * (MAX_CHARACTERS + 1)),
        ("retry " * (MAX_CHARACTERS // 6), "retry " * MAX_CHARACTERS),
        # One character that stands for eighteen.
        ("\ufdfa" * (MAX_CHARACTERS // 18), "\ufdfa" * MAX_CHARACTERS),
        (" ".join(map(str, range(MAX_TERMS))), " ".join(map(str, range(MAX_TERMS + 1)))),
        (
            "word " + " ".join(f"-w{i:03}" for i in range(MAX_TERMS - 1)),
            "word " + " ".join(f"-w{i:03}" for i in range(MAX_TERMS)),
        ),
        (
            " ".join(f'"{i}"' for i in range(MAX_PHRASES)),
            " ".join(f'"{i}"' for i in range(MAX_PHRASES + 1)),
        ),
    ],
    ids=["characters", "words", "expanded characters", "terms", "excluded", "phrases"],
)
def test_more_than_a_limit_is_an_error_that_says_the_limit(within: str, beyond: str) -> None:
    parse(within)
    with pytest.raises(QueryTooBroad) as caught:
        parse(beyond)
    assert f"(limit {caught.value.details['limit']:,})" in caught.value.message


@loop_over("text", ["", "x" * 20_000, 'a -"b c"'])
def test_errors_say_what_to_type_next(text: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        parse(text)
    assert caught.value.message[0].islower()
    assert not caught.value.message.endswith(".")
    assert caught.value.fix.endswith(".")
