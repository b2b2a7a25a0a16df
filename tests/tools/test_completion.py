"""Completion: candidates with the typed prefix come first, and their number is limited."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.tools.resources.test_list import open_context
from tools.completion import (
    MAX_CANDIDATES,
    NO_CANDIDATES,
    Candidates,
    complete_address,
    complete_folder,
    complete_path,
    complete_ref,
    complete_section,
    complete_type,
    rank_names,
)
from tools.dispatcher import ToolDispatcher

NAMES = ("guides/setup.md", "guides/retries.md", "reference/guides.md", "README.md")


@loop_over(
    ("prefix", "expected"),
    [
        ("", NAMES),
        ("guides", ("guides/setup.md", "guides/retries.md", "reference/guides.md")),
        ("GUIDES/S", ("guides/setup.md",)),
        ("re", ("reference/guides.md", "README.md", "guides/retries.md")),
        ("guides/setpu.md", ("guides/setup.md",)),
        ("zzzzzz", ()),
        ("x" * 10_000, ()),
    ],
)
def test_candidates_are_ranked(prefix: str, expected: tuple[str, ...]) -> None:
    candidates = rank_names(NAMES, prefix)
    assert candidates.values[: len(expected)] == expected
    assert bool(candidates.values) == bool(expected)


def test_at_most_hundred_candidates_are_returned() -> None:
    assert rank_names([f"{number}.md" for number in range(250)], "") == Candidates(
        tuple(f"{number}.md" for number in range(MAX_CANDIDATES)), 250
    )


@given(st.lists(st.text(max_size=8), max_size=30), st.text(max_size=8))
def test_candidates_are_unique_names(names: list[str], prefix: str) -> None:
    candidates = rank_names(names, prefix)
    assert set(candidates.values) <= set(names)
    assert len(set(candidates.values)) == len(candidates.values) == min(candidates.total, MAX_CANDIDATES)
    has_prefix = [name.casefold().startswith(prefix.casefold()) for name in candidates.values]
    assert has_prefix == sorted(has_prefix, reverse=True)


def test_paths_and_folders_are_completed(dispatcher: ToolDispatcher) -> None:
    context = dispatcher.context()
    assert complete_path(context, "", {}).values == ("api.md", "notes/plain.md")
    assert complete_path(context, "pla", {}).values == ("notes/plain.md",)
    assert complete_folder(context, "", {}).values == ("notes",)


def test_folders_include_their_ancestors(tmp_path: Path) -> None:
    context = open_context(
        create_repository(tmp_path / "docs", {"a/b/c.md": "# C\n", "a/d.md": "# D\n", "e.md": "# E\n"})
    )
    assert complete_folder(context, "", {}).values == ("a", "a/b")


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("", ("_preamble", "endpoints", "endpoints/search", "tasks")),
        ("end", ("endpoints", "endpoints/search")),
        ("sea", ("endpoints/search",)),
        ("taks", ("tasks",)),
    ],
)
def test_sections_of_document_are_completed(
    dispatcher: ToolDispatcher, prefix: str, expected: tuple[str, ...]
) -> None:
    context = dispatcher.context()
    assert complete_section(context, prefix, {"path": "api.md"}).values == expected
    assert complete_address(context, f"api.md#{prefix}", {}).values == tuple(
        f"api.md#{name}" for name in expected
    )
    assert complete_section(context, prefix, {}) == NO_CANDIDATES
    assert complete_section(context, prefix, {"path": "none.md"}) == NO_CANDIDATES


def test_section_is_completed_by_heading(tmp_path: Path) -> None:
    text = "# A\n\n## Größe & Gewicht {#size}\n\n## Preis\n"
    context = open_context(create_repository(tmp_path / "docs", {"a.md": text}))
    assert complete_section(context, "GEWICHT", {"path": "a.md"}).values == ("size",)


def test_candidates_are_read_at_ref(dispatcher: ToolDispatcher, repo: Repo) -> None:
    first_commit = repo.head()
    repo.git("tag", "v1")
    repo.git("branch", "feature/x")
    repo.commit({"api.md": "# API\n\n## Other\n", "new.md": "# New\n"})
    context = dispatcher.context()
    for ref in (first_commit, "v1", "feature/x"):
        assert complete_path(context, "", {"ref": ref}).values == ("api.md", "notes/plain.md")
        assert "tasks" in complete_section(context, "", {"path": "api.md", "ref": ref}).values
    assert complete_path(context, "", {"ref": "v"}).values == ("api.md", "new.md", "notes/plain.md")
    assert complete_section(context, "oth", {"path": "api.md"}).values == ("other",)
    assert set(complete_ref(context, "", {}).values) >= {"HEAD", "main", "feature/x", "v1"}
    assert complete_ref(context, "fea", {}).values == ("feature/x",)


def test_document_types_are_completed(dispatcher: ToolDispatcher, repo: Repo) -> None:
    assert complete_type(dispatcher.context(), "api", {}).values == ("api_spec",)
    repo.commit({".docyard/templates/broken/type.toml": "nonsense"})
    assert "broken" not in complete_type(dispatcher.context(), "", {}).values
