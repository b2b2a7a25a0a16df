"""Proposal ids are short, unique and never a commit prefix, and form a branch name with any title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.repositories import create_empty_repository
from workspace.git.reader import GitReader
from workspace.proposal_ids import (
    derive_id,
    generate_id,
    is_id,
    parse_branch_id,
    read_id,
    read_id_prefix,
    shorten_ids,
)
from workspace.proposals.actions.repository import build_branch_name

MAX_BRANCH_NAME_LENGTH = 60


@given(st.binary(min_size=5, max_size=5))
def test_id_is_not_a_commit_prefix(entropy: bytes) -> None:
    id = generate_id((), lambda size: entropy[:size])
    assert is_id(id)
    assert len(id) == 8
    assert id[0] not in "0123456789abcdef"
    assert read_id(id) == read_id(id.upper()) == read_id(f"proposals/{id}-some-words") == id


def test_used_id_is_not_returned() -> None:
    entropies = iter([bytes(5), bytes(5), b"\xff" * 5])
    first_id = generate_id((), lambda _: bytes(5))
    assert generate_id({first_id}, lambda _: next(entropies)) != first_id


def test_ids_of_independent_calls_differ() -> None:
    assert len({generate_id(()) for _ in range(2_000)}) == 2_000


def test_same_key_gives_same_id() -> None:
    assert derive_id("one") == derive_id("one") != derive_id("two")
    assert is_id(derive_id("\udc80"))


@loop_over("text", ["", "main", "deadbeef", "k7m2q9x", "k7m2q9xaa", "k7m2q9xu", "proposals/x", "\u0661" * 8])
def test_invalid_id_returns_none(text: str) -> None:
    assert read_id(text) is None


def test_lookalike_letters_are_read_as_digits() -> None:
    assert read_id(" KOM2Q1XA ") == read_id("kom2qlxa") == read_id("k0m2qixa") == "k0m2q1xa"


@loop_over(
    ("text", "prefix"),
    [
        ("k7m2", "k7m2"),
        (" K7MO ", "k7m0"),
        ("k7m2q9xa", "k7m2q9xa"),
        ("refs/heads/proposals/k7m2q9xa-words", "k7m2q9xa"),
        ("k7m", None),
        ("beef", None),
        ("proposals/k7m2", None),
        ("k7m2q9xa0", None),
    ],
)
def test_prefix_has_at_least_four_characters_of_an_id(text: str, prefix: str | None) -> None:
    assert read_id_prefix(text) == prefix


@given(st.lists(st.binary(min_size=5, max_size=5), unique=True))
def test_shortened_ids_are_unambiguous(entropies: list[bytes]) -> None:
    ids = {generate_id((), lambda size, entropy=entropy: entropy) for entropy in entropies}  # type: ignore[misc]
    for id, short_id in shorten_ids(ids).items():
        assert [other for other in ids if other.startswith(short_id)] == [id]
        assert read_id_prefix(short_id) == short_id


def test_shortened_ids_differ_in_their_last_character() -> None:
    assert shorten_ids(["k7m2q9xa", "k7m2q9xb", "k7m3q9xa"]) == {
        "k7m2q9xa": "k7m2q9xa",
        "k7m2q9xb": "k7m2q9xb",
        "k7m3q9xa": "k7m3",
    }


@loop_over(
    ("title", "name"),
    [
        ("Say more of retries", "proposals/k7m2q9xa-say-more-of-retries"),
        ("🎉🎉🎉", "proposals/k7m2q9xa"),
        ("...lock", "proposals/k7m2q9xa-lock"),
        ("a" * 10_000, "proposals/k7m2q9xa-" + "a" * 40),
        ("日本", "proposals/k7m2q9xa-ri-ben"),
    ],
)
def test_branch_name_has_id_and_title_words(title: str, name: str) -> None:
    assert build_branch_name("k7m2q9xa", title) == name
    assert parse_branch_id(name) == "k7m2q9xa"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitReader:
    return GitReader(create_empty_repository(tmp_path_factory.mktemp("names")).path)


@given(st.text())
def test_git_accepts_branch_name_of_any_title(git: GitReader, title: str) -> None:
    name = build_branch_name("k7m2q9xa", title)
    assert git.is_branch_name(name)
    assert parse_branch_id(name) == "k7m2q9xa"
    assert len(name) <= MAX_BRANCH_NAME_LENGTH
