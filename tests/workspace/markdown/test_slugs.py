"""Slugs of headings, compared with those of GitHub's package, and slugs of file names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.markdown.slugs import (
    EMPTY_SLUG,
    MAX_FILE_STEM_LENGTH,
    UniqueNames,
    make_file_slug,
    make_heading_slug,
)

pytestmark = pytest.mark.smoke

# Titles in many scripts, and the results of slug() of github-slugger 2.0.0 (npm).
GITHUB_SLUGS: dict[str, str] = json.loads(Path(__file__).with_name("github_slugs.json").read_text("utf-8"))[
    "slugs"
]


def test_github_slugs_equal_those_of_github() -> None:
    assert len(GITHUB_SLUGS) > 350
    assert {title: make_heading_slug(title) for title in GITHUB_SLUGS} == {
        title: slug or EMPTY_SLUG for title, slug in GITHUB_SLUGS.items()
    }


@given(st.text(max_size=40))
def test_slug_is_one_word_and_its_own_slug(title: str) -> None:
    slug = make_heading_slug(title)
    assert slug
    assert not set(slug) & set(" \t\n/#[]{}<>\"'")
    assert make_heading_slug(slug) == slug


def test_slug_of_a_long_title_is_complete() -> None:
    assert make_heading_slug("A " * 5000) == "a-" * 5000


@given(
    st.lists(st.sampled_from(["a", "a-1", "a-2", "b"]), max_size=20),
    st.sets(st.sampled_from(["a", "a-1", "b-1"])),
)
def test_names_are_unique_and_not_reserved(requested_names: list[str], reserved: set[str]) -> None:
    names = UniqueNames("-", 1, reserved)
    unique_names = [names.make_unique(name) for name in requested_names]
    assert len(set(unique_names)) == len(unique_names)
    assert not set(unique_names) & reserved
    assert all(
        unique_name.startswith(name) for name, unique_name in zip(requested_names, unique_names, strict=True)
    )


def test_names_are_numbered_in_order() -> None:
    names = UniqueNames("-", 1)
    assert [names.make_unique("errors") for _ in range(3)] == ["errors", "errors-1", "errors-2"]
    assert UniqueNames("~", 2, {"errors"}).make_unique("errors") == "errors~2"


@loop_over(
    ("title", "stem"),
    [
        ("Search API", "search-api"),
        ("Ünïcödé ß", "unicode-ss"),
        ("数据", "shu-ju"),
        ("C++", "c"),
        ("a/b\\c", "a-b-c"),
        ("../../etc/passwd", "etc-passwd"),
        ("🚀", ""),
        ("...", ""),
        ("CON", "con"),
    ],
)
def test_file_slug_contains_ascii_words(title: str, stem: str) -> None:
    assert make_file_slug(title) == stem


def test_file_slug_is_limited_in_length() -> None:
    assert len(make_file_slug("word " * 100)) <= MAX_FILE_STEM_LENGTH
