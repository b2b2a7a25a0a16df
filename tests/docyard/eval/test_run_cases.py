"""`run_cases` on an index: measures by page and section, missing addresses, and refused cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.eval.cases import Case
from docyard.eval.run import CaseResults, CommitChanged, resolve_expected, run_cases
from index.service import SearchIndex
from tests.docyard.conftest import Git
from workspace.workspace import Workspace


@pytest.fixture
def index_and_workspace(repo: Path, git: Git) -> Iterator[tuple[SearchIndex, Workspace]]:
    (repo / "C#.md").write_text(
        "# C sharp\n\nJitter of a clock.\n\n## Setup\n\nInstall it.\n\n### On paper {#paper}\n\n### Windows\n"
    )
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    workspace = Workspace.open(repo, read_only=True)
    index = SearchIndex(workspace)
    yield index, workspace
    index.close()


def evaluate(index_and_workspace: tuple[SearchIndex, Workspace], *cases: Case) -> CaseResults:
    index, workspace = index_and_workspace
    return run_cases(index, workspace.snapshot(index.update_to_tip()), cases, top=50)


def test_results_are_measured_by_page_and_section(index_and_workspace: tuple[SearchIndex, Workspace]) -> None:
    case = Case("1", "backoff jitter", {"guide.md#retries": 2})
    (outcome,) = evaluate(index_and_workspace, case).outcomes
    assert outcome.found[0] == "guide.md#retries"
    assert outcome.page.ranks == {"guide.md": 1}
    assert outcome.chunk is not None
    assert outcome.chunk.ranks == {"guide.md#retries": 1}
    assert outcome.chunk.measures["ndcg@10"] == outcome.page.measures["mrr"] == 1
    assert outcome.ms is not None
    assert outcome.ms > 0


def test_case_with_only_pages_is_not_measured_by_section(
    index_and_workspace: tuple[SearchIndex, Workspace],
) -> None:
    (outcome,) = evaluate(index_and_workspace, Case("1", "jitter", {"C#.md": 1})).outcomes
    assert outcome.chunk is None
    assert outcome.page.ranks["C#.md"] in (1, 2)


def test_rank_of_page_is_that_of_its_best_section(index_and_workspace: tuple[SearchIndex, Workspace]) -> None:
    (outcome,) = evaluate(index_and_workspace, Case("1", "guide jitter", {"C#.md": 1})).outcomes
    assert outcome.hits == 3
    assert outcome.page.ranks == {"C#.md": 2}, "two sections of the guide rank first, and count as one page"


def test_filters_and_paths_restrict_search(index_and_workspace: tuple[SearchIndex, Workspace]) -> None:
    case_with_filter = Case("1", "jitter", {"C#.md": 1}, filters={"type": "runbook"})
    case_with_path = Case("2", "jitter", {"C#.md": 1}, path="C#.md")
    outcome_with_filter, outcome_with_path = evaluate(
        index_and_workspace, case_with_filter, case_with_path
    ).outcomes
    assert outcome_with_filter.page.ranks == {"C#.md": None}
    assert outcome_with_path.page.ranks == {"C#.md": 1}


def test_missing_address_is_reported_and_counts_as_not_found(
    index_and_workspace: tuple[SearchIndex, Workspace],
) -> None:
    case = Case(
        "1",
        "backoff",
        {"guide.md#retries": 1, "guide.md#retry": 1, "gone.md": 1, "C#.md#setup": 1, "C#.md#clock": 1},
        file="c",
        line=4,
    )
    result = evaluate(index_and_workspace, case)
    assert [str(problem) for problem in result.problems] == [
        "c:4: no section 'retry' in guide.md",
        "c:4: no document 'gone.md'",
        "c:4: no section 'clock' in C#.md",
    ]
    (outcome,) = result.outcomes
    assert outcome.chunk is not None
    assert outcome.chunk.measures["recall@10"] == pytest.approx(1 / 4)
    assert outcome.page.measures["recall@10"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "case",
    [
        Case("1", "jitter", {"guide.md": 1}, filters={"type": "runbok"}),
        Case("1", "jitter", {"guide.md": 1}, filters={"colour": "red"}),
    ],
)
def test_refused_case_scores_zero_and_run_continues(
    index_and_workspace: tuple[SearchIndex, Workspace], case: Case
) -> None:
    result = evaluate(index_and_workspace, case, Case("2", "jitter", {"guide.md": 1}))
    refused_outcome, answered_outcome = result.outcomes
    assert len(result.problems) == 1
    assert (refused_outcome.ms, refused_outcome.hits, refused_outcome.page.measures["mrr"]) == (None, 0, 0)
    assert answered_outcome.ms is not None


def test_branch_that_moves_during_run_raises_error(
    index_and_workspace: tuple[SearchIndex, Workspace], repo: Path, git: Git
) -> None:
    index, workspace = index_and_workspace
    snapshot = workspace.snapshot(index.update_to_tip())
    (repo / "new.md").write_text("# New\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Meanwhile")
    with pytest.raises(CommitChanged):
        run_cases(index, snapshot, [Case("1", "jitter", {"guide.md": 1})], top=50)


def test_section_is_resolved_by_any_of_its_addresses(
    index_and_workspace: tuple[SearchIndex, Workspace],
) -> None:
    index, workspace = index_and_workspace
    snapshot = workspace.snapshot(index.update_to_tip())
    expectation = resolve_expected(
        Case("1", "q", {"C#.md#windows": 1, "C#.md#setup/windows": 3, "C#.md": 2}), snapshot
    )
    assert expectation.chunks == {"C#.md#setup/windows": 3}
    assert expectation.pages == {"C#.md": 3}
    assert expectation.problems == ()


def test_progress_is_reported_per_case(index_and_workspace: tuple[SearchIndex, Workspace]) -> None:
    index, workspace = index_and_workspace
    reports: list[tuple[int, int, str]] = []
    cases = [Case(str(number), "jitter", {"guide.md": 1}) for number in range(3)]
    run_cases(
        index,
        workspace.snapshot(index.update_to_tip()),
        cases,
        top=10,
        progress=lambda *args: reports.append(args),
    )
    assert reports == [(1, 3, "Searching"), (2, 3, "Searching"), (3, 3, "Searching")]
