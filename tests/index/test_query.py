"""The grammar of queries: the examples in `tests/cases/queries.md`, and arbitrary texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis.terms import count_heading_terms, extract_token_terms
from index.analysis.words import STOP_WORDS, TOKEN, normalize
from index.conditions import (
    AllOf,
    AnyOf,
    Condition,
    HasDate,
    HasPhrase,
    HasPrefix,
    HasSimilarWord,
    HasValue,
    HasWord,
    IsUnder,
    Leaf,
    Negation,
    list_leaves,
)
from index.operators import MAX_DEPTH, MAX_PARTS, QueryFields
from index.port import Query, QueryTooBroad
from index.query import (
    MAX_CHARACTERS,
    MAX_MISSING_WORDS,
    MAX_PHRASES,
    MAX_TERMS,
    EmptyQuery,
    find_missing_words,
    parse_query,
)
from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from workspace.errors import WorkspaceError

MARKS = '-"“”„«»'
SIGNS = MARKS + "*~:\uff0a\uff5e\uff1a\ufe55\ufe61\uff02\uff0d\ufe63\u201f\u02f8\u2e2f\u2053"
ANY_TEXT = st.text(
    st.characters() | st.sampled_from(MARKS + "'a B_.\0\ud800\u0301容*~:()[]<>19") | st.just(" "), max_size=80
)
# Parts of valid and invalid queries with operators, with and without spaces between the parts.
SIGNS_OF_OPERATORS = '( ) AND OR NOT - ~1 ~2 ~9 * " : [ ] [2026 2026] TO > >= 2026-01 2026-02-30 « » $'
FIELDS_AND_WORDS = """
    title: heading: path: tag: type: updated: nowhere: auth* word~1 retry the RateLimitError 容器网络 -draft é
