"""Undo of commits that moved text between sections or documents: no text is lost or duplicated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo, create_repository
from tests.workspace.edits.test_restore import DOCUMENT_PATH, GUIDE, read_work_tree, write_operations
from workspace.edits.restore import RestoreDocument, Undo

pytestmark = pytest.mark.smoke

GUIDE_TEXT = "# Guide\n\n## One\n\nFirst words.\n\nSecond words.\n\n## Two\n\nThird words.\n"
OTHER_TEXT = "# Other\n\n## Here\n\nOther words.\n"


def undo_partially(repo: Repo, commit: str) -> list[str | None]:
    """Undo a commit partially, and return the slugs of the sections that are in conflict."""
    step = write_operations(repo, Undo(commit=commit, is_partial=True))
    assert step.outcome, step.error
    conflicts = step.outcome.result["conflicts"]
    assert isinstance(conflicts, list)
    return [conflict.get("slug") for conflict in conflicts]


def test_split_section_with_a_later_edit_stays_split(tmp_path: Path) -> None:
    """Undo of the split would lose words of the other section that the commit did not write."""
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE_TEXT, "b.md": OTHER_TEXT})
    split_text = GUIDE_TEXT.replace("Second", "## Halfway\n\nSecond")
    commit = repo.commit({DOCUMENT_PATH: split_text, "b.md": OTHER_TEXT.replace("Other words", "New words")})
    later_text = split_text.replace("First words", "My words")
    repo.commit({DOCUMENT_PATH: later_text})
    assert undo_partially(repo, commit) == ["one", "halfway"]
    assert read_work_tree(repo) == {DOCUMENT_PATH: later_text, "b.md": OTHER_TEXT}


def test_moved_lines_stay_if_their_old_section_was_edited_later(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE_TEXT, "b.md": OTHER_TEXT})
    new_text = OTHER_TEXT.replace("Other words.\n", "Other words.\n\nSecond words.\n")
    commit = repo.commit(
        {DOCUMENT_PATH: GUIDE_TEXT.replace("Second words.\n\n", "").replace("Third", "3rd"), "b.md": new_text}
    )
    repo.commit({DOCUMENT_PATH: (repo.path / DOCUMENT_PATH).read_text().replace("First", "1st")})
    assert sorted(map(str, undo_partially(repo, commit))) == ["here", "one"]
    assert read_work_tree(repo) == {
        DOCUMENT_PATH: GUIDE_TEXT.replace("Second words.\n\n", "").replace("First", "1st"),
        "b.md": new_text,
    }


def test_document_created_from_a_later_deleted_document_stays(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE_TEXT, "b.md": OTHER_TEXT})
    new_text = "# Brand new\n\nSecond words.\n"
    commit = repo.commit(
        {
            DOCUMENT_PATH: GUIDE_TEXT.replace("Second words.\n\n", ""),
            "new.md": new_text,
            "b.md": OTHER_TEXT.replace("Other w", "New w"),
        }
    )
    repo.git("rm", "-q", DOCUMENT_PATH)
    repo.commit({})
    assert undo_partially(repo, commit) == [None, None]
    assert read_work_tree(repo) == {"new.md": new_text, "b.md": OTHER_TEXT}


def test_restore_over_unread_text_above_the_title_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE})
    old_commit = repo.head()
    repo.commit({DOCUMENT_PATH: f"Unread words.\n\n{GUIDE}"})
    step = write_operations(repo, RestoreDocument(file=DOCUMENT_PATH, commit=old_commit))
    assert step.error
    assert (step.error.code, step.error.details["slugs"]) == ("READ_FIRST", ["_preamble"])


def test_undo_of_the_last_commit_restores_any_structure(tmp_path: Path) -> None:
    """The commit moves a section from one parent to another."""
    nested_text = "# A\n\n## One\n\n### Deep\n\n#### Deeper\n\nText.\n"
    broken_text = "---\nkey: v\n\n# Setup\n\n## Setup\n\n## One\n\n### Setup\n\nText.\n"
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: nested_text})
    for old_text, new_text in ((nested_text, broken_text), (broken_text, nested_text)):
        commit = repo.commit({DOCUMENT_PATH: new_text})
        step = write_operations(repo, Undo(commit=commit))
        assert step.outcome, step.error
        assert read_work_tree(repo) == {DOCUMENT_PATH: old_text}
        repo.commit({DOCUMENT_PATH: new_text})


def test_last_section_of_a_duplicate_title_is_matched(tmp_path: Path) -> None:
    text = "# A\n\n## Setup\n\nFirst.\n\n## Setup\n\nSecond.\n"
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: text})
    commit = repo.commit({DOCUMENT_PATH: text.replace("Second.", "Second.\n\nMore.")})
    repo.commit({DOCUMENT_PATH: (repo.path / DOCUMENT_PATH).read_text() + "\n### Below\n\nOf others.\n"})
    step = write_operations(repo, Undo(commit=commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {DOCUMENT_PATH: text + "\n### Below\n\nOf others.\n"}


def test_undo_moves_the_title_back_to_the_top(tmp_path: Path) -> None:
    text = "# Title\n\nWords.\n\n## Part\n\nMore words.\n\n## End\n\nLast words.\n"
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: text})
    commit = repo.commit(
        {DOCUMENT_PATH: "## Part\n\n# Title\n\nWords.\n\nMore words.\n\n## End\n\nLast words.\n"}
    )
    repo.commit({DOCUMENT_PATH: (repo.path / DOCUMENT_PATH).read_text().replace("Last", "Very last")})
    step = write_operations(repo, Undo(commit=commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {DOCUMENT_PATH: text.replace("Last", "Very last")}
