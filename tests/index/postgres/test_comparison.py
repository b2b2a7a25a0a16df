"""The comparison of one branch's index in two places."""

from __future__ import annotations

from pathlib import Path

from index.comparison import draw_questions
from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace


def test_questions_are_headings_and_words_of_texts_in_turn(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"new.md": "# New\n\n## NOT an OKAPI house\n\nAn okapi AND a quagga graze.\n"})
    index = SearchIndex(Workspace.open(repo.path), location=tmp_path / "index")
    index.update_to_tip()
    generation = index._live.engine.generation()
    assert generation is not None
    questions = draw_questions(index._live, generation.segment_readers, 40)
    assert len(set(questions)) == len(questions) == 40
    assert "okapi house" in draw_questions(index._live, generation.segment_readers, 1_000)
    assert all(question == question.lower() for question in questions)
    assert questions == draw_questions(index._live, generation.segment_readers, 40)


def test_index_after_commits_and_a_new_one_have_equal_lists(repo: Repo, tmp_path: Path) -> None:
    workspace = Workspace.open(repo.path)
    before, after = (SearchIndex(workspace, location=tmp_path / name) for name in ("before", "after"))
    before.update_to_tip()
    for number in range(3):
        repo.commit({"new.md": f"# New {number}\n\nAn okapi.\n"})
        before.update_to_tip()
    comparison = before.compare(after, 30)
    assert (comparison.commit, comparison.question_count, comparison.differences) == (repo.head(), 30, ())
    assert comparison.section_count == after._live.update_to_tip().state.chunks


def test_empty_branch_has_no_questions(tmp_path: Path) -> None:
    workspace = Workspace.open(create_repository(tmp_path / "docs", {}).path)
    before, after = (SearchIndex(workspace, location=tmp_path / name) for name in ("before", "after"))
    comparison = before.compare(after, 30)
    assert (comparison.section_count, comparison.question_count, comparison.differences) == (0, 0, ())
