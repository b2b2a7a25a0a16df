"""Undo of commits that moved text between sections or documents: none is lost or duplicated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo, normal
from tests.workspace.edits.test_restore import DOC, GUIDE, files, run
from workspace.edits import RestoreDocument, Undo

pytestmark = pytest.mark.smoke

PARTS = "# Guide\n\n## One\n\nFirst words.\n\nSecond words.\n\n## Two\n\nThird words.\n"
OTHER = "# Other\n\n## Here\n\nOther words.\n"


def undo_partially(repo: Repo, commit: str) -> list[str | None]:
    """Undo a commit partially, and return the sections that were left as they are."""
    step = run(repo, Undo(commit=commit, is_partial=True))
    assert step.outcome, step.error
    clashes = step.outcome.result["conflicts"]
    assert isinstance(clashes, list)
    return [item.get("slug") for item in clashes]


def test_split_section_with_a_later_edit_stays_split(tmp_path: Path) -> None:
    """Otherwise the words of the other part would be lost, which the commit did not write."""
    repo = normal(tmp_path / "repo", {DOC: PARTS, "b.md": OTHER})
    split = PARTS.replace("Second", "## Halfway\n\nSecond")
    commit = repo.commit({DOC: split, "b.md": OTHER.replace("Other words", "New words")})
    later = split.replace("First words", "My words")
    repo.commit({DOC: later})
    assert undo_partially(repo, commit) == ["one", "halfway"]
    assert files(repo) == {DOC: later, "b.md": OTHER}


def test_moved_lines_stay_if_their_old_section_was_edited_later(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {DOC: PARTS, "b.md": OTHER})
    moved = OTHER.replace("Other words.\n", "Other words.\n\nSecond words.\n")
    commit = repo.commit({DOC: PARTS.replace("Second words.\n\n", "").replace("Third", "3rd"), "b.md": moved})
    repo.commit({DOC: (repo.path / DOC).read_text().replace("First", "1st")})
    assert sorted(map(str, undo_partially(repo, commit))) == ["here", "one"]
    assert files(repo) == {
        DOC: PARTS.replace("Second words.\n\n", "").replace("First", "1st"),
        "b.md": moved,
    }


def test_document_created_from_a_later_deleted_one_stays(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {DOC: PARTS, "b.md": OTHER})
    made = "# Brand new\n\nSecond words.\n"
    commit = repo.commit(
        {
            DOC: PARTS.replace("Second words.\n\n", ""),
            "new.md": made,
            "b.md": OTHER.replace("Other w", "New w"),
        }
    )
    repo.git("rm", "-q", DOC)
    repo.commit({})
    assert undo_partially(repo, commit) == [None, None]
    assert files(repo) == {"new.md": made, "b.md": OTHER}


def test_restore_over_unread_text_above_the_title_is_refused(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {DOC: GUIDE})
    then = repo.head()
    repo.commit({DOC: f"Unread words.\n\n{GUIDE}"})
    step = run(repo, RestoreDocument(file=DOC, commit=then))
    assert step.error
    assert (step.error.code, step.error.details["slugs"]) == ("READ_FIRST", ["_preamble"])


def test_undo_of_the_last_commit_restores_any_structure(tmp_path: Path) -> None:
    """The commit moves a section from one parent to another."""
    nested = "# A\n\n## One\n\n### Deep\n\n#### Deeper\n\nText.\n"
    broken = "---\nkey: v\n\n# Setup\n\n## Setup\n\n## One\n\n### Setup\n\nText.\n"
    repo = normal(tmp_path / "repo", {DOC: nested})
    for before, after in ((nested, broken), (broken, nested)):
        commit = repo.commit({DOC: after})
        step = run(repo, Undo(commit=commit))
        assert step.outcome, step.error
        assert files(repo) == {DOC: before}
        repo.commit({DOC: after})


def test_last_section_of_a_duplicate_title_is_matched(tmp_path: Path) -> None:
    twice = "# A\n\n## Setup\n\nFirst.\n\n## Setup\n\nSecond.\n"
    repo = normal(tmp_path / "repo", {DOC: twice})
    commit = repo.commit({DOC: twice.replace("Second.", "Second.\n\nMore.")})
    repo.commit({DOC: (repo.path / DOC).read_text() + "\n### Below\n\nOf others.\n"})
    step = run(repo, Undo(commit=commit))
    assert step.outcome, step.error
    assert files(repo) == {DOC: twice + "\n### Below\n\nOf others.\n"}


def test_undo_moves_the_title_back_to_the_top(tmp_path: Path) -> None:
    text = "# Title\n\nWords.\n\n## Part\n\nMore words.\n\n## End\n\nLast words.\n"
    repo = normal(tmp_path / "repo", {DOC: text})
    commit = repo.commit({DOC: "## Part\n\n# Title\n\nWords.\n\nMore words.\n\n## End\n\nLast words.\n"})
    repo.commit({DOC: (repo.path / DOC).read_text().replace("Last", "Very last")})
    step = run(repo, Undo(commit=commit))
    assert step.outcome, step.error
    assert files(repo) == {DOC: text.replace("Last", "Very last")}