"""
OTHER_PARTS = " ", " ", '"rate limit"', "updated:[2026 TO 2027]", "\0", "\ud800"
PARTS = st.sampled_from([*SIGNS_OF_OPERATORS.split(), *FIELDS_AND_WORDS.split(), *OTHER_PARTS])
OPERATORS = st.lists(st.builds("".join, st.lists(PARTS, max_size=3)), max_size=12).map(" ".join)
TEXT_WITHOUT_SIGNS = st.text(st.characters(exclude_characters=SIGNS, exclude_categories=("Cs",)))
NAMES = st.from_regex(r"[a-z]{3,8}([A-Z][a-z]{2,6}|_[a-z]{2,6})?", fullmatch=True)


FIELDS = QueryFields(lambda: ("type", "tags", "language"), lambda key: key == "updated")


def parse_weights(terms: Iterable[str] = ()) -> dict[str, int]:
    """Parse the terms of a case: `retri`, or with its weight `ratelimiterror^4`."""
    return {term: int(weight or 1) for term, _, weight in (word.partition("^") for word in terms)}


def format_condition(condition: Condition) -> str:
    """Return a condition in the notation of the cases."""
    match condition:
        case AllOf(parts):
            return f"({' AND '.join(map(format_condition, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(format_condition, parts))})"
        case Negation(part):
            return f"NOT {format_condition(part)}"
        case HasWord(field, terms):
            return format_with_field(field, "+".join(terms))
        case HasPrefix(field, prefix):
            return format_with_field(field, f"{prefix}*")
        case HasSimilarWord(field, word, edits):
            return format_with_field(field, f"{word}~{edits}")
        case HasPhrase(words):
            return f'"{" ".join(words)}"'
        case HasValue(key, value, _, is_prefix):
            return f"{key}:{value}{'...' if is_prefix else ''}"
        case HasDate(key, first, last):
            return f"{key}:[{first or '*'} TO {last or '*'}]"
        case IsUnder(path):
            return f"path:{path}"


def format_with_field(field: str, text: str) -> str:
    return text if field == "text" else f"{field}={text}"


@loop_over("case", read_cases("queries.md"))
def test_query_parses_as_in_its_example(case: Case) -> None:
    text = case.data("query").decode().removesuffix("\n")
    lines = [line.partition(":") for line in case.fences["meaning"].splitlines()]
    expected = {
        kind: [value.strip() for line_kind, _, value in lines if line_kind == kind] for kind, _, _ in lines
    }
    words = {kind: [word for value in values for word in value.split()] for kind, values in expected.items()}
    if "error" in expected:
        with pytest.raises((EmptyQuery, QueryTooBroad)) as error_info:
            parse_query(text, fields=FIELDS)
        assert [error_info.value.code] == expected["error"]
        return
    query = parse_query(text, fields=FIELDS)
    assert query.terms == parse_weights(words.get("terms", []))
    assert list(query.excluded) == words.get("not", [])
    assert [" ".join(phrase) for phrase in query.phrases] == expected.get("phrase", [])
    assert [" ".join(phrase) for phrase in query.scored_phrases] == expected.get("scored", [])
    conditions = [] if query.condition is None else [format_condition(query.condition)]
    assert conditions == expected.get("condition", [])
    assert [format_condition(part) for part in query.expansions] == words.get("expansion", [])
    assert query.includes_all_selected == ("all" in expected)
    assert list(query.notes) == expected.get("note", [])


def test_parsed_query_has_given_filters_and_path() -> None:
    assert parse_query("retry", {"type": "guide"}, "docs/*") == Query(
        {"retri": 1}, filters={"type": "guide"}, path="docs/*"
    )


def parse_or_error(text: str) -> Query | WorkspaceError:
    try:
        return parse_query(text)
    except (EmptyQuery, QueryTooBroad) as error:
        return error


@given(ANY_TEXT | OPERATORS)
def test_any_text_parses_or_raises_a_defined_error(text: str) -> None:
    query = parse_or_error(text)
    if isinstance(query, WorkspaceError):
        expected = "a phrase cannot be excluded, only a word" if text.strip() else "the query is empty"
        assert query.message == expected
        return
    assert all(count > 0 for count in query.terms.values())
    words = [word for phrase in query.phrases + query.scored_phrases for word in phrase]
    assert all([*query.terms, *query.excluded, *words])
    " ".join([*query.terms, *query.excluded, *words]).encode()
    assert not query.includes_all_selected or query.condition is not None
    assert all(note.isprintable() and len(note) < 300 for note in query.notes)
    positive = [leaf for leaf in list_leaves(query.condition) if isinstance(leaf, HasWord | HasPhrase)]
    assert all(leaf.terms if isinstance(leaf, HasWord) else leaf.words for leaf in positive)


@given(ANY_TEXT | OPERATORS)
def test_text_without_operators_parses_as_plain_text(text: str) -> None:
    query = parse_or_error(text)
    with pytest.MonkeyPatch.context() as context:
        context.setattr("index.query.parse_operators", lambda *_: None)
        words_query = parse_or_error(text)
    if isinstance(query, WorkspaceError) or isinstance(words_query, WorkspaceError):
        assert str(query) == str(words_query)
        return
    if query.condition is None and not query.expansions:
        assert replace(query, notes=()) == words_query
    if not re.search(r"AND|OR|NOT|[*~:]", normalize(text)):
        assert query == words_query


@pytest.mark.parametrize(
    "text",
    [
        "How do I configure retries? And what if they fail (or time out)?",
        "it's NOT my fault. AND yet",
        "RFC 2119: MUST NOT, SHALL NOT and SHOULD NOT",
        "std::vector<std::pair<int, char*>>::iterator it = m.find(k);",
        "C:\\Users\\me\\file.txt and /usr/local/bin:/usr/bin",
        "curl -H 'Accept: */*' https://localhost:8080/v1/search?q=a*b",
        "2026-01-31T12:30:00Z ERROR [main] c.e.App: a:b=c (x:1) 10:30",
        "---\nname: x\nkind: Deployment\nmetadata:\n  labels:\n    app: web\n---",
        "**Note:** the *first* word, __the__ second ~~third~~ `code`",
        "^[a-z]*(foo|bar)*$ \\d{2,}~ .*?",
        "SELECT * FROM users WHERE deleted_at IS NOT NULL AND (age > 5 OR vip = TRUE)",
        "THE END OF THE WORLD AND EVERYTHING",
        '{"key": [1, 2], "type": "x"}',
        "for (int i = 0; i < n; i++) { a[i] = *p++; }",
        "~/.bashrc ~5 minutes, HEAD~3..HEAD~1",
        "标题:重试 时间:3",
        "a -- b --dry-run -v -1 :smile: ;-) :: => <= a:: ::b",
    ],
)
def test_pasted_text_is_words_without_notes(text: str) -> None:
    query = parse_query(text, fields=FIELDS)
    with pytest.MonkeyPatch.context() as context:
        context.setattr("index.query.parse_operators", lambda *_: None)
        assert query == parse_query(text)


def test_fields_are_read_only_for_operators() -> None:
    failing_fields = QueryFields(
        lambda: pytest.fail("the keys were read"), lambda _: pytest.fail("the dates were read")
    )
    for text in ("retry backoff", "auth* AND title:x", "path:docs retry~1", "std::vector"):
        parse_query(text, fields=failing_fields)


def test_taxonomy_key_tag_takes_precedence_over_the_alias() -> None:
    fields = QueryFields(lambda: ("type", "tags", "tag"))
    [leaf] = list_leaves(parse_query("tag:x", fields=fields).condition)
    assert leaf == HasValue("tag", "x", "tag:x")


def test_notes_are_limited_and_show_no_invisible_characters() -> None:
    text = " ".join(f"name{'abcdefghijklm'[i]}:value" for i in range(13)) + " word\u202e" + "x" * 200 + "~9"
    notes = parse_query(text).notes
    assert len(notes) == 9
    assert notes[-1] == "6 more parts of the query were searched as words"
    [note] = parse_query("title:wor\u202ed~9" + "x" * 0).notes or [""]
    assert "\u202e" not in note
    [note] = parse_query("nowhere:x" + "y" * 500).notes
    assert len(note) < 200


@loop_over(
    ("allowed_query", "refused_query", "part"),
    [
        (
            " ".join(f"title:w{i}" for i in range(MAX_PARTS)),
            " ".join(f"title:w{i}" for i in range(MAX_PARTS + 1)),
            f"title:w{MAX_PARTS}",
        ),
        (
            " ".join(f"w{i}*" for i in range(MAX_PARTS)),
            " ".join(f"w{i}*" for i in range(MAX_PARTS + 1)),
            f"w{MAX_PARTS}*",
        ),
        ("a1 AND " * MAX_PARTS + "last", "a1 AND " * (MAX_PARTS + 1) + "last", "AND last"),
        (
            "(" * MAX_DEPTH + "a1 AND b1" + ")" * MAX_DEPTH,
            "(" * (MAX_DEPTH + 1) + "a1 AND b1" + ")" * (MAX_DEPTH + 1),
            "(",
        ),
        ("path:" + "x" * 1_000, "path:" + "x" * 1_001, "path:" + "x" * 55 + "…"),
    ],
    ids=["fields", "prefixes", "operators", "depth", "path"],
)
def test_too_many_operators_raise_an_error_with_the_part(
    allowed_query: str, refused_query: str, part: str
) -> None:
    assert parse_query(allowed_query).notes == ()
    with pytest.raises(QueryTooBroad) as error_info:
        parse_query(refused_query)
    assert error_info.value.details["part"] == part
    assert f"{error_info.value.details['limit']:,}" in error_info.value.message
    assert error_info.value.fix.endswith(".")


@loop_over(
    "text",
    [
        "a1 AND NOT (" + " ".join(f"w{i}" for i in range(MAX_TERMS)) + ")",
        "a1 AND NOT (" + " ".join(f'"w{i}"' for i in range(MAX_PHRASES + 1)) + ")",
    ],
)
def test_excluded_words_of_expression_count_toward_limit(text: str) -> None:
    with pytest.raises(QueryTooBroad):
        parse_query(text)


def test_repeated_parts_count_once_toward_limit() -> None:
    assert parse_query("char* " * 500).notes == ()


@given(TEXT_WITHOUT_SIGNS.filter(str.strip))
def test_query_terms_equal_terms_of_the_same_text(text: str) -> None:
    term_counts = count_heading_terms(text)
    query = parse_query(text)
    assert set(query.terms) == ({term for term in term_counts if term not in STOP_WORDS} or set(term_counts))
    assert all(weight >= term_counts[term] for term, weight in query.terms.items())


@given(TEXT_WITHOUT_SIGNS.filter(str.strip))
def test_quotes_do_not_change_terms(text: str) -> None:
    assert parse_query(f'"{text}"').terms == parse_query(text).terms


@given(st.lists(NAMES, min_size=1, max_size=5), st.lists(NAMES, max_size=5))
def test_dash_excludes_the_whole_word_only(included: list[str], excluded: list[str]) -> None:
    query = parse_query(" ".join([*included, *(f"-{word}" for word in excluded)]))
    if query.excluded:
        assert query.terms == parse_query(" ".join(included)).terms
    assert set(query.excluded) == {extract_token_terms(word)[0] for word in excluded} - STOP_WORDS


@loop_over(
    ("allowed_query", "refused_query"),
    [
        ("é" * MAX_CHARACTERS, "é" * (MAX_CHARACTERS + 1)),
        ("retry " * (MAX_CHARACTERS // 6), "retry " * MAX_CHARACTERS),
        # This character expands to eighteen characters.
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
def test_query_over_a_limit_raises_error_with_limit(allowed_query: str, refused_query: str) -> None:
    parse_query(allowed_query)
    with pytest.raises(QueryTooBroad) as error_info:
        parse_query(refused_query)
    assert f"(limit {error_info.value.details['limit']:,})" in error_info.value.message


@loop_over("text", ["", "x" * 20_000, 'a -"b c"'])
def test_query_errors_have_a_fix(text: str) -> None:
    with pytest.raises(WorkspaceError) as error_info:
        parse_query(text)
    assert error_info.value.message[0].islower()
    assert not error_info.value.message.endswith(".")
    assert error_info.value.fix.endswith(".")


SEARCH_PAGE = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")


def read_table_rows(heading: str) -> list[tuple[str, str]]:
    """Return the rows of the table in docs/search.md that has this first line."""
    table = SEARCH_PAGE.partition(heading)[2].partition("\n\n")[0]
    rows = [(row[1], row[2]) for row in re.finditer(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)]
    assert rows
    return rows


def is_satisfied(condition: Condition, true_leaves: frozenset[Leaf]) -> bool:
    match condition:
        case AllOf(parts):
            return all(is_satisfied(part, true_leaves) for part in parts)
        case AnyOf(parts):
            return any(is_satisfied(part, true_leaves) for part in parts)
        case Negation(part):
            return not is_satisfied(part, true_leaves)
        case leaf:
            return leaf in true_leaves


@loop_over(("query", "meaning"), read_table_rows("| query | the same as |"))
def test_expressions_documented_as_equal_select_the_same(query: str, meaning: str) -> None:
    parsed_query, equal_query = (parse_query(text, fields=FIELDS) for text in (query, meaning.strip("`")))
    assert parsed_query.condition is not None
    assert equal_query.condition is not None
    leaves = set(list_leaves(parsed_query.condition))
    assert leaves == set(list_leaves(equal_query.condition))
    for count in range(len(leaves) + 1):
        for true_leaves in map(frozenset, combinations(leaves, count)):
            assert is_satisfied(parsed_query.condition, true_leaves) == is_satisfied(
                equal_query.condition, true_leaves
            )


@loop_over(("query", "note"), read_table_rows("| query | note |"))
def test_documented_notes_equal_those_of_the_parser(query: str, note: str) -> None:
    fields = QueryFields(lambda: ("type", "tags"), lambda key: key == "updated")
    assert parse_query(query, fields=fields).notes == (note,)


@loop_over(
    ("text", "present_words", "missing"),
    [
        ("retry limits", "retries limit", ()),
        ("retry quorum", "retries", ("quorum",)),
        ("the retry of it", "retry", ()),
        ("RateLimitError", "rate limit errors", ()),
        ("RateLimitError", "rate limits", ("RateLimitError",)),
        ("RateLimitError", "RateLimitError", ()),
        ("rate-limit", "rate limit", ()),
        ("--dry-run", "run", ("--dry-run",)),
        ("retry -quorum", "retry", ()),
        ("quorum quorum Quorum", "retry", ("quorum", "Quorum")),
        ("没有空格", "空格", ()),
        ("没有空格 retry", "检索", ("没有空格", "retry")),
        ("使用retry", "retry", ("使用",)),
        ("title:retry quorum", "", ("quorum",)),
        ("...", "", ()),
        ("x" * 3_000, "", ("x" * 100,)),
    ],
)
def test_missing_words_are_those_of_no_section(
    text: str, present_words: str, missing: tuple[str, ...]
) -> None:
    query = parse_query(text)
    present_terms = {term for token in TOKEN.findall(present_words) for term in extract_token_terms(token)}
    absent_terms = query.terms.keys() - present_terms
    assert find_missing_words(text, query, absent_terms) == missing


def test_number_of_missing_words_is_limited() -> None:
    text = " ".join(f"word{number}" for number in range(MAX_MISSING_WORDS + 1))
    query = parse_query(text)
    assert len(find_missing_words(text, query, frozenset(query.terms))) == MAX_MISSING_WORDS
