"""Globs match paths, and each invalid glob has a reason."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.globs import MAX_LENGTH, Glob, find_problem

pytestmark = pytest.mark.smoke

GLOB_PARTS = st.sampled_from(["a", "b", "é", ".", "/", "*", "?", "**/", "[ab]", "[!a]", "a.md", "docs/"])
PATHS = st.lists(st.sampled_from(["a", "b", "docs", "a.md", "é.md", "[x]"]), min_size=1, max_size=4).map(
    "/".join
)


@loop_over(
    ("glob", "path", "is_match"),
    [
        ("docs", "docs/deep/a.md", True),
        ("docs/", "docs/a.md", True),
        ("docs", "docs.md", False),
        ("docs", "old/docs/a.md", False),
        ("*.tmp.md", "deep/a.tmp.md", True),
        ("d*", "docs/deep/a.md", True),
        ("docs/*/old", "docs/x/y/old/a.md", True),
        ("**/old", "old/a.md", True),
        ("**/old", "deep/er/old/a.md", True),
        ("**/old", "bold/a.md", False),
        ("docs/**/a.md", "docs/a.md", True),
        ("docs/**/a.md", "docs/x/y/a.md", True),
        ("docs/**/a.md", "docsa.md", False),
        ("docs/**/**/a.md", "docs/a.md", True),
        ("a/**", "a/b", True),
        ("[ab].md", "a.md", True),
        ("[ab].md", "[ab].md", True),
        ("[!a].md", "a.md", False),
        ("A.md", "a.md", False),
        ("?.md", "é.md", True),
    ],
)
def test_glob_matches_expected_paths(glob: str, path: str, is_match: bool) -> None:
    assert Glob.compile(glob).matches(path) is is_match


def match_by_fnmatch(glob: str, path: str) -> bool:
    """Match by `fnmatch`, with each `**/` replaced by `*/` or removed."""
    if mark := re.search(r"(?:^|(?<=/))\*\*/", glob):
        expansions = (glob[: mark.start()] + replacement + glob[mark.end() :] for replacement in ("", "*/"))
        return any(match_by_fnmatch(expansion, path) for expansion in expansions)
    folder = glob.rstrip("/")
    is_folder_match = path == folder or path.startswith(folder + "/")
    return is_folder_match or fnmatchcase(path, folder) or fnmatchcase(path, folder + "/*")


@given(st.lists(GLOB_PARTS, min_size=1, max_size=6).map("".join), PATHS)
def test_glob_equals_fnmatch_of_each_expansion(glob: str, path: str) -> None:
    if glob.count("**/") <= 2:
        assert Glob.compile(glob).matches(path) is match_by_fnmatch(glob, path)


@given(st.text(max_size=40), PATHS)
def test_any_text_compiles_and_matches(glob: str, path: str) -> None:
    assert isinstance(Glob.compile(glob).matches(path), bool)


@loop_over(
    ("glob", "reason"),
    [
        ("", "is empty"),
        ("//", "is empty"),
        ("/docs", "begins with a slash"),
        ("../a", "leads out"),
        ("a/../b", "leads out"),
        ("a\\b", "contains a backslash"),
        ("[ab", "has a bracket"),
        ("[]", "has a bracket"),
        ("a[!]", "has a bracket"),
        ("[a]/[", "has a bracket"),
        ("a" * (MAX_LENGTH + 1), "has over 1,000"),
        ("**/a/" * 5, "contains **/ more than 4"),
    ],
)
def test_invalid_glob_has_reason(glob: str, reason: str) -> None:
    assert (find_problem(glob) or "").startswith(reason)


@loop_over("glob", ["a", "*", "**/a", "[]a]", "[!]a]", "a]", "..a", "a/..b/", "**/a/" * 4])
def test_valid_glob_has_no_problem(glob: str) -> None:
    assert find_problem(glob) is None


def test_glob_of_many_stars_does_not_backtrack() -> None:
    """Backtracking over all stars together would take exponential time."""
    assert not Glob.compile("**/" + "*a" * 400 + "b").matches("a/" * 2_000)
